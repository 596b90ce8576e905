//! What a command starts from stays as it is while it runs, also for calls of other chats and of other Nods: a call that
//! could lead its path elsewhere waits for it, and it waits for such calls.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ir::{Code, Failure, StartMoment, Tier};
use crate::port::Event;
use crate::workspace::{Claim, Claimed};

use super::super::shared::Shared;
use super::examine::blocking;
use super::plan::Plan;

/// How often it is tried again, and after how many times it is given up: well before a yes gets old.
const EVERY: Duration = Duration::from_millis(50);
const TRIES: u32 = 600;

/// What this plan starts from, and what it may change.
pub(super) fn of(plan: &Plan) -> Claim {
    let is_held = |moment: StartMoment| match (plan.tier, moment) {
        (Some(Tier::A), StartMoment::First | StartMoment::FirstBesideWriting) => true,
        (Some(Tier::A), StartMoment::Later) | (Some(Tier::B | Tier::Seatbelt | Tier::Unconfined) | None, _) => false,
    };
    let runs = plan.started.files.iter().filter(|file| is_held(file.moment)).map(|file| PathBuf::from(&file.path));
    let changes: Vec<PathBuf> = match plan.tier {
        Some(Tier::Unconfined) => vec![Path::new("/").to_path_buf()],
        Some(Tier::A | Tier::B | Tier::Seatbelt) => {
            plan.roots.iter().map(|root| root.real_path().to_path_buf()).collect()
        }
        None if plan.facts.access.changes_named_files() => {
            plan.targets.iter().map(|target| target.resolved().to_path_buf()).collect()
        }
        None => Vec::new(),
    };
    Claim::new(runs, changes)
}

/// Waits until no other call stands against it, and says so.
pub(in crate::engine) async fn wait(shared: &Shared, claim: Claim) -> Result<Claimed, Failure> {
    for tried in 0..TRIES {
        let asked = claim.clone();
        let taken = blocking(move || asked.take()).await?;
        match taken {
            Ok(Some(claimed)) => return Ok(claimed),
            Ok(None) => {}
            Err(error) => {
                let words = format!(
                    "What the call needs to stay as it is could not be made known, so it was not run: {error}."
                );
                return Err(Failure::new(Code::IoError, words));
            }
        }
        if tried == 0 {
            shared.publish(Event::Notice { key: "notice-waits-for-other", args: Vec::new() }).await;
        }
        tokio::time::sleep(EVERY).await;
    }
    let words = "Another call is under way in the same folders, and one of the two starts from a script that must not be \
                 exchanged meanwhile, so this one was not run. Try it again when the other has ended; the person can stop \
                 that one.";
    Err(Failure::new(Code::RateLimited, words))
}
