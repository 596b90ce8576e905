//! The computer around the allowed folders: whose path rules hold, and what lies at fixed places.

use std::path::PathBuf;

/// Whose path rules hold. Passed in so that every platform's rules are tested on every platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Platform {
    Linux,
    MacOs,
    Windows,
}

impl Platform {
    /// The platform that this program was built for.
    pub const fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }

    /// Whether its usual file systems take `A` and `a` for the same name.
    pub(super) const fn folds_case(self) -> bool {
        match self {
            Self::Linux => false,
            Self::MacOs | Self::Windows => true,
        }
    }
}

/// What path rules rest on besides the path. Found out once at start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The person's home folder, absolute; `None` where there is none.
    pub home: Option<PathBuf>,
    /// Nod's own data folder, absolute: always closed to tools.
    pub data_dir: Option<PathBuf>,
    /// Whose path rules hold.
    pub platform: Platform,
}
