//! What a command finds where: the allowed folders, what in them stays as it is, and what is covered.

use std::path::{Path, PathBuf};

use crate::ir::{Code, Failure, Tier};
use crate::sandbox::{Confine, Hidden, MOST_PLACES, Place, Treatment};
use crate::tool::CommandWalls;
use crate::workspace::{Guard, Guarded, Root, mounts_below};

/// More files with secret names than this are no folder for a command.
const MOST_HIDDEN: usize = 1000;

/// The confinement of one run.
///
/// # Errors
/// When the allowed folders hold what this tier cannot keep from the command.
pub(super) fn confine(
    walls: &CommandWalls,
    roots: &[Root],
    guard: &Guard,
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
    // What there is no room for is put back after the run.
    let place = |treatment| move |Guarded { path, handle }| Place { handle, path, treatment };
    let room = MOST_PLACES.saturating_sub(places.len());
    places.extend(guard.protected(room).into_iter().map(place(Treatment::ReadOnly)));
    let room = MOST_PLACES.saturating_sub(places.len());
    places.extend(guard.pinned(room).into_iter().map(place(Treatment::Pinned)));
    let hidden: Vec<Hidden> = guard
        .sensitive()
        .filter(|(path, _)| !lifted.contains(path))
        .map(|(path, is_folder)| Hidden { path, is_folder })
        .collect();
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

/// Folders that the person chose by a link: a command finds them by that name too.
fn aliases(roots: &[Root]) -> Vec<(PathBuf, PathBuf)> {
    let pairs = roots.iter().map(|root| (root.path().to_path_buf(), root.real_path().to_path_buf()));
    pairs.filter(|(chosen, real)| chosen != real).collect()
}

fn refused(words: String) -> Failure {
    Failure::new(Code::UnconfinedDenied, words)
}
