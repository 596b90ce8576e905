use std::path::PathBuf;

use super::*;

fn linux() -> Surroundings {
    Surroundings {
        home: Some(PathBuf::from("/home/me")),
        data_dir: Some(PathBuf::from("/srv/nod-data")),
        platform: Platform::Linux,
    }
}

fn is_blocked(path: &str, surroundings: &Surroundings) -> bool {
    blocked_path(Path::new(path), surroundings).is_some()
}

#[test]
fn the_list_holds_whatever_the_spelling() {
    for path in [
        "/etc",
        "/etc/passwd",
        "/Etc/Passwd",
        "/etc./passwd",
        "/sys/x",
        "/proc/1/environ",
        "/dev/sda",
        "/boot/vmlinuz",
        "/root",
        "/root/x",
        "/home/me/.ssh",
        "/home/me/.ssh/config",
        "/home/me/.SSH/ID_RSA",
        "/home/me/.ssh /x",
        "/home/me/.ｓｓｈ/x",
        "/home/me/.gnupg/x",
        "/home/me/.aws/config",
        "/home/me/.kube/config",
        "/home/me/.docker/config.json",
        "/home/me/.azure/x",
        "/home/me/.config/gcloud/x",
        "/home/me/.netrc",
        "/home/me/.git-credentials",
        "/home/me/.password-store/x",
        "/home/me/.mozilla/firefox/x",
        "/home/me/.config/google-chrome/Default/Cookies",
        "/home/me/.config/chromium/x",
        "/home/me/.local/share/keyrings/login.keyring",
        "/home/me/.claude/settings.json",
        "/home/me/.claude.json",
        "/home/me/.codex/config.toml",
        "/home/me/.config/openclaw/x",
        "/home/me/.gemini/settings.json",
        "/home/me/.cursor/mcp.json",
        "/home/me/.config/Code/User/settings.json",
        "/home/me/.config/Code/User/globalStorage/x",
        "/home/me/.mcp-auth/x",
        "/home/me/.config/google-chrome-beta/x",
        "/home/other/.aws/x",
        "/home/other/.ssh/x",
        "/projects/backup/.ssh/id",
        "/srv/nod-data/nod.db",
        "/srv/nod-data/nod.db-wal",
        "/srv/NOD-data",
    ] {
        assert!(is_blocked(path, &linux()), "{path}");
    }
}

#[test]
fn neighbours_are_open() {
    for path in [
        "/",
        "/etcetera/x",
        "/home/me",
        "/home/me/etc/passwd.md",
        "/home/me/project/.docker/Dockerfile",
        "/home/me/project/.claude/notes.md",
        "/home/me/.config/app.toml",
        "/home/me/.sshx",
        "/home/me/.config",
        "/home/.aws/x",
        "/projects/.aws/x",
        "/srv/nod-data2/x",
        "/projects/proc/x",
        "/tmp/x",
        "/run/user/1000/doc/abc/x.md",
    ] {
        assert!(!is_blocked(path, &linux()), "{path}");
    }
}

#[test]
fn the_folder_of_root_is_open_to_root_only() {
    let root = Surroundings { home: Some(PathBuf::from("/root")), ..linux() };
    assert!(!is_blocked("/root/project/x", &root));
    assert!(is_blocked("/root/.ssh/x", &root));
    assert!(is_blocked("/root/.config/gcloud/x", &root));
    assert!(is_blocked("/root/project/x", &Surroundings { home: None, ..linux() }));
}

#[test]
fn the_places_of_macos_are_closed_by_all_their_names() {
    let macos = Surroundings {
        home: Some(PathBuf::from("/Users/me")),
        data_dir: Some(PathBuf::from("/Users/me/Library/Application Support/nod")),
        platform: Platform::MacOs,
    };
    for path in [
        "/etc/hosts",
        "/private/etc/hosts",
        "/System/Volumes/Data/private/etc/hosts",
        "/private/var/root/x",
        "/var/db/x",
        "/Library/LaunchDaemons/x.plist",
        "/.vol/16777220/2/etc/hosts",
        "/.nofollow/etc/hosts",
        "/Users/me/Library/Keychains/login.keychain-db",
        "/Users/me/Library/Application Support/Google/Chrome/Default/Cookies",
        "/Users/me/Library/Application Support/Google/Chrome Beta/Default/Cookies",
        "/Users/me/Library/Application Support/Claude/claude_desktop_config.json",
        "/Users/me/Library/Application Support/Code/User/settings.json",
        "/users/ME/library/safari/History.db",
        "/Users/me/Library/Application Support/Nod/nod.db",
    ] {
        assert!(is_blocked(path, &macos), "{path}");
    }
    for path in ["/Users/me/project/x", "/Users/me/Library/x", "/private/tmp/x", "/usr/local/x", "/opt/x"] {
        assert!(!is_blocked(path, &macos), "{path}");
    }
}

#[test]
fn a_path_that_is_not_absolute_is_refused() {
    assert!(is_blocked("etc/passwd", &linux()));
    assert!(is_blocked("", &linux()));
}

#[test]
fn paths_that_handles_give_on_windows_are_understood() {
    let windows = Surroundings {
        home: Some(PathBuf::from(r"C:\Users\me")),
        data_dir: Some(PathBuf::from(r"C:\Users\me\AppData\Local\Nod")),
        platform: Platform::Windows,
    };
    for path in [
        r"\\?\C:\Windows\System32",
        r"\\?\c:\users\me\.ssh\x",
        r"C:/Users/Me/AppData/Local/Nod/x",
        r"C:\Users\you\AppData\Local\Google\Chrome\User Data",
        r"D:\Windows\x",
        r"C:\PROGRA~2\x",
        r"C:\Users\All Users\x",
        r"C:\Documents and Settings\All Users\x",
        r"C:\Users\me\AppData\Roaming\Code\User\settings.json",
        r"\\?\UNC\server\share\.ssh\x",
    ] {
        assert!(is_blocked(path, &windows), "{path}");
    }
    for path in [r"\\?\C:\proj\x", r"\\?\UNC\server\share\x", r"\\server\share\windows.md", r"C:\Users\me\x"] {
        assert!(!is_blocked(path, &windows), "{path}");
    }
}

#[test]
fn the_person_is_warned_of_folders_that_hold_too_much() {
    for (path, concern) in [
        ("/", Some(FolderConcern::WholeDisk)),
        ("/etc", Some(FolderConcern::Blocked)),
        ("/home/me/.ssh", Some(FolderConcern::Blocked)),
        ("/home", Some(FolderConcern::Home)),
        ("/home/me", Some(FolderConcern::Home)),
        ("/home/me/", Some(FolderConcern::Home)),
        ("/home/other", Some(FolderConcern::Home)),
        ("/home/me/.config", Some(FolderConcern::HoldsBlocked)),
        ("/home/me/.local/share", Some(FolderConcern::HoldsBlocked)),
        ("/home/me/.local", Some(FolderConcern::HoldsBlocked)),
        ("/srv", Some(FolderConcern::HoldsBlocked)),
        ("/home/me/project", None),
        ("/home/me/.config/app", None),
        ("/projects/ws", None),
    ] {
        assert_eq!(folder_concern(Path::new(path), &linux()), concern, "{path}");
    }
    let macos = Surroundings { home: Some(PathBuf::from("/Users/me")), data_dir: None, platform: Platform::MacOs };
    for (path, concern) in [
        ("/Users", Some(FolderConcern::Home)),
        ("/Users/me/Library", Some(FolderConcern::HoldsBlocked)),
        ("/private", Some(FolderConcern::HoldsBlocked)),
        ("/usr", Some(FolderConcern::HoldsBlocked)),
        ("/Users/me/project", None),
    ] {
        assert_eq!(folder_concern(Path::new(path), &macos), concern, "{path}");
    }
}
