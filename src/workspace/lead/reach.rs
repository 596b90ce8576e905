//! By which ways something that executes files comes to what is changed in allowed folders.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::repository::is_repository_if;
use super::taken::{Then, is_taken, is_taken_then};
use super::{Lead, Leads};
use crate::policy::{ProtectedWrite, Reach, RelPath};
use crate::workspace::{Purpose, Root, Target};

/// More are not told.
const MOST: usize = 16;

/// What becomes of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is made, or written.
    Made,
    /// It comes with all that belongs below it.
    MadeWhole,
    /// It goes with all that lies below it.
    Gone,
}

impl Effect {
    /// What a tool does to a target that it is resolved for; `None` where it changes nothing.
    pub fn of(purpose: Purpose) -> Option<Self> {
        match purpose {
            Purpose::Read => None,
            Purpose::Write | Purpose::CreateFolder => Some(Self::Made),
            Purpose::Delete => Some(Self::Gone),
        }
    }
}

/// Paths that are going to be there, each with the folders above it.
#[derive(Debug, Default)]
pub struct Coming {
    /// In lower case: compared as generously as denials are.
    paths: HashSet<String>,
}

/// What leads where, as allowed folders and what lies around them say.
#[derive(Debug)]
pub struct Ways {
    leads: Leads,
}

/// The ways to a target that is to be changed. From it upwards every folder is looked at, and in the allowed folders and the
/// work trees around them the nearest ones. `home` is the person's home folder, with their configuration.
pub fn reaches(target: &Target, effect: Effect, roots: &[Root], home: Option<&Path>) -> Vec<Reach> {
    Ways::around(roots, home).to(target, effect, &Coming::default())
}

impl Coming {
    /// Adds an absolute path.
    pub fn add(&mut self, path: &Path) {
        for path in path.ancestors() {
            if !self.paths.insert(folded(path)) {
                break;
            }
        }
    }

    fn has(&self, path: &Path) -> bool {
        self.paths.contains(&folded(path))
    }
}

fn folded(path: &Path) -> String {
    path.to_string_lossy().to_ascii_lowercase()
}

impl Ways {
    /// What can be found without a target.
    pub fn around(roots: &[Root], home: Option<&Path>) -> Self {
        Self { leads: Leads::around(roots, home) }
    }

    /// The ways to a target. `coming` is what will be there too: a repository has several parts.
    pub fn to(&mut self, target: &Target, effect: Effect, coming: &Coming) -> Vec<Reach> {
        let (Some(root), Some(relative)) = (target.root(), target.resolved_relative()) else { return Vec::new() };
        let mut folder = Some(root.folder().clone());
        let mut place = root.real_path().to_path_buf();
        for name in relative.parts() {
            let Some(here) = folder else { break };
            self.leads.at(&place);
            self.leads.links_in(&here, &place);
            folder = here.open_folder(OsStr::new(name)).ok();
            place.push(name);
        }
        // An undo may concern a folder that is allowed no more.
        self.leads.up_from(root.real_path());
        let tops: Vec<&Path> = target.resolved().ancestors().skip(1).filter(|top| is_work_tree(top)).collect();
        let mut found: Vec<Reach> =
            made_repositories(target.resolved(), root.real_path(), effect, coming, self.leads.nearly())
                .into_iter()
                .map(|folder| Reach::MakesRepository { folder })
                .collect();
        found.extend(self.leads.all().iter().filter_map(|lead| way(lead, target, effect, &tops)));
        found.retain(|reach| reach.verdict().is_some());
        // What is only asked does not crowd out what is refused.
        found.sort_by_key(|reach| reach.verdict() != Some(ProtectedWrite::Denied));
        found.truncate(MOST);
        found
    }
}

/// The folders that git would take for a repository with the target, and does not yet: those that it lies in or brings, and
/// those that only lack what the target is to them.
fn made_repositories(target: &Path, root: &Path, effect: Effect, coming: &Coming, nearly: &[PathBuf]) -> Vec<PathBuf> {
    let mut own = Coming::default();
    let is_gone = effect == Effect::Gone;
    if !is_gone {
        own.add(target);
    }
    let is_on_the_disk = |path: &Path| std::fs::symlink_metadata(path).is_ok();
    let is_coming = |path: &Path| own.has(path) || coming.has(path);
    let is_going = |path: &Path| is_gone && folded(path) == folded(target);
    let then = Then { is_coming: &is_coming, is_going: &is_going, counts_shifting: !is_gone };
    // What has all its parts is kept as a repository, whatever these are; git takes it for one when they are in order.
    let looks_like_one = |folder: &Path| {
        is_repository_if(folder, |path| is_coming(path) || is_on_the_disk(path))
            && !is_repository_if(folder, is_on_the_disk)
    };
    // Whatever it says, git looks at no other repository in its folder.
    let is_git = target.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
    let is_uncovered = |folder: &Path| is_gone && is_git && target.parent() == Some(folder) && is_taken(folder);
    let is_completed = |folder: &Path| is_taken_then(folder, &then) && !is_taken(folder);
    let is_made = |folder: &Path| (!is_gone && looks_like_one(folder)) || is_completed(folder) || is_uncovered(folder);
    let above = target.ancestors().skip(1).take_while(|folder| folder.starts_with(root)).map(Path::to_path_buf);
    let mut folders: Vec<PathBuf> = above.collect();
    if effect == Effect::MadeWhole {
        let target = folded(target);
        // Every repository has a head, and what lies in the tree is among what comes.
        let heads = coming.paths.iter().map(Path::new).filter(|path| path.ends_with("head"));
        let below = heads.filter_map(Path::parent).filter(|folder| folder.starts_with(&target));
        folders.extend(below.map(Path::to_path_buf));
    }
    folders.extend(nearly.iter().filter(|git| !folders.contains(git)).cloned().collect::<Vec<_>>());
    folders.retain(|folder| is_made(folder));
    folders.reverse();
    folders
}

/// Whether it is the top of a work tree. In folders of git, and where hooks are, there is none.
fn is_work_tree(top: &Path) -> bool {
    let is_gits = |name: &OsStr| name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("hooks");
    std::fs::symlink_metadata(top.join(".git")).is_ok() && !top.iter().any(is_gits)
}

fn way(lead: &Lead, target: &Target, effect: Effect, tops: &[&Path]) -> Option<Reach> {
    // The work trees of a repository that has none itself may lie in it.
    let is_in_it = |top: &&Path| *top != lead.path && top.starts_with(&lead.path);
    if lead.names == [".git"] && tops.iter().any(is_in_it) {
        return None;
    }
    let names = match (below(&lead.path, target.resolved()), effect) {
        (Some(rest), _) => lead.names.iter().cloned().chain(rest).collect(),
        // It comes or goes with the folder.
        (None, Effect::MadeWhole | Effect::Gone) if below(target.resolved(), &lead.path).is_some() => {
            lead.names.clone()
        }
        (None, Effect::Made | Effect::MadeWhole | Effect::Gone) => return None,
    };
    Some(Reach::Also { names: RelPath::from_parts(names)?, by: lead.by.clone() })
}

/// The names by which a path lies below another, compared as generously as denials are.
fn below(outer: &Path, path: &Path) -> Option<Vec<String>> {
    let mut rest = path.iter();
    for part in outer {
        if !rest.next()?.eq_ignore_ascii_case(part) {
            return None;
        }
    }
    Some(rest.map(|name| name.to_string_lossy().into_owned()).collect())
}

#[cfg(all(test, unix))]
#[expect(clippy::disallowed_methods, reason = "tests lay out their own files")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::policy::ReachedBy;
    use crate::workspace::resolve;

    const DENIED: Option<ProtectedWrite> = Some(ProtectedWrite::Denied);
    const ASKED: Option<ProtectedWrite> = Some(ProtectedWrite::Asked);

    struct Place {
        temp: tempfile::TempDir,
    }

    impl Place {
        /// A folder `a` with these files in it.
        fn with(files: &[(&str, &str)]) -> Self {
            let place = Self { temp: tempfile::tempdir().unwrap() };
            fs::create_dir(place.temp.path().join("a")).unwrap();
            for (path, text) in files {
                place.write(path, text);
            }
            place
        }

        fn path(&self, path: &str) -> std::path::PathBuf {
            self.temp.path().canonicalize().unwrap().join("a").join(path)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn link(&self, to: &str, path: &str) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(to, path).unwrap();
        }

        fn reaches(&self, path: &str, purpose: Purpose) -> Vec<Reach> {
            self.reaches_below("", path, purpose)
        }

        fn reaches_below(&self, root: &str, path: &str, purpose: Purpose) -> Vec<Reach> {
            let root = Root::open(&self.path(root)).unwrap();
            let path = RelPath::from_parts(path.split('/').map(str::to_owned).collect()).unwrap();
            let home = self.temp.path().canonicalize().unwrap().join("home");
            let effect = Effect::of(purpose).unwrap();
            let target = resolve(&root, &path, purpose).unwrap();
            reaches(&target, effect, std::slice::from_ref(&root), Some(&home))
        }

        /// What a write there comes to.
        fn verdict(&self, path: &str) -> Option<ProtectedWrite> {
            let all: Vec<_> = self.reaches(path, Purpose::Write).iter().filter_map(Reach::verdict).collect();
            if all.contains(&ProtectedWrite::Denied) { DENIED } else { all.first().copied() }
        }

        fn assert(&self, expected: &[(&str, Option<ProtectedWrite>)]) {
            for (path, verdict) in expected {
                assert_eq!(self.verdict(path), *verdict, "{path}: {:?}", self.reaches(path, Purpose::Write));
            }
        }
    }

    const REPOSITORY: [(&str, &str); 3] =
        [("store/HEAD", "ref: refs/heads/x"), ("store/objects/x", ""), ("store/refs/x", "")];

    #[test]
    fn a_repository_of_any_name_is_git() {
        let place = Place::with(&REPOSITORY);
        place.write("linked/HEAD", "ref: x");
        place.write("linked/commondir", "../common");
        place.assert(&[
            ("store/config", DENIED),
            ("store/Config", DENIED),
            ("store/hooks/pre-commit", DENIED),
            ("store/modules/lib/config", DENIED),
            ("store/worktrees/w/config.worktree", DENIED),
            ("store/HEAD", ASKED),
            ("store/notes.txt", ASKED),
            ("linked/config", DENIED),
            ("linked/commondir", DENIED),
            ("common/config", DENIED),
            ("stored/config", None),
            ("config", None),
        ]);
        // Git searches upwards, and above the allowed folder too.
        let of = |path: &str| place.reaches_below("store/refs", path, Purpose::Write).iter().find_map(Reach::verdict);
        assert_eq!((of("hooks/x"), of("heads/x")), (DENIED, ASKED));
    }

    #[test]
    fn what_completes_a_repository_is_refused_in_every_order() {
        let parts = ["HEAD", "objects/x", "refs/x"];
        for last in 0..3 {
            let place = Place::with(&[("src/config", "")]);
            for first in (0..3).filter(|first| *first != last) {
                assert_eq!(place.verdict(&format!("src/{}", parts[first])), None);
                place.write(&format!("src/{}", parts[first]), "");
            }
            let folder = Reach::MakesRepository { folder: place.path("src") };
            assert_eq!(
                place.reaches(&format!("src/{}", parts[last]), Purpose::Write),
                std::slice::from_ref(&folder),
                "{last}"
            );
            let name = parts[last].split('/').next().unwrap();
            assert_eq!(place.reaches(&format!("src/{name}"), Purpose::CreateFolder), [folder], "a folder, {last}");
        }
        for (there, last) in [("src/HEAD", "src/commondir"), ("src/commondir", "src/HEAD")] {
            let place = Place::with(&[(there, "")]);
            place.assert(&[(last, DENIED)]);
        }
    }

    #[test]
    fn what_lies_at_the_end_of_a_link_or_a_pointer_completes_a_repository() {
        let place = Place::with(&[("src/HEAD", "ref: refs/heads/x"), ("src/config", "[core]"), ("src/refs/x", "")]);
        place.link("../l/objects", "src/objects");
        place.link("n", "l");
        place.write("deep/HEAD", "ref: refs/heads/x");
        place.write("deep/commondir", "../real\n");
        place.write("real/objects/x", "");
        place.write("work/.git", "gitdir: ../gd\n");
        place.write("gd/HEAD", "ref: refs/heads/x");
        place.write("gd/refs/x", "");
        place.link("../of-gd", "gd/objects");
        place.write("turned/HEAD", "ref: refs/heads/x");
        place.write("turned/commondir", "../x/../real-2");
        place.write("real-2/objects/x", "");
        place.write("real-2/refs/x", "");
        place.write("far/.git", "gitdir: ../y/../whole\n");
        place.write("whole/HEAD", "ref: refs/heads/x");
        place.write("whole/objects/x", "");
        place.write("whole/refs/x", "");
        let made = |folder: &str| vec![Reach::MakesRepository { folder: place.path(folder) }];
        for (path, purpose, folder) in [
            ("n/objects", Purpose::CreateFolder, "src"),
            ("n/objects/readme.txt", Purpose::Write, "src"),
            ("real/refs/a/b", Purpose::Write, "deep"),
            ("of-gd/x", Purpose::CreateFolder, "gd"),
            ("x", Purpose::CreateFolder, "turned"),
            ("x/readme", Purpose::Write, "turned"),
            ("y", Purpose::CreateFolder, "far/.git"),
        ] {
            let found = place.reaches(path, purpose);
            assert!(found.starts_with(&made(folder)), "{path}: {found:?}");
        }
        for path in ["n/other", "n/x/objects", "obj", "gd2/x", "readme.txt"] {
            assert_eq!(place.reaches(path, Purpose::Write), [], "{path}");
        }
        // The folder that leads on is no part yet.
        assert_eq!(place.reaches("n", Purpose::CreateFolder), []);
    }

    #[test]
    fn what_lies_around_the_allowed_folder_and_leads_into_it_counts() {
        let place = Place::with(&[("src/HEAD", "ref: refs/heads/x"), ("src/refs/x", ""), (".git/HEAD", "ref: x")]);
        place.write("pk/app/a.txt", "");
        place.link("../pk/app/obj", "src/objects");
        place.link("pk/app/vs", ".vscode");
        place.link("../app/servers.json", "pk/other/.mcp.json");
        place.link("../a/pk/app/shellrc", "../home/.bashrc");
        let of = |path: &str, purpose: Purpose| place.reaches_below("pk/app", path, purpose);
        let made = Reach::MakesRepository { folder: place.path("src") };
        for (path, purpose) in [("obj", Purpose::CreateFolder), ("obj/readme.txt", Purpose::Write)] {
            assert_eq!(of(path, purpose), std::slice::from_ref(&made), "{path}");
        }
        let verdict = |path: &str| of(path, Purpose::Write).iter().find_map(Reach::verdict);
        for (path, expected) in [
            ("vs/tasks.json", DENIED),
            ("vs/other.json", ASKED),
            ("servers.json", DENIED),
            ("shellrc", DENIED),
            ("obj2/x", None),
            ("b.txt", None),
        ] {
            assert_eq!(verdict(path), expected, "{path}");
        }
    }

    #[test]
    fn what_leads_into_a_folder_that_is_allowed_no_more_counts_too() {
        let place = Place::with(&[("pk/app/a.txt", "")]);
        place.link("pk/app/vs", ".vscode");
        let root = Root::open(&place.path("pk/app")).unwrap();
        let path = RelPath::from_parts(vec!["vs".to_owned(), "tasks.json".to_owned()]).unwrap();
        let target = resolve(&root, &path, Purpose::Write).unwrap();
        let found = Ways::around(&[], None).to(&target, Effect::Made, &Coming::default());
        assert_eq!(found.iter().find_map(Reach::verdict), DENIED, "{found:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn beside_a_repository_for_whoever_stands_in_the_right_place_nothing_is_made() {
        let place = Place::with(&[("src/HEAD", "ref: refs/heads/x"), ("src/refs/x", ""), ("a.txt", "")]);
        assert_eq!(place.reaches("n", Purpose::CreateFolder), []);
        place.link("/proc/self/cwd/../n/objects", "src/objects");
        let made = vec![Reach::MakesRepository { folder: place.path("src") }];
        assert_eq!(place.reaches("n", Purpose::CreateFolder), made);
        assert_eq!(place.reaches("a.txt", Purpose::Delete), []);
    }

    #[test]
    fn a_part_that_is_put_in_order_completes_a_repository() {
        let place = Place::with(&[("src/HEAD", "garbage"), ("src/objects/x", ""), ("src/refs/x", "")]);
        place.write("b/HEAD", "ref: refs/heads/x");
        place.write("b/commondir", "../nowhere");
        place.write("b/objects/x", "");
        place.write("b/refs/x", "");
        place.write("c/HEAD", "ref: refs/heads/x");
        place.link("../said", "c/commondir");
        place.assert(&[("src/HEAD", DENIED), ("b/commondir", DENIED), ("said", DENIED), ("src/refs/y", ASKED)]);
        place.write("d/.git", "gitdir: nowhere");
        place.write("d/HEAD", "ref: refs/heads/x");
        place.write("d/objects/x", "");
        place.write("d/refs/x", "");
        let uncovered = Reach::MakesRepository { folder: place.path("d") };
        assert_eq!(place.reaches("d/.git", Purpose::Delete).first(), Some(&uncovered));
        let made = Reach::MakesRepository { folder: place.path("b") };
        assert_eq!(place.reaches("b/commondir", Purpose::Delete).first(), Some(&made));
        assert!(!place.reaches("b/refs/x", Purpose::Delete).contains(&made));
    }

    #[test]
    fn a_submodule_that_is_not_there_hinders_nothing() {
        let place = Place::with(&[("lib/.git", "gitdir: ../.git/modules/lib\n"), (".git/HEAD", "ref: refs/heads/x")]);
        place.write(".git/config", "[core]\n\tbare = false\n");
        place.write(".git/objects/x", "");
        place.write(".git/refs/x", "");
        place.assert(&[("lib/src/main.rs", None), ("src/new/main.rs", None), ("modules/lib/x", None)]);
    }

    #[test]
    fn a_pointer_leads_to_its_folder_before_that_is_a_repository() {
        let place = Place::with(&[("work/.git", "gitdir: ../store\n"), ("work/a", "")]);
        place.write("linked/HEAD", "ref: x");
        place.write("linked/commondir", "../common\n");
        place.write(".git", &format!("gitdir: {}\n", place.path("linked").display()));
        place.assert(&[("common/config", DENIED), ("common/hooks/x", DENIED), ("linked/config.worktree", DENIED)]);
        let of = |path: &str| place.reaches_below("", path, Purpose::Write).iter().find_map(Reach::verdict);
        assert_eq!(of("work/b.txt"), None);
        assert_eq!(of("store/config"), DENIED);
        // A file that a link of this name leads to is one.
        place.write("said", "nothing");
        place.link("../said", "other/.git");
        place.assert(&[("said", DENIED)]);
    }

    #[test]
    fn what_the_configuration_leads_to_is_refused() {
        let place = Place::with(&[(
            ".git/config",
            "[core]\n\thooksPath = tools/hooks\n\tfsmonitor = tools/mon\n[include]\n\tpath = ../shared.inc\n",
        )]);
        place.write("shared.inc", "[includeIf \"gitdir:x\"]\npath = more.inc\n[alias]\n\tx = !sh scripts/x.sh\n");
        place.write(".git/config.worktree", "[diff \"x\"]\n\ttextconv = bin/conv\n");
        place.write(".git/modules/lib/HEAD", "ref: x");
        place.write(".git/modules/lib/config", "[core]\n\tworktree = ../../../lib\n\thooksPath = ../libhooks\n");
        place.write(".git/worktrees/w/commondir", "../..\n");
        place.write(".git/worktrees/w/gitdir", &format!("{}\n", place.path("w/.git").display()));
        place.write("../home/.gitconfig", "[filter \"x\"]\n\tclean = tools/clean\n[core]\n\teditor = ~/../a/ed\n");
        place.write("../home/.config/git/config", "[merge \"x\"]\n\tdriver = tools/merge %A\n");
        place.assert(&[
            ("tools/hooks/pre-commit", DENIED),
            ("tools/hooks/lib/x", DENIED),
            ("w/tools/hooks/pre-commit", DENIED),
            ("tools/mon", DENIED),
            ("tools/other", None),
            ("shared.inc", DENIED),
            ("more.inc", DENIED),
            ("scripts/x.sh", DENIED),
            ("bin/conv", DENIED),
            ("libhooks/x", DENIED),
            ("tools/clean", DENIED),
            ("ed", DENIED),
            ("src/main.rs", None),
            ("hooks/x", None),
        ]);
        if std::env::var_os("XDG_CONFIG_HOME").is_none() {
            place.assert(&[("tools/merge", DENIED)]);
        }
        let by = |path: &str| match place.reaches(path, Purpose::Write).remove(0) {
            Reach::Also { by, .. } => by,
            Reach::MakesRepository { .. } => panic!("{path}"),
        };
        let setting = ReachedBy::Setting { name: "alias.x".into(), file: place.path("shared.inc") };
        assert_eq!(by("scripts/x.sh"), setting);
    }

    #[test]
    fn included_configurations_that_go_round_come_to_an_end() {
        let place = Place::with(&[(".git/config", "[include]\npath=../a.inc\n"), ("b.inc", "[include]\npath=a.inc\n")]);
        place.write("a.inc", "[include]\npath=b.inc\n[core]\nfsmonitor=./mon\n");
        place.assert(&[("a.inc", DENIED), ("b.inc", DENIED), ("mon", DENIED)]);
    }

    #[test]
    fn hooks_at_the_top_of_the_work_tree_are_those_that_git_runs() {
        let place = Place::with(&[(".git/config", "[core]\nhooksPath=.\n")]);
        place.assert(&[("pre-commit", DENIED), ("src/main.rs", None), ("README.md", None)]);
        let husky = Place::with(&[(".git/config", "[core]\nhooksPath=.husky/_\n")]);
        husky.assert(&[(".husky/_/h", DENIED), (".husky/pre-commit", DENIED), ("husky/x", None)]);
        let nowhere = Place::with(&[(".git/config", "[core]\nhooksPath=/dev/null\n")]);
        nowhere.assert(&[("src/main.rs", None), ("pre-commit", None)]);
    }

    #[test]
    fn what_links_with_protected_names_lead_to_is_protected_as_they_are() {
        let place = Place::with(&[("cfg/tasks.json", ""), ("m/conf.json", ""), (".git/HEAD", "ref: x")]);
        place.link("cfg", ".vscode");
        place.link("m/conf.json", ".mcp.json");
        place.link("../../scripts/pc", ".git/hooks/pre-commit");
        place.link("../conf/git", ".git/config");
        place.link("../w", ".github/workflows");
        place.link("../ks", ".kiro/settings");
        place.link("store", "sub/.git");
        place.link("tasks", "sub/.cursor");
        place.link("again", "chain/.vscode");
        place.link("end", "chain/again");
        place.assert(&[
            ("cfg/tasks.json", DENIED),
            ("cfg/mcp.json", DENIED),
            ("cfg/other.json", ASKED),
            ("m/conf.json", DENIED),
            ("m/other.json", None),
            ("scripts/pc", DENIED),
            ("scripts/other", None),
            ("conf/git", DENIED),
            ("w/ci.yml", ASKED),
            ("ks/mcp.json", DENIED),
            ("ks/x", ASKED),
            ("sub/store/config", DENIED),
            ("sub/store/hooks/x", DENIED),
            ("sub/tasks/mcp.json", DENIED),
            ("chain/end/tasks.json", DENIED),
            ("src/tasks.json", None),
        ]);
    }

    #[test]
    fn what_is_only_asked_crowds_out_no_refusal() {
        let place = Place::with(&[("x/a", "")]);
        for number in 0..=MOST {
            place.link("../../x", &format!("p{number}/.github/workflows"));
        }
        place.link("../../x", "z/deep/.vscode");
        place.assert(&[("x/a", ASKED), ("x/tasks.json", DENIED)]);
    }

    #[test]
    fn hooks_that_are_a_link_are_hooks() {
        let place = Place::with(&[(".git/HEAD", "ref: x"), ("shared/pre-commit", "")]);
        place.link("../shared", ".git/hooks");
        place.assert(&[("shared/pre-commit", DENIED), ("shared/new", DENIED), ("src/x", None)]);
    }

    #[test]
    fn a_deletion_tells_what_goes_with_it() {
        let place = Place::with(&[(".git/config", "[core]\nhooksPath=tools/hooks\n"), ("tools/hooks/x", "")]);
        let is_told = |path: &str| !place.reaches(path, Purpose::Delete).is_empty();
        place.write("src/x", "");
        assert_eq!((is_told("tools"), is_told("tools/hooks/x"), is_told("src")), (true, true, false));
    }

    #[test]
    fn everyday_names_are_ordinary() {
        let place = Place::with(&[(".git/config", "[core]\n\tbare = false\n[alias]\n\tst = status\n")]);
        for path in [".git/HEAD", ".git/objects/x", ".git/refs/x", "api/refs/a", "api/objects/a", "b/HEAD"] {
            place.write(path, "x");
        }
        for path in ["bare.git/HEAD", "bare.git/objects/x", "bare.git/refs/x", "bare.git/worktrees/main/HEAD"] {
            place.write(path, "x");
        }
        place.write("bare.git/main/.git", "gitdir: ../worktrees/main\n");
        place.link("../README.md", "docs/README.md");
        place.link("pnpm/x", "node_modules/x");
        for path in [
            "src/main.rs",
            "README.md",
            "docs/README.md",
            "api/refs/b",
            "api/objects/b",
            "b/HEAD",
            "b/objects/x",
            "HEAD",
            "config",
            "a/config",
            "a/b/config",
            "hooks/x",
            "node_modules/x/index.js",
            "commondir",
            "new/HEAD",
            "bare.git/main/src/hooks/x.ts",
            "bare.git/main/config",
        ] {
            place.assert(&[(path, None)]);
            assert_eq!(place.reaches(path, Purpose::CreateFolder), [], "{path}");
        }
    }
}
