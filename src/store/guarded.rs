//! Codes over whole tables that loosen what is asked or masked: settings of safety and tools, where providers are, which
//! servers may call. One code covers all rows of its kind, so that one that was removed is noticed as well.
//!
//! Where the code does not fit, the strictest holds: such settings are null (whoever reads them chooses what is strictest),
//! providers count as elsewhere, servers wait.

use rusqlite::{Connection, OptionalExtension as _, Transaction};

use crate::ir::{STRICT_SETTINGS, is_guarded_setting};

use super::StoreError;
use super::seal::SealKey;

/// What has a code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guarded {
    Settings,
    Providers,
    Servers,
}

impl Guarded {
    pub(super) const ALL: [Self; 3] = [Self::Settings, Self::Providers, Self::Servers];

    const fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Providers => "providers",
            Self::Servers => "servers",
        }
    }

    /// Every column that counts of every row, in an order that nobody chooses.
    fn texts(self, connection: &Connection) -> Result<Vec<String>, StoreError> {
        let sql = match self {
            Self::Settings => "SELECT key, value FROM setting ORDER BY key",
            Self::Providers => {
                "SELECT id, preset, base_url, ifnull(CAST(is_remote AS TEXT), ''), ifnull(proxy, ''), ifnull(ca_file, ''),
                    ifnull(key_origin, '') FROM provider ORDER BY id"
            }
            Self::Servers => "SELECT url, workspace, ifnull(key_origin, ''), CAST(is_paused AS TEXT) FROM link_server ORDER BY url",
        };
        let mut statement = connection.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut texts = vec![format!("nod {} 1", self.name())];
        while let Some(row) = rows.next()? {
            let mut read = (0..columns).map(|column| row.get::<_, String>(column)).collect::<Result<Vec<_>, _>>()?;
            if self != Self::Settings || read.first().is_some_and(|key| is_guarded_setting(key)) {
                texts.append(&mut read);
            }
        }
        Ok(texts)
    }

    /// Whether everything is as Nod wrote it.
    pub(super) fn is_sealed(self, connection: &Connection, seal: &SealKey) -> Result<bool, StoreError> {
        let code: Option<String> = connection
            .query_row("SELECT code FROM seal WHERE name = ?1", [self.name()], |row| row.get(0))
            .optional()?;
        let texts = self.texts(connection)?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        Ok(code.is_some_and(|code| seal.fits(&texts, &code)))
    }

    /// The same for who only looks: an older Nod's database has no codes yet, and nothing is decided by what is read of it.
    pub(super) fn is_trusted(
        self,
        connection: &Connection,
        seal: &SealKey,
        reader: Reader,
    ) -> Result<bool, StoreError> {
        let is_older = reader == Reader::OnlyLooks && !connection.table_exists(None, "seal")?;
        Ok(is_older || self.is_sealed(connection, seal)?)
    }

    /// Gives it its code as it stands.
    fn seal(self, transaction: &Transaction<'_>, seal: &SealKey) -> Result<(), StoreError> {
        let texts = self.texts(transaction)?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let code = seal.code(&texts)?;
        transaction.execute("INSERT OR REPLACE INTO seal (name, code) VALUES (?1, ?2)", [self.name(), &code])?;
        Ok(())
    }

    /// Makes it as strict as can be; gives how many rows that were there, or owed.
    fn tighten(self, transaction: &Transaction<'_>, reach: Reach) -> Result<usize, StoreError> {
        match self {
            Self::Settings => {
                let mut changed = 0;
                for key in keys(transaction)?.into_iter().filter(|key| is_guarded_setting(key)) {
                    changed += transaction.execute("UPDATE setting SET value = 'null' WHERE key = ?1", [key])?;
                }
                if reach == Reach::Defaults {
                    for key in STRICT_SETTINGS {
                        let sql = "INSERT INTO setting (key, value) VALUES (?1, 'null') ON CONFLICT DO NOTHING";
                        changed += transaction.execute(sql, [key])?;
                    }
                }
                Ok(changed)
            }
            Self::Providers => Ok(transaction.execute("UPDATE provider SET is_remote = 1", [])?),
            Self::Servers => Ok(transaction.execute("UPDATE link_server SET is_paused = 1", [])?),
        }
    }
}

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// The one process that decides and writes.
    Decides,
    /// One beside it, or of a database that cannot be written.
    OnlyLooks,
}

/// What is made strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// What stands there.
    Rows,
    /// What is missing too: it may have been stricter than what holds without it.
    Defaults,
}

fn keys(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare("SELECT key FROM setting")?;
    let keys = statement.query_map([], |row| row.get(0))?;
    Ok(keys.collect::<Result<_, _>>()?)
}

/// Whose code did not fit, of what there was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tightened {
    /// Settings of safety, of tools, or of what counts as this machine.
    pub settings: bool,
    /// Where providers are.
    pub providers: bool,
    /// Which servers may call, and look where.
    pub servers: bool,
}

impl Tightened {
    /// Whether there was nothing.
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

/// Gives everything its code as it stands: it is new, or an older program kept it just so.
pub(super) fn seal_all(transaction: &Transaction<'_>, seal: &SealKey) -> Result<(), StoreError> {
    Guarded::ALL.into_iter().try_for_each(|guarded| guarded.seal(transaction, seal))
}

/// Makes strict what carries no code that fits, and keeps it so until the person sets it anew.
pub(super) fn mend(transaction: &Transaction<'_>, seal: &SealKey, reach: Reach) -> Result<Tightened, StoreError> {
    let mut tightened = Tightened::default();
    for guarded in Guarded::ALL {
        if guarded.is_sealed(transaction, seal)? {
            continue;
        }
        let has_changed = guarded.tighten(transaction, reach)? > 0;
        match guarded {
            Guarded::Settings => tightened.settings = has_changed,
            Guarded::Providers => tightened.providers = has_changed,
            Guarded::Servers => tightened.servers = has_changed,
        }
        guarded.seal(transaction, seal)?;
    }
    Ok(tightened)
}

/// Changes what has a code, and gives it the next one. What somebody else wrote meanwhile is made strict first.
pub(super) fn change<T>(
    transaction: &Transaction<'_>,
    seal: &SealKey,
    guarded: Guarded,
    job: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    if !guarded.is_sealed(transaction, seal)? {
        tracing::warn!(what = guarded.name(), "something was written from outside while Nod was open");
        guarded.tighten(transaction, Reach::Defaults)?;
    }
    let done = job()?;
    guarded.seal(transaction, seal)?;
    Ok(done)
}
