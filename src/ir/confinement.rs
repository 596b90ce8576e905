//! How far the kernel confines a command, and what was seen to get through.

use serde::{Deserialize, Serialize};

/// How far the kernel confines a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Linux: bubblewrap's namespaces, and Landlock and seccomp within them.
    A,
    /// Linux: Landlock and seccomp alone. Its gaps are named wherever it is shown.
    B,
    /// macOS: a Seatbelt profile.
    Seatbelt,
    /// Not at all (tier C).
    #[default]
    Unconfined,
}

/// Something that a command must not be able to do: what the probe tries from within a confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leak {
    /// A new file outside the allowed folders.
    CreateOutside,
    /// More bytes in a file outside.
    AppendOutside,
    /// A file outside emptied.
    TruncateOutside,
    /// A file outside removed.
    RemoveOutside,
    /// A write through a link that leads outside.
    WriteThroughLink,
    /// A file outside that got a second name in an allowed folder.
    HardLink,
    /// A file outside moved into an allowed folder.
    MoveInside,
    /// The permissions of a file outside.
    ChangeMode,
    /// The times of a file outside.
    ChangeTimes,
    /// The content of a file outside.
    ReadOutside,
    /// The app's environment or memory, by way of `/proc`.
    ReadApp,
    /// A TCP connection.
    ConnectTcp,
    /// A UDP packet.
    SendUdp,
    /// A connection to a Unix socket that has a path.
    ConnectUnix,
    /// A connection to an abstract Unix socket.
    ConnectAbstract,
    /// A packet to a Unix socket with a path, from a pair of sockets that needs no `socket` call.
    SendUnix,
    /// A socket of any other kind.
    OtherSocket,
    /// A signal to a process of the app.
    Signal,
    /// Another process watched or changed.
    Trace,
    /// A user namespace of its own, and with it capabilities.
    UserNamespace,
    /// A capability.
    Capability,
    /// A ring of system calls that seccomp does not see.
    IoUring,
    /// A key of the kernel's key rings.
    KeyRing,
}

impl Leak {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Self; 23] = [
        Self::CreateOutside,
        Self::AppendOutside,
        Self::TruncateOutside,
        Self::RemoveOutside,
        Self::WriteThroughLink,
        Self::HardLink,
        Self::MoveInside,
        Self::ChangeMode,
        Self::ChangeTimes,
        Self::ReadOutside,
        Self::ReadApp,
        Self::ConnectTcp,
        Self::SendUdp,
        Self::ConnectUnix,
        Self::ConnectAbstract,
        Self::SendUnix,
        Self::OtherSocket,
        Self::Signal,
        Self::Capability,
        Self::IoUring,
        Self::KeyRing,
        Self::UserNamespace,
        Self::Trace,
    ];
}

impl Leak {
    /// The text that names it where a tier is known not to stop it; `None` for what every tier stops.
    pub const fn text_key(self) -> Option<&'static str> {
        match self {
            Self::ReadOutside => Some("gap-read-outside"),
            Self::ChangeMode => Some("gap-change-mode"),
            Self::ChangeTimes => Some("gap-change-times"),
            Self::Signal => Some("gap-signal"),
            Self::CreateOutside
            | Self::AppendOutside
            | Self::TruncateOutside
            | Self::RemoveOutside
            | Self::WriteThroughLink
            | Self::HardLink
            | Self::MoveInside
            | Self::ReadApp
            | Self::ConnectTcp
            | Self::SendUdp
            | Self::ConnectUnix
            | Self::ConnectAbstract
            | Self::SendUnix
            | Self::OtherSocket
            | Self::Trace
            | Self::UserNamespace
            | Self::Capability
            | Self::IoUring
            | Self::KeyRing => None,
        }
    }
}

impl Tier {
    /// What this tier is known not to stop, and says so.
    pub fn known_gaps(self) -> &'static [Leak] {
        match self {
            Self::A => &[],
            // Signals only before version 6 of Landlock.
            Self::B => &[Leak::ChangeMode, Leak::ChangeTimes, Leak::ReadOutside, Leak::Signal],
            Self::Seatbelt => &[Leak::ReadOutside],
            Self::Unconfined => &Leak::ALL,
        }
    }

    /// Whether the kernel confines anything.
    pub fn is_confined(self) -> bool {
        match self {
            Self::A | Self::B | Self::Seatbelt => true,
            Self::Unconfined => false,
        }
    }
}

/// What the probe found: the tier that held, and why no better one did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Confinement {
    /// The best tier that held.
    pub tier: Tier,
    /// What it was seen not to stop.
    pub gaps: Vec<Leak>,
    /// Why each better tier was not taken, best first.
    pub obstacles: Vec<Obstacle>,
}

/// Why a tier is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Obstacle {
    /// The tier that is not there.
    pub tier: Tier,
    /// What is in its way.
    pub kind: ObstacleKind,
    /// The fact itself: a path, a version, an error, what leaked.
    pub detail: String,
}

/// What is in a tier's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObstacleKind {
    /// This system has nothing that Nod can confine commands with.
    System,
    /// The program `bwrap` is not installed.
    NoBubblewrap,
    /// `bwrap` is there and could not set up its namespaces.
    BubblewrapFailed,
    /// The kernel has no Landlock, or it is switched off.
    NoLandlock,
    /// The kernel's Landlock is too old for this tier.
    OldLandlock,
    /// It was set up, and the probe's attack got through.
    Leaks,
    /// The probe could not be run to its end.
    ProbeFailed,
}

impl ObstacleKind {
    /// For a model, in English; people read the language files.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::System => "this system offers nothing for it",
            Self::NoBubblewrap => "bubblewrap is not installed",
            Self::BubblewrapFailed => "bubblewrap could not set up its namespaces",
            Self::NoLandlock => "the kernel has no Landlock",
            Self::OldLandlock => "the kernel's Landlock is too old",
            Self::Leaks => "the probe's attack got through",
            Self::ProbeFailed => "the probe could not be run",
        }
    }
}

/// Whether a run may use the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Not at all.
    #[default]
    Denied,
    /// The person ticked it for this run.
    Allowed,
}
