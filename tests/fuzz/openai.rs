//! The decoder of OpenAI's and all compatible servers' answers.
#![no_main]

mod decoding;
mod packets;

use libfuzzer_sys::fuzz_target;
use nod::provider::ProviderKind;

fuzz_target!(|data: &[u8]| {
    let (whole, cut) = packets::of(data);
    decoding::check(ProviderKind::OpenAiCompatible, &whole, &cut);
});
