//! What leads somewhere: repositories with their configuration and hooks, the person's own configuration, links.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::Lead;
use super::taken::is_taken;
use super::way::{self, expand, follow};
use crate::policy::{
    GitLead, GitSetting, HOOK_NAMES, ReachedBy, TargetKind, git_lead, parse_git_config, places_that_count,
};
use crate::workspace::folder::descend;
use crate::workspace::{Folder, Root};

/// Repositories that are read, submodules and further work trees too.
const MOST_REPOSITORIES: usize = 10_000;
/// Configuration files that are read, each with what it includes.
const MOST_FILES: usize = 20_000;
const MOST_LEADS: usize = 20_000;
/// Folders that are looked at for repositories and links where nothing is walked, in each allowed folder and in the work
/// tree around it, and names in them.
const MOST_NEAREST: usize = 1_000;
const MOST_NEAREST_NAMES: usize = 50_000;
/// How deep git lets configurations include each other.
const MOST_INCLUDES: usize = 10;
/// Names in a folder of hooks, of submodules or of work trees that are looked at.
const MOST_NAMES: usize = 1_000;
/// How many parts the name of a submodule has at most.
const MODULE_DEPTH: usize = 5;

const GIT: &str = ".git";
const HOOKS: &str = "hooks";
const CONFIGURATION: &str = "config";

/// The leads that were found.
#[derive(Debug)]
pub(in crate::workspace) struct Leads {
    /// The person's home folder.
    home: Option<PathBuf>,
    all: Vec<Lead>,
    known: HashSet<(PathBuf, Vec<String>)>,
    files: HashMap<PathBuf, Rc<[GitSetting]>>,
    /// What was read, by configuration and by the top of the work tree that it is read for.
    read: HashSet<(PathBuf, Option<PathBuf>)>,
    repositories: HashSet<(PathBuf, Option<PathBuf>)>,
    /// What [`Leads::up_from`] has come to.
    looked_at: HashSet<PathBuf>,
    /// Folders of git, or what looks like one or is named as one, that git does not take for a repository.
    nearly: Vec<PathBuf>,
}

impl Leads {
    pub(in crate::workspace) fn new(home: Option<&Path>) -> Self {
        Self {
            home: home.map(Path::to_path_buf),
            all: Vec::new(),
            known: HashSet::new(),
            files: HashMap::new(),
            read: HashSet::new(),
            repositories: HashSet::new(),
            looked_at: HashSet::new(),
            nearly: Vec::new(),
        }
    }

    /// Those that can be found without a walk: of the allowed folders, of all above them, and of the nearest ones in them
    /// and in the work trees that they are a part of.
    pub(in crate::workspace) fn around(roots: &[Root], home: Option<&Path>) -> Self {
        let mut leads = Self::new(home);
        leads.machine(None);
        // A shell and an editor read there what may be a link into somebody's collection of configurations.
        if let Some(home) = home {
            leads.links_at(home);
        }
        for root in roots {
            leads.up_from(root.real_path());
            leads.nearest(root.real_path());
            if let Some(top) = leads.work_tree_around(root.real_path()) {
                leads.nearest(top);
            }
        }
        leads
    }

    /// Those of a folder and of all above it, each looked at once.
    pub(super) fn up_from(&mut self, place: &Path) {
        for place in place.ancestors() {
            if self.looked_at.insert(place.to_path_buf()) {
                self.at(place);
                self.links_at(place);
            }
        }
    }

    /// The work tree that a folder is a part of. A home folder that is one is too large, and may hold what answers slowly.
    fn work_tree_around<'root>(&self, root: &'root Path) -> Option<&'root Path> {
        let is_one = |top: &&Path| std::fs::symlink_metadata(top.join(GIT)).is_ok();
        let top = root.ancestors().skip(1).find(is_one)?;
        self.home.as_ref().is_none_or(|home| !home.starts_with(top)).then_some(top)
    }

    /// The repositories and the links with protected names in a folder, those that lie nearest first.
    fn nearest(&mut self, top: &Path) {
        let places: HashSet<&OsStr> = places_that_count().filter_map(<[_]>::first).map(OsStr::new).collect();
        let mut waiting = VecDeque::from([top.to_path_buf()]);
        let mut names_left = MOST_NEAREST_NAMES;
        for _ in 0..MOST_NEAREST {
            let Some(folder) = waiting.pop_front() else { return };
            let (mut is_gits, mut has_places) = (false, false);
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten().take(names_left) {
                names_left -= 1;
                let name = entry.file_name().to_ascii_lowercase();
                is_gits |= name == GIT || name == "head";
                has_places |= places.contains(&*name);
                if name != GIT && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    waiting.push_back(entry.path());
                }
            }
            if is_gits {
                self.at(&folder);
            }
            if has_places {
                self.links_at(&folder);
            }
        }
    }

    /// Whether the configuration of the person or of the computer names something by its path from the top of the work tree,
    /// whichever that is.
    pub(in crate::workspace) fn is_obeyed_everywhere(home: Option<&Path>) -> bool {
        let top = Path::new(if cfg!(windows) { r"C:\nod-no-such-folder" } else { "/nod-no-such-folder" });
        let mut leads = Self::new(home);
        leads.machine(Some(top));
        leads.all.iter().any(|lead| lead.path.starts_with(top))
    }

    pub(in crate::workspace) fn all(&self) -> &[Lead] {
        &self.all
    }

    /// What git would take for a repository with something more, and does not as it is.
    pub(in crate::workspace) fn nearly(&self) -> &[PathBuf] {
        &self.nearly
    }

    /// What git finds when it is asked in this folder, and whether the folder itself is git's.
    pub(in crate::workspace) fn at(&mut self, place: &Path) {
        let git = place.join(GIT);
        if let Ok(metadata) = std::fs::metadata(&git) {
            if metadata.is_dir() {
                self.link(&git, &[GIT]);
                self.repository(&git, Some(place));
            } else {
                self.pointer(&git);
                self.link(&git, &[GIT]);
            }
        } else {
            // It may lead to what is not there yet.
            self.link(&git, &[GIT]);
        }
        if is_repository_at(place) {
            self.repository(place, None);
        }
    }

    /// A file `.git`, which says where the folder of git is.
    pub(in crate::workspace) fn pointer(&mut self, file: &Path) {
        let (Some(text), Some(top)) = (way::read(file), file.parent()) else { return };
        if let Some(to) = text.strip_prefix("gitdir:").map(|to| to.trim_matches([' ', '\t', '\r', '\n'])) {
            let git = top.join(to);
            self.lead(&git, &[GIT], &ReachedBy::Repository(git.clone()));
            self.repository(&git, Some(top));
            // It may not lead there yet.
            if !is_taken(file) && !self.nearly.iter().any(|known| known == file) {
                self.nearly.push(file.to_path_buf());
            }
        }
    }

    /// A folder of git.
    pub(in crate::workspace) fn git_folder(&mut self, git: &Path) {
        let top = git.parent().filter(|_| git.file_name().is_some_and(|name| name.eq_ignore_ascii_case(GIT)));
        self.repository(git, top);
    }

    /// The configuration of the person and of the computer, for a work tree or for none.
    fn machine(&mut self, base: Option<&Path>) {
        let home = self.home.clone();
        let own = home.as_ref().map(|home| home.join(".gitconfig"));
        let set = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let further = set.or_else(|| home.map(|home| home.join(".config"))).map(|folder| folder.join("git/config"));
        let systems = ["/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig"].map(PathBuf::from);
        for file in own.into_iter().chain(further).chain(systems) {
            self.configuration(&file, base, 0);
        }
    }

    /// Links with protected names in a folder, wherever that is.
    fn links_at(&mut self, place: &Path) {
        if let Ok(folder) = Folder::open_ambient(place) {
            self.links_in(&folder, place);
        }
    }

    /// Links with protected names in a folder.
    pub(in crate::workspace) fn links_in(&mut self, folder: &Folder, place: &Path) {
        // Of names of several parts the first ones may be links too.
        let all: BTreeSet<&[&str]> =
            places_that_count().flat_map(|names| (1..=names.len()).filter_map(|length| names.get(..length))).collect();
        let mut absent: Option<&[&str]> = None;
        // In this order a name comes right before those below it.
        for names in all {
            if absent.is_some_and(|absent| names.starts_with(absent)) {
                continue;
            }
            let Some((name, folders)) = names.split_last() else { continue };
            let path = names.iter().fold(place.to_path_buf(), |path, name| path.join(name));
            let folders: Vec<OsString> = folders.iter().map(OsString::from).collect();
            match descend(folder, &folders).map(|folder| folder.read_link(OsStr::new(name))) {
                Some(Ok(_)) => {
                    self.link(&path, names);
                    absent = Some(names);
                }
                Some(Err(error)) if error.kind() == ErrorKind::NotFound => absent = Some(names),
                Some(Err(_)) => {}
                None => absent = Some(names),
            }
        }
    }

    /// A name that may be a link, and the protected names that it stands for.
    pub(in crate::workspace) fn link(&mut self, place: &Path, names: &[&str]) {
        if std::fs::read_link(place).is_ok() {
            self.lead(place, names, &ReachedBy::Link(place.to_path_buf()));
        }
    }

    /// A link that leads to something in a folder of this name.
    pub(in crate::workspace) fn link_into(&mut self, place: &Path, folder: &str) {
        let Some(name) = place.file_name().and_then(OsStr::to_str) else { return };
        let Some(way) = follow(place) else { return };
        if way.end.parent().is_some_and(|above| above.iter().any(|part| part == folder)) {
            self.push(way.end, vec![name.to_owned()], &ReachedBy::Link(place.to_path_buf()));
        }
    }

    fn repository(&mut self, git: &Path, top: Option<&Path>) {
        let Some(git) = follow(git).map(|way| way.end) else { return };
        let is_new = self.repositories.insert((git.clone(), top.map(Path::to_path_buf)));
        if !is_new || self.repositories.len() > MOST_REPOSITORIES {
            return;
        }
        if !is_taken(&git) {
            self.nearly.push(git.clone());
        }
        self.git_folder_of_any_name(&git);
        let common = way::read(&git.join("commondir"))
            .and_then(|text| follow(&git.join(text.trim_end_matches(['\r', '\n']))))
            .map_or_else(|| git.clone(), |way| way.end);
        if common != git {
            self.git_folder_of_any_name(&common);
        }
        let configurations = [common.join(CONFIGURATION), common.join("config.worktree"), git.join("config.worktree")];
        let said = configurations.iter().flat_map(|file| self.settings(file).to_vec()).filter_map(|setting| {
            match git_lead(&setting)? {
                GitLead::WorkTree(top) => Some(top),
                GitLead::Hooks(_) | GitLead::Template(_) | GitLead::Include(_) | GitLead::Programs(_) => None,
            }
        });
        let said =
            said.last().and_then(|text| follow(&expand(&text, Some(&git), self.home.as_deref())?)).map(|way| way.end);
        let base = said.as_deref().or(top).unwrap_or(&git).to_path_buf();
        for file in &configurations {
            self.link(file, &[GIT, CONFIGURATION]);
            self.configuration(file, Some(&base), 0);
        }
        self.machine(Some(&base));
        self.link(&common.join(HOOKS), &[GIT, HOOKS]);
        self.links_of_hooks(&common.join(HOOKS));
        for tree in folders_in(&common.join("worktrees")) {
            let top =
                way::read(&tree.join("gitdir")).and_then(|text| Some(Path::new(text.trim_end()).parent()?.into()));
            let top: Option<PathBuf> = top;
            self.repository(&tree, top.as_deref());
        }
        self.modules(&common.join("modules"), MODULE_DEPTH);
    }

    fn modules(&mut self, folder: &Path, depth: usize) {
        for module in folders_in(folder) {
            if std::fs::symlink_metadata(module.join("HEAD")).is_ok() {
                self.repository(&module, None);
            } else if depth > 1 {
                self.modules(&module, depth - 1);
            }
        }
    }

    fn git_folder_of_any_name(&mut self, git: &Path) {
        if !git.iter().any(|name| name.eq_ignore_ascii_case(GIT)) {
            self.lead(git, &[GIT], &ReachedBy::Repository(git.to_path_buf()));
        }
    }

    /// `base` is the top of the work tree, from where its paths count.
    fn configuration(&mut self, file: &Path, base: Option<&Path>, depth: usize) {
        let Some(end) = follow(file).map(|way| way.end) else { return };
        if depth > MOST_INCLUDES || !self.read.insert((end.clone(), base.map(Path::to_path_buf))) {
            return;
        }
        for setting in self.settings(file).iter() {
            let Some(lead) = git_lead(setting) else { continue };
            let by = ReachedBy::Setting { name: setting.name(), file: end.clone() };
            match lead {
                GitLead::Hooks(text) => {
                    if let Some(path) = self.expand(&text, base) {
                        self.hooks(&path, base, &by);
                    }
                }
                GitLead::Template(text) => {
                    if let Some(path) = self.expand(&text, base) {
                        self.lead(&path, &[GIT], &by);
                    }
                }
                GitLead::Include(text) => {
                    if let Some(path) = self.expand(&text, file.parent()) {
                        self.lead(&path, &[GIT, CONFIGURATION], &by);
                        self.configuration(&path, base, depth + 1);
                    }
                }
                GitLead::Programs(all) => {
                    for path in all.iter().filter_map(|text| self.expand(text, base)).collect::<Vec<_>>() {
                        self.program(&path, &by);
                    }
                }
                GitLead::WorkTree(_) => {}
            }
        }
    }

    fn expand(&self, text: &str, base: Option<&Path>) -> Option<PathBuf> {
        expand(text, base, self.home.as_deref())
    }

    fn settings(&mut self, file: &Path) -> Rc<[GitSetting]> {
        if let Some(settings) = self.files.get(file) {
            return Rc::clone(settings);
        }
        if self.files.len() >= MOST_FILES {
            return Rc::from([]);
        }
        let settings: Rc<[GitSetting]> = way::read(file).map(|text| parse_git_config(&text)).unwrap_or_default().into();
        self.files.insert(file.to_path_buf(), Rc::clone(&settings));
        settings
    }

    /// A folder of hooks that is configured: all in it, as hooks call what lies beside them. Where that would be the whole
    /// work tree, what git itself runs there.
    fn hooks(&mut self, path: &Path, base: Option<&Path>, by: &ReachedBy) {
        let Some(end) = follow(path).map(|way| way.end) else { return };
        if base.and_then(follow).is_some_and(|base| base.end.starts_with(&end)) {
            for name in HOOK_NAMES {
                self.lead(&path.join(name), &[GIT, HOOKS, name], by);
            }
        } else {
            self.lead(path, &[GIT, HOOKS], by);
            // Husky's own files run those in the folder above.
            if end.ends_with(".husky/_")
                && let Some(above) = end.parent()
            {
                self.lead(above, &[GIT, HOOKS], by);
                self.links_of_hooks(above);
            }
        }
        self.links_of_hooks(&end);
    }

    fn links_of_hooks(&mut self, hooks: &Path) {
        let names = std::fs::read_dir(hooks).into_iter().flatten().flatten().take(MOST_NAMES);
        for entry in names.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink())) {
            let name = entry.file_name();
            self.link(&entry.path(), &[GIT, HOOKS, &name.to_string_lossy()]);
        }
    }

    fn program(&mut self, path: &Path, by: &ReachedBy) {
        let Some(way) = follow(path) else { return };
        if let Some(name) = way.end.file_name().filter(|_| !way.end.is_dir()) {
            self.lead(path, &[GIT, HOOKS, &name.to_string_lossy()], by);
        }
    }

    fn lead(&mut self, path: &Path, names: &[&str], by: &ReachedBy) {
        let Some(way) = follow(path) else { return };
        // Whoever replaces a link on the way leads elsewhere; who makes a folder from which it turns back opens it.
        for link in way.links.into_iter().chain(way.turned) {
            if let Some(name) = link.file_name().map(|name| name.to_string_lossy().into_owned()) {
                self.push(link, vec![GIT.to_owned(), HOOKS.to_owned(), name], by);
            }
        }
        self.push(way.end, names.iter().map(|name| (*name).to_owned()).collect(), by);
    }

    fn push(&mut self, path: PathBuf, names: Vec<String>, by: &ReachedBy) {
        if self.all.len() < MOST_LEADS && self.known.insert((path.clone(), names.clone())) {
            self.all.push(Lead { path, names, by: by.clone() });
        }
    }
}

/// Whether git takes the folder of this path for a repository.
fn is_repository_at(place: &Path) -> bool {
    // A folder without a name of one is none: one look for most.
    std::fs::symlink_metadata(place.join("HEAD")).is_ok()
        && Folder::open_ambient(place).is_ok_and(|folder| is_repository(&folder))
}

/// Whether git takes this folder for a repository, whatever its name is: programs that ask git in it obey its configuration.
pub(in crate::workspace) fn is_repository(folder: &Folder) -> bool {
    let is_there = |part: &Path| folder.stat_of(part.as_os_str()).is_ok_and(|stat| stat.kind != TargetKind::Missing);
    is_repository_if(Path::new(""), is_there)
}

/// The same of a path, where it is known what is there.
pub(super) fn is_repository_if(folder: &Path, is_there: impl Fn(&Path) -> bool) -> bool {
    let has = |part: &str| is_there(&folder.join(part));
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_NAMES);
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}
