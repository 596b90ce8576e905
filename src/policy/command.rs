//! The courtesy list: command lines that are refused before anybody is asked, judged on the parsed line.
//! It saves the person a question; the wall is the kernel, and no verdict here ever allows anything.

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
    /// Could not be taken apart: asked, and no allow rule applies.
    Unparsed,
}

/// Takes a command line apart (quotes, `;`, `&&`, `|`, `$( )`, newlines) and judges every simple command in it.
pub fn judge_command(command: &str) -> CommandJudgement {
    let _ = command;
    todo!()
}
