//! The watch during a command: what git, editors and agents pick up at any moment may not lie there until the command ends.
//!
//! Every folder is watched that the look came to, and every new one as it appears. What must not be there is taken away at
//! once, and the command is stopped: it has no second try. What cannot be watched is counted. What the kernel tells nobody
//! of, a write through a mapping, is kept from happening (`hold`).
#![cfg(target_os = "linux")]

use std::collections::HashMap;
use std::ffi::{CStr, OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::gone::Gone;
use super::harmless::{is_example, is_harmless};
use super::hold::{Holds, Where};
use super::kept::{Kept, Room, descend};
use super::linked::{MOST_FOLDERS_BEHIND, Waiting};
use super::look::{Found, Look, MOST_FOLDERS, Start, is_repository};
use super::name::{Around, Meaning, Names, PickedUp};
use super::{Guard, GuardedRoot, Revert, Reverted, TakeLease, Watched, placeholder, steps};
use crate::policy::TargetKind;
use crate::workspace::Folder;

/// A folder that is watched.
#[derive(Debug)]
pub(super) struct Place {
    /// The number of the allowed folder.
    pub(super) root: usize,
    /// The watch on the folder that it lies in.
    pub(super) above: Option<i32>,
    pub(super) name: OsString,
    pub(super) around: Around,
}

/// How often it is looked who waits: so long somebody's own save may take longer.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// What is not held is read once in so many looks.
const LOOKS_PER_ROUND: u32 = 2;

/// The kernel's watches.
#[derive(Debug)]
pub(super) struct Watcher {
    inotify: OwnedFd,
    places: HashMap<i32, Place>,
    unwatched: u64,
    holds: Holds,
    links: Waiting,
}

/// Something that happened in a watched folder.
struct Happened {
    watch: i32,
    flags: ReadFlags,
    name: OsString,
}

impl Watcher {
    /// `None` where the system has no room for one more.
    pub(super) fn new() -> Option<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let (places, holds, links) = Default::default();
        Some(Self { inotify, places, unwatched: 0, holds, links })
    }

    /// Watches a folder.
    pub(super) fn add(&mut self, folder: &Folder, place: Place) -> Option<i32> {
        let mut flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        if place.around.holds_protected() {
            flags |= WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::ATTRIB;
        }
        // By its handle's number: no path that could lead elsewhere.
        let by_handle = folder.handle().ok().map(|handle| {
            let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
            inotify::add_watch(&self.inotify, path, flags)
        });
        let Some(Ok(watch)) = by_handle else {
            self.unwatched += 1;
            return None;
        };
        // A part of the tree may be looked at alone: where it lies is known already then.
        let above = place.above.or_else(|| self.places.get(&watch).and_then(|known| known.above));
        if above.is_none() && !place.name.is_empty() {
            self.unwatched += 1;
            return None;
        }
        self.places.insert(watch, Place { above, ..place });
        Some(watch)
    }

    /// Holds what may not be written into.
    pub(super) fn hold(&mut self, guarded: &[GuardedRoot], take: TakeLease) {
        self.holds = Holds::take(guarded, take);
    }

    /// From the allowed folder; `None` where that is not known.
    fn path_of(&self, watch: i32) -> Option<(usize, Vec<OsString>)> {
        /// Names may come round in a circle only where folders were moved while they were looked at.
        const MOST: usize = 1_000_000;
        let mut place = self.places.get(&watch)?;
        let root = place.root;
        let mut path = Vec::new();
        while let Some(above) = place.above {
            path.push(place.name.clone());
            place = self.places.get(&above)?;
            if path.len() > MOST {
                return None;
            }
        }
        path.reverse();
        Some((root, path))
    }

    /// Watches until `end` can be read or is closed. `stop` is called the moment that something must not be there.
    pub(super) fn run(mut self, guard: &Guard, names: &mut Names, end: BorrowedFd<'_>, stop: &dyn Fn()) -> Watched {
        let mut watched = Watched { unwatched: self.unwatched, ..Watched::default() };
        let mut gone = Gone::new(&guard.roots);
        let mut looks = 0_u32;
        loop {
            let mut waited = [PollFd::new(&self.inotify, PollFlags::IN), PollFd::from_borrowed_fd(end, PollFlags::IN)];
            let is_awaited = !self.holds.is_empty() || !gone.is_empty() || self.links.is_due();
            let pause = is_awaited.then_some(&PAUSE);
            match poll(&mut waited, pause) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => break,
            }
            let [_, ended] = waited;
            let is_over = !ended.revents().is_empty();
            looks = looks.wrapping_add(1);
            let all = self.read();
            let mut round = Round { watcher: &mut self, guard, names, stop, watched: &mut watched };
            round.stop_for_those_who_wait();
            for happened in &all {
                round.judge(happened);
            }
            round.look_at_links(!all.is_empty());
            if !all.is_empty() {
                round.look_at_the_nearly(looks);
            }
            if looks.is_multiple_of(LOOKS_PER_ROUND) || round.watcher.holds.is_urgent() {
                round.look_at_what_is_not_held();
            }
            for (number, path) in gone.look(guard, now_ns()) {
                round.bring_back(number, &path);
            }
            if is_over {
                break;
            }
        }
        watched.ended_ns = Some(now_ns());
        if self.holds.holds_any() {
            // Whoever waits writes after this moment, also by the kernel's clock, which is coarse.
            std::thread::sleep(COARSE);
        }
        watched.unwatched = self.unwatched;
        watched
    }

    fn read(&self) -> Vec<Happened> {
        const MOST_AT_ONCE: usize = 4096;
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut all = Vec::new();
        // What was read must be taken whole.
        while all.len() < MOST_AT_ONCE || !reader.is_buffer_empty() {
            let Ok(event) = reader.next() else { break };
            let name = event.file_name().map(CStr::to_bytes).map(OsStr::from_bytes).unwrap_or_default();
            all.push(Happened { watch: event.wd(), flags: event.events(), name: name.to_owned() });
        }
        all
    }
}

/// The longest step of the kernel's clock for files, and some more.
const COARSE: Duration = Duration::from_millis(12);

#[expect(clippy::disallowed_methods, reason = "it is compared with the times that the kernel gives to files")]
fn now_ns() -> i128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}

/// One look at what happened.
struct Round<'round> {
    watcher: &'round mut Watcher,
    guard: &'round Guard,
    names: &'round mut Names,
    stop: &'round dyn Fn(),
    watched: &'round mut Watched,
}

impl Round<'_> {
    fn judge(&mut self, Happened { watch, flags, name }: &Happened) {
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.look_at_everything();
        }
        if flags.contains(ReadFlags::IGNORED) {
            self.watcher.places.remove(watch);
            return;
        }
        let Some(place) = self.watcher.places.get(watch) else { return };
        let is_folder = flags.contains(ReadFlags::ISDIR);
        let is_new = flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
        let around = &place.around;
        let meaning = self.names.meaning(around, name, is_folder);
        let makes_repositories = ["HEAD", "objects", "refs", "commondir"].iter().any(|part| name == part);
        match meaning {
            Meaning::Sensitive if is_new => self.check_cover(*watch, name),
            Meaning::Protected(when) if !is_folder => {
                let around = around.clone();
                let is_written = flags.contains(ReadFlags::CLOSE_WRITE);
                self.look_at_one(*watch, name, &around, when, is_written);
            }
            Meaning::Ordinary | Meaning::Git | Meaning::Protected(_) if is_folder && is_new => {
                if !around.is_git_data(name) {
                    let below = around.child(name, meaning);
                    self.look_at_folder(*watch, name, below);
                }
                if makes_repositories {
                    self.look_for_repository(*watch);
                }
            }
            Meaning::Ordinary if is_new && !around.is_git() => {
                let is_of_packages = around.is_of_packages();
                if makes_repositories {
                    self.look_for_repository(*watch);
                }
                if !is_of_packages {
                    self.note_link(*watch, name);
                }
            }
            Meaning::Ordinary | Meaning::Git | Meaning::Protected(_) | Meaning::Sensitive => {}
        }
    }

    fn root(&self, number: usize) -> Option<&'_ GuardedRoot> {
        self.guard.roots.get(number)
    }

    /// The watched folder, opened, with the allowed folder's number and its path.
    fn open(&self, watch: i32) -> Option<(usize, Vec<OsString>, Folder)> {
        let (number, path) = self.watcher.path_of(watch)?;
        let folder = descend(self.root(number)?.root.folder(), &path)?;
        Some((number, path, folder))
    }

    /// What was covered by a mount is open where another program has put a new file in its place.
    fn check_cover(&mut self, watch: i32, name: &OsStr) {
        let Some((number, mut path)) = self.watcher.path_of(watch) else { return };
        path.push(name.to_owned());
        let is_covered = self.guard.are_secrets_covered
            && self.root(number).is_some_and(|root| root.before.sensitive.iter().any(|(covered, _)| *covered == path));
        if is_covered {
            self.trip(Reverted::new(number, &path, Revert::Outside));
        }
    }

    fn look_at_one(&mut self, watch: i32, name: &OsStr, around: &Around, when: PickedUp, is_written: bool) {
        let Some((number, mut path, folder)) = self.open(watch) else { return };
        path.push(name.to_owned());
        let Some(now) = Kept::of(&folder, name, when, &mut Room::default()) else { return };
        let before = self.root(number).map(|guarded| &guarded.before);
        if is_harmless(before, around, name, &folder, &now) {
            if placeholder::can_become_another(&now) && !is_example(name) {
                self.keep_harmless(number, path, &now);
            }
            return;
        }
        self.judge_one(number, &path, &now);
        if is_written {
            self.judge_writer(number, &path);
        }
    }

    /// What would change nothing for git as it is must stay so.
    fn keep_harmless(&mut self, number: usize, path: Vec<OsString>, now: &Kept) {
        let is_kept = |guarded: &GuardedRoot| !guarded.before().is_fixed(&path) && !is_nobodys(guarded, &path, now);
        if self.root(number).is_some_and(is_kept) {
            self.watcher.holds.add_harmless((number, path), now);
        }
    }

    /// Who waits to write has not written: the command is stopped before anybody may.
    fn stop_for_those_who_wait(&mut self) {
        for (number, path) in self.watcher.holds.wanted() {
            self.trip(Reverted::new(number, &path, Revert::Prevented));
        }
    }

    fn look_at_what_is_not_held(&mut self) {
        let guard = self.guard;
        let round = self.watcher.holds.round(guard);
        for (number, path) in round.read {
            self.look_again(number, &path);
        }
        for (number, path) in round.unfinished {
            let Some(guarded) = guard.roots.get(number) else { continue };
            if let Some((_, now)) = now_at(guarded, &path).filter(|(_, now)| !is_nobodys(guarded, &path, now)) {
                self.trip_by(guarded, &path, || guarded.before().take_away(&path, &now));
            }
        }
    }

    /// It was there before and stays away: the command is stopped as for a change.
    fn bring_back(&mut self, number: usize, path: &[OsString]) {
        let Some(guarded) = self.guard.roots.get(number) else { return };
        let before = guarded.before();
        if before.missing_from(path).is_none() {
            return;
        }
        self.move_back(guarded);
        for reverted in before.missing_from(path).map(|missing| before.bring_back(missing)).unwrap_or_default() {
            self.trip(reverted);
        }
    }

    fn look_again(&mut self, number: usize, path: &[OsString]) {
        let Some(guarded) = self.guard.roots.get(number) else { return };
        let Some((folder, now)) = now_at(guarded, path) else { return };
        let before = Some(&guarded.before);
        let is_harmless = path.last().is_some_and(|name| is_harmless(before, &Around::git(), name, &folder, &now));
        if guarded.before.protected.contains_key(path) || !is_harmless {
            self.judge_one(number, path, &now);
        }
    }

    /// Somebody has had it open for writing, and it is as it was: a mapping of it may still be there.
    fn judge_writer(&mut self, number: usize, path: &[OsString]) {
        let Some(guarded) = self.guard.roots.get(number) else { return };
        let is_picked_up = guarded.before.protected.get(path).is_some_and(|kept| kept.when == PickedUp::AtOnce);
        if is_picked_up && !guarded.before().is_fixed(path) {
            self.trip(Reverted::new(number, path, Revert::Prevented));
        }
    }

    /// It may be a link, and lead elsewhere than what was there.
    fn note_link(&mut self, watch: i32, name: &OsStr) {
        let Some((number, mut path)) = self.watcher.path_of(watch) else { return };
        path.push(name.to_owned());
        if self.root(number).is_some_and(|guarded| guarded.before.had(&path)) {
            self.watcher.links.add(number, path);
        }
    }

    fn look_at_links(&mut self, has_happened: bool) {
        let began_ns = now_ns();
        let (guard, mut room) = (self.guard, MOST_FOLDERS_BEHIND);
        let mut links = self.watcher.links.take(has_happened, began_ns);
        if links.is_empty() {
            return;
        }
        links.retain(|(number, path)| {
            let Some(guarded) = guard.roots.get(*number) else { return false };
            let is_link = now_at(guarded, path).is_some_and(|(_, now)| now.stat.kind == TargetKind::Link);
            is_link && !(guarded.before().misleads(path, &mut room) && self.move_back(guarded))
        });
        self.watcher.links.give_back(links, began_ns, now_ns());
    }

    fn look_at_folder(&mut self, watch: i32, name: &OsStr, around: Around) {
        let Some((number, mut path, folder)) = self.open(watch) else { return };
        path.push(name.to_owned());
        if let Ok(folder) = folder.open_folder(name) {
            self.look_from(number, Start { folder, path, around, above: Some(watch) });
        }
    }

    /// A folder of any name becomes a repository when it has the parts of one.
    fn look_for_repository(&mut self, watch: i32) {
        let Some((number, path, folder)) = self.open(watch) else { return };
        let Some(place) = self.watcher.places.get(&watch) else { return };
        let (above, around) = (place.above, place.around.clone().into_git());
        if is_repository(&folder) {
            self.look_from(number, Start { folder, path, around, above });
        }
    }

    fn look_from(&mut self, number: usize, start: Start) {
        let Some(guarded) = self.guard.roots.get(number) else { return };
        let look = self.look(guarded, number);
        let found = look.from(vec![start]);
        self.judge_all(number, &found);
    }

    /// Something appeared, wherever: it may be what made a repository of what was none.
    fn look_at_the_nearly(&mut self, looks: u32) {
        /// A flood of them must not keep the watch from the rest.
        const MOST_AT_ONCE: usize = 256;
        let guard = self.guard;
        for guarded in &guard.roots {
            let parts = guarded.nearly.len().div_ceil(MOST_AT_ONCE).max(1);
            let first = (looks as usize % parts) * MOST_AT_ONCE;
            let some = guarded.nearly.iter().skip(first).take(MOST_AT_ONCE);
            for nearly in some.filter(|nearly| nearly.is_made(&guarded.root)) {
                (self.stop)();
                for reverted in guarded.before().unmake_nearly(&guarded.root, nearly) {
                    self.trip(reverted);
                }
            }
        }
    }

    /// More happened than the kernel keeps.
    fn look_at_everything(&mut self) {
        let guard = self.guard;
        for (number, guarded) in guard.roots.iter().enumerate() {
            let found = self.look(guarded, number).whole();
            self.judge_all(number, &found);
        }
    }

    fn look<'look>(&'look mut self, guarded: &'look GuardedRoot, number: usize) -> Look<'look> {
        Look {
            root: &guarded.root,
            before: Some(&guarded.before),
            led: &guarded.led,
            names: &mut *self.names,
            watcher: Some(&mut *self.watcher),
            number,
            most_folders: MOST_FOLDERS,
        }
    }

    fn judge_all(&mut self, number: usize, found: &Found) {
        for (path, now) in found.protected.iter().rev() {
            self.judge_one(number, path, now);
        }
        for path in found.links.keys() {
            self.watcher.links.add(number, path.clone());
        }
        for path in &found.harmless {
            let now = self.guard.roots.get(number).and_then(|guarded| now_at(guarded, path));
            if let Some((_, now)) = now {
                self.keep_harmless(number, path.clone(), &now);
            }
        }
    }

    fn judge_one(&mut self, number: usize, path: &[OsString], now: &Kept) {
        let guard = self.guard;
        let Some(guarded) = guard.roots.get(number) else { return };
        let before = guarded.before();
        let is_the_same = |kept: &Kept| kept.is_same(now) && kept.object() == now.object();
        if guarded.before.protected.get(path).is_some_and(is_the_same) {
            return;
        }
        let was = before.was_at(path);
        let is_in_its_folder = was.as_deref().is_none_or(|was| was == path || before.went_along(was, path));
        let known = was.as_deref().or(Some(path)).and_then(|was| guarded.before.protected.get(was));
        let known = known.filter(|_| is_in_its_folder);
        if let Some(kept) = known.filter(|kept| kept.is_same(now)) {
            return self.judge_same(guarded, path, kept, now);
        }
        let is_picked_up = known.unwrap_or(now).when == PickedUp::AtOnce
            || before.is_fixed(path)
            || steps::is_picked_up_at_once(path, now);
        // What was moved back meanwhile is judged where it is.
        if !is_picked_up || super::moved::thing_at(guarded.root.folder(), path) != Some(now.object()) {
            return;
        }
        let is_in_place = now.stat.kind != TargetKind::Folder && guarded.before.has_folder(path);
        if (!is_in_its_folder || is_in_place || before.is_the_only_one(path, now)) && self.move_back(guarded) {
            return;
        }
        if let Some(kept) = known.filter(|_| was.is_some() || self.is_its_place(guarded, path)) {
            return self.trip_by(guarded, path, || before.restore(path, kept, Some(now)));
        }
        let is_none_of_its = is_nobodys(guarded, path, now) || self.is_unmade(number, path);
        if is_none_of_its || before.made_around(path).is_some_and(|repository| self.unmake(guarded, repository)) {
            return;
        }
        self.trip_by(guarded, path, || before.take_away(path, now));
    }

    /// Stops the command and moves back what it has moved; gives whether anything went back.
    fn move_back(&mut self, guarded: &GuardedRoot) -> bool {
        (self.stop)();
        let after = self.look(guarded, guarded.number).whole();
        let back = guarded.before().move_back(&after, None);
        let is_back = !back.is_empty();
        for reverted in back {
            self.trip(reverted);
        }
        is_back
    }

    /// Whether what was at a path belongs there, although it lies in another folder now.
    fn is_its_place(&mut self, guarded: &GuardedRoot, path: &[OsString]) -> bool {
        (self.stop)();
        let after = self.look(guarded, guarded.number).whole();
        guarded.before().place_of(path, &after, None).is_some_and(|place| place == path)
    }

    /// Takes away what made it a repository, after the command was stopped; gives whether it is none any more.
    fn unmake(&mut self, guarded: &GuardedRoot, repository: &[OsString]) -> bool {
        (self.stop)();
        for reverted in guarded.before().unmake(repository) {
            self.trip(reverted);
        }
        let is_none = !guarded.before().is_made(repository);
        if is_none {
            self.watched.unmade.push((guarded.number, repository.to_vec()));
        }
        is_none
    }

    /// Whether it lay in a repository that is none any more, so that nothing obeys it.
    fn is_unmade(&self, number: usize, path: &[OsString]) -> bool {
        let is_in = |repository: &[OsString]| {
            path.get(repository.len()..).is_some_and(|below| {
                path.starts_with(repository) && !below.iter().any(|name| name.eq_ignore_ascii_case(".git"))
            })
        };
        self.watched.unmade.iter().any(|(at, repository)| *at == number && is_in(repository))
    }

    /// Another file has taken its name and says the same: who has that one open for writing can change it unseen.
    fn judge_same(&mut self, guarded: &GuardedRoot, path: &[OsString], kept: &Kept, now: &Kept) {
        let before = guarded.before();
        let is_another = kept.when == PickedUp::AtOnce && kept.object() != now.object();
        if !is_another || kept.stat.kind != TargetKind::File || before.is_fixed(path) {
            return;
        }
        let file: Where = (guarded.number, path.to_vec());
        let is_still = self.watcher.holds.renew(self.guard, file, now)
            && now_at(guarded, path).is_none_or(|(_, now)| kept.is_same(&now));
        if !is_still {
            self.trip_by(guarded, path, || before.restore(path, kept, Some(now)));
        }
    }

    /// Stops the command first, then mends.
    fn trip_by(&mut self, guarded: &GuardedRoot, path: &[OsString], mend: impl FnOnce() -> Reverted) {
        (self.stop)();
        let held = super::open_file(guarded.root.folder(), path);
        let reverted = mend();
        let is_taken = reverted.how != Revert::Left && reverted.taken.is_some();
        if let Some(file) = held.filter(|_| is_taken) {
            self.watched.held.push((reverted.root, reverted.path.clone(), file));
        }
        self.trip(reverted);
    }

    fn trip(&mut self, reverted: Reverted) {
        (self.stop)();
        if self.watched.stopped_for.is_none() {
            self.watched.stopped_for = Some((reverted.path.clone(), reverted.how));
        }
        if !self.watched.reverted.iter().any(|known| known.is_of(&reverted)) {
            self.watched.reverted.push(reverted);
        }
    }
}

/// What lies at a path that was protected at once, and the folder that it lies in.
fn now_at(guarded: &GuardedRoot, path: &[OsString]) -> Option<(Folder, Kept)> {
    let (name, parents) = path.split_last()?;
    let folder = descend(guarded.root.folder(), parents)?;
    let now = Kept::of(&folder, name, PickedUp::AtOnce, &mut Room::default())?;
    Some((folder, now))
}

/// Whether it belongs to a repository without `.git` in a folder that has only just been made: nobody asks git there
/// yet, and a copy of a repository is no attack. It is left to the look after the command.
fn is_nobodys(guarded: &GuardedRoot, path: &[OsString], now: &Kept) -> bool {
    if now.when == PickedUp::Later || path.iter().any(|name| name.eq_ignore_ascii_case(".git")) {
        return false;
    }
    let folders = (0..path.len()).rev().filter_map(|length| path.get(..length));
    let root = guarded.root.folder();
    folders
        .into_iter()
        .find(|folder| descend(root, folder).is_some_and(|opened| is_repository(&opened)))
        .is_some_and(|repository| !guarded.before.has_folder(repository))
}
