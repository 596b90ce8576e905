//! Short messages that need no answer.

use crate::ir::{Error, UnixMs};
use crate::port::RESTORABLE;

use super::Intent;

const SHOWN_MS: i64 = 5_000;
/// With something to do in them, or something to read.
const SHOWN_LONG_MS: i64 = 12_000;
const _: () = assert!((SHOWN_LONG_MS as u128) < RESTORABLE.as_millis(), "nothing offers what cannot be had");
const MOST_SHOWN: usize = 4;

/// What is shown now, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Toasts {
    pub shown: Vec<Toast>,
    next_id: u64,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct Toast {
    pub id: u64,
    pub tone: Tone,
    /// Its key in the language files, with its arguments.
    pub key: &'static str,
    pub args: Vec<(&'static str, String)>,
    /// An error's own words.
    pub detail: String,
    /// What went wrong, to be said in the window's language.
    pub error: Option<Error>,
    pub action: Option<ToastAction>,
    /// When it goes.
    pub until: UnixMs,
}

/// What kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tone {
    Info,
    Good,
    Warn,
    Bad,
}

/// Something to do about it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToastAction {
    /// The key of its button.
    pub key: &'static str,
    pub intent: Intent,
}

impl Toasts {
    /// Shows a message.
    pub fn say(&mut self, tone: Tone, key: &'static str, args: Vec<(&'static str, String)>, now: UnixMs) {
        self.say_with(tone, key, args, None, now);
    }

    /// Shows a message with something to do about it.
    pub fn say_with(
        &mut self,
        tone: Tone,
        key: &'static str,
        args: Vec<(&'static str, String)>,
        action: Option<ToastAction>,
        now: UnixMs,
    ) {
        let lasts = if action.is_some() { SHOWN_LONG_MS } else { SHOWN_MS };
        self.push(Toast {
            id: 0,
            tone,
            key,
            args,
            detail: String::new(),
            error: None,
            action,
            until: UnixMs(now.0 + lasts),
        });
    }

    /// Shows a message with what was the reason.
    pub fn say_why(
        &mut self,
        tone: Tone,
        key: &'static str,
        args: Vec<(&'static str, String)>,
        error: Error,
        now: UnixMs,
    ) {
        let until = UnixMs(now.0 + SHOWN_LONG_MS);
        self.push(Toast { id: 0, tone, key, args, detail: String::new(), error: Some(error), action: None, until });
    }

    /// Shows a message until it is dismissed.
    pub fn keep(&mut self, tone: Tone, key: &'static str) {
        self.push(Toast {
            id: 0,
            tone,
            key,
            args: Vec::new(),
            detail: String::new(),
            error: None,
            action: None,
            until: UnixMs(i64::MAX),
        });
    }

    /// Shows an error with its own words.
    pub fn fault(&mut self, key: &'static str, args: Vec<(&'static str, String)>, detail: String, now: UnixMs) {
        let until = UnixMs(now.0 + SHOWN_LONG_MS);
        self.push(Toast { id: 0, tone: Tone::Bad, key, args, detail, error: None, action: None, until });
    }

    fn push(&mut self, mut toast: Toast) {
        // The same message again only lasts longer.
        self.shown.retain(|shown| (shown.key, &shown.args, &shown.detail) != (toast.key, &toast.args, &toast.detail));
        self.next_id += 1;
        toast.id = self.next_id;
        self.shown.push(toast);
        let surplus = self.shown.len().saturating_sub(MOST_SHOWN);
        self.shown.drain(..surplus);
    }

    pub(super) fn dismiss(&mut self, id: u64) {
        self.shown.retain(|toast| toast.id != id);
    }

    pub(super) fn expire(&mut self, now: UnixMs) {
        self.shown.retain(|toast| toast.until > now);
    }

    pub(super) fn expires_at(&self) -> Option<UnixMs> {
        self.shown.iter().map(|toast| toast.until).filter(|until| until.0 < i64::MAX).min()
    }
}
