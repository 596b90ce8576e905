//! What the program found out about the call: target, folder, effect, asker, state and warnings.

use egui::text::LayoutJob;
use egui::{Label, TextWrapMode, Ui, vec2};

use crate::app::rows::{grouped_number, short_path};
use crate::ir::{Access, Preview, RiskLevel, Tier};
use crate::lang::Arg;
use crate::port::ConfirmRequest;
use crate::ui::icon::Icon;
use crate::ui::safe_text::{append_safe_name, safe, safe_name};
use crate::ui::scene::Scene;
use crate::ui::sentence;
use crate::ui::theme::{Theme, Type, size, space};
use crate::ui::widget::{Badge, Switch, Tone, line_of_text};

use super::ConfirmView;

const LABEL_WIDTH: f32 = 88.0;

/// One fact: its name and its value, which may take several lines.
fn fact(ui: &mut Ui, theme: &Theme, label: &str, value: LayoutJob) {
    ui.horizontal_top(|ui| {
        let (rect, response) = ui.allocate_exact_size(vec2(LABEL_WIDTH, 22.0), egui::Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, label));
        let galley = line_of_text(ui, theme, label, Type::Control, theme.colors.dim, LABEL_WIDTH);
        ui.painter().galley(rect.min + vec2(0.0, 1.0), galley, theme.colors.dim);
        let width = ui.available_width();
        ui.vertical(|ui| {
            ui.set_max_width(width);
            ui.add_space(1.0);
            ui.add(Label::new(value).wrap_mode(TextWrapMode::Wrap));
        });
    });
    ui.add_space(2.0);
}

pub(super) fn facts(ui: &mut Ui, scene: &Scene<'_>, request: &ConfirmRequest) {
    let theme = scene.theme;
    let colors = theme.colors;
    let lang = scene.lang;
    let is_command = request.access == Access::Execute;
    let target_label = match (request.access, &request.preview) {
        (Access::Execute, _) => "confirm-fact-in",
        (_, Preview::Tree { count, .. }) if *count > 1 => "confirm-fact-folder",
        (_, Preview::Nothing) if !["read_file", "workspace.read_file"].contains(&request.call.name.as_str()) => {
            "confirm-fact-folder"
        }
        _ => "confirm-fact-file",
    };
    let shown_target = match &request.preview {
        Preview::Command(command) => command.cwd.as_str(),
        Preview::Nothing | Preview::NewFile { .. } | Preview::Diff { .. } | Preview::Tree { .. } => &request.target,
    };
    fact(ui, theme, lang.text(target_label), target_job(scene, shown_target, request.folder.as_deref()));
    if request.folder.is_none() && !is_command {
        let text = lang.text("confirm-outside");
        fact(ui, theme, lang.text("confirm-fact-place"), safe(theme, text, Type::ControlMedium, colors.bad));
    }
    if let Some(folder) = request.folder.as_deref().filter(|_| !is_command) {
        let value = safe_name(theme, &short_path(folder, scene.home), Type::Mono, colors.dim);
        fact(ui, theme, lang.text("confirm-fact-allowed"), value);
    }
    if let Some(given) = &request.via_link {
        let value = safe_name(theme, &short_path(given, scene.home), Type::Mono, colors.text);
        fact(ui, theme, lang.text("confirm-fact-link"), value);
    }
    fact(
        ui,
        theme,
        lang.text("confirm-fact-what"),
        safe(theme, &sentence::what(lang, request), Type::Control, colors.text),
    );
    if let Some(content) = &request.content {
        let bytes = grouped_number(content.bytes);
        let words = [("bytes", Arg::from(bytes)), ("hash", Arg::from(content.sha256.as_str()))];
        let value = safe(theme, &lang.format("confirm-content", &words), Type::Control, colors.dim);
        fact(ui, theme, lang.text("confirm-fact-content"), value);
    }
    if let Preview::Command(command) = &request.preview {
        let seconds = i64::try_from(command.timeout_ms / 1000).unwrap_or(i64::MAX);
        let limit = lang.format("confirm-seconds", &[("seconds", Arg::Number(seconds))]);
        fact(ui, theme, lang.text("confirm-fact-limit"), safe(theme, &limit, Type::Control, colors.text));
        let environment: Vec<String> =
            command.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let value = safe_name(theme, &environment.join("  "), Type::Mono, colors.dim);
        fact(ui, theme, lang.text("confirm-fact-environment"), value);
    }
    let title = if request.session_title.is_empty() { lang.text("sidebar-untitled") } else { &request.session_title };
    if request.server.is_some() {
        fact(ui, theme, lang.text("confirm-fact-tool"), safe(theme, &request.call.name, Type::Mono, colors.text));
    }
    let asker = if let Some(server) = &request.server {
        lang.format("confirm-server", &[("server", Arg::from(server.as_str()))])
    } else if request.model.is_empty() {
        lang.text("confirm-by-command-line").to_owned()
    } else {
        lang.format("confirm-by", &[("model", Arg::from(request.model.as_str())), ("title", Arg::from(title))])
    };
    fact(ui, theme, lang.text("confirm-fact-by"), safe(theme, &asker, Type::Control, colors.text));
}

/// The person's tick for the network of this run; off until they tick it.
pub(super) fn network(ui: &mut Ui, scene: &Scene<'_>, confirm: &mut ConfirmView, request: &ConfirmRequest) {
    if !may_tick_network(request) {
        return;
    }
    let theme = scene.theme;
    let lang = scene.lang;
    let is_open = scene.state.confirms.is_open(scene.now);
    ui.horizontal_top(|ui| {
        let (rect, response) = ui.allocate_exact_size(vec2(LABEL_WIDTH, 22.0), egui::Sense::hover());
        let label = lang.text("network-name");
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, label));
        let galley = line_of_text(ui, theme, label, Type::Control, theme.colors.dim, LABEL_WIDTH);
        ui.painter().galley(rect.min + vec2(0.0, 1.0), galley, theme.colors.dim);
        let name = lang.text("network-allow");
        ui.add(Switch::new(&mut confirm.allows_network, name).disabled(!is_open));
        ui.add_space(space::XS);
        let width = ui.available_width();
        ui.vertical(|ui| {
            ui.set_max_width(width);
            ui.add_space(1.0);
            let color = if confirm.allows_network { theme.colors.warn } else { theme.colors.text };
            ui.add(Label::new(theme.rich(name, Type::ControlMedium, color)).wrap_mode(TextWrapMode::Wrap));
            let help = theme.rich(lang.text("network-help"), Type::Meta, theme.colors.dim);
            ui.add(Label::new(help).wrap_mode(TextWrapMode::Wrap));
        });
    });
    ui.add_space(space::S);
}

/// Only where the kernel confines a command is there a network to keep from it.
pub(super) fn may_tick_network(request: &ConfirmRequest) -> bool {
    matches!(&request.preview, Preview::Command(command) if command.tier.is_confined())
}

/// The target with the allowed folder dim and what lies in it strong.
pub(super) fn target_job(scene: &Scene<'_>, target: &str, folder: Option<&str>) -> LayoutJob {
    let theme = scene.theme;
    let colors = theme.colors;
    let mut job = LayoutJob::default();
    let below = folder.and_then(|folder| target.strip_prefix(folder)).filter(|rest| rest.starts_with(['/', '\\']));
    match below {
        Some(below) => {
            let head = target.strip_suffix(below).unwrap_or_default();
            append_safe_name(&mut job, theme, &short_path(head, scene.home), Type::Mono, colors.dim);
            let (slash, rest) = below.split_at_checked(1).unwrap_or(("", below));
            append_safe_name(&mut job, theme, slash, Type::Mono, colors.dim);
            append_safe_name(&mut job, theme, rest, Type::Mono, colors.text);
        }
        None => append_safe_name(&mut job, theme, &short_path(target, scene.home), Type::Mono, colors.text),
    }
    job
}

pub(super) fn badges(ui: &mut Ui, scene: &Scene<'_>, request: &ConfirmRequest) {
    let lang = scene.lang;
    ui.horizontal_top(|ui| {
        ui.spacing_mut().interact_size.y = 20.0;
        let label = lang.text("confirm-fact-state");
        let (rect, response) = ui.allocate_exact_size(vec2(LABEL_WIDTH, 22.0), egui::Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, label));
        let galley = line_of_text(ui, scene.theme, label, Type::Control, scene.theme.colors.dim, LABEL_WIDTH);
        ui.painter().galley(rect.min + vec2(0.0, 1.0), galley, scene.theme.colors.dim);
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = vec2(6.0, 6.0);
            let is_write = request.access == Access::Write;
            if is_write && !request.exists {
                ui.add(Badge::new(lang.text("confirm-new"), Tone::Neutral));
            }
            if request.exists {
                match request.unchanged_since_read {
                    Some(true) => ui.add(Badge::new(lang.text("confirm-unchanged"), Tone::Neutral)),
                    Some(false) => ui.add(Badge::new(lang.text("confirm-changed"), Tone::Bad)),
                    None if is_write => ui.add(Badge::new(lang.text("confirm-never-read"), Tone::Warn)),
                    None => ui.add(Badge::new(lang.text("confirm-exists"), Tone::Neutral)),
                };
            }
            match request.access {
                Access::Read => {}
                Access::Delete if request.undoable => {
                    ui.add(Badge::new(lang.text("confirm-to-trash"), Tone::Good).icon(Icon::Undo));
                }
                Access::Write | Access::Delete | Access::Execute => {
                    if request.undoable {
                        ui.add(Badge::new(lang.text("confirm-undoable"), Tone::Good).icon(Icon::Undo));
                    } else {
                        ui.add(Badge::new(lang.text("confirm-not-undoable"), Tone::Warn));
                    }
                }
            }
            let tone = match request.risk {
                RiskLevel::Safe | RiskLevel::Low => Tone::Neutral,
                RiskLevel::Medium => Tone::Warn,
                RiskLevel::High | RiskLevel::Critical => Tone::Bad,
            };
            ui.add(Badge::new(lang.text(sentence::risk_key(request.risk)), tone));
            if let Preview::Command(command) = &request.preview {
                let (tone, icon) = match command.tier {
                    Tier::A => (Tone::Good, Icon::Shield),
                    Tier::B | Tier::Seatbelt => (Tone::Warn, Icon::Shield),
                    Tier::Unconfined => (Tone::Bad, Icon::ShieldAlert),
                };
                ui.add(Badge::new(lang.text(sentence::tier_badge_key(command.tier)), tone).icon(icon));
            }
        });
    });
    ui.add_space(space::S);
}

pub(super) fn warnings(ui: &mut Ui, scene: &Scene<'_>, confirm: &ConfirmView, request: &ConfirmRequest) {
    let lang = scene.lang;
    let colors = scene.theme.colors;
    let mut lines: Vec<(String, bool)> = Vec::new();
    if request.is_asked_anew {
        lines.push((lang.text("confirm-asked-anew").to_owned(), true));
    }
    if let Preview::Command(command) = &request.preview {
        if command.tier.is_confined() {
            lines.extend(sentence::gaps(lang, &command.gaps).map(|gaps| (gaps, false)));
        } else {
            lines.push((lang.text("confirm-unconfined-detail").to_owned(), true));
        }
    }
    lines.extend(request.reasons.iter().filter_map(|reason| sentence::reason(lang, reason)));
    let has_deception = confirm.is_deceptive
        || confirm.rows.as_ref().is_some_and(|rows| rows.is_deceptive)
        || confirm.args.as_ref().is_some_and(|(_, rows, _)| rows.is_deceptive);
    if has_deception {
        lines.push((lang.text("confirm-deceptive").to_owned(), true));
    }
    for (line, is_bad) in &lines {
        let color = if *is_bad { colors.bad } else { colors.warn };
        ui.horizontal_top(|ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(18.0, 20.0), egui::Sense::hover());
            Icon::TriangleAlert.paint(ui.painter(), rect, size::SMALL_ICON, color);
            let width = ui.available_width();
            ui.vertical(|ui| {
                ui.set_max_width(width);
                ui.label(scene.theme.rich(line.as_str(), Type::ControlMedium, color));
            });
        });
        ui.add_space(space::XS);
    }
    if !lines.is_empty() {
        ui.add_space(space::XS);
    }
}
