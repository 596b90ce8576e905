//! macOS: the profile for `sandbox-exec`. Everything is denied but what is named here.
//!
//! Reading is not limited, as in tier B, but for what is hidden; writing is allowed in the allowed folders and the private
//! temporary folder alone, and not in what is read-only within them. Later rules count over earlier ones.

use std::path::Path;
#[cfg(target_os = "macos")]
use std::path::PathBuf;

use super::Treatment;
use crate::ir::Network;

/// What a shell and the programs that it starts need, after Chromium's common profile.
const BASE: &str = r#"(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read*)
(allow file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/dtracehelper"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero"))
(allow mach-lookup
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow ipc-posix-sem)
(allow pseudo-tty)
"#;

/// Internet sockets, and the services that find addresses and check certificates. No Unix sockets.
const NETWORK: &str = r#"(allow network-outbound (remote ip))
(allow network-inbound (local ip))
(allow network-bind (local ip))
(allow system-socket)
(allow mach-lookup
  (global-name "com.apple.SecurityServer")
  (global-name "com.apple.trustd.agent")
  (global-name "com.apple.dnssd.service"))
"#;

/// The profile for these places.
pub(super) fn profile(places: &[(&Path, Treatment)], hidden: &[&Path], temporary: &Path, network: Network) -> String {
    let rule =
        |action: &str, operation: &str, path: &Path| format!("({action} {operation} (subpath {}))\n", literal(path));
    let of = |treatment: Treatment| places.iter().filter(move |(_, own)| *own == treatment);
    let mut rules = vec![BASE.to_owned(), rule("allow", "file-write*", temporary)];
    rules.extend(of(Treatment::Writable).map(|(path, _)| rule("allow", "file-write*", path)));
    // A pinned folder may be written in. Where it is moved to, what it holds is read-only no more: that is checked after
    // the run.
    rules.extend(of(Treatment::ReadOnly).map(|(path, _)| rule("deny", "file-write*", path)));
    rules.extend(hidden.iter().flat_map(|path| ["file-read*", "file-write*"].map(|what| rule("deny", what, path))));
    match network {
        Network::Denied => {}
        Network::Allowed => rules.push(NETWORK.to_owned()),
    }
    rules.concat()
}

/// The profile for an order.
#[cfg(target_os = "macos")]
pub(super) fn profile_of(order: &super::channel::Order) -> String {
    let temporary = order.environment.iter().find(|(name, _)| name == "TMPDIR").map(|(_, path)| real(path.as_ref()));
    let places: Vec<(PathBuf, Treatment)> =
        order.places.iter().map(|place| (real(place.path.as_ref()), place.treatment)).collect();
    let places: Vec<(&Path, Treatment)> = places.iter().map(|(path, treatment)| (path.as_path(), *treatment)).collect();
    // Without a temporary folder a path that cannot be: nothing is allowed there.
    let temporary = temporary.unwrap_or_else(|| PathBuf::from("/nowhere"));
    let hidden: Vec<PathBuf> = order.hidden.iter().map(|hidden| real(hidden.path.as_ref())).collect();
    let hidden: Vec<&Path> = hidden.iter().map(PathBuf::as_path).collect();
    profile(&places, &hidden, &temporary, order.network)
}

/// Seatbelt judges real paths: `/tmp` and `/var` are links there.
#[cfg(target_os = "macos")]
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// A text of the profile's language. A path that is no text is one that cannot be: its rule matches nothing.
fn literal(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(places: &[(&str, Treatment)], hidden: &[&Path], network: Network) -> String {
        let places: Vec<(&Path, Treatment)> =
            places.iter().map(|(path, treatment)| (Path::new(*path), *treatment)).collect();
        profile(&places, hidden, Path::new("/private/tmp/nod-run-1"), network)
    }

    #[test]
    fn everything_is_denied_but_what_is_named() {
        let text = of(&[], &[], Network::Denied);
        assert!(text.starts_with("(version 1)\n(deny default)\n"));
        assert!(!text.contains("network"), "{text}");
        let writes: Vec<&str> = text.lines().filter(|line| line.contains("file-write*")).collect();
        assert_eq!(writes, ["(allow file-write* (subpath \"/private/tmp/nod-run-1\"))"]);
    }

    #[test]
    fn what_is_read_only_or_hidden_is_denied_after_its_folder_is_allowed() {
        let text = of(
            &[("/projects/a/.git/hooks", Treatment::ReadOnly), ("/projects/a", Treatment::Writable)],
            &[Path::new("/projects/a/.env")],
            Network::Denied,
        );
        let at = |rule: &str| text.find(rule).unwrap_or_else(|| panic!("{rule}: {text}"));
        let allowed = at("(allow file-write* (subpath \"/projects/a\"))");
        assert!(allowed < at("(deny file-write* (subpath \"/projects/a/.git/hooks\"))"));
        assert!(allowed < at("(deny file-read* (subpath \"/projects/a/.env\"))"));
        assert!(at("(allow file-read*)") < at("(deny file-read* (subpath \"/projects/a/.env\"))"));
    }

    #[test]
    fn the_network_is_internet_sockets_alone_and_only_where_it_was_ticked() {
        let text = of(&[], &[], Network::Allowed);
        assert!(text.contains("(allow network-outbound (remote ip))") && !text.contains("unix-socket"), "{text}");
    }

    #[test]
    fn a_path_cannot_end_its_rule() {
        let text = of(&[("/a\") (allow default) (\"\\", Treatment::Writable)], &[], Network::Denied);
        assert!(text.contains(r#"(subpath "/a\") (allow default) (\"\\")"#), "{text}");
    }

    #[test]
    fn every_bracket_is_closed() {
        let text = of(&[("/projects/a", Treatment::Writable)], &[], Network::Allowed);
        assert_eq!(text.matches('(').count(), text.matches(')').count());
    }
}
