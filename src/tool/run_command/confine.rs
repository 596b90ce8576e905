//! What a command finds where: the allowed folders, what in them stays as it is, and what is covered.

use std::path::{Path, PathBuf};

use super::started::Held;
use crate::ir::{Code, Failure, StartMoment, StartedFile, Tier};
use crate::sandbox::{Confine, Hidden, MOST_PLACES, Place, Treatment, content_in_memory, raise_open_files};
use crate::tool::CommandWalls;
use crate::workspace::{Guard, Guarded, HardLinks, Root, Watching, mounts_below};

/// More files with secret names than this are no folder for a command.
const MOST_HIDDEN: usize = 1000;

/// The confinement of one run.
///
/// # Errors
/// When the allowed folders hold what this tier cannot keep from the command.
pub(super) fn confine(
    walls: &CommandWalls,
    roots: &[Root],
    guard: &mut Guard,
    lifted: &[PathBuf],
) -> Result<Confine, Failure> {
    let real: Vec<&Path> = roots.iter().map(Root::real_path).collect();
    let submounts = mounts_below(&real)
        .map_err(|error| refused(format!("What is mounted in the allowed folders is not known: {error}.")))?;
    match (walls.tier, submounts.first()) {
        (Tier::B, Some(mount)) => {
            return Err(refused(format!(
                "Something else is mounted in an allowed folder, and without bubblewrap a command could write there. \
                 Choose a narrower folder, or install bubblewrap. Mounted: {}",
                mount.display()
            )));
        }
        (Tier::A | Tier::Seatbelt | Tier::Unconfined, _) | (Tier::B, None) => {}
    }
    let mut places = Vec::new();
    for root in roots {
        let handle =
            root.folder().handle().map_err(|error| refused(format!("An allowed folder cannot be used: {error}.")))?;
        places.push(Place { handle, path: root.real_path().to_path_buf(), treatment: Treatment::Writable });
    }
    // What there is no room for is watched, and put back after the run. What the command starts has room.
    let is_held = |file: &&StartedFile| file.moment != StartMoment::Later;
    let kept_free = if walls.tier == Tier::A { walls.started.files.iter().filter(is_held).count() } else { 0 };
    let most = MOST_PLACES.saturating_sub(kept_free);
    let place = |treatment| move |Guarded { path, handle }| Place { handle, path, treatment };
    let room = most.saturating_sub(places.len());
    let protected = match walls.tier {
        Tier::A => guard.fix(room),
        Tier::Seatbelt => guard.protected(room),
        Tier::B | Tier::Unconfined => Vec::new(),
    };
    places.extend(protected.into_iter().map(place(Treatment::ReadOnly)));
    let room = most.saturating_sub(places.len());
    places.extend(guard.pinned(room).into_iter().map(place(Treatment::Pinned)));
    // What is closed to this user is covered too: a command could open it, and nobody has looked.
    let closed = guard.closed().filter(|path| covers(walls.tier) && !real.contains(&path.as_path()));
    let hidden: Vec<Hidden> = guard
        .sensitive()
        .filter(|(path, _)| !lifted.contains(path))
        .chain(closed.map(|path| (path, true)))
        .map(|(path, is_folder)| Hidden { path, is_folder })
        .collect();
    let unseen = unseen_by(walls.tier, guard);
    if unseen > walls.unseen {
        let words = format!(
            "Places in the allowed folders cannot be looked at ({unseen}, and {} were shown), so nothing ran. Try again: \
             then the person is asked.",
            walls.unseen
        );
        return Err(Failure::new(Code::TargetChanged, words));
    }
    if hidden.len() > MOST_HIDDEN {
        return Err(refused(format!(
            "The allowed folders hold {} files with secret names, too many to cover them all: choose a narrower folder.",
            hidden.len()
        )));
    }
    Ok(Confine {
        tier: walls.tier,
        network: walls.network,
        bubblewrap: walls.bubblewrap.clone(),
        places,
        hidden,
        aliases: aliases(roots),
        submounts,
    })
}

/// What a command starts first, as it was read: in tier A it stands in its own place, whatever lies there by then.
///
/// # Errors
/// When there is no memory for it.
pub(super) fn hold(tier: Tier, held: Vec<Held>) -> Result<Vec<Place>, Failure> {
    match tier {
        Tier::A => {}
        Tier::B | Tier::Seatbelt | Tier::Unconfined => return Ok(Vec::new()),
    }
    let place = |Held { path, content, mode }: Held| {
        let handle = content_in_memory(&content)
            .map_err(|error| refused(format!("What the command starts could not be held, so nothing ran: {error}.")))?;
        Ok(Place { handle, path, treatment: Treatment::Copied { mode } })
    };
    held.into_iter().map(place).collect()
}

/// In how many places of these folders nobody can look, or hold still what is protected: nothing is kept from a command
/// there.
pub(super) fn unseen(tier: Tier, roots: &[Root]) -> u64 {
    if tier.is_confined() { unseen_by(tier, &Guard::take(roots, Watching::No)) } else { 0 }
}

/// What a command can change outside these folders by its names in them. Without walls it can change anything, which is said
/// instead.
pub(super) fn linked(tier: Tier, roots: &[Root]) -> HardLinks {
    if tier.is_confined() { HardLinks::find(roots) } else { HardLinks::default() }
}

fn unseen_by(tier: Tier, guard: &Guard) -> u64 {
    let unseen = guard.unseen();
    match tier {
        // What is read-only needs nobody to hold it.
        Tier::A | Tier::Seatbelt => unseen.saturating_sub(guard.closed().count() as u64),
        Tier::B => {
            raise_open_files();
            unseen.saturating_add(guard.not_held())
        }
        Tier::Unconfined => unseen,
    }
}

/// Whether what is hidden is not there for a command.
fn covers(tier: Tier) -> bool {
    match tier {
        Tier::A | Tier::Seatbelt => true,
        Tier::B | Tier::Unconfined => false,
    }
}

/// Folders that the person chose by a link: a command finds them by that name too.
fn aliases(roots: &[Root]) -> Vec<(PathBuf, PathBuf)> {
    let pairs = roots.iter().map(|root| (root.path().to_path_buf(), root.real_path().to_path_buf()));
    pairs.filter(|(chosen, real)| chosen != real).collect()
}

fn refused(words: String) -> Failure {
    Failure::new(Code::UnconfinedDenied, words)
}
