//! Taking back what calls did, and doing it again: planned, shown, judged, carried out through handles, and recorded like any
//! other change.
//!
//! Nothing here replaces what somebody changed since, unless the person says so; and what is replaced then is kept first.

mod apply;
mod plan;
mod prune;
mod put_back;
mod scope;
mod show;

use std::path::Path;
use std::sync::atomic::AtomicI64;

use tokio::sync::{Mutex, RwLock};

use crate::ir::{Failure, UnixMs};
use crate::journal::{Images, Means};
use crate::port::Settings;
use crate::workspace::Trash;

use super::shared::Shared;
use super::start::Storage;

pub(super) use apply::{Order, apply};
pub(super) use plan::plan;
pub(super) use prune::{prune, prune_soon};
pub(super) use put_back::{After, keep as keep_put_back};
pub(super) use show::{list, preview, preview_of, show};

/// The folder of the contents, beside the database.
pub(super) const FOLDER: &str = "undo";

/// What undo holds on to.
pub(super) struct Undo {
    /// `None` where there is no place for them: then nothing can be undone, and every question says so.
    images: Option<Images>,
    /// Held while contents are kept and recorded; alone by whoever removes what no record needs.
    pub(super) keeping: RwLock<()>,
    /// One undo after the other.
    applying: Mutex<()>,
    /// When old contents were looked through last.
    pruned_at: AtomicI64,
}

impl Undo {
    pub(super) fn open(data_dir: &Path, storage: Storage) -> Self {
        let images = match storage {
            Storage::InFolder => Images::open(&data_dir.join(FOLDER)),
            Storage::InMemory => Images::passing(),
        };
        let images =
            images.inspect_err(|error| tracing::error!(%error, "there is no journal: nothing can be undone")).ok();
        Self { images, keeping: RwLock::default(), applying: Mutex::default(), pruned_at: AtomicI64::new(0) }
    }

    pub(super) fn images(&self) -> Option<Images> {
        self.images.clone()
    }

    /// How much can be kept of one path now without letting go of what is recent, in bytes; nothing where that is not known.
    pub(super) async fn room_bytes(shared: &Shared) -> u64 {
        let settings = shared.settings();
        let space = u64::from(settings.safety.undo_space_mb) * 1_048_576;
        let most = Self::limit_bytes(&settings);
        // Where the most that is kept of a path fits, nobody needs to know how much more would.
        match shared.store.undo_bytes_since(recent(shared.now()), space.saturating_sub(most)).await {
            Ok(used) => space.saturating_sub(used).min(most),
            Err(error) => {
                tracing::warn!(%error, "how much the journal holds is not known");
                0
            }
        }
    }

    /// The most that is kept of one path, in bytes.
    pub(super) fn limit_bytes(settings: &Settings) -> u64 {
        u64::from(settings.safety.undo_file_mb.min(settings.safety.undo_space_mb)) * 1_048_576
    }
}

/// Since when nothing is let go of for room: the running turn and the last day can be taken back, whatever comes after.
pub(super) fn recent(now: UnixMs) -> UnixMs {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    UnixMs(now.0.saturating_sub(DAY_MS))
}

/// What a step works with.
fn means(shared: &Shared) -> Result<Means, Failure> {
    let words = "There is no place to keep old versions, so nothing can be undone. See the log for why.";
    let images = shared.undo.images().ok_or_else(|| Failure::new(crate::ir::Code::IoError, words))?;
    Ok(Means {
        images,
        trash: Trash::of_person(shared.surroundings.home.as_deref()),
        limit_bytes: Undo::limit_bytes(&shared.settings()),
    })
}

/// Runs what may block on the disk off the engine's own threads.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|broken| {
        tracing::error!(%broken, "an undo broke");
        Failure::new(crate::ir::Code::IoError, "The undo broke inside Nod: look at its target before you go on.")
    })
}
