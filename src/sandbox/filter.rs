//! seccomp: the system calls that a command does not get, whatever files it may reach.
//!
//! A list of what is refused, not of what is allowed: compilers and scripts use too much for that. What no list can see
//! (an address in memory, a ring of calls) is refused whole.

use std::collections::BTreeMap;
use std::io;

#[cfg(target_arch = "x86_64")]
use seccompiler::sock_filter;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use crate::ir::Network;

/// The filters, compiled. The kernel asks each of them for every call; the strictest answer counts.
pub(super) struct Filters(Vec<BpfProgram>);

/// Refused whatever their arguments are.
const REFUSED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // A ring of system calls passes every filter by.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The kernel's keys.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Mounts and other views of the file system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    number::OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    number::QUOTACTL_FD,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_lookup_dcookie,
    // The computer's clock and name.
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
];

/// Refused where only Landlock stands around a command, which does not know of them: memory, counters and messages that
/// all of the person's programs find by a number.
const REFUSED_BESIDE_LANDLOCK: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    number::FILE_SETATTR,
];

/// The extended attributes of any file, which Landlock knows nothing of either. Said to be unsupported, as some file systems
/// do: programs that copy attributes go on without.
const UNSUPPORTED_BESIDE_LANDLOCK: &[libc::c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    number::SETXATTRAT,
    number::REMOVEXATTRAT,
];

/// Calls that are newer than the crate that names the others; a new call has one number on every architecture.
mod number {
    pub(super) const QUOTACTL_FD: libc::c_long = 443;
    pub(super) const FCHMODAT2: libc::c_long = 452;
    pub(super) const SETXATTRAT: libc::c_long = 463;
    pub(super) const REMOVEXATTRAT: libc::c_long = 466;
    pub(super) const OPEN_TREE_ATTR: libc::c_long = 467;
    pub(super) const FILE_SETATTR: libc::c_long = 469;
}

/// Said to be unknown: there is an older call that does the same and can be looked at.
const UNKNOWN: &[libc::c_long] = &[libc::SYS_clone3, libc::SYS_openat2];

/// Whoever runs a file with one of these bits has the rights of its owner or group: a way out for every other user.
const RIGHTS_OF_OTHERS: [libc::mode_t; 2] = [libc::S_ISUID, libc::S_ISGID];
/// Calls that give a file its mode, and which of their arguments that is.
const SETTING_MODE: &[(libc::c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (number::FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, 1),
    (libc::SYS_mkdirat, 2),
];
/// The same for calls where only a new file has a mode: first the argument with the flags, then the mode.
const OPENING: &[(libc::c_long, u8, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

/// Refused where there is no network: nothing is connected or waited for, not even through a socket that was found open.
const REFUSED_OFFLINE: &[libc::c_long] =
    &[libc::SYS_socket, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4];

/// Namespaces of one's own: in a user namespace a process has every capability.
const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// `CLONE_NEWTIME`, which only `unshare` knows: for `clone` the bit is part of a signal's number.
const NEW_TIME: libc::c_int = 0x80;

/// What stands around a command besides these filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// Namespaces of its own: what it does not see is not there.
    Namespaces,
    /// Landlock alone.
    Landlock,
}

impl Filters {
    /// Compiles the filters for this computer's architecture.
    pub(super) fn build(network: Network, around: Around) -> Result<Self, Error> {
        let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
        let refusing = |rules, error: libc::c_int| -> Result<BpfProgram, Error> {
            let action = SeccompAction::Errno(error.cast_unsigned());
            Ok(SeccompFilter::new(rules, SeccompAction::Allow, action, architecture)?.try_into()?)
        };
        let all = |calls: &[libc::c_long]| calls.iter().map(|call| (*call, Vec::new())).collect();
        let unsupported = match around {
            Around::Namespaces => None,
            Around::Landlock => Some(refusing(all(UNSUPPORTED_BESIDE_LANDLOCK), libc::EOPNOTSUPP)?),
        };
        let mut programs = vec![
            #[cfg(target_arch = "x86_64")]
            other_table(),
            // What they do lies in memory, where no filter can look. Programs fall back to `clone` and `openat` when they
            // are told that there is no such call.
            refusing(all(UNKNOWN), libc::ENOSYS)?,
            refusing(rules(network, around)?, libc::EPERM)?,
        ];
        programs.extend(unsupported);
        Ok(Self(programs))
    }

    /// Puts the filters on the calling thread, for good.
    pub(super) fn load(&self) -> io::Result<()> {
        for program in &self.0 {
            apply_filter(program).map_err(|_refused| io::Error::from_raw_os_error(libc::EPERM))?;
        }
        Ok(())
    }
}

/// Of the kernel's `linux/fs.h`: what else is attached to a file that was opened for reading alone.
const SETTING_ATTRIBUTES: [libc::c_ulong; 2] = [0x4008_6602, 0x401C_5820];
/// Of the kernel's `linux/ioprio.h`.
const IOPRIO_WHO_USER: u64 = 3;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules(network: Network, around: Around) -> Result<Rules, Error> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_clone, NAMESPACES.iter().map(|flag| holds(0, *flag)).collect::<Result<_, _>>()?);
    let unshared = NAMESPACES.iter().chain(&[NEW_TIME]);
    rules.insert(libc::SYS_unshare, unshared.map(|flag| holds(0, *flag)).collect::<Result<_, _>>()?);
    for (call, mode) in SETTING_MODE {
        let rights = RIGHTS_OF_OTHERS.iter().map(|bit| when(vec![has_bit(*mode, *bit)?]));
        rules.insert(*call, rights.collect::<Result<_, _>>()?);
    }
    for (call, flags, mode) in OPENING {
        let new = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];
        let rights = new.iter().flat_map(|new| RIGHTS_OF_OTHERS.iter().map(move |bit| (*new, *bit)));
        let rights = rights.map(|(new, bit)| when(vec![has_bit(*flags, new.cast_unsigned())?, has_bit(*mode, bit)?]));
        rules.insert(*call, rights.collect::<Result<_, _>>()?);
    }
    // Characters typed into somebody's terminal.
    let mut typing = vec![libc::TIOCSTI, libc::TIOCLINUX];
    if around == Around::Landlock {
        typing.extend(SETTING_ATTRIBUTES);
    }
    let typing = typing.iter().map(|request| when(vec![is(1, Length::Dword, Is::Eq, number(*request))?]));
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    // A lease on one of the person's files: whoever opens it would wait until it is given back.
    rules.insert(
        libc::SYS_fcntl,
        vec![when(vec![is(1, Length::Dword, Is::Eq, number(libc::F_SETLEASE.cast_unsigned().into()))?])?],
    );
    // Another process's limits, order and turn: one with a second of processor time left is soon dead. 0 is oneself.
    let another = |argument| when(vec![is(argument, Length::Dword, Is::Ne, 0)?]);
    for call in [libc::SYS_prlimit64, libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr] {
        rules.insert(call, vec![another(0)?]);
    }
    // Here 0 is oneself too, but of a user: everything that the person runs.
    for (call, of_user) in
        [(libc::SYS_setpriority, u64::from(libc::PRIO_USER)), (libc::SYS_ioprio_set, IOPRIO_WHO_USER)]
    {
        rules.insert(call, vec![another(1)?, when(vec![is(0, Length::Dword, Is::Eq, of_user)?])?]);
    }
    match around {
        Around::Namespaces => {}
        Around::Landlock => rules.extend(REFUSED_BESIDE_LANDLOCK.iter().map(|call| (*call, Vec::new()))),
    }
    // A pair of datagram sockets may be sent anywhere, by `sendmsg` with an address that no filter sees.
    const KIND: u64 = 0xF;
    rules.insert(
        libc::SYS_socketpair,
        vec![
            when(vec![is(0, Length::Dword, Is::Ne, libc::AF_UNIX as u64)?])?,
            when(vec![is(1, Length::Dword, Is::MaskedEq(KIND), libc::SOCK_DGRAM as u64)?])?,
        ],
    );
    match network {
        Network::Denied => {
            rules.extend(REFUSED_OFFLINE.iter().map(|call| (*call, Vec::new())));
            rules.insert(libc::SYS_sendto, vec![when(vec![is(4, Length::Qword, Is::Ne, 0)?])?]);
        }
        Network::Allowed => {
            let is_no_internet = vec![
                is(0, Length::Dword, Is::Ne, libc::AF_INET as u64)?,
                is(0, Length::Dword, Is::Ne, libc::AF_INET6 as u64)?,
            ];
            rules.insert(libc::SYS_socket, vec![when(is_no_internet)?]);
        }
    }
    Ok(rules)
}

fn is(argument: u8, length: Length, comparison: Is, value: u64) -> Result<SeccompCondition, Error> {
    Ok(SeccompCondition::new(argument, length, comparison, value)?)
}

fn when(all: Vec<SeccompCondition>) -> Result<SeccompRule, Error> {
    Ok(SeccompRule::new(all)?)
}

/// Whether this bit is set in an argument.
fn holds(argument: u8, flag: libc::c_int) -> Result<SeccompRule, Error> {
    when(vec![has_bit(argument, flag.cast_unsigned())?])
}

fn has_bit(argument: u8, bit: u32) -> Result<SeccompCondition, Error> {
    is(argument, Length::Dword, Is::MaskedEq(bit.into()), bit.into())
}

/// Only the low half counts: the kernel looks at no more.
fn number(request: libc::c_ulong) -> u64 {
    request & 0xFFFF_FFFF
}

/// On x86-64 the same calls can be made by a second table of numbers (x32), which no rule above names.
#[cfg(target_arch = "x86_64")]
fn other_table() -> BpfProgram {
    // Of the kernel's `bpf_common.h`: load a word, jump if at least, return.
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32_BIT: u32 = 0x4000_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let refusal = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    vec![
        step(LOAD_NUMBER, 0, 0, 0),
        step(JUMP_IF_AT_LEAST, 0, 1, X32_BIT),
        step(RETURN, 0, 0, refusal),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile_with_and_without_the_network() {
        for network in [Network::Denied, Network::Allowed] {
            assert!(Filters::build(network, Around::Landlock).unwrap().0.len() >= 2);
        }
    }

    #[test]
    fn the_network_allows_internet_sockets_and_nothing_else() {
        let of = |network| rules(network, Around::Namespaces).unwrap();
        let (denied, allowed) = (of(Network::Denied), of(Network::Allowed));
        assert_eq!(denied[&libc::SYS_socket], []);
        assert_eq!(allowed[&libc::SYS_socket].len(), 1);
        for call in REFUSED {
            assert_eq!((&denied[call], &allowed[call]), (&Vec::new(), &Vec::new()), "{call}");
        }
        assert!(denied.contains_key(&libc::SYS_connect) && !allowed.contains_key(&libc::SYS_connect));
    }
}
