//! Downloading a model. Its parts come interleaved; what a person sees is their sum.

use tokio::sync::mpsc;

use super::wire::{PullLine, PullRequest};
use super::{ERROR_LIMIT, Ollama, fault};
use crate::ir::{Error, ErrorCode, UnixMs};
use crate::provider::PullProgress;
use crate::provider::framing::Ndjson;
use crate::provider::http::TimeLimits;
use crate::provider::retry::{Refusal, RetryHeaders, error_text};

impl Ollama {
    /// Downloads a model; it is done only when the server says so.
    pub(super) async fn download(&self, model: &str, progress: mpsc::Sender<PullProgress>) -> Result<(), Error> {
        let body = serde_json::to_vec(&PullRequest { model, stream: true })
            .map_err(|error| Error::new(ErrorCode::Unknown, error.to_string()))?;
        let mut reply = self.http.post_json("api/pull", body, TimeLimits::LOCAL).await.map_err(fault::unreachable)?;
        if !reply.is_success() {
            let (status, headers) = (reply.status, reply.retry.clone());
            let body = reply.bytes(ERROR_LIMIT).await.unwrap_or_default();
            let text = error_text(&String::from_utf8_lossy(&body));
            return Err(failed(Refusal { status, text: &text, headers: &headers }, model, (self.clock)()));
        }
        let mut parts = Parts::default();
        let mut ndjson = Ndjson::default();
        let mut seen = Vec::new();
        while !parts.is_done {
            let chunk = reply.chunk().await.map_err(fault::unreachable)?;
            let now = (self.clock)();
            let mut keep = |line: &str| {
                seen.extend(parts.line(line, model, now)?);
                Ok::<(), Error>(())
            };
            let read = match &chunk {
                Some(bytes) => ndjson.feed(bytes, &mut keep),
                None => ndjson.finish(&mut keep),
            };
            reply.mark_meaningful();
            for step in seen.drain(..) {
                if progress.send(step).await.is_err() {
                    return Err(Error::new(ErrorCode::UserAborted, "Stopped."));
                }
            }
            read?;
            if chunk.is_none() && !parts.is_done {
                return Err(Error::new(
                    ErrorCode::NetworkError,
                    format!("The download of {model} ended early. Pull it again: it goes on where it stopped."),
                )
                .retryable());
            }
        }
        Ok(())
    }
}

fn failed(refusal: Refusal<'_>, model: &str, now: UnixMs) -> Error {
    let text = refusal.text.to_lowercase();
    // "pull model manifest: file does not exist" is how the registry says that there is no such name.
    if text.contains("file does not exist") || text.contains("manifest unknown") {
        let mut error = Error::new(
            ErrorCode::ModelNotFound,
            format!("There is no model named {model} to download. Look for its name at https://ollama.com/library."),
        );
        error.provider_code = Some("no_such_model".into());
        return error;
    }
    fault::refused(refusal, model, now)
}

/// The parts of one download.
#[derive(Debug, Default)]
struct Parts {
    /// Digest, bytes here, bytes in all.
    parts: Vec<(String, u64, u64)>,
    is_done: bool,
}

impl Parts {
    fn line(&mut self, line: &str, model: &str, now: UnixMs) -> Result<Option<PullProgress>, Error> {
        let line: PullLine = serde_json::from_str(line).map_err(|error| fault::not_our_format(line, &error))?;
        if let Some(error) = line.error.filter(|error| !error.is_null()) {
            let text = error_text(&error.to_string());
            return Err(failed(Refusal { status: 200, text: &text, headers: &RetryHeaders::default() }, model, now));
        }
        if let Some(digest) = line.digest {
            let (completed, total) = (line.completed.unwrap_or_default(), line.total.unwrap_or_default());
            match self.parts.iter_mut().find(|(known, ..)| *known == digest) {
                Some((_, here, all)) => {
                    *here = completed.max(*here);
                    *all = total.max(*all);
                }
                None => self.parts.push((digest, completed, total)),
            }
        }
        let Some(status) = line.status else { return Ok(None) };
        self.is_done = status == "success";
        let sum = |of: fn(&(String, u64, u64)) -> u64| self.parts.iter().map(of).fold(0, u64::saturating_add);
        let total_bytes = sum(|part| part.2);
        let completed_bytes = if self.is_done { total_bytes } else { sum(|part| part.1) };
        Ok(Some(PullProgress { status, completed_bytes, total_bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_come_interleaved_add_up_and_only_success_is_the_end() {
        let mut parts = Parts::default();
        let mut step = |line: &str| {
            let progress = parts.line(line, "m", UnixMs(0)).unwrap().map(|p| (p.completed_bytes, p.total_bytes));
            (progress, parts.is_done)
        };
        assert_eq!(step(r#"{"status":"pulling manifest"}"#), (Some((0, 0)), false));
        assert_eq!(step(r#"{"status":"pulling a","digest":"sha256:a","total":100}"#), (Some((0, 100)), false));
        assert_eq!(
            step(r#"{"status":"pulling b","digest":"sha256:b","total":50,"completed":10}"#),
            (Some((10, 150)), false)
        );
        assert_eq!(
            step(r#"{"status":"pulling a","digest":"sha256:a","total":100,"completed":60}"#),
            (Some((70, 150)), false)
        );
        assert_eq!(step(r#"{"status":"pulling a","digest":"sha256:a","total":100}"#), (Some((70, 150)), false));
        assert_eq!(step(r#"{"status":"verifying sha256 digest"}"#), (Some((70, 150)), false));
        assert_eq!(step(r#"{"unknown":1}"#), (None, false));
        assert_eq!(step(r#"{"status":"success"}"#), (Some((150, 150)), true));
    }

    #[test]
    fn a_failed_download_says_why() {
        let fail = |line: &str| Parts::default().line(line, "nope", UnixMs(0)).unwrap_err().code;
        assert_eq!(fail(r#"{"error":"pull model manifest: file does not exist"}"#), ErrorCode::ModelNotFound);
        assert_eq!(fail(r#"{"error":"max retries exceeded"}"#), ErrorCode::Unknown);
        assert_eq!(fail("<html>"), ErrorCode::InvalidResponse);
    }
}
