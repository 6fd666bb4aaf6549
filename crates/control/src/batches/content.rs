//! How content is sealed.

use crate::command_error::CommandError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::batches::StoredContent;
use store::content_keys::{ContentKeys, Scope};

/// Seals and opens content of files and lines.
#[derive(Debug, Clone)]
pub(super) struct Content {
    keys: Option<ContentKeys>,
    warned: Arc<AtomicBool>,
}

impl Content {
    pub(super) fn new(keys: Option<ContentKeys>) -> Self {
        Self { keys, warned: Arc::default() }
    }

    /// Content as it is stored: readable if there are no keys, which is logged the first time.
    pub(super) fn seal(&self, scope: Scope<'_>, bytes: Vec<u8>) -> StoredContent {
        match &self.keys {
            Some(keys) => {
                let key = Some(keys.sealing_key().as_str().to_owned());
                StoredContent { key, bytes: keys.seal(scope, &bytes) }
            }
            None => {
                if !self.warned.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        "files and batches are stored as plain text, because FOREBAY_CONTENT_KEY is not set"
                    );
                }
                StoredContent { key: None, bytes }
            }
        }
    }

    pub(super) fn open(&self, scope: Scope<'_>, stored: StoredContent) -> Result<Vec<u8>, CommandError> {
        match (&stored.key, &self.keys) {
            (None, _) => Ok(stored.bytes),
            (Some(_), Some(keys)) => {
                keys.open(scope, &stored.bytes).map_err(|error| CommandError::Internal { cause: Box::new(error) })
            }
            (Some(key), None) => {
                let cause = format!("sealed with the key {key}, and FOREBAY_CONTENT_KEY is not set");
                Err(CommandError::Internal { cause: cause.into() })
            }
        }
    }
}
