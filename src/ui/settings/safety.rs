//! Who is asked, where tools may work, and what is closed to them always.

use egui::Ui;
use serde_json::json;

use crate::app::rows::short_path;
use crate::app::{Intent, PathPurpose};
use crate::ir::Tier;
use crate::lang::Arg;
use crate::ui::icon::Icon;
use crate::ui::panel::composer::{MODES, mode_key};
use crate::ui::rule::{self, form::Makes, form::RuleForm};
use crate::ui::scene::Scene;
use crate::ui::sentence::{gaps, obstacle_key, tier_keys};
use crate::ui::theme::space;
use crate::ui::widget::{Button, IconButton};

use super::general::choice;
use super::{SettingsView, dotted_row, group, heading, note, number_row, row, switch_row, title};

/// What is closed to tools always, as it is shown; the judge itself is `policy`.
const BLOCKED: [(&str, &str); 5] = [
    ("settings-blocked-system", "/etc /sys /proc /dev /boot /root"),
    ("settings-blocked-windows", r"C:\Windows  C:\Program Files  C:\ProgramData"),
    (
        "settings-blocked-keys",
        "~/.ssh ~/.gnupg ~/.aws ~/.kube ~/.docker ~/.azure ~/.config/gcloud ~/.netrc ~/.git-credentials ~/.password-store",
    ),
    ("settings-blocked-names", ".env  *.pem  *.key  *.p12  *.kdbx  id_rsa*  .npmrc  .pypirc  credentials"),
    ("settings-blocked-writes", ".git/hooks  .git/config  .bashrc  .mcp.json  .vscode/tasks.json"),
];

pub(super) fn show(ui: &mut Ui, scene: &mut Scene<'_>, fields: &mut SettingsView, view: &mut RuleForm) {
    let lang = scene.lang;
    title(ui, scene, lang.text("settings-page-safety"), lang.text("settings-safety-line"));
    let safety = scene.state.settings.safety.clone();
    group(ui, scene, |ui, scene| {
        let names = MODES.map(|mode| lang.text(mode_key(mode)));
        let current = MODES.iter().position(|mode| *mode == safety.mode).unwrap_or(1);
        let (name, help) = (lang.text("settings-mode"), lang.text("mode-always"));
        if let Some(mode) = choice(ui, scene, name, help, &names, current).and_then(|index| MODES.get(index)) {
            scene.push(Intent::SetSetting { key: "safety.mode", value: json!(mode) });
        }
        confinement(ui, scene);
        let (name, help) = (lang.text("settings-unconfined"), lang.text("settings-unconfined-help"));
        switch_row(ui, scene, "safety.never_unconfined", name, help, safety.never_unconfined);
        let (name, help) = (lang.text("settings-remember-commands"), lang.text("settings-remember-commands-help"));
        switch_row(ui, scene, "safety.remember_commands", name, help, safety.remember_commands);
        let (name, help) = (lang.text("settings-answer-within"), lang.text("settings-answer-within-help"));
        let seconds = safety.answer_within_s.into();
        number_row(ui, scene, fields, "safety.answer_within_s", name, help, seconds, 0..=604_800);
    });
    heading(ui, scene, lang.text("settings-undo"));
    group(ui, scene, |ui, scene| {
        let (name, help) = (lang.text("settings-undo-days"), lang.text("settings-undo-days-help"));
        number_row(ui, scene, fields, "safety.undo_days", name, help, safety.undo_days.into(), 1..=3650);
        let (name, help) = (lang.text("settings-undo-file"), lang.text("settings-undo-file-help"));
        number_row(ui, scene, fields, "safety.undo_file_mb", name, help, safety.undo_file_mb.into(), 0..=100_000);
        let (name, help) = (lang.text("settings-undo-space"), lang.text("settings-undo-space-help"));
        number_row(ui, scene, fields, "safety.undo_space_mb", name, help, safety.undo_space_mb.into(), 0..=10_000_000);
    });
    heading(ui, scene, lang.text("settings-rules"));
    let rules = scene.state.standing_rules.clone();
    if rules.is_empty() {
        note(ui, scene, lang.text("settings-no-rules"), scene.theme.colors.dim);
        ui.add_space(space::S);
    }
    if let Some(rule) = rule::card::list(ui, scene, &rules, |_| true) {
        scene.push(Intent::RevokeStandingRule(rule));
    }
    if let Some((effect, scope)) = view.show(ui, scene, Makes::Both, "") {
        scene.push(Intent::MakeRule { session: None, effect, scope });
    }
    heading(ui, scene, lang.text("settings-audit"));
    group(ui, scene, |ui, scene| {
        let (name, help) = (lang.text("audit-title"), lang.text("settings-audit-help"));
        let opens = row(ui, scene.theme, name, help, |ui| {
            ui.add(Button::secondary(lang.text("settings-audit-open"))).clicked()
        });
        if opens {
            scene.push(Intent::OpenAudit);
        }
    });
    heading(ui, scene, lang.text("settings-default-folders"));
    group(ui, scene, |ui, scene| folders(ui, scene, &safety.folders));
    note(ui, scene, lang.text("settings-default-folders-help"), scene.theme.colors.dim);
    heading(ui, scene, lang.text("settings-blocked"));
    group(ui, scene, |ui, scene| {
        for (key, paths) in BLOCKED {
            row(ui, scene.theme, lang.text(key), paths, |_| ());
        }
    });
    note(ui, scene, lang.text("settings-blocked-help"), scene.theme.colors.dim);
}

/// Which tier holds on this computer, and why no better one.
fn confinement(ui: &mut Ui, scene: &Scene<'_>) {
    let (theme, lang) = (scene.theme, scene.lang);
    let name = lang.text("confinement-name");
    let Some(found) = &scene.state.confinement else {
        row(ui, theme, name, lang.text("confinement-probing"), |_| ());
        return;
    };
    let (tier, help) = tier_keys(found.tier);
    let mut words = vec![lang.text(tier).to_owned(), lang.text(help).to_owned()];
    if found.tier.is_confined() {
        words.extend(gaps(lang, &found.gaps));
    }
    words.extend(found.obstacles.iter().map(|obstacle| lang.text(obstacle_key(obstacle.kind)).to_owned()));
    let color = match found.tier {
        Tier::A => theme.colors.good,
        Tier::B | Tier::Seatbelt => theme.colors.warn,
        Tier::Unconfined => theme.colors.bad,
    };
    dotted_row(ui, theme, color, name, &words.join("\n"), |_| ());
}

fn folders(ui: &mut Ui, scene: &mut Scene<'_>, folders: &[String]) {
    let lang = scene.lang;
    if folders.is_empty() {
        row(ui, scene.theme, lang.text("settings-no-default-folders"), "", |_| ());
    }
    for folder in folders {
        let short = short_path(folder, scene.home);
        let name = lang.format("panel-remove-folder", &[("folder", Arg::from(short.as_str()))]);
        if row(ui, scene.theme, &short, "", |ui| ui.add(IconButton::new(Icon::X, &name)).clicked()) {
            let rest: Vec<&String> = folders.iter().filter(|other| *other != folder).collect();
            scene.push(Intent::SetSetting { key: "safety.folders", value: json!(rest) });
        }
    }
    let clicked = row(ui, scene.theme, lang.text("settings-add-default-folder"), "", |ui| {
        let typed = ui.add(Button::ghost(lang.text("panel-type-folder"))).clicked();
        let picked = ui.add(Button::secondary(lang.text("settings-choose")).icon(Icon::Folder)).clicked();
        (picked, typed)
    });
    if clicked.0 {
        scene.push(Intent::PickPath(PathPurpose::DefaultFolder));
    }
    if clicked.1 {
        scene.push(Intent::TypePath(PathPurpose::DefaultFolder));
    }
}
