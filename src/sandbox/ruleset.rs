//! Landlock: reading everywhere, writing only beneath the opened places.

use std::io;
use std::os::fd::AsFd;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use crate::ir::Network;

/// The newest version whose every right is asked for, where the kernel has it.
const NEWEST: ABI = ABI::V10;

/// How much of Landlock must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// Whatever the kernel has: bubblewrap's mounts are the wall, and this is the second one.
    Any,
    /// Version 3, which restricts truncation too: this is the wall.
    Third,
}

/// Devices that every program may write to.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/random", "/dev/urandom"];

/// The rules for a command that may write beneath these places.
pub(super) fn build<Handle: AsFd>(
    writable: impl IntoIterator<Item = Handle>,
    network: Network,
    demand: Demand,
) -> io::Result<RulesetCreated> {
    let root = PathFd::new("/").map_err(io::Error::other)?;
    rules(root, writable, network, demand).map_err(|error| io::Error::other(format!("Landlock: {error}")))
}

fn rules<Handle: AsFd>(
    root: PathFd,
    writable: impl IntoIterator<Item = Handle>,
    network: Network,
    demand: Demand,
) -> Result<RulesetCreated, RulesetError> {
    let required = match demand {
        Demand::Any => ABI::V1,
        Demand::Third => ABI::V3,
    };
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(required))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    match network {
        Network::Denied => ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?,
        Network::Allowed => {}
    }
    let mut created = ruleset.create()?.set_compatibility(CompatLevel::BestEffort);
    created = created.add_rule(PathBeneath::new(root, AccessFs::from_read(NEWEST)))?;
    for place in writable {
        created = created.add_rule(PathBeneath::new(place, writing()))?;
    }
    for device in DEVICES.iter().filter_map(|path| PathFd::new(path).ok()) {
        created = created.add_rule(PathBeneath::new(device, AccessFs::ReadFile | AccessFs::WriteFile))?;
    }
    Ok(created)
}

/// All but what only a daemon or root needs: no devices are made, no sockets are reached.
fn writing() -> BitFlags<AccessFs> {
    let unwanted = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::ResolveUnix | AccessFs::IoctlDev;
    AccessFs::from_all(NEWEST) & !unwanted
}

/// Closes this wall around the calling thread, and makes sure that it stands.
pub(super) fn enforce(ruleset: RulesetCreated) -> io::Result<()> {
    let status = ruleset.restrict_self().map_err(|_refused| io::Error::from_raw_os_error(libc::ENOSYS))?;
    match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced if status.no_new_privs => Ok(()),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => {
            Err(io::Error::from_raw_os_error(libc::ENOSYS))
        }
    }
}

/// Which version of Landlock the kernel offers; 0 for none.
#[expect(unsafe_code, reason = "the crate keeps this question to itself")]
pub(super) fn version() -> u32 {
    const ASK_VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes no attributes and returns a number.
    let answer = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0_usize, ASK_VERSION)
    };
    u32::try_from(answer).unwrap_or(0)
}
