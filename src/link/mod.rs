//! The device link: a server's agent uses this computer's tools over one outgoing WebSocket.
//!
//! `wire` is the format that both ends speak; `nod-server` names it too. Nothing here decides whether a call may run, and
//! nothing here listens: the desktop only ever connects outwards.

pub mod wire;
