//! What the program and its helper stage say to each other, over one socket that is the helper's standard input.
//!
//! The program sends one `Order` with the opened working folder and the opened places; later it closes its writing half to
//! say "stop" (its death does the same). The helper sends one `Report`, and closes when every process is gone.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use super::{Bubblewrap, MOST_PLACES, Treatment};
use crate::ir::{Network, Tier};

/// What the helper shall run, and how confined.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) command: String,
    pub(super) environment: Vec<(String, String)>,
    pub(super) tier: Tier,
    pub(super) network: Network,
    pub(super) bubblewrap: Option<Bubblewrap>,
    /// What the handles after the working folder's are, in their order.
    pub(super) places: Vec<Placed>,
    pub(super) hidden: Vec<Covered>,
    pub(super) aliases: Vec<(OsString, OsString)>,
    pub(super) submounts: Vec<OsString>,
    /// How many files it may have open, where Nod itself has leave for more.
    pub(super) open_files: Option<u64>,
}

/// A place whose handle comes beside the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Placed {
    pub(super) path: OsString,
    pub(super) treatment: Treatment,
}

/// A path that is covered. Not every path is text: what `serde` says of a path would lose one that is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Covered {
    pub(super) path: OsString,
    pub(super) is_folder: bool,
}

/// An order with its handles.
pub(super) struct Received {
    pub(super) order: Order,
    pub(super) cwd: OwnedFd,
    /// One for each of the order's places.
    pub(super) handles: Vec<OwnedFd>,
}

/// How the shell ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Report {
    Exited(i32),
    Signalled(i32),
    /// It had more processes at once than a command may have.
    TooManyProcesses,
    /// It ended so, and meanwhile another program exchanged a file in whose place a copy stood.
    Exchanged(Box<Self>),
    /// Nothing ran: the confinement could not be set up.
    Unconfinable(String),
    Failed(String),
}

/// An order longer than this is not ours.
const MAX_ORDER_BYTES: u32 = 16 * 1024 * 1024;
const MOST_HANDLES: usize = MOST_PLACES + 1;

pub(super) fn send_order(
    socket: &UnixStream,
    order: &Order,
    cwd: BorrowedFd<'_>,
    places: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = serde_json::to_vec(order)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?.to_be_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_HANDLES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = std::iter::once(cwd).chain(places.iter().copied()).collect();
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("no room for the handles"));
    }
    // Four bytes into an empty socket are never split.
    sendmsg(socket, &[IoSlice::new(&length)], &mut control, no_signal())?;
    let mut socket = socket;
    socket.write_all(&body)
}

/// A helper that is already gone is an error here, not a signal that ends the program.
fn no_signal() -> SendFlags {
    #[cfg(target_os = "linux")]
    return SendFlags::NOSIGNAL;
    #[cfg(not(target_os = "linux"))]
    return SendFlags::empty();
}

/// What the shell starts with is only what it is given: received handles end at its start.
fn close_on_exec() -> RecvFlags {
    #[cfg(target_os = "linux")]
    return RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    return RecvFlags::empty();
}

pub(super) fn receive_order(socket: &UnixStream) -> io::Result<Received> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_HANDLES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket, &mut [IoSliceMut::new(&mut length)], &mut control, close_on_exec())?;
    let mut handles = control
        .drain()
        .filter_map(|message| if let RecvAncillaryMessage::ScmRights(handles) = message { Some(handles) } else { None })
        .flatten();
    let cwd = handles.next();
    let handles: Vec<OwnedFd> = handles.collect();
    let length = u32::from_be_bytes(length);
    let (Some(cwd), 4, ..=MAX_ORDER_BYTES) = (cwd, received.bytes, length) else {
        return Err(io::Error::other("no order"));
    };
    let mut body = vec![0; length as usize];
    let mut socket = socket;
    socket.read_exact(&mut body)?;
    let order: Order = serde_json::from_slice(&body)?;
    if order.places.len() != handles.len() {
        return Err(io::Error::other("not every place came with its handle"));
    }
    Ok(Received { order, cwd, handles })
}

/// Sends the report, as a line. A program that is gone needs none.
pub(super) fn send_report(mut to: impl io::Write, report: &Report) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        to.write_all(&line).ok();
    }
}

/// The report in what was received so far, once it is whole.
pub(super) fn parse_report(received: &[u8]) -> Option<Report> {
    received.strip_suffix(b"\n").and_then(|line| serde_json::from_slice(line).ok())
}
