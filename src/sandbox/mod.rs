//! The only door to child processes: start, limits, capture, and the end of the whole process tree.
//!
//! It makes no policy decision. A command runs under a helper stage of this same program (`nod __run`), which is a child
//! subreaper: whatever the command starts, `setsid` or not, ends with it. Kernel confinement (bubblewrap, Landlock,
//! seccomp) joins at that stage.

/// How far the kernel confines a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Tier {
    /// Not at all.
    Unconfined,
}
