//! The closure that the engine and worker threads hold: it asks the window for a frame, and not too often.

#![expect(clippy::disallowed_methods, reason = "how long ago the last frame was is measured here")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use egui::Context;

/// How often a stream may ask for a frame.
const FRAME_MS: u64 = 33;

/// Asks for frames, at most 30 a second however many events come.
#[derive(Default)]
pub(super) struct Waker {
    pub(super) ctx: OnceLock<Context>,
    /// When the last frame was drawn, in milliseconds since `epoch`.
    last_frame_ms: AtomicU64,
    epoch: OnceLock<Instant>,
}

impl Waker {
    fn elapsed_ms(&self) -> u64 {
        let epoch = self.epoch.get_or_init(Instant::now);
        u64::try_from(epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// A frame was drawn.
    pub(super) fn frame_drawn(&self) {
        self.last_frame_ms.store(self.elapsed_ms(), Ordering::Relaxed);
    }

    /// Asks for a frame, soon.
    pub(super) fn wake(&self) {
        let Some(ctx) = self.ctx.get() else { return };
        let since = self.elapsed_ms().saturating_sub(self.last_frame_ms.load(Ordering::Relaxed));
        match FRAME_MS.checked_sub(since) {
            None | Some(0) => ctx.request_repaint(),
            Some(rest) => ctx.request_repaint_after(Duration::from_millis(rest)),
        }
    }
}
