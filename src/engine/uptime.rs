//! How long the engine has run, by a count that setting the system's clock neither stops nor turns back: what waits for the
//! person or a server ends in time. Sleep of the computer counts, which the system's steady clock leaves out: where the
//! clock is far ahead of that one, the time between was slept. A clock that is set forward looks the same, so that what
//! waits may end early and nothing begins late.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::ir::{Clock, UnixMs, UptimeMs};

/// How far both clocks may drift apart between two looks, in milliseconds.
const DRIFT_MS: u64 = 2_000;

/// The count.
pub(super) struct Uptime {
    clock: Clock,
    began: Instant,
    last: Mutex<Count>,
}

/// Where the count stands, and what both clocks said then.
#[derive(Debug, Clone, Copy)]
struct Count {
    uptime: UptimeMs,
    clock: UnixMs,
    steady_ms: u64,
}

impl Uptime {
    /// Begins to count.
    pub(super) fn new(clock: Clock) -> Self {
        let count = Count { uptime: UptimeMs::default(), clock: clock(), steady_ms: 0 };
        Self { clock, began: Instant::now(), last: Mutex::new(count) }
    }

    /// This moment.
    pub(super) fn now(&self) -> UptimeMs {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let steady_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        *last = last.then((self.clock)(), steady_ms);
        last.uptime
    }
}

impl Count {
    fn then(self, clock: UnixMs, steady_ms: u64) -> Self {
        let (by_clock, steady) = (clock.since(self.clock), steady_ms.saturating_sub(self.steady_ms));
        let passed = if by_clock > steady.saturating_add(DRIFT_MS) { by_clock } else { steady };
        Self { uptime: self.uptime.after(passed), clock, steady_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_stops_nothing_and_sleep_counts() {
        let start = Count { uptime: UptimeMs(0), clock: UnixMs(1_000_000), steady_ms: 0 };
        let mut count = start;
        let mut uptimes = Vec::new();
        for (clock, steady_ms) in [
            (1_001_000, 1_000),
            // Set back by far, and on from there.
            (5_000, 2_000),
            (6_000, 3_000),
            // A minute asleep.
            (67_000, 4_000),
            (68_000, 5_000),
        ] {
            count = count.then(UnixMs(clock), steady_ms);
            uptimes.push(count.uptime.0);
        }
        assert_eq!(uptimes, [1_000, 2_000, 3_000, 64_000, 65_000]);
    }

    #[test]
    fn many_looks_add_nothing() {
        let mut count = Count { uptime: UptimeMs(0), clock: UnixMs(0), steady_ms: 0 };
        for step in 1..=10_000_u64 {
            // The clock is always a little further, as it is when both are cut to whole milliseconds.
            count = count.then(UnixMs(i64::try_from(step + 1).unwrap()), step);
        }
        assert_eq!(count.uptime, UptimeMs(10_000));
    }
}
