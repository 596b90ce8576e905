//! Where the data lies, how much it is, and how to take chats out and in.

use egui::Ui;

use crate::app::rows::bytes;
use crate::app::{Intent, PathPurpose};
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::widget::Button;

use super::{group, heading, note, row, title};

pub(super) fn show(ui: &mut Ui, scene: &mut Scene<'_>) {
    let lang = scene.lang;
    title(ui, scene, lang.text("settings-page-data"), lang.text("settings-data-line"));
    let folder = scene.state.data_dir.display().to_string();
    group(ui, scene, |ui, scene| {
        let clicked = row(ui, scene.theme, lang.text("settings-data-folder"), &folder, |ui| {
            let copy = ui.add(Button::ghost(lang.text("settings-copy-path"))).clicked();
            let open = ui.add(Button::secondary(lang.text("settings-open-folder")).icon(Icon::ExternalLink)).clicked();
            (open, copy)
        });
        if clicked.0 {
            scene.push(Intent::ShowInFolder(scene.state.data_dir.clone()));
        }
        if clicked.1 {
            scene.push(Intent::CopyText(folder.clone()));
        }
        let size = scene.state.data_bytes.map_or_else(|| lang.text("settings-data-measuring").to_owned(), bytes);
        row(ui, scene.theme, lang.text("settings-data-size"), &size, |_| ());
    });
    heading(ui, scene, lang.text("settings-data-chats"));
    group(ui, scene, |ui, scene| {
        let title = scene.state.current().map(|session| session.title.clone()).unwrap_or_default();
        let (name, help) = (lang.text("settings-export"), lang.text("settings-export-help"));
        let exports = row(ui, scene.theme, name, help, |ui| {
            ui.add(Button::secondary(lang.text("settings-export-start")).icon(Icon::Upload).disabled(title.is_empty()))
                .clicked()
        });
        if exports && let Some(session) = scene.state.current().map(|session| session.id.clone()) {
            scene.push(Intent::PickPath(PathPurpose::Export(session)));
        }
        let is_empty = scene.state.sessions.is_empty();
        let (name, help) = (lang.text("settings-export-all"), lang.text("settings-export-all-help"));
        let exports = row(ui, scene.theme, name, help, |ui| {
            let button = Button::secondary(lang.text("settings-export-all-start")).icon(Icon::Upload);
            ui.add(button.disabled(is_empty)).clicked()
        });
        if exports {
            scene.push(Intent::PickPath(PathPurpose::ExportAll));
        }
        let (name, help) = (lang.text("settings-import"), lang.text("settings-import-help"));
        let imports = row(ui, scene.theme, name, help, |ui| {
            ui.add(Button::secondary(lang.text("settings-import-start")).icon(Icon::Download)).clicked()
        });
        if imports {
            scene.push(Intent::PickPath(PathPurpose::Import));
        }
    });
    heading(ui, scene, lang.text("settings-data-whole"));
    group(ui, scene, |ui, scene| {
        let (name, help) = (lang.text("settings-backup"), lang.text("settings-backup-help"));
        let backs_up = row(ui, scene.theme, name, help, |ui| {
            ui.add(Button::secondary(lang.text("settings-backup-start")).icon(Icon::Download)).clicked()
        });
        if backs_up {
            scene.push(Intent::PickPath(PathPurpose::Backup));
        }
        let is_empty = scene.state.sessions.is_empty();
        let (name, help) = (lang.text("settings-delete-all"), lang.text("settings-delete-all-help"));
        let deletes = row(ui, scene.theme, name, help, |ui| {
            let button = Button::danger(lang.text("settings-delete-all-start")).icon(Icon::Trash);
            ui.add(button.disabled(is_empty)).clicked()
        });
        if deletes {
            scene.push(Intent::DeleteAllSessions);
        }
    });
    note(ui, scene, lang.text("settings-data-note"), scene.theme.colors.dim);
}
