//! Why a provider's connection does not work, in plain words, and what to do: every step is really made.

use crate::ir::{Error, ErrorCode, KeyPlace, ProviderRecord};
use crate::port::{Diagnosis, Sentence, Settings, error_text};
use crate::provider::http::Reach;
use crate::provider::probe::{Found, look_around};
use crate::provider::{KeyUse, Preset, ProviderKind, address};

use super::lookup::runtime;
use super::provider::{Place, ProviderSource, base_url, look_up, network};

/// Names of models that are shown where the wanted one is missing.
const SHOWN_MODELS: usize = 5;

/// Looks at a provider: its address, the way there, its key, what answers, its models and, if one is named, whether that
/// one is among them.
pub async fn diagnose(source: &dyn ProviderSource, id: &str, model: Option<&str>, settings: &Settings) -> Diagnosis {
    let (record, preset) = match look_up(id, settings) {
        Ok(found) => found,
        Err(error) => return bad(id, sentence(&error), Vec::new(), error.message),
    };
    let url = base_url(&record, preset, settings);
    let asked = async { source.provider(id, Place::default(), settings).await?.list_models().await };
    let models = match asked.await {
        Ok(models) => models,
        Err(error) => return explain(source, &record, preset, &url, settings, error).await,
    };
    if models.is_empty() {
        let advice = if preset.kind == ProviderKind::Ollama { "advice-pull-model" } else { "advice-load-model" };
        return bad(id, Sentence::new("connection-no-models"), vec![Sentence::new(advice)], String::new());
    }
    if let Some(wanted) = model.filter(|wanted| models.iter().all(|model| model.id != *wanted)) {
        let mut names: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
        let begin: String = wanted.chars().take(3).collect::<String>().to_lowercase();
        names.sort_by_key(|name| !name.to_lowercase().contains(&begin));
        names.truncate(SHOWN_MODELS);
        let finding = Sentence::new("connection-model-missing").with("model", wanted);
        let advice = Sentence::new("advice-other-model").with("models", names.join(", "));
        return bad(id, finding, vec![advice], String::new());
    }
    let greeting = async { source.provider(id, Place::default(), settings).await?.health_check().await };
    Diagnosis {
        provider: id.to_owned(),
        is_good: true,
        finding: match models.len() {
            1 => Sentence::new("connection-good-one"),
            count => Sentence::new("connection-good").with("count", count.to_string()),
        },
        advice: Vec::new(),
        better_url: None,
        detail: greeting.await.unwrap_or_default(),
    }
}

/// The same, for a command line that waits.
pub fn diagnose_and_wait(source: &dyn ProviderSource, id: &str, model: Option<&str>, settings: &Settings) -> Diagnosis {
    match runtime() {
        Ok(runtime) => runtime.block_on(diagnose(source, id, model, settings)),
        Err(error) => bad(id, sentence(&error), Vec::new(), error.message),
    }
}

fn bad(id: &str, finding: Sentence, advice: Vec<Sentence>, detail: String) -> Diagnosis {
    Diagnosis { provider: id.to_owned(), is_good: false, finding, advice, better_url: None, detail }
}

/// What an error says to a person.
fn sentence(error: &Error) -> Sentence {
    let (key, args) = error_text(error);
    Sentence { key, args }
}

async fn explain(
    source: &dyn ProviderSource,
    record: &ProviderRecord,
    preset: &Preset,
    url: &str,
    settings: &Settings,
    error: Error,
) -> Diagnosis {
    let reach = address(preset.kind, url).map(|address| address.reach());
    let origin = address(preset.kind, url).map(|address| address.origin()).unwrap_or_default();
    let with_url = |key: &'static str| Sentence::new(key).with("url", &origin);
    let is_here = matches!(reach, Ok(Reach::Loopback));
    let usual = if preset.default_url.is_empty() { "https://llm.example.com/v1" } else { preset.default_url };
    let usual_address = || Sentence::new("advice-usual-address").with("url", usual);
    let (finding, advice) = match error.provider_code.as_deref() {
        Some("address_refused" | "key_in_address") => (sentence(&error), vec![usual_address()]),
        Some("connection_refused") if is_here && preset.kind == ProviderKind::Ollama => {
            (with_url("connection-refused"), vec![Sentence::new("advice-start-ollama")])
        }
        Some("connection_refused") => {
            (with_url("connection-refused"), vec![Sentence::new("advice-start-server"), Sentence::new("advice-port")])
        }
        Some("unknown_host") => {
            let mut advice = vec![Sentence::new("advice-spelling"), usual_address()];
            advice.push(Sentence::new("advice-proxy-needed"));
            (with_url("connection-unknown-host"), advice)
        }
        Some("tls_untrusted") if error.message.contains("xpired") || error.message.contains("NotValidYet") => {
            (with_url("connection-certificate-date"), vec![Sentence::new("advice-clock")])
        }
        Some("tls_untrusted") if error.message.contains("NotValidForName") => {
            (with_url("connection-certificate-name"), vec![Sentence::new("advice-certificate-name")])
        }
        Some("tls_untrusted") => (with_url("connection-untrusted"), vec![Sentence::new("advice-ca-file")]),
        Some("not_tls") => (with_url("connection-not-tls"), vec![Sentence::new("advice-http")]),
        Some("proxy_failed") => {
            let proxy = record.proxy.as_ref().unwrap_or(&settings.models.proxy).to_string();
            (Sentence::new("connection-proxy").with("proxy", proxy), vec![Sentence::new("advice-proxy")])
        }
        Some("ca_file") => (sentence(&error), vec![Sentence::new("advice-ca-file")]),
        Some("redirected") => (with_url("connection-redirects"), vec![usual_address()]),
        Some("key_missing") => (sentence(&error), key_advice(preset)),
        Some("key_for_other_address") => {
            let other = record.key.origin().unwrap_or_default();
            (Sentence::new("connection-key-elsewhere").with("origin", other), vec![Sentence::new("advice-enter-key")])
        }
        _ => match error.code {
            ErrorCode::AuthInvalid | ErrorCode::AuthExpired if record.key == KeyPlace::Nowhere => {
                (Sentence::new("connection-key-wanted"), key_advice(preset))
            }
            ErrorCode::AuthInvalid | ErrorCode::AuthExpired => {
                (Sentence::new("connection-key-refused"), key_advice(preset))
            }
            ErrorCode::NetworkTimeout => (with_url("connection-slow"), vec![Sentence::new("advice-slow")]),
            ErrorCode::ModelNotFound | ErrorCode::InvalidResponse | ErrorCode::ParseError | ErrorCode::Unknown => {
                return look_elsewhere(source, record, preset, url, settings, &error).await;
            }
            ErrorCode::NetworkError
            | ErrorCode::RateLimited
            | ErrorCode::QuotaExceeded
            | ErrorCode::ModelOverloaded
            | ErrorCode::ContextLengthExceeded
            | ErrorCode::OutputLengthExceeded
            | ErrorCode::ContentFiltered
            | ErrorCode::MaxIterations
            | ErrorCode::UserAborted
            | ErrorCode::Timeout => (sentence(&error), Vec::new()),
        },
    };
    bad(&record.id, finding, advice, error.message)
}

fn key_advice(preset: &Preset) -> Vec<Sentence> {
    let mut advice = vec![Sentence::new("advice-enter-key")];
    if !preset.key_page.is_empty() && preset.key != KeyUse::None {
        advice.push(Sentence::new("advice-key-page").with("url", preset.key_page));
    }
    advice
}

/// Something answers, and it is not what it was taken for: is it at another path, or another kind of server?
async fn look_elsewhere(
    source: &dyn ProviderSource,
    record: &ProviderRecord,
    preset: &Preset,
    url: &str,
    settings: &Settings,
    error: &Error,
) -> Diagnosis {
    let key = source.key(&record.id, settings).await;
    let found = look_around(preset.kind, url, key.as_ref(), &network(record, settings)).await;
    let (finding, advice, better_url) = match found {
        Some(Found::Ollama { url: better }) => (
            Sentence::new("connection-is-ollama").with("url", &better),
            vec![Sentence::new("advice-choose-ollama").with("url", better)],
            None,
        ),
        Some(Found::OpenAiCompatible { url: better }) if preset.kind == ProviderKind::OpenAiCompatible => (
            Sentence::new("connection-other-path").with("url", url),
            vec![Sentence::new("advice-use-address").with("url", &better)],
            Some(better),
        ),
        Some(Found::OpenAiCompatible { url: better }) => (
            Sentence::new("connection-is-openai").with("url", &better),
            vec![Sentence::new("advice-choose-openai").with("url", better)],
            None,
        ),
        None => {
            let usual = if preset.default_url.is_empty() { "https://llm.example.com/v1" } else { preset.default_url };
            let finding = Sentence::new("connection-not-this-kind").with("url", url).with("kind", preset.display_name);
            (finding, vec![Sentence::new("advice-usual-address").with("url", usual)], None)
        }
    };
    Diagnosis { better_url, ..bad(&record.id, finding, advice, error.message.clone()) }
}
