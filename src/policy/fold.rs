//! Names in the form in which they are compared. Denials compare generously (`fold_name`): what any file system might
//! take for the same name is the same name. Permissions never rest on these forms.

use caseless::Caseless as _;
use unicode_normalization::UnicodeNormalization as _;

/// NFKC, case folded, trailing dots and spaces cut. Empty for a name of dots and spaces only.
pub(super) fn fold_name(name: &str) -> String {
    if name.is_ascii() {
        return name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    }
    let folded: String = name.nfkc().default_case_fold().nfkc().collect();
    folded.trim_end_matches(['.', ' ']).to_owned()
}

/// Every name of a path, folded.
pub(super) fn fold_names(names: &[String]) -> Vec<String> {
    names.iter().map(|name| fold_name(name)).collect()
}

/// What a file system that ignores case takes for the same name: canonical form, case folded, nothing cut.
pub(super) fn fold_case(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.nfc().default_case_fold().nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_name_folds_to_one() {
        for (name, folded) in [
            (".SSH", ".ssh"),
            (".ssh. . ", ".ssh"),
            ("ＩＤ＿ＲＳＡ", "id_rsa"),
            ("cafe\u{301}", "caf\u{e9}"),
            ("caf\u{e9}", "caf\u{e9}"),
            ("COM\u{b9}", "com1"),
            ("Straße", "strasse"),
            ("\u{212A}ube", "kube"),
            ("...", ""),
            ("..foo", "..foo"),
        ] {
            assert_eq!(fold_name(name), folded, "{name:?}");
        }
    }
}
