//! Paths that the person chooses: by the system's dialog, or typed where there is none or on choice.

use std::path::{Path, PathBuf};

use crate::port::Command;

use super::Phase;
use super::intent::FaultChoice;
use super::{AppState, HostAction, PathPurpose, Reaction};

/// A dialog that closes without a choice this fast was never there, in milliseconds.
const NO_DIALOG_MS: u64 = 400;

/// The field for a typed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathEntry {
    pub purpose: PathPurpose,
    pub text: String,
    /// What it could become.
    pub paths: Vec<String>,
    /// Whether it is here because no dialog opened.
    pub is_without_dialog: bool,
    number: u64,
}

impl AppState {
    pub(super) fn pick_path(&mut self, purpose: PathPurpose) -> Reaction {
        let suggested_name = self.suggested_name(&purpose);
        HostAction::PickPath { purpose, suggested_name }.into()
    }

    fn suggested_name(&self, purpose: &PathPurpose) -> String {
        match purpose {
            PathPurpose::Export(session) => {
                let title = self.sessions.iter().find(|other| other.id == *session).map(|found| found.title.as_str());
                format!("{}.json", file_name_of(title.unwrap_or_default()))
            }
            PathPurpose::AuditExport => "audit.csv".to_owned(),
            PathPurpose::ExportAll => "nod-chats.json".to_owned(),
            PathPurpose::Backup => "nod-backup.db".to_owned(),
            PathPurpose::SessionFolder
            | PathPurpose::DefaultFolder
            | PathPurpose::DataFolder
            | PathPurpose::Attachment
            | PathPurpose::SensitiveFile
            | PathPurpose::Workspace
            | PathPurpose::Import => String::new(),
        }
    }

    pub(super) fn dialog_closed(&mut self, purpose: PathPurpose, paths: Vec<PathBuf>, waited_ms: u64) -> Reaction {
        if !paths.is_empty() {
            return self.use_paths(purpose, paths);
        }
        if waited_ms >= NO_DIALOG_MS {
            return Reaction::none();
        }
        let reaction = self.type_path(purpose);
        if let Some(entry) = &mut self.path {
            entry.is_without_dialog = true;
        }
        reaction
    }

    pub(super) fn type_path(&mut self, purpose: PathPurpose) -> Reaction {
        let name = self.suggested_name(&purpose);
        let text = if name.is_empty() { String::new() } else { format!("~/{name}") };
        self.path =
            Some(PathEntry { purpose, text: String::new(), paths: Vec::new(), is_without_dialog: false, number: 0 });
        self.edit_path(text)
    }

    pub(super) fn edit_path(&mut self, text: String) -> Reaction {
        let number = self.take_number();
        let Some(entry) = &mut self.path else { return Reaction::none() };
        entry.number = number;
        entry.text.clone_from(&text);
        // Before the engine runs there is nobody to ask.
        if self.phase != Phase::Running {
            return Reaction::none();
        }
        Command::CompletePath { session: None, prefix: text, number }.into()
    }

    pub(super) fn paths_completed(&mut self, number: u64, paths: Vec<String>) -> Reaction {
        if self.complete_paths(number, &paths) {
            return Reaction::none();
        }
        if let Some(entry) = self.path.as_mut().filter(|entry| entry.number == number) {
            entry.paths = paths;
        }
        Reaction::none()
    }

    pub(super) fn submit_path(&mut self) -> Reaction {
        let Some(entry) = self.path.take() else { return Reaction::none() };
        let typed = entry.text.trim();
        if typed.is_empty() {
            return Reaction::none();
        }
        self.use_paths(entry.purpose, vec![PathBuf::from(typed)])
    }

    fn use_paths(&mut self, purpose: PathPurpose, paths: Vec<PathBuf>) -> Reaction {
        if purpose == PathPurpose::Attachment {
            return HostAction::ReadFiles(paths).into();
        }
        let Some(path) = paths.into_iter().next() else { return Reaction::none() };
        match purpose {
            PathPurpose::Attachment => Reaction::none(),
            PathPurpose::SessionFolder => self.add_folder(path),
            PathPurpose::DefaultFolder => self.add_default_folder(&path),
            PathPurpose::Workspace => self.choose_workspace(&path),
            PathPurpose::SensitiveFile => self.with_selected(|session| Command::LiftSensitive { session, path }),
            PathPurpose::DataFolder => {
                self.phase = Phase::Starting;
                HostAction::Restart(FaultChoice::UseFolder(path)).into()
            }
            PathPurpose::Export(session) => Command::ExportSession { session, path }.into(),
            PathPurpose::AuditExport => {
                let filter = self.audit.as_ref().map(|view| view.filter.clone()).unwrap_or_default();
                Command::ExportAudit { filter, path }.into()
            }
            PathPurpose::ExportAll => Command::ExportAllSessions { path }.into(),
            PathPurpose::Backup => Command::BackUp { path }.into(),
            PathPurpose::Import => {
                self.awaited_sessions += 1;
                Command::ImportSession { path }.into()
            }
        }
    }

    pub(super) fn add_folder(&mut self, path: PathBuf) -> Reaction {
        self.with_selected(|session| Command::AddFolder { session, path })
    }

    fn add_default_folder(&mut self, path: &Path) -> Reaction {
        let mut folders = self.settings.safety.folders.clone();
        let added = path.display().to_string();
        if !folders.contains(&added) {
            folders.push(added);
        }
        self.settings.safety.folders.clone_from(&folders);
        Command::SetSetting { key: "safety.folders".to_owned(), value: folders.into() }.into()
    }
}

/// A title as a file name: no character that any system refuses.
fn file_name_of(title: &str) -> String {
    let name: String =
        title.chars().map(|c| if c.is_control() || r#"<>:"/\|?*"#.contains(c) { '-' } else { c }).take(60).collect();
    let name = name.trim().trim_matches('.').to_owned();
    if name.is_empty() { "chat".to_owned() } else { name }
}
