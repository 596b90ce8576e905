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
pub(super) fn wait_for_line(mut is_open: impl FnMut() -> bool) -> Option<String> {
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

/// A line that does not show while it is typed.
pub(super) fn read_hidden_line() -> std::io::Result<String> {
    let _hidden = Hidden::begin();
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}

/// While this lives the terminal shows nothing of what is typed.
struct Hidden {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

impl Hidden {
    #[cfg(unix)]
    fn begin() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let stdin = std::io::stdin();
        let before = tcgetattr(&stdin).ok();
        if let Some(before) = &before {
            let mut silent = before.clone();
            silent.local_modes.remove(LocalModes::ECHO);
            // A terminal that cannot be silenced is still one.
            tcsetattr(&stdin, OptionalActions::Flush, &silent).ok();
        }
        Self { before }
    }

    #[cfg(not(unix))]
    fn begin() -> Self {
        Self {}
    }
}

#[cfg(unix)]
impl Drop for Hidden {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(before) = &self.before {
            tcsetattr(std::io::stdin(), OptionalActions::Flush, before).ok();
        }
    }
}
