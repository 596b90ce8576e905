//! The environment of a command: a short list and nothing else, so that no key and no `LD_PRELOAD` gets in.

use std::path::Path;

/// What a confirmation shows for the private temporary folder, which is made when the command starts.
pub const PRIVATE_FOLDER: &str = "(a private folder, removed afterwards)";

/// Where a command of tier A has its temporary files: in memory, and nobody else's.
pub const INNER_TEMPORARY_FOLDER: &str = "/tmp";

const FALLBACK_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// Every name and value that a command gets, sorted by name.
pub fn environment(cwd: &Path, temporary: &str) -> Vec<(String, String)> {
    build(cwd, temporary, &|name| std::env::var(name).ok())
}

fn build(cwd: &Path, temporary: &str, own: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let home = own("HOME").filter(|home| home.starts_with('/')).unwrap_or_else(|| "/".into());
    let language = own("LANG").filter(|language| !language.is_empty()).unwrap_or_else(|| "C.UTF-8".into());
    let path = own("PATH").map(|path| absolute_parts(&path)).filter(|path| !path.is_empty());
    [
        ("HOME", home),
        ("LANG", language),
        ("PATH", path.unwrap_or_else(|| FALLBACK_PATH.into())),
        ("PWD", cwd.to_string_lossy().into_owned()),
        ("TERM", "dumb".into()),
        ("TMPDIR", temporary.into()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// An empty or relative part of `PATH` means "wherever the command runs": a program planted in the person's folder.
fn absolute_parts(path: &str) -> String {
    path.split(':').filter(|part| part.starts_with('/')).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(own: &[(&str, &str)]) -> Vec<(String, String)> {
        build(Path::new("/w"), "/t", &|name| own.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn nothing_but_the_list_gets_through() {
        let own = [
            ("HOME", "/home/p"),
            ("LANG", "de_DE.UTF-8"),
            ("PATH", "/usr/bin:/bin"),
            ("OPENAI_API_KEY", "sk-1"),
            ("LD_PRELOAD", "/x.so"),
            ("BASH_ENV", "/x.sh"),
        ];
        let expected = [
            ("HOME", "/home/p"),
            ("LANG", "de_DE.UTF-8"),
            ("PATH", "/usr/bin:/bin"),
            ("PWD", "/w"),
            ("TERM", "dumb"),
            ("TMPDIR", "/t"),
        ];
        assert_eq!(from(&own), pairs(&expected));
    }

    #[test]
    fn relative_parts_of_the_path_are_left_out_and_missing_values_have_defaults() {
        let expected =
            [("HOME", "/"), ("LANG", "C.UTF-8"), ("PATH", "/bin"), ("PWD", "/w"), ("TERM", "dumb"), ("TMPDIR", "/t")];
        assert_eq!(from(&[("PATH", ".::bin:/bin:")]), pairs(&expected));
        assert!(from(&[("PATH", ".")]).contains(&("PATH".into(), FALLBACK_PATH.into())));
    }
}
