//! What the program found out about the call: target, folder, effect, asker, state and warnings.

use egui::{Label, TextWrapMode, Ui, vec2};

use crate::app::rows::{grouped_number, short_path};
use crate::ir::{Access, CommandPreview, Preview, Promise, RiskLevel, Tier};
use crate::lang::Arg;
use crate::policy::{one_line, one_line_name};
use crate::port::ConfirmRequest;
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::sentence;
use crate::ui::theme::{Type, size, space};
use crate::ui::widget::{Badge, Switch, Tone};

use super::ConfirmView;
use super::row::{self, RowKey, Value, fact};

/// Characters of a model's and of a chat's name.
const LONGEST_NAME: usize = 120;
/// Characters of a digest that are shown: enough to tell two versions apart by eye.
const SHORT_DIGEST: usize = 16;

pub(super) fn facts(ui: &mut Ui, scene: &Scene<'_>, confirm: &mut ConfirmView, request: &ConfirmRequest) {
    let open = &mut confirm.open_facts;
    let colors = scene.theme.colors;
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
    fact(ui, scene, open, target_label, &target_value(scene, shown_target, request.folder.as_deref()));
    if request.folder.is_none() && !is_command {
        let value = Value::words(lang.text("confirm-outside"), Type::ControlMedium, colors.bad);
        fact(ui, scene, open, "confirm-fact-place", &value);
    }
    if let Some(folder) = request.folder.as_deref().filter(|_| !is_command) {
        let value = Value::name(short_path(folder, scene.home), Type::Mono, colors.dim);
        fact(ui, scene, open, "confirm-fact-allowed", &value);
    }
    if let Some(given) = &request.via_link {
        let value = Value::name(short_path(given, scene.home), Type::Mono, colors.text);
        fact(ui, scene, open, "confirm-fact-link", &value);
    }
    let value = Value::words(sentence::what(lang, request), Type::Control, colors.text);
    fact(ui, scene, open, "confirm-fact-what", &value);
    if let Some(content) = &request.content {
        let bytes = grouped_number(content.bytes);
        let words = [("bytes", Arg::from(bytes)), ("hash", Arg::from(content.sha256.as_str()))];
        let value = Value::words(lang.format("confirm-content", &words), Type::Meta, colors.dim);
        fact(ui, scene, open, "confirm-fact-content", &value);
    }
    if let Preview::Command(command) = &request.preview {
        started(ui, scene, open, command);
        let seconds = i64::try_from(command.timeout_ms / 1000).unwrap_or(i64::MAX);
        let limit = lang.format("confirm-seconds", &[("seconds", Arg::Number(seconds))]);
        fact(ui, scene, open, "confirm-fact-limit", &Value::words(limit, Type::Control, colors.text));
        let environment: Vec<String> =
            command.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let value = Value::name(environment.join(" "), Type::Mono, colors.dim);
        fact(ui, scene, open, "confirm-fact-environment", &value);
    }
    if request.server.is_some() {
        let value = Value::name(request.call.name.as_str(), Type::Mono, colors.text);
        fact(ui, scene, open, "confirm-fact-tool", &value);
    }
    fact(ui, scene, open, "confirm-fact-by", &Value::words(asker(scene, request), Type::Control, colors.text));
}

/// The files that a command starts: what they hold now is a part of what is allowed.
fn started(ui: &mut Ui, scene: &Scene<'_>, open: &mut Vec<RowKey>, command: &CommandPreview) {
    /// Each has a row of its own; those beyond share the last one.
    const MOST_ROWS: usize = 5;
    let lang = scene.lang;
    let below = |path: &str| path.strip_prefix(&command.cwd).and_then(|rest| rest.strip_prefix('/')).map(str::to_owned);
    let files = command.started.files.iter().map(|file| {
        let path = below(&file.path).unwrap_or_else(|| short_path(&file.path, scene.home));
        let path = ("path", Arg::from(one_line_name(&path, LONGEST_NAME).into_owned()));
        match file.sha256.as_deref().and_then(|sha256| sha256.get(..SHORT_DIGEST)) {
            Some(hash) => {
                let key = match command.promise(file) {
                    Promise::Held => "confirm-starts",
                    Promise::UntilStart => "confirm-starts-until",
                    Promise::None => "confirm-starts-changeable",
                };
                lang.format(key, &[path, ("hash", Arg::from(hash))])
            }
            None => lang.format("confirm-starts-unknown", &[path]),
        }
    });
    let mut lines: Vec<String> = files.collect();
    if lines.len() > MOST_ROWS {
        let rest = lines.split_off(MOST_ROWS - 1).join(" · ");
        lines.push(rest);
    }
    let value = |line| Value::words(line, Type::Control, scene.theme.colors.text);
    row::rows(ui, scene, open, "confirm-fact-starts", &lines.into_iter().map(value).collect::<Vec<_>>());
}

/// Who asks, in one line: neither name can pass for more than a name.
fn asker(scene: &Scene<'_>, request: &ConfirmRequest) -> String {
    let lang = scene.lang;
    if let Some(server) = &request.server {
        return lang.format("confirm-server", &[("server", Arg::Text(one_line_name(server, LONGEST_NAME)))]);
    }
    if request.model.is_empty() {
        return lang.text("confirm-by-command-line").to_owned();
    }
    let title = if request.session_title.is_empty() { lang.text("sidebar-untitled") } else { &request.session_title };
    let model = if request.is_of_guide() { lang.text("provider-guide") } else { &request.model };
    let model = Arg::Text(one_line(model, LONGEST_NAME));
    lang.format("confirm-by", &[("model", model), ("title", Arg::Text(one_line(title, LONGEST_NAME)))])
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
        row::name(ui, theme, lang.text("network-name"));
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
pub(super) fn target_value<'target>(scene: &Scene<'_>, target: &'target str, folder: Option<&str>) -> Value<'target> {
    let color = scene.theme.colors.text;
    let below = folder.and_then(|folder| target.strip_prefix(folder)).filter(|rest| rest.starts_with(['/', '\\']));
    let shown = short_path(target, scene.home);
    // The home folder is cut from the beginning: counted from the end the place is the same.
    let weak = below.map_or(0, |below| (shown.len() + 1).saturating_sub(below.len()));
    Value::path(shown, weak, color)
}

pub(super) fn badges(ui: &mut Ui, scene: &Scene<'_>, request: &ConfirmRequest) {
    let lang = scene.lang;
    ui.horizontal_top(|ui| {
        ui.spacing_mut().interact_size.y = 20.0;
        row::name(ui, scene.theme, lang.text("confirm-fact-state"));
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = vec2(6.0, 6.0);
            let is_write = request.access == Access::Write;
            if is_write && !request.exists {
                ui.add(Badge::new(lang.text("confirm-new"), Tone::Neutral));
            }
            // A command's folder is there or it could not run.
            if request.exists && request.access != Access::Execute {
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
            ui.add(Badge::new(lang.text(request.risk.text_key()), tone));
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
            lines.push((lang.text("tier-watched").to_owned(), false));
        } else {
            lines.push((lang.text("confirm-unconfined-detail").to_owned(), true));
        }
    }
    lines.extend(request.preview.notes().iter().map(|note| (sentence::change_note(lang, note), true)));
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
