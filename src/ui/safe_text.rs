//! Text from elsewhere as the window draws it: every deception as a red escape. The one way from `policy::segments` to a
//! layout, for modal, card, toast and title.

use egui::Color32;
use egui::text::LayoutJob;

use crate::policy::{Segment, segments, segments_name};

use super::theme::{Theme, Type};

/// Prose of several lines, with every deception as a red escape.
pub fn safe(theme: &Theme, text: &str, kind: Type, color: Color32) -> LayoutJob {
    let mut job = LayoutJob::default();
    append(&mut job, theme, segments(text, true), kind, color);
    job
}

/// Prose in one line, at the end of a layout: its line breaks are escapes too.
pub fn append_safe_line(job: &mut LayoutJob, theme: &Theme, text: &str, kind: Type, color: Color32) {
    append(job, theme, segments(text, false), kind, color);
}

/// A path, a command or an address in one line, in which look-alikes of ASCII are deceptions too.
pub fn safe_name(theme: &Theme, text: &str, kind: Type, color: Color32) -> LayoutJob {
    let mut job = LayoutJob::default();
    append_safe_name(&mut job, theme, text, kind, color);
    job
}

/// The same, at the end of a layout.
pub fn append_safe_name(job: &mut LayoutJob, theme: &Theme, text: &str, kind: Type, color: Color32) {
    append(job, theme, segments_name(text, false), kind, color);
}

fn append(job: &mut LayoutJob, theme: &Theme, segments: Vec<Segment<'_>>, kind: Type, color: Color32) {
    let bad = egui::TextFormat { background: theme.colors.bad_soft, ..theme.format(kind, theme.colors.bad) };
    for segment in segments {
        match segment {
            Segment::Plain(plain) => job.append(plain, 0.0, theme.format(kind, color)),
            Segment::Escaped(escape) => job.append(&escape, 0.0, bad.clone()),
        }
    }
}
