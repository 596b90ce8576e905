//! Places that are closed to tools always, whatever the person allowed.
//!
//! Compared generously: every name is folded, so that no other spelling of a closed place opens it.

use std::path::Path;

use crate::ir::{Code, Failure};

use super::absolute::Absolute;
use super::fold::{fold_name, fold_names};
use super::{Platform, Surroundings};

/// System folders, folded, from the top of the volume. `/root` has its own rule.
const LINUX_SYSTEM: &[&str] = &["etc", "sys", "proc", "dev", "boot"];
const MACOS_SYSTEM: &[&str] = &[
    "etc",
    "dev",
    "sys",
    "proc",
    "boot",
    "cores",
    "bin",
    "sbin",
    "usr/bin",
    "usr/sbin",
    "usr/lib",
    "usr/libexec",
    "system",
    "library",
    "applications",
    "var/db",
    "var/root",
    "var/vm",
    // The same files by their numbers, and by names that ask the system to resolve differently.
    ".vol",
    ".nofollow",
    ".resolve",
];
const WINDOWS_SYSTEM: &[&str] = &[
    "windows",
    "program files",
    "program files (x86)",
    "program files (arm)",
    "programdata",
    "system volume information",
    "$recycle.bin",
    "recovery",
    "boot",
    "$windows.~bt",
    "$windows.~ws",
    "windows.old",
    // Another name of ProgramData.
    "users/all users",
    "documents and settings/all users",
];

/// Names that hold secrets wherever they lie: a home may be mounted, copied or somebody else's.
const ANYWHERE: &[&str] = &[".ssh", ".gnupg", ".password-store", ".netrc", "_netrc", ".git-credentials"];

/// Below a home folder, folded.
const IN_HOME: &[&str] = &[
    // Keys and tokens of tools.
    ".aws",
    ".kube",
    ".docker",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".config/rclone",
    ".config/hub",
    "appdata/roaming/gcloud",
    "appdata/roaming/github cli",
    ".pki",
    ".vault-token",
    ".terraform.d",
    ".oci",
    ".pgpass",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".config/containers/auth.json",
    ".config/sops",
    ".config/doctl",
    ".config/hcloud",
    ".config/heroku",
    ".config/bitwarden",
    ".config/bitwarden cli",
    ".config/1password",
    ".config/keepassxc",
    "library/application support/bitwarden",
    "library/application support/1password",
    "library/group containers/2bua8c4s2c.com.1password",
    "appdata/roaming/bitwarden",
    "appdata/local/1password",
    // Keyrings.
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/gnome-keyring",
    ".gnome2/keyrings",
    ".kde/share/apps/kwallet",
    ".kde4/share/apps/kwallet",
    "library/keychains",
    "appdata/local/microsoft/credentials",
    "appdata/roaming/microsoft/credentials",
    "appdata/local/microsoft/vault",
    "appdata/roaming/microsoft/vault",
    "appdata/roaming/microsoft/protect",
    "appdata/roaming/microsoft/crypto",
    // Browser and mail profiles.
    ".mozilla",
    ".config/mozilla",
    ".thunderbird",
    ".librewolf",
    ".waterfox",
    ".floorp",
    ".zen",
    ".mullvad",
    ".tor-browser",
    ".local/share/torbrowser",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/google-chrome-unstable",
    ".config/google-chrome-canary",
    ".config/google-chrome-for-testing",
    ".config/chromium",
    ".config/microsoft-edge",
    ".config/microsoft-edge-beta",
    ".config/microsoft-edge-dev",
    ".config/bravesoftware",
    ".config/vivaldi",
    ".config/opera",
    ".config/opera-beta",
    ".config/opera-developer",
    ".config/yandex-browser",
    ".local/share/epiphany",
    ".cache/mozilla",
    ".cache/google-chrome",
    ".cache/chromium",
    "snap/firefox",
    "snap/chromium",
    "snap/thunderbird",
    "snap/brave",
    ".var/app/org.mozilla.firefox",
    ".var/app/org.mozilla.thunderbird",
    ".var/app/com.google.chrome",
    ".var/app/org.chromium.chromium",
    ".var/app/com.brave.browser",
    ".var/app/com.microsoft.edge",
    ".var/app/com.vivaldi.vivaldi",
    ".var/app/com.opera.opera",
    ".var/app/io.gitlab.librewolf-community",
    ".var/app/io.github.ungoogled_software.ungoogled_chromium",
    ".var/app/app.zen_browser.zen",
    ".var/app/org.gnome.epiphany",
    "library/application support/google",
    "library/application support/chromium",
    "library/application support/firefox",
    "library/application support/thunderbird",
    "library/application support/bravesoftware",
    "library/application support/microsoft edge",
    "library/application support/vivaldi",
    "library/application support/com.operasoftware.opera",
    "library/application support/arc",
    "library/safari",
    "library/cookies",
    "library/containers/com.apple.safari",
    "library/application support/zen",
    "library/application support/librewolf",
    "appdata/local/google",
    "appdata/local/chromium",
    "appdata/local/microsoft/edge",
    "appdata/local/bravesoftware",
    "appdata/local/vivaldi",
    "appdata/roaming/mozilla",
    "appdata/roaming/thunderbird",
    "appdata/roaming/opera software",
    "appdata/roaming/zen",
    "appdata/roaming/librewolf",
    // Other agents: their settings decide what they run.
    ".claude",
    ".claude.json",
    ".config/claude",
    "library/application support/claude",
    "appdata/roaming/claude",
    ".codex",
    ".openclaw",
    ".config/openclaw",
    ".clawdbot",
    ".gemini",
    ".cursor",
    ".config/cursor",
    "library/application support/cursor",
    "appdata/roaming/cursor",
    ".copilot",
    ".config/github-copilot",
    ".windsurf",
    ".codeium",
    ".continue",
    ".opencode",
    ".config/opencode",
    ".config/goose",
    ".goose",
    ".qwen",
    ".kimi",
    ".kiro",
    ".amazonq",
    ".aider.conf.yml",
    ".config/zed",
    ".config/crush",
    ".hermes",
    ".trae",
    ".cline",
    ".roo",
    ".kilocode",
    ".augment",
    ".factory",
    ".junie",
    ".openhands",
    ".config/amp",
    ".config/codex",
    ".config/gemini",
    ".config/kilo",
    ".config/mcp",
    ".mcp-auth",
    ".moltbot",
    ".picoclaw",
    ".zeroclaw",
    ".aider.model.settings.yml",
    "library/application support/zed",
    "appdata/roaming/zed",
    // Editors whose settings say what their agents may do unasked.
    ".config/code/user",
    ".config/code - insiders/user",
    ".config/vscodium/user",
    ".vscode-server/data",
    "library/application support/code/user",
    "library/application support/windsurf",
    "appdata/roaming/code/user",
    "appdata/roaming/windsurf",
];

/// Why an absolute path is closed to tools always, if it is. A path that is not absolute is no path here.
pub fn blocked_path(absolute: &Path, surroundings: &Surroundings) -> Option<Failure> {
    match Absolute::from_path(absolute, surroundings.platform) {
        Some(absolute) => blocked_absolute(&absolute, surroundings),
        None => Some(refusal("Only full paths are judged here: give the full path.")),
    }
}

/// The same on a path that was taken apart.
pub(super) fn blocked_absolute(absolute: &Absolute, surroundings: &Surroundings) -> Option<Failure> {
    if is_below_data_dir(absolute, surroundings) {
        return Some(refusal(
            "Nod's own data folder is closed to tools: nothing in it can be read or changed by them.",
        ));
    }
    let names = true_names(absolute, surroundings.platform);
    if is_system(&names, surroundings) {
        return Some(refusal(
            "System folders are closed to tools: use a path in an allowed folder, or ask the person to do it.",
        ));
    }
    let below_home = homes_above(absolute, &names, surroundings);
    let in_home = |place: &&str| below_home.iter().any(|rest| lies_in(rest, place));
    if names.iter().any(|name| ANYWHERE.contains(&name.as_str())) || IN_HOME.iter().any(in_home) {
        return Some(refusal(
            "This place holds keys, sign-ins or the settings of other programs and is closed to tools: ask the person \
             for what is needed from it.",
        ));
    }
    None
}

/// What a person should know before allowing a folder. Blocked parts stay blocked in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FolderConcern {
    /// The folder is closed to tools itself: allowing it would allow nothing.
    Blocked,
    /// A whole disk.
    WholeDisk,
    /// A home folder, or a folder of home folders.
    Home,
    /// Holds places that are closed to tools.
    HoldsBlocked,
}

/// What to warn of before this folder is allowed, if anything. No tool ever deletes a folder that gives a concern.
pub fn folder_concern(absolute: &Path, surroundings: &Surroundings) -> Option<FolderConcern> {
    let Some(absolute) = Absolute::from_path(absolute, surroundings.platform) else {
        return Some(FolderConcern::Blocked);
    };
    let names = true_names(&absolute, surroundings.platform);
    if names.is_empty() {
        return Some(FolderConcern::WholeDisk);
    }
    if blocked_absolute(&absolute, surroundings).is_some() {
        return Some(FolderConcern::Blocked);
    }
    let homes = homes_above(&absolute, &names, surroundings);
    let own_home = own_home(surroundings);
    let holds = |inner: &Absolute| inner.below_folded(&absolute).is_some();
    if homes.iter().any(Vec::is_empty)
        || own_home.as_ref().is_some_and(holds)
        || home_parents(surroundings.platform).iter().any(|parent| is_or_holds(&names, parent))
    {
        return Some(FolderConcern::Home);
    }
    let data_dir = surroundings.data_dir.as_deref().and_then(|dir| Absolute::from_path(dir, surroundings.platform));
    if data_dir.as_ref().is_some_and(holds)
        || system_folders(surroundings.platform).iter().any(|folder| is_or_holds(&names, folder))
        || homes.iter().any(|rest| IN_HOME.iter().any(|place| is_or_holds(rest, place)))
        || is_macos_alias(&names, surroundings.platform)
    {
        return Some(FolderConcern::HoldsBlocked);
    }
    None
}

fn refusal(message: &str) -> Failure {
    Failure::new(Code::BlockedPathDenied, message)
}

const fn system_folders(platform: Platform) -> &'static [&'static str] {
    match platform {
        Platform::Linux => LINUX_SYSTEM,
        Platform::MacOs => MACOS_SYSTEM,
        Platform::Windows => WINDOWS_SYSTEM,
    }
}

/// Folders whose entries are home folders, folded.
const fn home_parents(platform: Platform) -> &'static [&'static str] {
    match platform {
        Platform::Linux => &["home", "var/home"],
        Platform::MacOs => &["users"],
        Platform::Windows => &["users", "documents and settings"],
    }
}

/// The folded names of what a path means: macOS shows the same folders under `/private` and `/System/Volumes/Data` too.
fn true_names(absolute: &Absolute, platform: Platform) -> Vec<String> {
    let mut names = fold_names(&absolute.parts);
    match platform {
        Platform::MacOs => {
            if lies_in(&names, "system/volumes/data") {
                names.drain(..3);
            }
            if ["private/etc", "private/var", "private/tmp"].iter().any(|alias| lies_in(&names, alias)) {
                names.drain(..1);
            }
        }
        Platform::Linux | Platform::Windows => {}
    }
    names
}

fn is_macos_alias(names: &[String], platform: Platform) -> bool {
    match platform {
        Platform::MacOs => names.len() == 1 && names.first().is_some_and(|name| name == "private"),
        Platform::Linux | Platform::Windows => false,
    }
}

fn is_system(names: &[String], surroundings: &Surroundings) -> bool {
    if system_folders(surroundings.platform).iter().any(|folder| lies_in(names, folder)) {
        return true;
    }
    let Some(first) = names.first() else { return false };
    match surroundings.platform {
        Platform::Linux | Platform::MacOs => {
            let is_own = own_home(surroundings)
                .is_some_and(|home| home.parts.first().is_some_and(|top| fold_name(top) == "root"));
            first == "root" && !is_own
        }
        // The short names that NTFS gives to `Program Files`, `Program Files (x86)` and `ProgramData`.
        Platform::Windows => first.starts_with("progra~"),
    }
}

fn is_below_data_dir(absolute: &Absolute, surroundings: &Surroundings) -> bool {
    let data_dir = surroundings.data_dir.as_deref().and_then(|dir| Absolute::from_path(dir, surroundings.platform));
    data_dir.is_some_and(|data_dir| absolute.below_folded(&data_dir).is_some())
}

fn own_home(surroundings: &Surroundings) -> Option<Absolute> {
    Absolute::from_path(surroundings.home.as_deref()?, surroundings.platform)
}

/// What follows each home folder that a path lies in: the person's own, and whatever lies where homes lie.
fn homes_above(absolute: &Absolute, names: &[String], surroundings: &Surroundings) -> Vec<Vec<String>> {
    let mut rests = Vec::new();
    if let Some(home) = own_home(surroundings) {
        if let Some(rest) = absolute.below_folded(&home) {
            rests.push(fold_names(rest));
        }
        let home = true_names(&home, surroundings.platform);
        rests.extend(names.strip_prefix(home.as_slice()).map(<[String]>::to_vec));
    }
    for parent in home_parents(surroundings.platform) {
        if lies_in(names, parent) {
            rests.extend(names.get(parent.split('/').count() + 1..).map(<[String]>::to_vec));
        }
    }
    rests
}

/// Whether names begin with the names of a pattern.
fn lies_in(names: &[String], pattern: &str) -> bool {
    let mut names = names.iter();
    pattern.split('/').all(|part| names.next().is_some_and(|name| name == part))
}

/// Whether names are the beginning of a pattern, or all of it.
fn is_or_holds(names: &[String], pattern: &str) -> bool {
    let mut parts = pattern.split('/');
    names.iter().all(|name| parts.next().is_some_and(|part| name == part))
}

#[cfg(test)]
mod tests;
