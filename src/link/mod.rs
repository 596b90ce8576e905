//! The device link: a server's agent uses this computer's tools over one outgoing WebSocket.
//!
//! `wire` is the format that both ends speak; `nod-server` names it too. `machine` is the desktop's side of the protocol as a
//! pure state machine: time, randomness and ids come in as values, what is to be done comes out. `socket` opens the connection.
//! A server's own conversations are `thread` and `agui` as formats, and `conversation` as the records that every session has.
//! Nothing here decides whether a call may run (that is the gate's), and nothing here listens: the desktop only ever connects
//! outwards.

pub mod agui;
pub mod conversation;
pub mod machine;
mod pace;
pub mod socket;
pub mod thread;
pub mod wire;
