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
    /// The hash of the user's token: the ticket counts as long as that does.
    token: String,
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

    /// A new ticket for a device of a user, who has shown the token of that hash.
    pub(super) fn issue(
        &self,
        device: &Device,
        token: String,
        jti: String,
        now: UnixMs,
    ) -> Result<String, jsonwebtoken::errors::Error> {
        let claims = Claims {
            sub: device.user.clone(),
            device_id: device.id.clone(),
            jti,
            purpose: PURPOSE.to_owned(),
            token,
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
        if !ledger.revoked(vec![claims.token.clone()]).await?.is_empty() {
            return Err(TicketError::Refused);
        }
        Ok(Admitted { device: Device { user: claims.sub, id: claims.device_id }, token: claims.token, place })
    }
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
        ledger.add_token("ann", "hash", NOW).await.unwrap();
        Tickets::new(b"secret").consume(ticket, ledger.as_ref(), now).await
    }

    #[tokio::test]
    async fn a_ticket_lets_its_device_in_once() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}", folder.path().join("ledger.db").display());
        let ledger = ledger::open(&address).await.unwrap();
        ledger.add_token("ann", "hash", NOW).await.unwrap();
        let tickets = Tickets::new(b"secret");
        let ticket = |jti: &str| tickets.issue(&device(), "hash".into(), jti.into(), NOW).unwrap();
        let (first, second) = (ticket("j1"), ticket("j2"));
        let admitted = Admitted { device: device(), token: "hash".into(), place: NOW.0 };
        assert_eq!(tickets.consume(&first, ledger.as_ref(), NOW).await.unwrap(), admitted);
        assert!(matches!(tickets.consume(&first, ledger.as_ref(), NOW).await, Err(TicketError::Refused)));
        // By a clock that is far behind, and the name has a new token.
        ledger.revoke_token("ann", UnixMs(1)).await.unwrap();
        ledger.add_token("ann", "new", NOW).await.unwrap();
        assert!(matches!(tickets.consume(&second, ledger.as_ref(), NOW).await, Err(TicketError::Refused)));
    }

    #[tokio::test]
    async fn a_ticket_is_refused_when_late_forged_or_of_another_kind() {
        let ticket = |secret: &[u8]| Tickets::new(secret).issue(&device(), "hash".into(), "j1".into(), NOW).unwrap();
        let late = UnixMs(NOW.0 + (TICKET_SECONDS + 1) * 1000);
        assert!(consume(&ticket(b"secret"), NOW).await.is_ok());
        assert!(matches!(consume(&ticket(b"secret"), late).await, Err(TicketError::Refused)));
        assert!(matches!(consume(&ticket(b"other"), NOW).await, Err(TicketError::Refused)));
        assert!(matches!(consume("nonsense", NOW).await, Err(TicketError::Refused)));
        let none = format!("{}.{}.", "eyJhbGciOiJub25lIn0", ticket(b"secret").split('.').nth(1).unwrap());
        assert!(matches!(consume(&none, NOW).await, Err(TicketError::Refused)));
    }
}
