//! How an answer is read, whichever its format: bytes go in, pieces come out, the end is judged. The readers are pure; only
//! `pump` knows the network.

use super::answer::{Answer, Ending};
use super::http::{HttpError, Reply};
use super::{ProviderKind, anthropic, ollama, openai};
use crate::ir::{Error, ErrorCode, Request, StreamBody, UnixMs};

/// Reads one answer of a wire format.
pub trait Reader {
    /// Takes bytes in; what they carry is added to `out`.
    ///
    /// # Errors
    /// When the server says that it failed, or what it says cannot be read.
    fn feed(&mut self, bytes: &[u8], now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error>;

    /// The body ended: what it left unfinished is read.
    ///
    /// # Errors
    /// As `feed`.
    fn end_of_body(&mut self, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error>;

    /// Whether nothing more is read, whatever comes.
    fn is_done(&self) -> bool;

    /// Whether every packet brings the answer nearer to its end, also one that carries no piece yet.
    fn is_growing(&self) -> bool {
        false
    }

    /// Whether the answer is whole already, so that a broken connection takes nothing away.
    fn is_whole(&self) -> bool {
        false
    }

    /// The model that answers.
    fn model(&self) -> &str;

    /// Judges the answer: its calls are complete now, or it broke off.
    ///
    /// # Errors
    /// When the answer has no end of its own.
    fn finish(self, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<Ending, Error>;
}

/// Reads a reply to its end and passes on what it carries. `broken` says what a broken connection means here.
///
/// # Errors
/// When the answer fails or nobody listens any more; what came before is given first.
pub async fn pump<R: Reader>(
    mut reply: Reply,
    mut reader: R,
    answer: &mut Answer<'_>,
    broken: impl Fn(HttpError) -> Error,
) -> Result<Ending, Error> {
    let mut out = Vec::new();
    while !reader.is_done() {
        let chunk = match reply.chunk().await {
            Ok(chunk) => chunk,
            Err(_) if reader.is_whole() => None,
            Err(error) => return Err(broken(error)),
        };
        let read = match &chunk {
            Some(bytes) => reader.feed(bytes, answer.now(), &mut out),
            None => reader.end_of_body(answer.now(), &mut out),
        };
        // Blanks, comments and pings keep a line open and say nothing: they do not count.
        if !out.is_empty() || reader.is_growing() {
            reply.mark_meaningful();
        }
        answer.push_all(out.drain(..)).await?;
        read?;
        if chunk.is_none() {
            break;
        }
    }
    answer.set_model(reader.model());
    let ending = reader.finish(answer.now(), &mut out);
    if let Ok(ending) = &ending {
        answer.say_thought(ending, &mut out);
    }
    answer.push_all(out).await?;
    ending
}

/// Reads an answer whose packets are all there already, as fuzzing and benchmarks have them, and hands over its pieces.
///
/// # Errors
/// As the network's own way; for a format that has no wire, always.
pub fn read_packets(
    kind: ProviderKind,
    model: &str,
    request: &Request,
    packets: &[&[u8]],
    now: UnixMs,
    each: impl FnMut(StreamBody),
) -> Result<Ending, Error> {
    match kind {
        ProviderKind::Ollama => read_all(ollama::reader(request, model), packets, now, each),
        ProviderKind::Anthropic => read_all(anthropic::reader(request, "anthropic", model), packets, now, each),
        ProviderKind::OpenAiCompatible => {
            read_all(openai::reader(request, "openai-compatible", model), packets, now, each)
        }
        ProviderKind::Guide => Err(Error::new(ErrorCode::Unknown, "This format has no bytes to read.")),
    }
}

fn read_all<R: Reader>(
    mut reader: R,
    packets: &[&[u8]],
    now: UnixMs,
    mut each: impl FnMut(StreamBody),
) -> Result<Ending, Error> {
    let mut out = Vec::new();
    for packet in packets {
        if reader.is_done() {
            break;
        }
        let read = reader.feed(packet, now, &mut out);
        out.drain(..).for_each(&mut each);
        read?;
    }
    let read = if reader.is_done() { Ok(()) } else { reader.end_of_body(now, &mut out) };
    out.drain(..).for_each(&mut each);
    read?;
    let ending = reader.finish(now, &mut out);
    out.into_iter().for_each(each);
    ending
}
