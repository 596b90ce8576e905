//! One turn of a conversation as a pure machine: `step(input) -> effects`. No async, no IO, no clock.
//!
//! The engine carries the effects out and feeds back what came of them. Prompt building and the plan of a
//! compression live here too.

mod machine;

pub use machine::{Effect, Input, Machine, Outcome, RoundEnd, TurnConfig};
