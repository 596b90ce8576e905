//! What is typed and not sent, per session: text, attachments, completion, the kept draft.

use std::fmt::Write as _;

use crate::ir::{Image, MessageId, UnixMs};
use crate::port::{Command, ImageAttachment, SavedPrompt};

use super::{AppState, HostAction, Intent, Panel, PathPurpose, Reaction, SettingsPage};

/// How long the keyboard rests before a draft is kept, in milliseconds.
const DRAFT_REST_MS: i64 = 400;

/// One session's box.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Composer {
    pub text: String,
    /// The cursor's place, in bytes.
    pub cursor: usize,
    /// Changes when the text was changed by anything but typing: the box takes it over then.
    pub revision: u64,
    pub attachments: Vec<Attachment>,
    /// The message that sending replaces by a new branch.
    pub editing: Option<MessageId>,
    pub completion: Option<Completion>,
    /// What was in the box before an edit began.
    before_edit: String,
    /// Sent, and not acknowledged yet.
    unsent: Option<Unsent>,
    changed_at: Option<UnixMs>,
}

#[derive(Debug, Clone, PartialEq)]
struct Unsent {
    text: String,
    attachments: Vec<Attachment>,
    editing: Option<MessageId>,
}

/// Something that goes with the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attachment {
    Image(ImageAttachment),
    /// A text file: sent as a code block below the text.
    Text {
        name: String,
        text: String,
    },
}

impl Attachment {
    /// Its file name.
    pub fn name(&self) -> &str {
        match self {
            Self::Image(image) => &image.name,
            Self::Text { name, .. } => name,
        }
    }

    /// Its size, in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Image(image) => image.bytes,
            Self::Text { text, .. } => text.len() as u64,
        }
    }
}

/// Characters of a prompt that are shown beside its name.
const BEGINNING: usize = 100;

/// A list of what the word at the cursor could become.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Where the word begins, in bytes, its `@` or `/` included.
    pub start: usize,
    pub choices: Vec<Choice>,
    pub highlighted: usize,
    /// The number of the question for paths; late answers carry another one.
    number: u64,
}

/// One choice of a completion.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// A path in the allowed folders; a folder ends with `/`.
    Path(String),
    Command(SlashCommand),
    /// A prompt of the library, by its index.
    Prompt {
        index: usize,
        name: String,
        beginning: String,
    },
}

/// A command that is typed with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    /// As it is typed, without the slash; the same in every language.
    pub name: &'static str,
    /// The key of what it does.
    pub key: &'static str,
}

/// Every slash command, in the order of the list.
pub const SLASH_COMMANDS: [SlashCommand; 10] = [
    SlashCommand { name: "new", key: "slash-new" },
    SlashCommand { name: "model", key: "slash-model" },
    SlashCommand { name: "folder", key: "slash-folder" },
    SlashCommand { name: "mode", key: "slash-mode" },
    SlashCommand { name: "stop", key: "slash-stop" },
    SlashCommand { name: "continue", key: "slash-continue" },
    SlashCommand { name: "fork", key: "slash-fork" },
    SlashCommand { name: "export", key: "slash-export" },
    SlashCommand { name: "settings", key: "slash-settings" },
    SlashCommand { name: "help", key: "slash-help" },
];

impl Composer {
    /// A box with a kept draft.
    pub fn with_draft(text: String) -> Self {
        Self { cursor: text.len(), text, revision: 1, ..Self::default() }
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.attachments.is_empty()
    }

    /// Whether an image is attached.
    pub fn has_image(&self) -> bool {
        self.attachments.iter().any(|attachment| matches!(attachment, Attachment::Image(_)))
    }

    /// Replaces the text, with the cursor at its end.
    pub fn set_text(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
        self.revision += 1;
        self.completion = None;
    }

    /// Puts a text in the place of what stands between a byte and the cursor, and the cursor behind it.
    pub(super) fn insert(&mut self, start: usize, text: &str, now: UnixMs) {
        let head = self.text.get(..start).unwrap_or_default();
        let tail = self.text.get(self.cursor..).unwrap_or_default();
        let (whole, cursor) = (format!("{head}{text}{tail}"), head.len() + text.len());
        self.set_text(whole);
        self.cursor = cursor;
        if self.editing.is_none() {
            self.changed_at = Some(now);
        }
    }

    /// Empties the box.
    pub fn clear(&mut self) {
        self.set_text(String::new());
        self.editing = None;
        self.changed_at = None;
    }

    pub(super) fn edit(&mut self, message: MessageId, text: String) {
        if self.editing.is_none() {
            self.before_edit = std::mem::take(&mut self.text);
        }
        self.set_text(text);
        self.editing = Some(message);
    }

    pub(super) fn cancel_edit(&mut self) {
        if self.editing.take().is_some() {
            let text = std::mem::take(&mut self.before_edit);
            self.set_text(text);
        }
    }

    /// The message as it is sent. What was in the box is kept until the engine has it.
    pub(super) fn take_for_sending(&mut self) -> (String, Vec<Image>) {
        let mut text = self.text.trim_end().to_owned();
        let mut images = Vec::new();
        for attachment in &self.attachments {
            match attachment {
                Attachment::Image(image) => images.push(image.image.clone()),
                Attachment::Text { name, text: content } => append_block(&mut text, name, content),
            }
        }
        let kept = if self.editing.is_some() { std::mem::take(&mut self.before_edit) } else { String::new() };
        self.unsent = Some(Unsent {
            text: std::mem::take(&mut self.text),
            attachments: std::mem::take(&mut self.attachments),
            editing: self.editing.take(),
        });
        self.set_text(kept);
        self.changed_at = None;
        (text, images)
    }

    /// The engine has the text. Gives whether it was waited for.
    pub(super) fn acknowledge(&mut self) -> bool {
        self.unsent.take().is_some()
    }

    /// The engine did not take the text: it comes back before whatever was typed since.
    pub(super) fn give_back(&mut self) {
        let Some(unsent) = self.unsent.take() else { return };
        let typed = std::mem::take(&mut self.text);
        let text = if typed.trim().is_empty() { unsent.text } else { format!("{}\n{typed}", unsent.text) };
        self.set_text(text);
        self.editing = unsent.editing;
        let added = std::mem::take(&mut self.attachments);
        self.attachments = unsent.attachments;
        self.attachments.extend(added);
    }

    pub(super) fn mark_unsaved(&mut self, now: UnixMs) {
        self.changed_at = Some(now);
    }

    /// When the draft is due to be kept.
    pub(super) fn due_at(&self) -> Option<UnixMs> {
        self.changed_at.map(|at| UnixMs(at.0 + DRAFT_REST_MS))
    }

    /// The slash command that the box holds, if it holds nothing else.
    pub(super) fn typed_command(&self) -> Option<SlashCommand> {
        let name = self.text.trim().strip_prefix('/')?;
        SLASH_COMMANDS.iter().find(|command| command.name == name).cloned()
    }
}

/// The prompts of the library whose name holds what was typed.
fn saved_prompts<'all>(library: &'all [SavedPrompt], typed: &str) -> impl Iterator<Item = Choice> + use<'all> {
    let typed = typed.to_lowercase();
    let fits = move |(_, prompt): &(usize, &SavedPrompt)| prompt.name.to_lowercase().contains(&typed);
    library.iter().enumerate().filter(fits).map(|(index, prompt)| {
        let line = prompt.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let beginning = line.trim().chars().take(BEGINNING).collect();
        Choice::Prompt { index, name: prompt.name.clone(), beginning }
    })
}

fn append_block(text: &mut String, name: &str, content: &str) {
    // A fence longer than any run of backticks inside, so that the content cannot end it.
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let gap = if text.is_empty() { "" } else { "\n\n" };
    let end = if content.ends_with('\n') { "" } else { "\n" };
    let written = write!(text, "{gap}{name}:\n{fence}\n{content}{end}{fence}");
    debug_assert!(written.is_ok(), "writing to a string does not fail");
}

impl AppState {
    pub(super) fn edit_draft(&mut self, text: String, cursor: usize, now: UnixMs) -> Reaction {
        let has_folders = self.current().is_some_and(|session| !session.folders.is_empty());
        let Some(composer) = self.composer_mut() else { return Reaction::none() };
        let is_changed = composer.text != text;
        composer.text = text;
        composer.cursor = cursor.min(composer.text.len());
        if is_changed && composer.editing.is_none() {
            composer.changed_at = Some(now);
        }
        if !is_changed && composer.completion.is_none() {
            return Reaction::none();
        }
        self.complete(has_folders)
    }

    /// Offers what the word at the cursor could become.
    fn complete(&mut self, has_folders: bool) -> Reaction {
        let library = self.settings.prompts.library.as_slice();
        let Some(composer) = self.selected.as_ref().and_then(|session| self.composers.get_mut(session)) else {
            return Reaction::none();
        };
        let Some(before) = composer.text.get(..composer.cursor) else { return Reaction::none() };
        if let Some(typed) = before.strip_prefix('/').filter(|typed| !typed.contains(char::is_whitespace)) {
            let commands = SLASH_COMMANDS.iter().filter(|command| command.name.starts_with(typed)).cloned();
            let prompts = saved_prompts(library, typed);
            let choices: Vec<Choice> = commands.map(Choice::Command).chain(prompts).collect();
            composer.completion =
                (!choices.is_empty()).then_some(Completion { start: 0, choices, highlighted: 0, number: 0 });
            return Reaction::none();
        }
        let start = before
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
        let Some(prefix) = before.get(start..).and_then(|word| word.strip_prefix('@')).map(str::to_owned) else {
            composer.completion = None;
            return Reaction::none();
        };
        if !has_folders {
            composer.completion = None;
            return Reaction::none();
        }
        let number = self.take_number();
        let session = self.selected.clone();
        if let Some(composer) = self.composer_mut() {
            match &mut composer.completion {
                // The old choices stay until the new ones come, so that the list does not flicker.
                Some(completion) if completion.start == start => completion.number = number,
                Some(_) | None => {
                    composer.completion = Some(Completion { start, choices: Vec::new(), highlighted: 0, number });
                }
            }
        }
        Command::CompletePath { session, prefix, number }.into()
    }

    /// Gives whether the answer was for the composer.
    pub(super) fn complete_paths(&mut self, number: u64, paths: &[String]) -> bool {
        let Some(composer) = self.composer_mut() else { return false };
        let Some(completion) = composer.completion.as_mut().filter(|completion| completion.number == number) else {
            return false;
        };
        completion.choices = paths.iter().take(50).cloned().map(Choice::Path).collect();
        completion.highlighted = 0;
        true
    }

    pub(super) fn move_completion(&mut self, step: i32) -> Reaction {
        if let Some(completion) = self.composer_mut().and_then(|composer| composer.completion.as_mut()) {
            let last = completion.choices.len().saturating_sub(1);
            let step = isize::try_from(step).unwrap_or(0);
            completion.highlighted = completion.highlighted.saturating_add_signed(step).min(last);
        }
        Reaction::none()
    }

    pub(super) fn close_completion(&mut self) -> Reaction {
        if let Some(composer) = self.composer_mut() {
            composer.completion = None;
        }
        Reaction::none()
    }

    pub(super) fn accept_completion(&mut self, index: Option<usize>, now: UnixMs) -> Reaction {
        let Some(composer) = self.composer_mut() else { return Reaction::none() };
        let Some(completion) = composer.completion.take() else { return Reaction::none() };
        let index = index.unwrap_or(completion.highlighted);
        match completion.choices.get(index) {
            None => Reaction::none(),
            Some(Choice::Command(command)) => {
                composer.clear();
                self.run_slash(command, now)
            }
            Some(Choice::Prompt { index, .. }) => {
                let Some(text) = self.settings.prompts.library.get(*index).map(|prompt| prompt.text.clone()) else {
                    return Reaction::none();
                };
                let Some(composer) = self.composer_mut() else { return Reaction::none() };
                composer.insert(completion.start, &text, now);
                HostAction::FocusComposer.into()
            }
            Some(Choice::Path(path)) => {
                // A folder stays open for its files; a file is done.
                let insert = if path.ends_with('/') { format!("@{path}") } else { format!("`{path}` ") };
                composer.insert(completion.start, &insert, now);
                let reaction = if path.ends_with('/') { self.complete(true) } else { Reaction::none() };
                reaction.and(HostAction::FocusComposer.into())
            }
        }
    }

    pub(super) fn attach(&mut self, attachment: Attachment) -> Reaction {
        if let Some(composer) = self.composer_mut() {
            composer.attachments.push(attachment);
        }
        HostAction::FocusComposer.into()
    }

    pub(super) fn remove_attachment(&mut self, index: usize) -> Reaction {
        if let Some(composer) = self.composer_mut()
            && index < composer.attachments.len()
        {
            composer.attachments.remove(index);
        }
        HostAction::FocusComposer.into()
    }

    pub(super) fn run_slash(&mut self, command: &SlashCommand, now: UnixMs) -> Reaction {
        let Some(session) = self.selected.clone() else { return Reaction::none() };
        let intent = match command.name {
            "new" => Intent::NewChat,
            "model" => Intent::Open(Panel::Models),
            "folder" => Intent::PickPath(PathPurpose::SessionFolder),
            "mode" => Intent::Open(Panel::Session),
            "stop" => Intent::Stop,
            "continue" => Intent::Continue,
            "fork" => Intent::ForkSession(session.clone()),
            "export" => Intent::PickPath(PathPurpose::Export(session.clone())),
            "settings" => Intent::OpenSettings(SettingsPage::General),
            _ => Intent::Open(Panel::Shortcuts),
        };
        // The kept draft must not bring the command back.
        Reaction::from(Command::SaveDraft { session, text: String::new() }).and(self.on_intent(intent, now))
    }

    /// Drafts whose typing rests.
    pub(super) fn rested_drafts(&mut self, now: UnixMs) -> Vec<Command> {
        self.take_drafts(|due| due <= now)
    }

    /// All drafts that are not kept yet.
    pub(super) fn unsaved_drafts(&mut self) -> Vec<Command> {
        self.take_drafts(|_| true)
    }

    fn take_drafts(&mut self, is_due: impl Fn(UnixMs) -> bool) -> Vec<Command> {
        let mut commands = Vec::new();
        for (session, composer) in &mut self.composers {
            if composer.due_at().is_some_and(&is_due) {
                composer.changed_at = None;
                commands.push(Command::SaveDraft { session: session.clone(), text: composer.text.clone() });
            }
        }
        commands
    }
}
