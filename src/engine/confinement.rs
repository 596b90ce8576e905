//! How far this computer confines commands: found out by the probe when it is first asked for, kept until it no longer
//! holds.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::ir::{Confinement, Network, Tier};
use crate::port::Event;
use crate::sandbox::{self, Found};
use crate::tool::CommandWalls;

use super::shared::Shared;

/// The probe and what it found.
pub(super) struct Confiner {
    helper: PathBuf,
    bubblewraps: Vec<PathBuf>,
    found: Mutex<Option<Arc<Found>>>,
}

impl Confiner {
    /// `helper` is this very program.
    pub(super) fn new(helper: PathBuf, bubblewraps: Vec<PathBuf>) -> Self {
        Self { helper, bubblewraps, found: Mutex::new(None) }
    }

    /// What the probe finds: at the first time after a fraction of a second, then at once.
    pub(super) async fn find(&self) -> Arc<Found> {
        let mut found = self.found.lock().await;
        if let Some(found) = &*found {
            return Arc::clone(found);
        }
        let (helper, bubblewraps) = (self.helper.clone(), self.bubblewraps.clone());
        let probed = tokio::task::spawn_blocking(move || sandbox::probe(&helper, &bubblewraps)).await;
        // A probe that broke found nothing that confines.
        let probed = Arc::new(probed.unwrap_or_default());
        let Confinement { tier, obstacles, .. } = &probed.confinement;
        tracing::info!(?tier, ?obstacles, "the confinement of commands was probed");
        *found = Some(Arc::clone(&probed));
        probed
    }

    /// Whether this tier can still be set up, really tried. Where it cannot, the probe is due anew.
    pub(super) async fn still_holds(&self, tier: Tier) -> bool {
        let found = self.find().await;
        if found.confinement.tier != tier {
            return false;
        }
        if !tier.is_confined() {
            return true;
        }
        let helper = self.helper.clone();
        let starts =
            tokio::task::spawn_blocking(move || sandbox::starts(tier, found.bubblewrap.as_ref(), &helper)).await;
        let holds = starts.unwrap_or(false);
        if !holds {
            self.forget().await;
        }
        holds
    }

    /// What was found no longer holds.
    pub(super) async fn forget(&self) {
        *self.found.lock().await = None;
    }

    /// What stands around a command of this tier.
    pub(super) async fn walls(&self, tier: Option<Tier>, network: Network) -> CommandWalls {
        match tier {
            None | Some(Tier::Unconfined) => CommandWalls::default(),
            Some(tier @ (Tier::A | Tier::B | Tier::Seatbelt)) => {
                let bubblewrap = self.find().await.bubblewrap.clone();
                CommandWalls { tier, network, bubblewrap, ..CommandWalls::default() }
            }
        }
    }
}

/// Finds out and tells every front end.
pub(super) async fn show(shared: &Shared) {
    let found = shared.confiner.find().await;
    shared.publish(Event::ConfinementFound(Box::new(found.confinement.clone()))).await;
}
