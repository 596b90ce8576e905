//! Framing: whatever the bytes are and however they are cut, lines and events are the same, and nothing breaks.
#![no_main]

mod packets;

use libfuzzer_sys::fuzz_target;
use nod::ir::Error;
use nod::provider::body::{Body, Part};
use nod::provider::framing::{Lines, Ndjson, Sse};

fuzz_target!(|data: &[u8]| {
    let (whole, cut) = packets::of(data);
    assert_eq!(lines(&whole), lines(&cut));
    assert_eq!(ndjson(&whole), ndjson(&cut));
    assert_eq!(events(&whole), events(&cut));
    assert_eq!(parts(&whole), parts(&cut));
});

fn lines(packets: &[&[u8]]) -> Vec<String> {
    let mut lines = Lines::default();
    let mut seen = Vec::new();
    let mut keep = |line: &str| {
        seen.push(line.to_owned());
        Ok::<(), Error>(())
    };
    packets.iter().for_each(|packet| lines.feed(packet, &mut keep).unwrap());
    lines.finish(&mut keep).unwrap();
    seen
}

fn ndjson(packets: &[&[u8]]) -> Vec<String> {
    let mut ndjson = Ndjson::default();
    let mut seen = Vec::new();
    let mut keep = |line: &str| {
        seen.push(line.to_owned());
        Ok::<(), Error>(())
    };
    packets.iter().for_each(|packet| ndjson.feed(packet, &mut keep).unwrap());
    ndjson.finish(&mut keep).unwrap();
    seen
}

fn events(packets: &[&[u8]]) -> Vec<(String, String)> {
    let mut sse = Sse::default();
    let mut seen = Vec::new();
    let mut keep = |event: nod::provider::framing::SseEvent<'_>| {
        seen.push((event.name.to_owned(), event.data.to_owned()));
        Ok::<(), Error>(())
    };
    packets.iter().for_each(|packet| sse.feed(packet, &mut keep).unwrap());
    sse.finish(&mut keep).unwrap();
    seen
}

fn parts(packets: &[&[u8]]) -> Vec<String> {
    let mut body = Body::default();
    let mut seen = Vec::new();
    let mut keep = |part: Part<'_>| {
        seen.push(format!("{part:?}"));
        Ok::<(), Error>(())
    };
    packets.iter().for_each(|packet| body.feed(packet, &mut keep).unwrap());
    body.finish(&mut keep).unwrap();
    seen
}
