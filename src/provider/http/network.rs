//! How servers are reached: through which proxy, whom TLS trusts besides the system's own authorities, how long each step
//! may take. This machine and the local network are never reached through a proxy.

use std::path::PathBuf;
use std::time::Duration;

use super::problem::HttpProblem;
use super::{Reach, TimeLimits};
use crate::ir::Proxy;

/// Largest file of certificates, in bytes.
const LARGEST_CA_FILE: u64 = 4 * 1024 * 1024;

/// How servers are reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Network {
    /// Through whom, beyond the local network.
    pub proxy: Proxy,
    /// Certificate authorities to trust besides the system's own (which `SSL_CERT_FILE` changes), as PEM.
    pub ca_file: Option<PathBuf>,
    /// How long a connection, the wait for an answer and a pause in it may take, where the person says so.
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub idle: Option<Duration>,
}

impl Network {
    /// How long each step of an answer may take: as the person says, else as is usual for where the server is.
    pub fn limits(&self, reach: Reach) -> TimeLimits {
        let usual = match reach {
            Reach::Loopback | Reach::Lan => TimeLimits::LOCAL,
            Reach::Public => TimeLimits::REMOTE,
        };
        TimeLimits {
            connect: self.connect.unwrap_or(usual.connect),
            first_byte: self.first_byte.unwrap_or(usual.first_byte),
            idle: self.idle.unwrap_or(usual.idle),
            ..usual
        }
    }

    /// The certificates of the file.
    pub(super) fn certificates(&self) -> Result<Vec<reqwest::Certificate>, HttpProblem> {
        let Some(path) = &self.ca_file else { return Ok(Vec::new()) };
        let fail = |reason: String| HttpProblem::CertificateFile { path: path.display().to_string(), reason };
        let size = std::fs::metadata(path).map_err(|error| fail(error.to_string()))?.len();
        if size > LARGEST_CA_FILE {
            return Err(fail(format!("{size} bytes are too many")));
        }
        let content = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
        let found = reqwest::Certificate::from_pem_bundle(&content).map_err(|error| fail(error.to_string()))?;
        if found.is_empty() { Err(fail("there is no certificate in PEM form in it".into())) } else { Ok(found) }
    }

    /// The proxy for addresses beyond the local network; `None` for the system's own.
    pub(super) fn chosen_proxy(&self) -> Result<Option<reqwest::Proxy>, HttpProblem> {
        match &self.proxy {
            Proxy::System | Proxy::Direct => Ok(None),
            Proxy::Through(address) => reqwest::Proxy::all(address.as_str())
                .map(Some)
                .map_err(|error| HttpProblem::Proxy(format!("{address} is no address of a proxy ({error})"))),
        }
    }
}
