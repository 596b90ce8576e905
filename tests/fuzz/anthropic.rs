//! The decoder of Anthropic's answers.
#![no_main]

mod decoding;
mod packets;

use libfuzzer_sys::fuzz_target;
use nod::provider::ProviderKind;

fuzz_target!(|data: &[u8]| {
    let (whole, cut) = packets::of(data);
    decoding::check(ProviderKind::Anthropic, &whole, &cut);
});
