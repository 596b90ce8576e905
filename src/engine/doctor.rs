//! What is wrong on this computer and how to mend it: every check is really made, nothing is assumed.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::ir::{Clock, Confinement, Obstacle, ObstacleKind, Tier};
use crate::port::Settings;
use crate::sandbox::{self, BUBBLEWRAP_PATHS};

use super::archive::Archive;
use super::lookup::{check_health, runtime};
use super::provider::{ConfiguredProviders, Place, ProviderSource as _};

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What was looked at; the key of its name in the language files is `doctor-` and this.
    pub subject: &'static str,
    /// How it is.
    pub health: Health,
    /// The fact itself: a path, a version, an error.
    pub detail: String,
    /// How to mend it: a key of the language files.
    pub remedy: Option<&'static str>,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// As it should be.
    Good,
    /// Not there, and not needed.
    Absent,
    /// Needed and broken.
    Broken,
}

/// Looks at everything.
pub fn examine(data_dir: &Path, settings: &Settings, providers: &ConfiguredProviders) -> Vec<Finding> {
    let mut findings = vec![data_folder(data_dir), database(data_dir, providers.clock.clone()), keyring(providers)];
    for id in providers.ids(settings) {
        findings.push(match check_health(providers, &id, Place::default(), settings) {
            Ok(greeting) => good("provider", format!("{id}: {greeting}")),
            Err(error) => {
                let remedy = if id == "ollama" { "doctor-mend-provider" } else { "doctor-mend-connection" };
                absent("provider", format!("{id}: {}", error.message), remedy)
            }
        });
    }
    findings.push(confinement());
    findings.push(display());
    findings.push(dialog());
    findings
}

fn good(subject: &'static str, detail: impl Into<String>) -> Finding {
    Finding { subject, health: Health::Good, detail: detail.into(), remedy: None }
}

fn absent(subject: &'static str, detail: impl Into<String>, remedy: &'static str) -> Finding {
    Finding { subject, health: Health::Absent, detail: detail.into(), remedy: Some(remedy) }
}

fn broken(subject: &'static str, detail: impl Into<String>, remedy: &'static str) -> Finding {
    Finding { subject, health: Health::Broken, detail: detail.into(), remedy: Some(remedy) }
}

fn data_folder(data_dir: &Path) -> Finding {
    let shown = data_dir.display();
    if !data_dir.exists() {
        return absent("data-folder", shown.to_string(), "doctor-mend-no-data-folder");
    }
    match tempfile::tempfile_in(data_dir) {
        Ok(_) => good("data-folder", shown.to_string()),
        Err(error) => broken("data-folder", format!("{error}: {shown}"), "doctor-mend-data-folder"),
    }
}

fn database(data_dir: &Path, clock: Clock) -> Finding {
    let checked = Archive::open(data_dir, clock).and_then(|archive| match archive {
        Some(archive) => archive.integrity_problems().map(Some),
        None => Ok(None),
    });
    match checked {
        Ok(None) => absent("database", "", "doctor-mend-no-database"),
        Ok(Some(problems)) if problems.is_empty() => good("database", "integrity_check: ok"),
        Ok(Some(problems)) => broken("database", problems.join("; "), "doctor-mend-database"),
        Err(error) => broken("database", error.message, "doctor-mend-database"),
    }
}

/// The keyring is asked for a key that nobody has: what matters is whether it answers.
fn keyring(providers: &ConfiguredProviders) -> Finding {
    let asked = runtime().map(|runtime| runtime.block_on(providers.keys.vault().read("probe")));
    match asked {
        Ok(Ok(_)) => good("keyring", ""),
        Ok(Err(problem)) => absent("keyring", problem.to_string(), "doctor-mend-keyring"),
        Err(error) => absent("keyring", error.message, "doctor-mend-keyring"),
    }
}

/// The probe really runs its attack here.
fn confinement() -> Finding {
    let bubblewraps: Vec<PathBuf> = BUBBLEWRAP_PATHS.iter().map(PathBuf::from).collect();
    let found = match std::env::current_exe() {
        Ok(helper) => sandbox::probe(&helper, &bubblewraps).confinement,
        Err(_) => Confinement::default(),
    };
    let tier = match found.tier {
        Tier::A => "A: bubblewrap, Landlock, seccomp",
        Tier::B => "B: Landlock, seccomp",
        Tier::Seatbelt => "Seatbelt",
        Tier::Unconfined => "C",
    };
    let obstacles = found
        .obstacles
        .iter()
        .map(|Obstacle { tier, kind, detail }| format!("not {tier:?}: {} ({detail})", kind.in_words()));
    let detail = std::iter::once(tier.to_owned()).chain(obstacles).collect::<Vec<_>>().join("; ");
    let remedy = found.obstacles.first().map(|obstacle| mend(obstacle.kind));
    let health = if found.tier.is_confined() { Health::Good } else { Health::Absent };
    Finding { subject: "confinement", health, detail, remedy }
}

fn mend(obstacle: ObstacleKind) -> &'static str {
    match obstacle {
        ObstacleKind::System => "doctor-mend-confinement",
        ObstacleKind::NoBubblewrap => "doctor-mend-no-bubblewrap",
        ObstacleKind::BubblewrapFailed => "doctor-mend-bubblewrap-failed",
        ObstacleKind::NoLandlock | ObstacleKind::OldLandlock => "doctor-mend-landlock",
        ObstacleKind::Leaks | ObstacleKind::ProbeFailed => "doctor-mend-probe",
    }
}

fn display() -> Finding {
    if cfg!(any(windows, target_os = "macos")) {
        return good("display", "");
    }
    let set = ["WAYLAND_DISPLAY", "DISPLAY"].iter().find_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some(format!("{name}={value}"))
    });
    match set {
        Some(display) => good("display", display),
        None => absent("display", "", "doctor-mend-display"),
    }
}

/// The folder dialog: the desktop's portal, else `zenity`. A path can always be typed.
fn dialog() -> Finding {
    if cfg!(any(windows, target_os = "macos")) {
        return good("dialog", "");
    }
    let on_path = |name: &str| {
        std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()))
    };
    if std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some() {
        good("dialog", "xdg-desktop-portal")
    } else if on_path("zenity") {
        good("dialog", "zenity")
    } else {
        absent("dialog", "", "doctor-mend-dialog")
    }
}
