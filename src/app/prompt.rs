//! The prompt library: words that the person sends again and again, each under a name. Kept as one setting; inserted into
//! the message box, never sent by themselves.

use serde_json::json;

use crate::ir::UnixMs;
use crate::port::{PromptSettings, SavedPrompt};

use super::toast::{ToastAction, Tone};
use super::{AppState, HostAction, Intent, Reaction};

const KEY: &str = "prompts.library";

/// What is wrong with a prompt that shall be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptProblem {
    NoName,
    NameTaken,
    NoText,
    TooLong,
    TooMany,
}

impl PromptProblem {
    /// The key of its words.
    pub const fn key(self) -> &'static str {
        match self {
            Self::NoName => "settings-prompt-no-name",
            Self::NameTaken => "settings-prompt-name-taken",
            Self::NoText => "settings-prompt-no-text",
            Self::TooLong => "settings-prompt-too-long",
            Self::TooMany => "settings-prompt-too-many",
        }
    }
}

impl AppState {
    /// What stands in the way of keeping a prompt in the place of the one at `at`, or as a new one.
    pub fn prompt_problem(&self, at: Option<usize>, name: &str, text: &str) -> Option<PromptProblem> {
        let name = name.trim();
        let library = &self.settings.prompts.library;
        let is_same = |other: &SavedPrompt| other.name.to_lowercase() == name.to_lowercase();
        if name.is_empty() {
            Some(PromptProblem::NoName)
        } else if text.trim().is_empty() {
            Some(PromptProblem::NoText)
        } else if name.chars().count() > PromptSettings::NAME_CHARS || text.len() > PromptSettings::TEXT_BYTES {
            Some(PromptProblem::TooLong)
        } else if library.iter().enumerate().any(|(index, other)| Some(index) != at && is_same(other)) {
            Some(PromptProblem::NameTaken)
        } else if at.is_none() && library.len() >= PromptSettings::MOST {
            Some(PromptProblem::TooMany)
        } else {
            None
        }
    }

    pub(super) fn put_prompt(&mut self, at: Option<usize>, prompt: SavedPrompt, now: UnixMs) -> Reaction {
        if self.prompt_problem(at, &prompt.name, &prompt.text).is_some() {
            return Reaction::none();
        }
        let prompt = SavedPrompt { name: prompt.name.trim().to_owned(), text: prompt.text };
        let mut library = self.settings.prompts.library.clone();
        match at.and_then(|index| library.get_mut(index)) {
            Some(known) => *known = prompt,
            None => library.push(prompt),
        }
        library.sort_by_cached_key(|prompt| prompt.name.to_lowercase());
        self.set_setting(KEY, json!(library), now)
    }

    pub(super) fn remove_prompt(&mut self, index: usize, now: UnixMs) -> Reaction {
        let mut library = self.settings.prompts.library.clone();
        if index >= library.len() {
            return Reaction::none();
        }
        let removed = library.remove(index);
        let args = vec![("name", removed.name.clone())];
        let back = ToastAction { key: "notice-undo", intent: Intent::PutPrompt { at: None, prompt: removed } };
        self.toasts.say_with(Tone::Info, "notice-prompt-deleted", args, Some(back), now);
        self.set_setting(KEY, json!(library), now)
    }

    /// Puts a prompt's text where the cursor is.
    pub(super) fn insert_prompt(&mut self, index: usize, now: UnixMs) -> Reaction {
        let Some(prompt) = self.settings.prompts.library.get(index).cloned() else { return Reaction::none() };
        self.settings_page = None;
        let Some(composer) = self.composer_mut() else { return Reaction::none() };
        let start = composer.cursor;
        composer.insert(start, &prompt.text, now);
        HostAction::FocusComposer.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_support::open_state;
    use crate::port::Command;

    const NOW: UnixMs = UnixMs(1_000);

    fn prompt(name: &str, text: &str) -> SavedPrompt {
        SavedPrompt { name: name.to_owned(), text: text.to_owned() }
    }

    fn names(state: &AppState) -> Vec<&str> {
        state.settings.prompts.library.iter().map(|prompt| prompt.name.as_str()).collect()
    }

    #[test]
    fn the_library_is_kept_as_one_setting_in_the_order_of_names() {
        let mut state = open_state();
        state.put_prompt(None, prompt(" review ", "Look at this."), NOW);
        let reaction = state.put_prompt(None, prompt("Commit", "Write a message."), NOW);
        let value = json!([
            {"name": "Commit", "text": "Write a message."},
            {"name": "review", "text": "Look at this."},
        ]);
        assert_eq!(reaction.commands, [Command::SetSetting { key: "prompts.library".to_owned(), value }]);
        state.put_prompt(Some(0), prompt("Zip", "Write it short."), NOW);
        assert_eq!(names(&state), ["review", "Zip"]);
    }

    #[test]
    fn what_cannot_be_kept_says_why_and_changes_nothing() {
        let mut state = open_state();
        state.put_prompt(None, prompt("review", "Look."), NOW);
        let long = "x".repeat(PromptSettings::TEXT_BYTES + 1);
        for (at, name, text, problem) in [
            (None, " ", "Look.", PromptProblem::NoName),
            (None, "Review", "Look.", PromptProblem::NameTaken),
            (None, "other", "\n", PromptProblem::NoText),
            (None, "other", long.as_str(), PromptProblem::TooLong),
        ] {
            assert_eq!(state.prompt_problem(at, name, text), Some(problem), "{name:?}");
            assert_eq!(state.put_prompt(at, prompt(name, text), NOW), Reaction::none());
        }
        assert_eq!(state.prompt_problem(Some(0), "Review", "Look."), None, "its own name is free for it");
        assert_eq!(names(&state), ["review"]);
    }

    #[test]
    fn a_deleted_prompt_comes_back_by_one_press() {
        let mut state = open_state();
        state.put_prompt(None, prompt("review", "Look."), NOW);
        state.remove_prompt(0, NOW);
        assert_eq!(names(&state), Vec::<&str>::new());
        let back = state.toasts.shown.last().and_then(|toast| toast.action.clone()).unwrap();
        state.on_intent(back.intent, NOW);
        assert_eq!(state.settings.prompts.library, [prompt("review", "Look.")]);
    }

    #[test]
    fn its_text_goes_where_the_cursor_is_and_is_not_sent() {
        let mut state = open_state();
        state.put_prompt(None, prompt("review", "Look at this."), NOW);
        state.on_intent(Intent::EditDraft { text: "Hello. Thanks.".to_owned(), cursor: 7 }, NOW);
        let reaction = state.on_intent(Intent::InsertPrompt(0), NOW);
        assert_eq!(reaction, HostAction::FocusComposer.into());
        let composer = state.composer().unwrap();
        assert_eq!((composer.text.as_str(), composer.cursor), ("Hello. Look at this.Thanks.", 20));
    }

    #[test]
    fn a_slash_and_a_part_of_its_name_complete_to_its_text() {
        let mut state = open_state();
        state.put_prompt(None, prompt("Code review", "Look at this."), NOW);
        state.on_intent(Intent::EditDraft { text: "/rev".to_owned(), cursor: 4 }, NOW);
        state.on_intent(Intent::AcceptCompletion(None), NOW);
        let composer = state.composer().unwrap();
        assert_eq!((composer.text.as_str(), composer.completion.as_ref()), ("Look at this.", None));
    }
}
