//! The courtesy list: command lines that are refused before anybody is asked, judged on the parsed line.
//! It saves the person a question; the wall is the kernel, and no verdict here ever allows anything.
//!
//! `source` reads a text into what `syntax` holds, or not at all; `walk` goes through every simple command in it, in whatever
//! it is wrapped; `run` judges one and what it runs in its turn; `word` takes quotes off; `courtesy` is the list itself, by
//! program; `started` gathers on the same walk which files a line starts, by the lists in `program`. What a judgement may cost is bounded twice: `source` reads every character once, and the walk pays `effort` for
//! all that it looks at.

mod courtesy;
mod effort;
mod places;
mod program;
mod run;
mod source;
mod started;
mod syntax;
mod walk;
mod word;
mod wrapper;

pub use program::is_taken_for_plain;
pub use started::{Language, NamedFile, StartedFiles};

/// What the parser made of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandJudgement {
    /// On the list of what is never run.
    Denied {
        /// One sentence: what in it is refused, and why.
        reason: String,
    },
    /// Parsed; nothing on the list.
    Parsed,
    /// Could not be taken apart, or is too long or too tangled to be: asked, and no allow rule applies.
    Unparsed,
}

/// Takes a command line apart (quotes, `;`, `&&`, `|`, `$( )`, newlines) and judges every simple command in it.
pub fn judge_command(command: &str) -> CommandJudgement {
    let mut walk = walk::Walk::default();
    let _stage = walk.script(command);
    match walk.finish() {
        walk::Outcome::Denied(what) => CommandJudgement::Denied {
            reason: format!("This command is never run here: {what}. Do it another way, or ask the person to do it."),
        },
        walk::Outcome::Parsed => CommandJudgement::Parsed,
        walk::Outcome::Unparsed => CommandJudgement::Unparsed,
    }
}

/// What a text for a shell starts, as far as the text tells, when it begins in this folder; `None` where nobody knows in which.
pub fn started_files(text: &str, folder: Option<&str>) -> StartedFiles {
    let mut walk = walk::Walk::default();
    walk.started = started::Started::in_folder(folder);
    let _stage = walk.script(text);
    walk.started_files()
}

#[cfg(test)]
mod tests;
