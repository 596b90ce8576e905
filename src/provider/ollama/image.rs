//! Images as Ollama wants them: raw base64. A public address is fetched first.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::Mutex;
use url::Url;

use crate::ir::{Error, ErrorCode, Request, Role};
use crate::provider::data_uri::base64_of;
use crate::provider::http::{Address, Http, Redirects, TimeLimits};
use crate::provider::retry::with_detail;

/// Largest image that is fetched, in bytes.
const IMAGE_LIMIT: usize = 20 * 1024 * 1024;
/// Fetched images that are kept, so that the rounds of a turn do not fetch them again.
const KEPT: usize = 8;

/// Images that were fetched.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    kept: Mutex<Vec<(String, String)>>,
}

impl Fetched {
    /// Every image of the request that has to be fetched, as base64 by its URL. One of an earlier message that cannot be
    /// fetched any more is left out.
    ///
    /// # Errors
    /// When an image of the newest message of the person cannot be fetched.
    pub(super) async fn for_request(&self, request: &Request) -> Result<HashMap<String, String>, Error> {
        let mut images = HashMap::new();
        let newest = request.messages.iter().rposition(|message| message.role == Role::User);
        for (index, message) in request.messages.iter().enumerate() {
            for image in message.images.iter().flatten() {
                if base64_of(&image.url).is_some() || images.contains_key(&image.url) {
                    continue;
                }
                match self.get(&image.url).await {
                    Ok(base64) => drop(images.insert(image.url.clone(), base64)),
                    Err(error) if Some(index) == newest => return Err(error),
                    Err(_) => {}
                }
            }
        }
        Ok(images)
    }

    async fn get(&self, url: &str) -> Result<String, Error> {
        if let Some((_, base64)) = self.kept.lock().await.iter().find(|(kept, _)| kept == url) {
            return Ok(base64.clone());
        }
        let base64 = fetch(url).await?;
        let mut kept = self.kept.lock().await;
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((url.to_owned(), base64.clone()));
        Ok(base64)
    }
}

async fn fetch(url: &str) -> Result<String, Error> {
    let failed = |detail: &str| {
        let mut error = Error::new(
            ErrorCode::NetworkError,
            with_detail("The attached image cannot be fetched. Attach the file itself instead", detail),
        );
        error.provider_code = Some("image_unavailable".into());
        error
    };
    let parsed = Url::parse(url).map_err(|error| failed(&error.to_string()))?;
    let address = Address::new(parsed).map_err(|error| failed(&error.to_string()))?;
    let limits = TimeLimits::QUICK;
    let http =
        Http::new(&address, limits.connect, Redirects::PublicHttps).map_err(|error| failed(&error.to_string()))?;
    let reply = http.get("", limits).await.map_err(|error| failed(&error.to_string()))?;
    if !reply.is_success() {
        return Err(failed(&format!("status {}", reply.status)));
    }
    if !reply.content_type.is_empty() && !reply.content_type.to_ascii_lowercase().starts_with("image/") {
        return Err(failed(&format!("it is {}, not an image", reply.content_type)));
    }
    let bytes = reply.bytes(IMAGE_LIMIT).await.map_err(|error| failed(&error.to_string()))?;
    Ok(STANDARD.encode(bytes))
}
