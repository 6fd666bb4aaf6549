//! Follows the changes that this node and others make, and keeps the key directory valid.

use super::{KeyDirectory, STALE_KEY_TTL};
use crate::keys::expected::MAX_EXPECTED;
use domain::Segment;
use std::sync::Arc;
use std::time::Duration;
use store::{Change, ChangeFeed, StoreError, api_keys};

/// Period of asking for changes, if the store cannot notify of them.
const POLL_PERIOD: Duration = Duration::from_millis(400);
/// Delay after a failed [`ChangeFollower::round`].
pub const RETRY_DELAY: Duration = Duration::from_millis(250);

pub struct ChangeFollower {
    keys: Arc<KeyDirectory>,
    feed: Option<ChangeFeed>,
}

#[derive(Debug, thiserror::Error)]
#[error("the store is unavailable; cached keys are served for {STALE_KEY_TTL:?}: {0}")]
pub struct FollowError(#[source] StoreError);

impl ChangeFollower {
    pub(super) fn new(keys: Arc<KeyDirectory>) -> Self {
        Self { keys, feed: None }
    }

    /// Waits for the next changes, or the poll period, applies them to the cache and passes them on to `others`.
    pub async fn round(&mut self, others: &(impl Fn(&Change) + Sync)) -> Result<(), FollowError> {
        let feed = match &mut self.feed {
            Some(feed) => feed,
            None => {
                let feed = self.keys.store.changes().await.map_err(FollowError)?;
                // Anything may have changed since the last feed.
                self.keys.forget(&Change::Everything);
                others(&Change::Everything);
                self.keys.expect_changed(&[Change::Everything]).await;
                self.feed.insert(feed)
            }
        };
        match feed.next(POLL_PERIOD).await {
            Ok(changes) => {
                for change in &changes {
                    self.keys.forget(change);
                    others(change);
                }
                self.keys.note_synced();
                self.keys.expect_changed(&changes).await;
                Ok(())
            }
            Err(error) => {
                if !error.is_unavailable() {
                    self.feed = None;
                }
                Err(FollowError(error))
            }
        }
    }
}

impl KeyDirectory {
    /// Reads which credentials are to be expected after these changes. After an error they take the gate of all others,
    /// until they are looked up.
    async fn expect_changed(&self, changes: &[Change]) {
        let outcome = if changes.contains(&Change::Everything) {
            self.expect_all().await
        } else {
            let segment = |change: &Change| match change {
                Change::Key(segment) => Some(*segment),
                _ => None,
            };
            self.expect_segments(&changes.iter().filter_map(segment).collect::<Vec<_>>()).await
        };
        if let Err(error) = outcome {
            tracing::warn!(%error, "the keys to be expected could not be read");
        }
    }

    async fn expect_all(&self) -> Result<(), StoreError> {
        self.expected.clear();
        let (mut last, mut read) = (None, 0);
        while read < MAX_EXPECTED {
            let page = api_keys::credentials_after(&self.store, last).await?;
            let Some((segment, _)) = page.last() else { break };
            last = Some(*segment);
            read += page.len();
            self.expected.add(page);
        }
        Ok(())
    }

    async fn expect_segments(&self, segments: &[Segment]) -> Result<(), StoreError> {
        self.expected.add(api_keys::credentials_of(&self.store, segments).await?);
        Ok(())
    }
}
