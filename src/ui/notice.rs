//! A word on the desktop while the window has no focus: a question waits, or a long turn ended. It names a file at most,
//! never a path, a content or a secret, and every text goes through the one escape function.

use crate::lang::{Arg, Lang};
use crate::policy::{one_line, one_line_name, redact};
use crate::port::{ConfirmRequest, TurnEnd, TurnOutcome};

use super::sentence;

/// A turn of at least this long is worth a word, in milliseconds.
pub(super) const LONG_TURN_MS: u64 = 15_000;

/// Characters of a file's name or a title.
const LONGEST: usize = 120;

/// What is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) title: String,
    pub(super) body: String,
}

impl Notice {
    /// For a question that waits.
    pub(super) fn of_question(lang: &Lang, request: &ConfirmRequest) -> Self {
        let name = request.target.rsplit(['/', '\\']).next().unwrap_or_default();
        let is_command = request.access == crate::ir::Access::Execute;
        let body = if is_command {
            lang.text("notify-answer").to_owned()
        } else {
            one_line_name(&redact(name), LONGEST).into_owned()
        };
        Self { title: lang.text(sentence::title_key(request)).to_owned(), body }
    }

    /// For a turn that ended; nothing for one that the person stopped.
    pub(super) fn of_end(lang: &Lang, end: &TurnEnd, session_title: &str) -> Option<Self> {
        let key = match end.outcome {
            TurnOutcome::Done | TurnOutcome::Denied | TurnOutcome::Limit => "notify-ended",
            TurnOutcome::Failed => "notify-failed",
            TurnOutcome::Stopped => return None,
        };
        let title = lang.format(key, &[("program", Arg::from("Nod"))]);
        Some(Self { title, body: safe(session_title) })
    }

    /// Shows it. Where the desktop takes none, nothing happens: the window asks for attention besides.
    #[cfg(target_os = "linux")]
    pub(super) fn show(self) {
        let show = move || {
            let shown = self.send();
            if let Err(error) = shown {
                tracing::debug!(%error, "the desktop took no notification");
            }
        };
        // The bus may take its time; the window does not wait for it.
        if std::thread::Builder::new().name("nod-notice".to_owned()).spawn(show).is_err() {
            tracing::debug!("no thread for a notification");
        }
    }

    /// Shows nothing: the window's own sign in the task bar has to do.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn show(self) {
        drop(self);
    }

    #[cfg(target_os = "linux")]
    fn send(&self) -> Result<(), zbus::Error> {
        const NAME: &str = "org.freedesktop.Notifications";
        // Some desktops read markup in it.
        let body = self.body.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let hints: std::collections::HashMap<&str, zbus::zvariant::Value<'_>> = std::collections::HashMap::new();
        let actions: [&str; 0] = [];
        let words = ("Nod", 0_u32, "", self.title.as_str(), body.as_str(), &actions[..], hints, 10_000_i32);
        let bus = zbus::blocking::Connection::session()?;
        bus.call_method(Some(NAME), "/org/freedesktop/Notifications", Some(NAME), "Notify", &words)?;
        Ok(())
    }
}

fn safe(text: &str) -> String {
    one_line(&redact(text), LONGEST).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::Locale;

    #[test]
    fn a_notification_names_the_file_alone_and_hides_what_deceives() {
        let lang = Lang::new(Locale::English);
        assert_eq!(safe("a\u{202E}b"), "a\\u{202E}b");
        let end = |outcome| TurnEnd {
            session_id: crate::ir::SessionId::new("s"),
            outcome,
            content: String::new(),
            usage: crate::ir::TokenUsage::default(),
            rounds: 1,
            error: None,
            can_continue: false,
        };
        let key = format!("sk-ant-api03-{}", "Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0FeDcBa98");
        let shown = Notice::of_end(&lang, &end(TurnOutcome::Done), &format!("Use {key}")).unwrap();
        assert_eq!(shown.body, "Use «masked: API key»");
        assert_eq!(Notice::of_end(&lang, &end(TurnOutcome::Stopped), "x"), None);
    }
}
