//! Where the key comes from that rules and the end of the audit are sealed with.
//!
//! The person's usual data folder has it in the system's keyring, where an edit of the database does not give it away. A
//! folder that was named by hand carries its own, in a private file: such a folder is moved, copied and thrown away. So it is
//! where no keyring answers; once there is such a file it is what counts.

use std::path::Path;

use crate::secret::{Vault, own_key};
use crate::store::SealKey;

use super::start::default_data_dir;

/// Under which name the key stands in the keyring.
const NAME: &str = "seal of rules and audit";

/// The key from the keyring; `None` for a folder that has its own.
pub(super) async fn find(vault: &dyn Vault, data_dir: &Path) -> Option<SealKey> {
    if default_data_dir().is_none_or(|usual| usual != data_dir) {
        return None;
    }
    from(vault, data_dir).await
}

async fn from(vault: &dyn Vault, data_dir: &Path) -> Option<SealKey> {
    match SealKey::in_folder(data_dir) {
        Ok(None) => {}
        // An unreadable file is the store's to complain of.
        Ok(Some(_)) | Err(_) => return None,
    }
    let is_new = matches!(vault.read(NAME).await, Ok(None));
    match own_key(vault, NAME).await {
        Ok(bytes) => Some(SealKey::from_bytes(*bytes, is_new)),
        Err(error) => {
            tracing::info!(%error, "the key for codes is kept in the data folder");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::MemoryVault;

    #[tokio::test]
    async fn the_keyring_gives_the_same_key_again_and_a_folders_own_file_counts_first() {
        let folder = tempfile::tempdir().unwrap();
        let vault = MemoryVault::default();
        let first = from(&vault, folder.path()).await.unwrap();
        assert_eq!(from(&vault, folder.path()).await.unwrap().to_text(), first.to_text());
        SealKey::random().unwrap().keep_in_folder(folder.path()).unwrap();
        assert!(from(&vault, folder.path()).await.is_none());
    }

    #[tokio::test]
    async fn a_folder_that_was_named_by_hand_asks_no_keyring() {
        let vault = MemoryVault::default();
        let folder = tempfile::tempdir().unwrap();
        assert!(find(&vault, folder.path()).await.is_none());
        assert_eq!(vault.get(NAME), None);
    }
}
