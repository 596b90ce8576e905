//! One-time passes for opening a connection: a JWT (HS256) that names user and device and counts once, for a minute.

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};

use crate::ir::UnixMs;

use super::connection::{Admitted, Device};
use super::ledger::{Ledger, LedgerError};

/// How long a ticket counts, in seconds.
pub(super) const TICKET_SECONDS: i64 = 60;
const PURPOSE: &str = "desktop-connection";

/// Makes and checks tickets. Every process of one server must have the same secret.
pub(super) struct Tickets {
    sign: EncodingKey,
    check: DecodingKey,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    sub: String,
    device_id: String,
    jti: String,
    purpose: String,
    /// Milliseconds since the Unix epoch: a revocation is told from the token that replaced it within a second.
    issued_at_ms: i64,
    /// Seconds since the Unix epoch.
    exp: i64,
}

/// Why a ticket does not count.
#[derive(Debug, thiserror::Error)]
pub(super) enum TicketError {
    #[error("the ticket is bad, expired or used")]
    Refused,
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Tickets {
    pub(super) fn new(secret: &[u8]) -> Self {
        Self { sign: EncodingKey::from_secret(secret), check: DecodingKey::from_secret(secret) }
    }

    /// A new ticket for a device of a user.
    pub(super) fn issue(
        &self,
        device: &Device,
        jti: String,
        now: UnixMs,
    ) -> Result<String, jsonwebtoken::errors::Error> {
        let claims = Claims {
            sub: device.user.clone(),
            device_id: device.id.clone(),
            jti,
            purpose: PURPOSE.to_owned(),
            issued_at_ms: now.0,
            exp: now.0 / 1000 + TICKET_SECONDS,
        };
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.sign)
    }

    /// Uses a ticket up: whom it lets in.
    pub(super) async fn consume(
        &self,
        ticket: &str,
        ledger: &dyn Ledger,
        now: UnixMs,
    ) -> Result<Admitted, TicketError> {
        let mut validation = Validation::new(Algorithm::HS256);
        // The time comes in as a value, so it is compared below.
        validation.validate_exp = false;
        let claims = jsonwebtoken::decode::<Claims>(ticket, &self.check, &validation)
            .map_err(|error| {
                tracing::debug!(%error, "a ticket does not count");
                TicketError::Refused
            })?
            .claims;
        let expires_at = UnixMs(claims.exp.saturating_mul(1000));
        if claims.purpose != PURPOSE || expires_at < now {
            return Err(TicketError::Refused);
        }
        let Some(place) = ledger.use_ticket(&claims.jti, expires_at, now).await? else {
            return Err(TicketError::Refused);
        };
        let issued_at = UnixMs(claims.issued_at_ms);
        if ledger.revoked_since(issued_at).await?.iter().any(|(user, _)| *user == claims.sub) {
            return Err(TicketError::Refused);
        }
        Ok(Admitted { device: Device { user: claims.sub, id: claims.device_id }, issued_at, place })
    }
}

/// A text with the tickets in it made unreadable: what of a request may be logged.
pub(super) fn without_tickets(text: &str) -> String {
    let mut parts = text.split("ticket=");
    let mut redacted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        redacted.push_str("ticket=***");
        redacted.push_str(part.find(['&', ' ', '"', '#']).and_then(|end| part.get(end..)).unwrap_or_default());
    }
    redacted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::ledger;

    const NOW: UnixMs = UnixMs(1_800_000_000_000);

    fn device() -> Device {
        Device { user: "ann".into(), id: "laptop".into() }
    }

    async fn consume(ticket: &str, now: UnixMs) -> Result<Admitted, TicketError> {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}", folder.path().join("ledger.db").display());
        let ledger = ledger::open(&address).await.unwrap();
        Tickets::new(b"secret").consume(ticket, ledger.as_ref(), now).await
    }

    #[tokio::test]
    async fn a_ticket_lets_its_device_in_once() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}", folder.path().join("ledger.db").display());
        let ledger = ledger::open(&address).await.unwrap();
        let tickets = Tickets::new(b"secret");
        let ticket = tickets.issue(&device(), "j1".into(), NOW).unwrap();
        let admitted = Admitted { device: device(), issued_at: NOW, place: NOW.0 };
        assert_eq!(tickets.consume(&ticket, ledger.as_ref(), NOW).await.unwrap(), admitted);
        assert!(matches!(tickets.consume(&ticket, ledger.as_ref(), NOW).await, Err(TicketError::Refused)));
    }

    #[tokio::test]
    async fn a_ticket_is_refused_when_late_forged_or_of_another_kind() {
        let ticket = |secret: &[u8]| Tickets::new(secret).issue(&device(), "j1".into(), NOW).unwrap();
        let late = UnixMs(NOW.0 + (TICKET_SECONDS + 1) * 1000);
        assert!(consume(&ticket(b"secret"), NOW).await.is_ok());
        assert!(matches!(consume(&ticket(b"secret"), late).await, Err(TicketError::Refused)));
        assert!(matches!(consume(&ticket(b"other"), NOW).await, Err(TicketError::Refused)));
        assert!(matches!(consume("nonsense", NOW).await, Err(TicketError::Refused)));
        let none = format!("{}.{}.", "eyJhbGciOiJub25lIn0", ticket(b"secret").split('.').nth(1).unwrap());
        assert!(matches!(consume(&none, NOW).await, Err(TicketError::Refused)));
    }

    #[test]
    fn tickets_do_not_reach_a_log() {
        assert_eq!(
            without_tickets("GET /api/desktop/ws?a=1&ticket=eyJ.a.b&c=2 HTTP ticket=x"),
            "GET /api/desktop/ws?a=1&ticket=***&c=2 HTTP ticket=***"
        );
    }
}
