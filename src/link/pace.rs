//! How fast things may go: the wait before another try to connect, and the frames that a server may send.

use crate::ir::UptimeMs;

/// The longest wait before another try, in milliseconds.
const LONGEST_WAIT_MS: u64 = 60_000;
/// How much may come at once, and then in each second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    burst: u64,
    per_second: u64,
}

/// Frames of one connection.
pub(super) const FRAMES: Pace = Pace { burst: 1_000, per_second: 200 };
/// Calls that are brought to the gate, over all connections of a server: each leaves a line in the ledger and in the audit.
pub(super) const CALLS: Pace = Pace { burst: 120, per_second: 1 };

/// The wait before the try after `failures` failures in a row, in milliseconds: 1, 2, 4 … 60 seconds, each half to whole, so
/// that desktops that lost their server together do not all come back at once. `chance` is in 0..1.
pub(super) fn wait_ms(failures: u32, chance: f64) -> u64 {
    let whole = 1_000_u64.saturating_mul(1 << failures.saturating_sub(1).min(6)).min(LONGEST_WAIT_MS);
    let half = whole / 2;
    // In 0..=half: a whole second is 500 steps, far below what an `f64` tells apart.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 30,000")]
    let more = (half as f64 * chance.clamp(0.0, 1.0)) as u64;
    half + more
}

/// A bucket: each thing that comes takes one out, time fills it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bucket {
    pace: Pace,
    /// In thousandths.
    left: u64,
    at: UptimeMs,
}

impl Bucket {
    pub(super) fn full(pace: Pace, now: UptimeMs) -> Self {
        Self { pace, left: pace.burst * 1_000, at: now }
    }

    /// Takes one out; false when it is empty.
    pub(super) fn take(&mut self, now: UptimeMs) -> bool {
        let passed = now.since(self.at);
        self.at = now;
        let filled = self.left.saturating_add(passed.saturating_mul(self.pace.per_second));
        self.left = filled.min(self.pace.burst * 1_000);
        let taken = self.left.checked_sub(1_000);
        self.left = taken.unwrap_or(self.left);
        taken.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_twice_as_long_up_to_a_minute_and_never_the_same_for_all() {
        let waits = |chance: f64| (1..=8).map(|failures| wait_ms(failures, chance)).collect::<Vec<_>>();
        assert_eq!(waits(1.0), [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(waits(0.0), [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        assert_eq!((wait_ms(u32::MAX, 0.5), wait_ms(0, f64::NAN)), (45_000, 500));
    }

    #[test]
    fn a_burst_is_taken_and_a_flood_is_not() {
        let mut bucket = Bucket::full(FRAMES, UptimeMs(0));
        let mut taken = |at: u64| (0..2_000).filter(|_| bucket.take(UptimeMs(at))).count();
        assert_eq!([taken(0), taken(1_000), taken(1_000_000)], [1_000, 200, 1_000]);
        let mut bucket = Bucket::full(CALLS, UptimeMs(0));
        let mut taken = |at: u64| (0..2_000).filter(|_| bucket.take(UptimeMs(at))).count();
        assert_eq!([taken(0), taken(60_000), taken(3_600_000)], [120, 60, 120]);
    }
}
