//! Root's capabilities, dropped: a command of root is an ordinary process that happens to own root's files.

use std::io;

/// The kernel's `struct __user_cap_header_struct`.
#[repr(C)]
struct Header {
    version: u32,
    process: i32,
}

/// The kernel's `struct __user_cap_data_struct`; there are two for 64 capabilities.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const VERSION_3: u32 = 0x2008_0522;
const SET_PERMISSION: u32 = 1 << 8;

/// Drops every capability of this process, from the bounding and the ambient set too, and looks that none is left.
#[expect(unsafe_code, reason = "capabilities have no safe form here")]
pub(super) fn drop_all() -> io::Result<()> {
    if current()?.iter().any(|data| data.effective & SET_PERMISSION != 0) {
        for capability in 0_u8..64 {
            // SAFETY: takes a number. Past the last capability that the kernel knows it fails, and there is none to drop.
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(capability), 0, 0, 0) };
        }
    }
    // SAFETY: takes numbers. A kernel without ambient capabilities has none.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    let header = Header { version: VERSION_3, process: 0 };
    let nothing = [Data::default(); 2];
    // SAFETY: both structures are the kernel's, and live while it reads them.
    if unsafe { libc::syscall(libc::SYS_capset, &raw const header, nothing.as_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if has_any()? { Err(io::Error::from_raw_os_error(libc::EPERM)) } else { Ok(()) }
}

/// Whether this process has any capability.
pub(super) fn has_any() -> io::Result<bool> {
    Ok(current()?.iter().any(|data| *data != Data::default()))
}

#[expect(unsafe_code, reason = "capabilities have no safe form here")]
fn current() -> io::Result<[Data; 2]> {
    let header = Header { version: VERSION_3, process: 0 };
    let mut data = [Data::default(); 2];
    // SAFETY: both structures are the kernel's; it fills two of the second for this version.
    if unsafe { libc::syscall(libc::SYS_capget, &raw const header, data.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(data)
}
