//! A kernel that lacks something, as far as one may have it here: system calls that are refused to a process and all that
//! it starts.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// What a kernel may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lack {
    /// As if it had no Landlock.
    Landlock,
    /// As if user namespaces were forbidden.
    UserNamespaces,
    /// As if it were older than `openat2`.
    Openat2,
    /// As if it had no seccomp filters.
    Seccomp,
}

/// The command, with these system calls missing from its first step on.
#[expect(unsafe_code, reason = "a filter can only be put on between fork and exec")]
pub(crate) fn without(mut command: Command, lacks: &[Lack]) -> Command {
    let mut filters: Vec<BpfProgram> = lacks.iter().flat_map(|lack| lack.filters()).collect();
    // The one that forbids filters comes last.
    filters.sort_by_key(|filter| *filter == Lack::Seccomp.filters()[0]);
    // SAFETY: the closure makes system calls; what it reads was made before the fork.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
                return Err(io::Error::last_os_error());
            }
            for filter in &filters {
                apply_filter(filter).map_err(|_refused| io::Error::from_raw_os_error(libc::EPERM))?;
            }
            Ok(())
        });
    }
    command
}

impl Lack {
    fn filters(self) -> Vec<BpfProgram> {
        let all = |calls: &[libc::c_long]| calls.iter().map(|call| (*call, Vec::new())).collect::<BTreeMap<_, _>>();
        match self {
            Self::Landlock => vec![refuse(
                all(&[
                    libc::SYS_landlock_create_ruleset,
                    libc::SYS_landlock_add_rule,
                    libc::SYS_landlock_restrict_self,
                ]),
                libc::ENOSYS,
            )],
            Self::UserNamespaces => {
                let new_user = || vec![holds(0, libc::CLONE_NEWUSER.cast_unsigned())];
                let calls = BTreeMap::from([(libc::SYS_clone, new_user()), (libc::SYS_unshare, new_user())]);
                vec![refuse(calls, libc::EPERM), refuse(all(&[libc::SYS_clone3]), libc::ENOSYS)]
            }
            Self::Openat2 => vec![refuse(all(&[libc::SYS_openat2]), libc::ENOSYS)],
            Self::Seccomp => {
                let filter = vec![
                    SeccompRule::new(vec![
                        SeccompCondition::new(
                            0,
                            SeccompCmpArgLen::Dword,
                            SeccompCmpOp::Eq,
                            libc::PR_SET_SECCOMP.cast_unsigned().into(),
                        )
                        .unwrap(),
                    ])
                    .unwrap(),
                ];
                let calls = BTreeMap::from([(libc::SYS_prctl, filter), (libc::SYS_seccomp, Vec::new())]);
                vec![refuse(calls, libc::EINVAL)]
            }
        }
    }
}

fn holds(argument: u8, bit: u32) -> SeccompRule {
    let bit = u64::from(bit);
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bit), bit).unwrap();
    SeccompRule::new(vec![condition]).unwrap()
}

fn refuse(calls: BTreeMap<i64, Vec<SeccompRule>>, error: i32) -> BpfProgram {
    let action = SeccompAction::Errno(error.cast_unsigned());
    let architecture = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    SeccompFilter::new(calls, SeccompAction::Allow, action, architecture).unwrap().try_into().unwrap()
}
