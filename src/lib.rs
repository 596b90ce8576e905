//! Nod (点头): a native desktop agent that works on a person's files and asks before it changes anything.
//!
//! This page is the architecture: the rooms in reading order, who may name whom, and what each room must never do. The
//! arrows are a table in `tests/suite/architecture.rs`; a new one is a design change.
//!
//! # The house
//!
//! ```text
//!           ui (gui)                       cli                      server (server)
//!      panels, cards, modals       exec, tool, doctor, …      HTTP, ledger, bus: an agent whose
//!             │ Intent                      │                 tools are on another computer, over
//!             ▼                             │                 the frames of `link`
//!            app  ◄──────── Event ─────┐    │ Command
//!      state + reducer                 │    ▼
//!             └───────── Command ────► engine: the runtime, one task per live session
//!                  ┌─────────┬─────────┬──┴──────┬──────────┬─────────┐
//!                  ▼         ▼         ▼         ▼          ▼         ▼
//!                agent     policy   provider    tool      store     port
//!            (pure machine)(pure)    (HTTP)   workspace  (SQLite)
//!                                              sandbox
//!                  └─────────┴─────────┴──┬──────┴──────────┴─────────┘
//!                                         ▼
//!                      ir: the provider-neutral vocabulary, plain data
//! ```
//!
//! Four words carry the flow: a person makes an **Intent**; a front end sends a **Command**; the engine reports an **Event**;
//! the pure agent machine returns an **Effect**.
//!
//! # The rooms
//!
//! | room | what lives there | what must never be there |
//! |---|---|---|
//! | [`ir`] | messages, calls, results, stream events, errors, records | IO, async, clock, any provider's field names |
//! | [`lang`] | the texts of both languages, by key | sentences in code |
//! | [`policy`] | the one judge: paths, names, commands, rules, deceptive text | disk, async |
//! | [`workspace`] | the only door to the person's files: opened folders, resolved targets | a string that is checked and then opened |
//! | [`sandbox`] | the only door to child processes: start, capture, end of the whole tree | policy decisions |
//! | [`journal`] | what takes a change back: the contents from before, the plan of an undo, its deed | SQL, decisions, a clock |
//! | [`tool`] | one file a tool; the permit that a run needs | `std::fs`, `Command::new` |
//! | [`provider`] | one wire format a module; framing, HTTP, retry; the built-in guide | IR types changed to suit a vendor |
//! | [`agent`] | one turn as a pure machine; prompts; the history that is sent | async, IO, clock |
//! | [`store`] | SQLite behind named threads; one file per table family | other rooms' SQL |
//! | [`secret`] | keys, behind the system's keyring or in memory | a key that can be printed |
//! | [`port`] | commands, events, questions, settings: what every front end shares | |
//! | [`engine`] | turns, the gate, the broker of questions, the inbox, shutdown | drawing |
//! | [`link`] | the device link: what a server may ask of this computer, over one outgoing connection | server code, a listening port |
//! | [`cli`] | commands without a window | decisions |
//! | `server` | `nod-server`: tickets, connections, the ledger of calls, the agent whose tools are on a person's computer | a person's files, egui |
//! | [`app`] | everything the window shows, as data; intents and the reducer | egui, clock, disk, locks |
//! | `ui` | the only room that names egui and its friends | IO, parsing or sorting while drawing |
//!
//! # What always holds
//!
//! - **One gate.** A tool runs only with a [`tool::Permit`], and only `engine::gate` issues one (the lint configuration bans it
//!   elsewhere): strict arguments → schema → enabled → policy on the text → resolve by handle → policy on what it resolved to →
//!   ask → verify through the same handle → ledger row committed → run → ledger completed.
//! - **A path is resolved once**, to handles, and the handles are what is used.
//! - **At most once.** The ledger row of an effect is committed before the effect; a row that was running when Nod ended becomes
//!   `unknown` and is never run again by itself.
//! - **Nothing is drawn from work.** A frame reads state and pushes intents; parsing, highlighting, searching and storing happen
//!   elsewhere. When nothing moves, nothing is painted.
//! - **Every queue is bounded.** A slow window slows the stream; it does not fill memory.
//! - **The library builds without a window** (`--no-default-features`), with no egui in its tree.
//!
//! # Where a change goes
//!
//! | change | touches |
//! |---|---|
//! | a provider with its own format | a module in [`provider`], one line in its catalogue, a folder of fixtures |
//! | a tool | one file in [`tool`], one line in its list; policy, ledger and card follow from its declared access |
//! | a card, panel, modal or settings page | one file in `ui`, one line in its `mod.rs` |
//! | something a person can do | [`app::Intent`]; the compiler leads to the reducer |
//! | a stored thing | a migration at the end of the list, one file in [`store`] |
//! | a message of the device link | [`link::wire`], then the compiler leads to both ends |
//! | a text | a key in both folders of `assets/lang` |
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "a test may stop at once"
    )
)]

pub mod agent;
pub mod app;
pub mod cli;
pub mod engine;
pub mod ir;
pub mod journal;
pub mod lang;
pub mod link;
pub mod policy;
pub mod port;
pub mod provider;
pub mod sandbox;
pub mod secret;
#[cfg(feature = "server")]
pub mod server;
pub mod store;
pub mod tool;
#[cfg(feature = "gui")]
pub mod ui;
pub mod workspace;
