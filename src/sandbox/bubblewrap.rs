//! The system's bubblewrap: where it is, what it can do, and what it is told.
//!
//! It is never bundled: distributions allow the system's own to make user namespaces where others may not. Its version is
//! not trusted, only what its help names.

use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::Treatment;
use crate::ir::Network;

/// Where the system's bubblewrap may be. Nothing that the person's own `PATH` names: a planted one would be no wall.
pub const BUBBLEWRAP_PATHS: &[&str] = &[
    "/usr/bin/bwrap",
    "/bin/bwrap",
    "/usr/local/bin/bwrap",
    "/run/wrappers/bin/bwrap",
    "/run/current-system/sw/bin/bwrap",
];

/// Where the program itself is found inside, to set the walls that stand within bubblewrap's.
pub(super) const INNER_PROGRAM: &str = "/run/nod/nod";

/// A bubblewrap that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bubblewrap {
    /// The program.
    pub program: PathBuf,
    /// Whether it binds an opened folder (`--bind-fd`) and not only a path.
    binds_by_handle: bool,
    /// Whether it can forbid further user namespaces (`--disable-userns`).
    disables_user_namespaces: bool,
    /// Whether it limits the size of what lies in memory (`--size`).
    sizes_memory: bool,
}

impl Bubblewrap {
    /// The first of these programs that is there, belongs to root, and can be changed by nobody else.
    pub(super) fn find(paths: &[PathBuf]) -> Option<Self> {
        let program = paths.iter().find(|path| std::fs::metadata(path).is_ok_and(|data| is_of_the_system(&data)))?;
        let help = Command::new(program)
            .arg("--help")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .output()
            .map(|output| {
                String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
            })
            .ok()?;
        let has = |option: &str| help.split_whitespace().any(|word| word == option);
        Some(Self {
            program: program.clone(),
            binds_by_handle: has("--bind-fd") && has("--ro-bind-fd"),
            disables_user_namespaces: has("--disable-userns"),
            sizes_memory: has("--size"),
        })
    }
}

fn is_of_the_system(data: &Metadata) -> bool {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let mode = data.permissions().mode();
    data.is_file() && data.uid() == 0 && mode & WRITABLE_BY_OTHERS == 0 && mode & 0o111 != 0
}

/// Folders of the system that a command may read, where they are.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
];
/// Of `/etc` only what programs need to find their libraries, names, certificates and time; no private keys.
const ETC: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "default/locale",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "java",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "login.defs",
    "lsb-release",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "profile",
    "protocols",
    "python3",
    "resolv.conf",
    "rpc",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
];

/// Room for temporary files inside, in bytes: they are memory.
const TEMPORARY_BYTES: &str = "1073741824";
const SHARED_MEMORY_BYTES: &str = "268435456";

/// A place as it is bound: by its handle's number where bubblewrap can, else by its path.
pub(super) struct Bound<'a> {
    pub(super) path: &'a Path,
    pub(super) treatment: Treatment,
    pub(super) handle: i32,
}

/// All that bubblewrap is told, but for the program that it starts.
pub(super) struct Plan<'a> {
    pub(super) network: Network,
    /// Where an empty home is put.
    pub(super) home: Option<&'a Path>,
    /// This program, bound at [`INNER_PROGRAM`].
    pub(super) helper: Bound<'a>,
    pub(super) places: Vec<Bound<'a>>,
    /// What is covered, and whether it is a folder.
    pub(super) hidden: Vec<(&'a Path, bool)>,
    pub(super) aliases: Vec<(&'a Path, &'a Path)>,
    /// What else is mounted below the places.
    pub(super) submounts: Vec<PathBuf>,
}

impl Bubblewrap {
    /// The options, in the order in which bubblewrap carries them out: what lies deeper comes later.
    pub(super) fn options(&self, plan: &Plan<'_>) -> Vec<OsString> {
        let mut options = Options::default();
        options.all(&["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
        match plan.network {
            Network::Denied => options.all(&["--unshare-net"]),
            Network::Allowed => {}
        }
        if self.disables_user_namespaces {
            options.all(&["--disable-userns"]);
        }
        options.all(&["--cap-drop", "ALL", "--new-session", "--die-with-parent", "--as-pid-1", "--hostname", "nod"]);
        for path in SYSTEM.iter().map(Path::new) {
            options.system(path);
        }
        for name in ETC {
            let path = format!("/etc/{name}");
            options.all(&["--ro-bind-try", &path, &path]);
        }
        options.all(&["--proc", "/proc", "--dev", "/dev"]);
        self.memory(&mut options, SHARED_MEMORY_BYTES, "1777", Path::new("/dev/shm"));
        self.memory(&mut options, TEMPORARY_BYTES, "1777", Path::new("/tmp"));
        if let Some(home) = plan.home {
            self.memory(&mut options, SHARED_MEMORY_BYTES, "0700", home);
        }
        self.bind(&mut options, &plan.helper, Path::new(INNER_PROGRAM));
        let mut places: Vec<&Bound<'_>> = plan.places.iter().collect();
        places.sort_by_key(|place| place.path.components().count());
        for place in places {
            self.bind(&mut options, place, place.path);
        }
        for (path, is_folder) in &plan.hidden {
            if *is_folder {
                options.all(&["--perms", "0500", "--tmpfs"]);
                options.0.push(path.into());
                options.all(&["--remount-ro"]);
            } else {
                options.all(&["--ro-bind", "/dev/null"]);
            }
            options.0.push(path.into());
        }
        for (alias, real) in &plan.aliases {
            options.all(&["--symlink"]);
            options.0.extend([real.into(), alias.into()]);
        }
        // A bind takes along what is mounted below it: that stays as it is.
        for submount in &plan.submounts {
            options.all(&["--remount-ro"]);
            options.0.push(submount.into());
        }
        options.all(&["--remount-ro", "/"]);
        options.0
    }

    /// An empty folder in memory.
    fn memory(&self, options: &mut Options, bytes: &str, mode: &str, at: &Path) {
        if self.sizes_memory {
            options.all(&["--size", bytes]);
        }
        options.all(&["--perms", mode, "--tmpfs"]);
        options.0.push(at.into());
    }

    fn bind(&self, options: &mut Options, place: &Bound<'_>, at: &Path) {
        let (by_handle, by_path) = match place.treatment {
            Treatment::Writable | Treatment::Pinned => ("--bind-fd", "--bind"),
            Treatment::ReadOnly => ("--ro-bind-fd", "--ro-bind"),
            Treatment::Copied { mode } => {
                options.all(&["--perms", &format!("{mode:04o}"), "--ro-bind-data", &place.handle.to_string()]);
                options.0.push(at.into());
                return;
            }
        };
        if self.binds_by_handle {
            options.all(&[by_handle, &place.handle.to_string()]);
        } else {
            options.all(&[by_path]);
            options.0.push(place.path.into());
        }
        options.0.push(at.into());
    }
}

#[derive(Default)]
struct Options(Vec<OsString>);

impl Options {
    fn all(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    /// A folder of the system as it is: itself, or the link that it is.
    fn system(&mut self, path: &Path) {
        if let Ok(target) = std::fs::read_link(path) {
            self.all(&["--symlink"]);
            self.0.extend([target.into(), path.into()]);
        } else if path.is_dir() {
            self.all(&["--ro-bind"]);
            self.0.extend([path.into(), path.into()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(path: &str, treatment: Treatment, handle: i32) -> Bound<'_> {
        Bound { path: Path::new(path), treatment, handle }
    }

    fn told(bubblewrap: &Bubblewrap, network: Network) -> Vec<String> {
        let plan = Plan {
            network,
            home: Some(Path::new("/home/p")),
            helper: bound("/opt/nod", Treatment::ReadOnly, 9),
            places: vec![
                bound("/projects/a/.git/config", Treatment::ReadOnly, 6),
                bound("/projects/a", Treatment::Writable, 5),
            ],
            hidden: vec![(Path::new("/projects/a/.env"), false), (Path::new("/projects/a/credentials"), true)],
            aliases: vec![(Path::new("/work"), Path::new("/projects"))],
            submounts: vec![PathBuf::from("/projects/a/disk")],
        };
        bubblewrap.options(&plan).into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    fn bubblewrap(is_new: bool) -> Bubblewrap {
        Bubblewrap {
            program: "/usr/bin/bwrap".into(),
            binds_by_handle: is_new,
            disables_user_namespaces: is_new,
            sizes_memory: is_new,
        }
    }

    fn holds(words: &[String], sequence: &[&str]) -> bool {
        words.windows(sequence.len()).any(|window| window == sequence)
    }

    #[test]
    fn everything_is_unshared_and_no_capability_is_kept() {
        let words = told(&bubblewrap(true), Network::Denied);
        for option in [
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
            "--unshare-net",
            "--disable-userns",
            "--new-session",
            "--die-with-parent",
        ] {
            assert!(words.iter().any(|word| word == option), "{option}: {words:?}");
        }
        assert!(holds(&words, &["--cap-drop", "ALL"]));
        assert_eq!(words.last().map(String::as_str), Some("/"), "the empty root is read-only in the end");
    }

    #[test]
    fn the_network_is_shared_only_where_the_person_ticked_it() {
        assert!(!told(&bubblewrap(true), Network::Allowed).iter().any(|word| word == "--unshare-net"));
    }

    #[test]
    fn neither_the_home_nor_the_whole_disk_nor_a_folder_of_sockets_is_shown() {
        let words = told(&bubblewrap(true), Network::Denied);
        assert!(holds(&words, &["--tmpfs", "/home/p"]));
        for shown in ["/", "/home", "/run", "/var", "/var/run", "/root", "/etc", "/sys"] {
            assert!(!holds(&words, &["--ro-bind", shown]) && !holds(&words, &["--bind", shown]), "{shown}");
        }
    }

    #[test]
    fn places_are_bound_by_handle_from_the_outer_to_the_inner() {
        let words = told(&bubblewrap(true), Network::Denied);
        let at = |sequence: &[&str]| words.windows(sequence.len()).position(|window| window == sequence).unwrap();
        let folder = at(&["--bind-fd", "5", "/projects/a"]);
        let config = at(&["--ro-bind-fd", "6", "/projects/a/.git/config"]);
        let hidden = at(&["--ro-bind", "/dev/null", "/projects/a/.env"]);
        let submount = at(&["--remount-ro", "/projects/a/disk"]);
        let folder_hidden = at(&["--tmpfs", "/projects/a/credentials", "--remount-ro", "/projects/a/credentials"]);
        assert!(folder < config && folder < hidden && hidden < submount && folder < folder_hidden);
        assert!(holds(&words, &["--symlink", "/projects", "/work"]));
    }

    #[test]
    fn an_older_bubblewrap_is_told_paths() {
        let words = told(&bubblewrap(false), Network::Denied);
        assert!(holds(&words, &["--bind", "/projects/a", "/projects/a"]));
        assert!(holds(&words, &["--ro-bind", "/opt/nod", INNER_PROGRAM]));
        assert!(!words.iter().any(|word| word == "--disable-userns" || word == "--bind-fd"));
    }

    #[test]
    fn a_program_that_others_may_change_is_not_the_systems() {
        let folder = tempfile::tempdir().unwrap();
        let planted = folder.path().join("bwrap");
        std::fs::copy("/bin/true", &planted).unwrap();
        std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(Bubblewrap::find(&[planted, folder.path().join("absent")]), None);
    }
}
