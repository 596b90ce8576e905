//! How much a walk may look at. A short line can say a long one (`$a$a`, `{a,b}{a,b}`, `xargs`), so the length of the line
//! alone does not bound the walk: whatever is put together, and whatever is gone through again, is paid for here first.

/// Bytes for one command line, many times what one of greatest length takes that says nothing twice.
const BYTES_MAX: usize = 1024 * 1024;

/// What is left.
pub(super) struct Effort {
    bytes_left: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self { bytes_left: BYTES_MAX }
    }
}

impl Effort {
    /// Pays for so many bytes. Once it cannot, it never can again.
    pub(super) const fn pay(&mut self, bytes: usize) -> bool {
        let is_affordable = bytes <= self.bytes_left;
        self.bytes_left = if is_affordable { self.bytes_left - bytes } else { 0 };
        is_affordable
    }

    pub(super) const fn is_spent(&self) -> bool {
        self.bytes_left == 0
    }
}
