//! The person's keyboard in a terminal: what was typed too early is forgotten, and a wait for a line ends when the question does.

use std::io::BufRead as _;
use std::time::Duration;

/// Keys are no answer for so long after a question appeared.
const GUARD: Duration = Duration::from_millis(500);

/// Drops what was typed before the person can have read what is on the screen now.
pub(super) fn forget_input() {
    std::thread::sleep(GUARD);
    drop_typed();
}

#[cfg(unix)]
fn drop_typed() {
    use rustix::termios::{QueueSelector, tcflush};
    // Without a terminal there is nothing to drop.
    tcflush(std::io::stdin(), QueueSelector::IFlush).ok();
}

#[cfg(not(unix))]
fn drop_typed() {}

/// Waits for a line as long as `is_open` holds.
pub(super) fn wait_for_line(is_open: impl Fn() -> bool) -> Option<String> {
    while is_open() {
        if has_input() {
            let mut line = String::new();
            let length = std::io::stdin().lock().read_line(&mut line).ok()?;
            return (length > 0).then(|| line.trim().to_owned());
        }
    }
    None
}

/// Whether a line (or the end) is there; waits a moment for it.
#[cfg(unix)]
fn has_input() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = std::io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let moment = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    matches!(poll(&mut fds, Some(&moment)), Ok(1..))
}

/// Elsewhere the wait for a line cannot be left: the read itself waits.
#[cfg(not(unix))]
fn has_input() -> bool {
    true
}
