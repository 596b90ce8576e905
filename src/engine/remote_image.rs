//! An image that a text names by its address: fetched when the person asks for it, once, on behalf of its chat. Its padlock
//! holds, its hosts are on record, and nothing but the request line and the bare headers of every client leaves.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use crate::ir::SessionId;
use crate::port::{Event, ImageFault, Settings};
use crate::provider::http::{Address, Http, HttpError, HttpProblem, Network, Reach, TimeLimits, on_behalf_of};

use super::network::SessionTraffic;
use super::shared::Shared;

/// Largest image that is fetched, in bytes.
const MOST_BYTES: usize = 10 * 1_048_576;

/// Fetches the image and reports it as a `data:` address, or why there is none.
pub(super) async fn load(shared: Arc<Shared>, traffic: Arc<SessionTraffic>, session: SessionId, url: String) {
    let image = on_behalf_of(traffic.clone(), fetch(&shared.settings(), &url)).await;
    traffic.save().await;
    shared.publish(Event::ImageLoaded { session, url, image }).await;
}

async fn fetch(settings: &Settings, url: &str) -> Result<String, ImageFault> {
    let address = Url::parse(url).ok().and_then(|url| Address::new(url).ok()).ok_or(ImageFault::Refused)?;
    let network = Network {
        proxy: settings.models.proxy.clone(),
        ca_file: (!settings.models.ca_file.is_empty()).then(|| settings.models.ca_file.clone().into()),
        ..Network::default()
    };
    let limits: TimeLimits = match address.reach() {
        Reach::Loopback | Reach::Public => network.limits(address.reach()),
        // An address in the local network is for the person to type, not for a text to name.
        Reach::Lan => return Err(ImageFault::Refused),
    };
    // The person saw this address: another host would be one that they did not see.
    let http = Http::through(&network, &address).map_err(fault)?;
    let reply = http.get("", limits).await.map_err(fault)?;
    if !reply.is_success() {
        return Err(ImageFault::Unreachable);
    }
    let bytes = reply.bytes(MOST_BYTES).await.map_err(fault)?;
    // What it is, its bytes say; what the server calls it does not count.
    let kind = infer::get(&bytes).map(|kind| kind.mime_type());
    match kind {
        Some(kind @ ("image/png" | "image/jpeg")) => Ok(format!("data:{kind};base64,{}", STANDARD.encode(&bytes))),
        Some(_) | None => Err(ImageFault::NotAnImage),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is mapped over an error")]
fn fault(error: HttpError) -> ImageFault {
    match error.problem {
        HttpProblem::Locked => ImageFault::Locked,
        HttpProblem::Refused(_) | HttpProblem::KeyInAddress => ImageFault::Refused,
        HttpProblem::TooLarge(_) => ImageFault::TooLarge,
        HttpProblem::Setup(_)
        | HttpProblem::NothingListens
        | HttpProblem::UnknownHost
        | HttpProblem::Connect(_)
        | HttpProblem::Untrusted(_)
        | HttpProblem::NotTls(_)
        | HttpProblem::Proxy(_)
        | HttpProblem::CertificateFile { .. }
        | HttpProblem::Redirect
        | HttpProblem::FirstByte(_)
        | HttpProblem::Silent(_)
        | HttpProblem::Broken(_) => ImageFault::Unreachable,
    }
}
