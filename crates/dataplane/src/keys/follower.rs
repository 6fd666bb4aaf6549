//! Follows the changes that this node and others make, and keeps the key directory valid.

use super::{KeyDirectory, STALE_KEY_TTL};
use background::ticks;
use domain::Segment;
use std::sync::Arc;
use std::time::Duration;
use store::{Change, ChangeFeed, StoreError, api_keys};
use tokio::time::Instant;

/// Period of asking for changes, if the store cannot notify of them.
const POLL_PERIOD: Duration = Duration::from_millis(500);
/// Delay after a failed [`ChangeFollower::round`].
pub const RETRY_DELAY: Duration = Duration::from_millis(250);

pub struct ChangeFollower {
    keys: Arc<KeyDirectory>,
    feed: Option<ChangeFeed>,
    listing: Listing,
}

/// The listing of all credentials to be expected. It takes a page per round, so that it delays no change.
#[derive(Debug, Clone, Copy)]
enum Listing {
    /// `None` at the start.
    After(Option<Segment>),
    Complete,
}

#[derive(Debug, thiserror::Error)]
#[error("the store is unavailable; cached keys are served for {STALE_KEY_TTL:?}: {0}")]
pub struct FollowError(#[source] StoreError);

impl ChangeFollower {
    pub(super) fn new(keys: Arc<KeyDirectory>) -> Self {
        Self { keys, feed: None, listing: Listing::After(None) }
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
                self.listing = Listing::After(None);
                self.feed.insert(feed)
            }
        };
        self.listing = self.keys.expect_page(self.listing).await;
        let until_poll = ticks::after(POLL_PERIOD).saturating_duration_since(Instant::now());
        match feed.next(until_poll).await {
            Ok(changes) => {
                for change in &changes {
                    self.keys.forget(change);
                    others(change);
                }
                self.keys.note_synced();
                if changes.contains(&Change::Everything) {
                    self.listing = Listing::After(None);
                }
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
    /// Reads a page of the credentials to be expected. After an error the same page is read in the next round; until then
    /// they take the gate of all others.
    async fn expect_page(&self, listing: Listing) -> Listing {
        let Listing::After(last) = listing else { return listing };
        match api_keys::credentials_after(&self.store, last).await {
            Ok(page) => {
                let next = page.last().map(|(segment, _)| *segment);
                let has_room = self.expected.add(page);
                if has_room && next.is_some() { Listing::After(next) } else { Listing::Complete }
            }
            Err(error) => {
                tracing::debug!(%error, "the keys to be expected could not be read");
                listing
            }
        }
    }

    /// Expects the credentials of keys that were created or changed, unless they were revoked.
    async fn expect_changed(&self, changes: &[Change]) {
        let segment = |change: &Change| match change {
            Change::Key(segment) => Some(*segment),
            _ => None,
        };
        let segments: Vec<Segment> = changes.iter().filter_map(segment).collect();
        if segments.is_empty() {
            return;
        }
        self.expected.remove_all(&segments);
        match api_keys::credentials_of(&self.store, &segments).await {
            Ok(changed) => _ = self.expected.add(changed),
            Err(error) => tracing::debug!(%error, "changed keys could not be read"),
        }
    }
}
