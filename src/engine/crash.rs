//! What is left of a crash: a few words without secrets, in the log and on standard error, and no image of the memory.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write as _;
use std::panic::PanicHookInfo;

use crate::policy;

/// From here on this process reports its panics without secrets, and leaves no core file: keys lie in its memory.
pub fn guard_crashes() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        if let Err(error) = setrlimit(Resource::Core, none) {
            tracing::warn!(%error, "a crash may leave a core file");
        }
    }
    std::panic::set_hook(Box::new(|panic| {
        let report = report(panic, &Backtrace::capture());
        tracing::error!("{report}");
        // Where nothing can be said, nothing is.
        writeln!(std::io::stderr(), "{report}").ok();
    }));
}

fn report(panic: &PanicHookInfo<'_>, backtrace: &Backtrace) -> String {
    let thread = std::thread::current();
    let place = panic.location().map_or_else(String::new, ToString::to_string);
    let words = panic.payload_as_str().unwrap_or("no words");
    let mut report = format!("thread {} panicked at {place}: {words}", thread.name().unwrap_or("without a name"));
    if backtrace.status() == BacktraceStatus::Captured {
        report.push('\n');
        report.push_str(&backtrace.to_string());
    }
    policy::escape(&policy::redact(&report), true).into_owned()
}
