//! What the program and its helper stage say to each other, over one socket that is the helper's standard input.
//!
//! The program sends one `Order` with the opened working folder; later it closes its writing half to say "stop" (its death
//! does the same). The helper sends one `Report`, and closes when every process is gone.

use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

/// What the helper shall run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) command: String,
    pub(super) environment: Vec<(String, String)>,
}

/// How the shell ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Report {
    Exited(i32),
    Signalled(i32),
    Failed(String),
}

/// An order longer than this is not ours.
const MAX_ORDER_BYTES: u32 = 16 * 1024 * 1024;

pub(super) fn send_order(socket: &UnixStream, order: &Order, cwd: BorrowedFd<'_>) -> io::Result<()> {
    let body = serde_json::to_vec(order)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?.to_be_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [cwd];
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("no room for the folder's handle"));
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

pub(super) fn receive_order(socket: &UnixStream) -> io::Result<(Order, OwnedFd)> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket, &mut [IoSliceMut::new(&mut length)], &mut control, RecvFlags::empty())?;
    let cwd = control.drain().find_map(|message| {
        let RecvAncillaryMessage::ScmRights(mut descriptors) = message else { return None };
        descriptors.next()
    });
    let length = u32::from_be_bytes(length);
    let (Some(cwd), 4, ..=MAX_ORDER_BYTES) = (cwd, received.bytes, length) else {
        return Err(io::Error::other("no order"));
    };
    let mut body = vec![0; length as usize];
    let mut socket = socket;
    socket.read_exact(&mut body)?;
    Ok((serde_json::from_slice(&body)?, cwd))
}

/// Sends the report, as a line. A program that is gone needs none.
pub(super) fn send_report(mut socket: &UnixStream, report: &Report) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        socket.write_all(&line).ok();
    }
}

/// The report in what was received so far, once it is whole.
pub(super) fn parse_report(received: &[u8]) -> Option<Report> {
    received.strip_suffix(b"\n").and_then(|line| serde_json::from_slice(line).ok())
}
