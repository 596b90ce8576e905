//! Work that would hold a frame up, each piece on a named thread: dialogs, reading attached files, making their pictures
//! ready to be sent.
#![expect(clippy::disallowed_methods, reason = "a dialog's waiting time is measured here")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use egui::ColorImage;
use rfd::FileDialog;

use crate::app::{Intent, PathPurpose};
use crate::port::picture::{self, PictureProblem};

use super::host::Arrival;
use super::waker::Waker;

/// Largest text file that is attached, in bytes.
const MOST_TEXT_BYTES: u64 = 1_048_576;

/// Runs something on a thread and brings what it gives back to the window.
pub(super) fn spawn(
    name: &str,
    arrived: &SyncSender<Arrival>,
    waker: &Arc<Waker>,
    work: impl FnOnce() -> Vec<Arrival> + Send + 'static,
) {
    let (arrived, waker) = (arrived.clone(), Arc::clone(waker));
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        for arrival in work() {
            // The window is gone: nobody waits for this any more.
            if arrived.send(arrival).is_err() {
                return;
            }
            waker.wake();
        }
    });
    if let Err(error) = started {
        tracing::error!(%error, "no thread for the window's work");
    }
}

/// The key of a dialog's title.
pub(super) const fn dialog_title(purpose: &PathPurpose) -> &'static str {
    match purpose {
        PathPurpose::SessionFolder | PathPurpose::DefaultFolder => "path-title-folder",
        PathPurpose::Workspace => "path-title-workspace",
        PathPurpose::DataFolder => "path-title-data",
        PathPurpose::Attachment => "path-title-attach",
        PathPurpose::Export(_) => "path-title-export",
        PathPurpose::AuditExport => "path-title-audit",
        PathPurpose::ExportAll => "path-title-export-all",
        PathPurpose::Backup => "path-title-backup",
        PathPurpose::Import => "path-title-import",
        PathPurpose::SensitiveFile => "path-title-sensitive",
    }
}

/// Asks with the system's dialog. The time it took tells a missing dialog from one that was cancelled.
pub(super) fn pick_path(purpose: PathPurpose, title: &str, suggested_name: &str) -> Vec<Arrival> {
    let start = Instant::now();
    let dialog = FileDialog::new().set_title(title);
    let paths = match &purpose {
        PathPurpose::SessionFolder | PathPurpose::DefaultFolder | PathPurpose::DataFolder | PathPurpose::Workspace => {
            dialog.pick_folder().map(|path| vec![path])
        }
        PathPurpose::Attachment => dialog.pick_files(),
        PathPurpose::Backup => {
            dialog.set_file_name(suggested_name).add_filter("SQLite", &["db"]).save_file().map(|path| vec![path])
        }
        PathPurpose::Export(_) | PathPurpose::ExportAll => dialog
            .set_file_name(suggested_name)
            .add_filter("JSON", &["json"])
            .add_filter("Markdown", &["md"])
            .save_file()
            .map(|path| vec![path]),
        PathPurpose::AuditExport => dialog
            .set_file_name(suggested_name)
            .add_filter("CSV", &["csv"])
            .add_filter("JSON Lines", &["jsonl"])
            .save_file()
            .map(|path| vec![path]),
        PathPurpose::SensitiveFile => dialog.pick_file().map(|path| vec![path]),
        PathPurpose::Import => dialog.add_filter("JSON", &["json"]).pick_file().map(|path| vec![path]),
    };
    let waited_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    vec![Arrival::Intent(Intent::DialogClosed { purpose, paths: paths.unwrap_or_default(), waited_ms })]
}

/// Reads what was dropped or chosen: folders become allowed folders, files attachments.
pub(super) fn read_files(paths: &[PathBuf]) -> Vec<Arrival> {
    paths.iter().map(|path| Arrival::Intent(read_one(path))).collect()
}

fn read_one(path: &Path) -> Intent {
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let failed = |key: &'static str| Intent::AttachFailed { name: name.clone(), key };
    let Ok(facts) = std::fs::metadata(path) else { return failed("notice-attach-unreadable") };
    if facts.is_dir() {
        return Intent::AddFolderPath(path.to_path_buf());
    }
    if !facts.is_file() {
        return failed("notice-attach-unreadable");
    }
    if facts.len() > picture::LARGEST_FILE {
        return failed("notice-attach-large");
    }
    let Ok(bytes) = std::fs::read(path) else { return failed("notice-attach-unreadable") };
    match picture::prepare(name.clone(), &bytes) {
        Ok(image) => return Intent::AttachImage(image),
        // Maybe text.
        Err(PictureProblem::NotAPicture) => {}
        Err(problem) => return failed(problem.key()),
    }
    match String::from_utf8(bytes) {
        Ok(_) if facts.len() > MOST_TEXT_BYTES => failed("notice-attach-large"),
        Ok(text) if text.contains('\0') => failed("notice-attach-binary"),
        Ok(text) => Intent::AttachText { name, text },
        Err(_) => failed("notice-attach-binary"),
    }
}

/// Opens a folder, or the one that a file lies in, with the system's file manager.
pub(super) fn show_in_folder(path: &Path) -> Vec<Arrival> {
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    folder.map(open_path).unwrap_or_default()
}

/// Opens a file or folder with the program that the system has for it.
pub(super) fn open_path(path: &Path) -> Vec<Arrival> {
    match open::that_detached(path) {
        Ok(()) => Vec::new(),
        Err(error) => {
            tracing::info!(%error, "no program opens this");
            vec![Arrival::Intent(Intent::OpenFailed(path.display().to_string()))]
        }
    }
}

/// Adds up the files of the data folder.
pub(super) fn measure(folder: &Path) -> Vec<Arrival> {
    let mut waiting = vec![folder.to_path_buf()];
    let mut bytes = 0;
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(facts) if facts.is_dir() => waiting.push(entry.path()),
                Ok(facts) => bytes += facts.len(),
                Err(_) => {}
            }
        }
    }
    vec![Arrival::Intent(Intent::DataMeasured(bytes))]
}

/// An image from the clipboard.
pub(super) fn pasted_image(pasted: &ColorImage) -> Vec<Arrival> {
    let name = "clipboard.png".to_owned();
    let size = pasted.size.map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    let pixels = pasted.pixels.iter().flat_map(egui::Color32::to_srgba_unmultiplied).collect();
    let intent = match picture::prepare_pixels(name.clone(), size, pixels) {
        Ok(image) => Intent::AttachImage(image),
        Err(problem) => Intent::AttachFailed { name, key: problem.key() },
    };
    vec![Arrival::Intent(intent)]
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;

    use super::*;

    #[test]
    fn a_dropped_folder_becomes_an_allowed_folder_and_files_attachments() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("notes.txt");
        std::fs::write(&text, "hello").unwrap();
        let binary = folder.path().join("data.bin");
        std::fs::write(&binary, [0, 159, 146, 150]).unwrap();
        assert_eq!(read_one(folder.path()), Intent::AddFolderPath(folder.path().to_path_buf()));
        assert_eq!(read_one(&text), Intent::AttachText { name: "notes.txt".into(), text: "hello".into() });
        assert_eq!(read_one(&binary), Intent::AttachFailed { name: "data.bin".into(), key: "notice-attach-binary" });
        assert_eq!(
            read_one(&folder.path().join("gone")),
            Intent::AttachFailed { name: "gone".into(), key: "notice-attach-unreadable" }
        );
    }

    #[test]
    fn a_pasted_image_becomes_a_png_that_reads_back() {
        let pasted = ColorImage::new([2, 1], vec![egui::Color32::RED, egui::Color32::TRANSPARENT]);
        let [Arrival::Intent(Intent::AttachImage(attached))] = &pasted_image(&pasted)[..] else { panic!("no image") };
        let data = attached.image.url.strip_prefix("data:image/png;base64,").unwrap();
        let bytes = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!(pixels, [255, 0, 0, 255, 0, 0, 0, 0]);
    }
}
