//! Time that this thread had a processor, so that a busy machine does not change what is measured.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The least of several runs, each measured alone: what disturbs a run only makes it longer.
pub fn least(runs: usize, mut work: impl FnMut()) -> Duration {
    let measured = (0..runs).map(|_| {
        let before = now();
        work();
        now() - before
    });
    measured.min().unwrap_or_default()
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
