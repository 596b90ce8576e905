//! Benchmark 13: bytes of a streamed answer to the pieces that the engine takes, per event. The peer is what most clients do:
//! every line into a `serde_json::Value`, then the text out of it. Both see the same packets in the same run, and both give
//! the same texts, which is checked.

mod cpu;

use nod::ir::{Request, StreamBody, UnixMs};
use nod::provider::ProviderKind;
use nod::provider::reader::read_packets;
use serde_json::{Value, json};

/// Events of one stream.
const EVENTS: usize = 50_000;
const RUNS: usize = 9;
/// Per event.
const TARGET_NANOS: f64 = 650.0;
const WORDS: [&str; 6] = ["The folder ", "holds two", " files, one of them", " 很大，", "另一个是", " empty.\n\n"];

/// A wire format: how it begins, one delta, how it ends, where the peer finds the text.
struct Format {
    name: &'static str,
    kind: ProviderKind,
    head: &'static str,
    delta: fn(&str) -> String,
    tail: &'static str,
    text: fn(&Value) -> Option<&str>,
}

const FORMATS: &[Format] = &[
    Format {
        name: "Ollama (NDJSON)",
        kind: ProviderKind::Ollama,
        head: "",
        delta: |text| {
            let message = json!({"role": "assistant", "content": text});
            let line = json!({"model": "qwen3:8b", "created_at": "2026-11-30T00:00:00.000000Z", "message": message, "done": false});
            format!("{line}\n")
        },
        tail: "{\"done\":true,\"done_reason\":\"stop\"}\n",
        text: |value| value["message"]["content"].as_str(),
    },
    Format {
        name: "OpenAI (SSE)",
        kind: ProviderKind::OpenAiCompatible,
        head: "",
        delta: |text| {
            let choice = json!({"index": 0, "delta": {"content": text}, "logprobs": null, "finish_reason": null});
            let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_764_460_800, "model": "m", "choices": [choice]});
            format!("data: {chunk}\n\n")
        },
        tail: "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        text: |value| value["choices"][0]["delta"]["content"].as_str(),
    },
    Format {
        name: "Anthropic (SSE)",
        kind: ProviderKind::Anthropic,
        head: "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        delta: |text| {
            let delta = json!({"type": "text_delta", "text": text});
            let data = json!({"type": "content_block_delta", "index": 0, "delta": delta});
            format!("event: content_block_delta\ndata: {data}\n\n")
        },
        tail: "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        text: |value| value["delta"]["text"].as_str(),
    },
];

fn main() {
    let request: Request = serde_json::from_value(json!({
        "meta": {"sessionId": "s", "iteration": 1, "requestId": "r", "timestamp": 0, "agentVersion": "0"},
        "systemPrompt": {"roleDefinition": ""},
        "messages": [{"role": "user", "content": "hi", "timestamp": 0}],
        "params": {},
    }))
    .expect("a request");
    println!(
        "13  ingest of {EVENTS} events, thread CPU time per event, least of {RUNS} runs; target {TARGET_NANOS} ns\n"
    );
    println!("{:<18} {:<22} {:>9} {:>12} {:>7}", "format", "packets", "Nod", "Value path", "ratio");
    let mut is_met = true;
    for format in FORMATS {
        let events: Vec<String> = WORDS.iter().cycle().take(EVENTS).map(|words| (format.delta)(words)).collect();
        let body = [format.head, &events.concat(), format.tail].concat();
        let singly: Vec<&[u8]> = std::iter::once(format.head)
            .chain(events.iter().map(String::as_str))
            .chain([format.tail])
            .map(str::as_bytes)
            .collect();
        for (name, packets) in [("one event each", singly), ("16 KiB each", body.as_bytes().chunks(16_384).collect())] {
            assert_eq!(ours(format, &request, &packets), peer(format, &packets), "both read the same");
            let nod = nanos(|| ours(format, &request, &packets));
            let value = nanos(|| peer(format, &packets));
            is_met &= nod <= TARGET_NANOS;
            println!("{:<18} {name:<22} {nod:>6.0} ns {value:>9.0} ns {:>6.2}×", format.name, value / nod);
        }
    }
    println!("\n{}", if is_met { "The target is met." } else { "The target is missed." });
    std::process::exit(i32::from(!is_met));
}

fn nanos(mut work: impl FnMut() -> usize) -> f64 {
    let time = cpu::least(RUNS, || {
        std::hint::black_box(work());
    });
    time.as_secs_f64() * 1e9 / EVENTS as f64
}

/// Bytes of text that came, by Nod's own way.
fn ours(format: &Format, request: &Request, packets: &[&[u8]]) -> usize {
    let mut bytes = 0;
    let each = |piece: StreamBody| {
        if let StreamBody::TextDelta { delta } = std::hint::black_box(piece) {
            bytes += delta.len();
        }
    };
    read_packets(format.kind, "model", request, packets, UnixMs(0), each).expect("a whole answer");
    bytes
}

/// The same by values.
fn peer(format: &Format, packets: &[&[u8]]) -> usize {
    let mut pending = Vec::new();
    let mut bytes = 0;
    for packet in packets {
        pending.extend_from_slice(packet);
        let mut start = 0;
        while let Some(length) = pending[start..].iter().position(|byte| *byte == b'\n') {
            let line = std::str::from_utf8(&pending[start..start + length]).expect("text");
            start += length + 1;
            let line = line.strip_prefix("data: ").unwrap_or(line);
            if !line.starts_with('{') {
                continue;
            }
            let value: Value = serde_json::from_str(line).expect("JSON");
            if let Some(text) = (format.text)(&value).filter(|text| !text.is_empty()) {
                let piece = std::hint::black_box(StreamBody::TextDelta { delta: text.to_owned() });
                bytes += if let StreamBody::TextDelta { delta } = &piece { delta.len() } else { 0 };
            }
        }
        pending.drain(..start);
    }
    bytes
}
