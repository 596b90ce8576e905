//! Pictures and files on their way into a message: dropped, pasted, taken away, sent.
#![expect(clippy::disallowed_methods, reason = "files to be dropped are made by hand")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{Color32, ColorImage};
use egui_kittest::kittest::Queryable as _;
use nod::ir::Support;
use nod::port::{Command, Event, ModelsState};

use crate::support::{Stage, models};

/// A file that is dropped on the window.
#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|error| error.to_string())
    }
}

/// Draws frames until the window's own threads have brought what is waited for.
fn wait(stage: &mut Stage, label: &str) {
    for _ in 0..10_000 {
        stage.harness.step();
        if stage.harness.query_by_label(label).is_some() {
            return;
        }
        std::thread::yield_now();
    }
    panic!("{label} never came: {:?}", stage.texts());
}

/// The models of the stage, with eyes.
fn seeing() -> Event {
    let mut event = models();
    if let Event::ModelsChanged { state: ModelsState::Ready(list), .. } = &mut event {
        for model in list.iter_mut() {
            model.supports_images = Support::Yes;
        }
    }
    event
}

fn sent_images(stage: &mut Stage) -> Vec<String> {
    stage.harness.get_by_label("Send").click();
    stage.settle();
    let sent = stage.sent().into_iter().find_map(|command| match command {
        Command::Send { images, .. } => Some(images),
        _ => None,
    });
    sent.expect("it was sent").into_iter().map(|image| image.url).collect()
}

#[test]
fn a_dropped_picture_shows_itself_and_goes_with_the_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("photo.png");
    image::RgbImage::new(80, 40).save(&path).unwrap();
    let mut stage = Stage::open();
    stage.harness.input_mut().dropped_files.push(Arc::new(Dropped(path)));
    wait(&mut stage, "photo.png: show larger");
    let thumbnail = stage.harness.get_by_label("photo.png: show larger").rect();
    assert_eq!(thumbnail.size(), egui::vec2(40.0, 40.0));
    stage.harness.get_by_label("photo.png: show larger").click();
    stage.settle();
    let large = stage.harness.get_by_role_and_label(egui::accesskit::Role::Image, "photo.png").rect();
    assert_eq!(large.size(), egui::vec2(80.0, 40.0));
    stage.harness.key_press(egui::Key::Escape);
    stage.settle();
    // The model of the stage cannot see: nothing is sent, and nothing is lost.
    stage.harness.get_by_label("Send").click();
    stage.settle();
    assert_eq!(stage.sent(), []);
    assert!(stage.harness.query_by_label_contains("This model cannot see images.").is_some());
    assert!(stage.harness.query_by_label("photo.png: show larger").is_some());
    stage.tell(seeing());
    stage.settle();
    let images = sent_images(&mut stage);
    assert!(images.len() == 1 && images[0].starts_with("data:image/png;base64,"), "{images:.40?}");
    assert!(stage.harness.query_by_label("photo.png: show larger").is_none());
}

#[test]
fn a_pasted_picture_can_be_taken_away_again() {
    let mut stage = Stage::open();
    let pasted = ColorImage::filled([30, 20], Color32::RED);
    stage.harness.event(egui::Event::PasteImage(Arc::new(pasted)));
    wait(&mut stage, "clipboard.png: show larger");
    stage.harness.get_by_label("Remove clipboard.png").click();
    stage.settle();
    assert!(stage.harness.query_by_label("clipboard.png: show larger").is_none());
}

#[test]
fn a_picture_of_a_kind_that_no_model_takes_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scan.tiff");
    std::fs::write(&path, b"II*\0\x08\0\0\0\0\0\0\0\0\0").unwrap();
    let mut stage = Stage::open();
    stage.harness.input_mut().dropped_files.push(Arc::new(Dropped(path)));
    wait(
        &mut stage,
        "scan.tiff is an image of a kind that models do not take. Save it as PNG or JPEG and attach that.",
    );
}
