//! A process that is killed by its own hand at a step that it tells the log: as `kill -9` from outside would, at no other moment.

use tracing::Event;
use tracing::field::{Field, Visit};

/// The name of the step that an event tells; empty where it tells none.
pub(crate) fn step_of(event: &Event<'_>) -> String {
    struct Name(String);

    impl Visit for Name {
        fn record_str(&mut self, field: &Field, value: &str) {
            if field.name() == "step" {
                value.clone_into(&mut self.0);
            }
        }

        fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
    }

    let mut name = Name(String::new());
    event.record(&mut name);
    name.0
}

/// Ends this process.
pub(crate) fn kill_itself() -> ! {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
    loop {
        std::thread::park();
    }
}
