//! What every surface with signed-in people has at hand.

use crate::config::Config;
use control::CommandError;
use control::sessions::{self, ActiveSession};
use domain::allotment::Defaults;
use domain::session::{Lifetimes, SessionToken};
use domain::workspace::Limits;
use domain::{Retention, Timestamp};
use store::Store;
use tokio::runtime::Handle;

pub(crate) struct People {
    pub store: Store,
    /// Where the store's connections live.
    pub background: Handle,
    pub defaults: Limits,
    /// Caps of organizations that have none of their own.
    pub allotment_defaults: Defaults,
    pub lifetimes: Lifetimes,
    /// How far back series and the request log go.
    pub retention: Retention,
    /// Where people find the console, without a slash at its end.
    pub console_url: String,
}

impl People {
    pub(crate) fn new(store: Store, background: Handle, config: &Config, console_url: String) -> Self {
        let lifetimes = config.sessions.lifetimes();
        Self {
            store,
            background,
            defaults: config.workspace_defaults,
            allotment_defaults: config.allotment_defaults.clone(),
            lifetimes,
            retention: config.retention,
            console_url,
        }
    }

    /// The session of a token, unless it has ended.
    pub(crate) async fn identify(
        &self,
        token: SessionToken,
        now: Timestamp,
    ) -> Result<Option<ActiveSession>, CommandError> {
        sessions::identify(&self.store, token, &self.lifetimes, now).await
    }

    /// Whether browsers reach us by https, so that cookies need not go without.
    pub(crate) fn is_https(&self) -> bool {
        self.console_url.starts_with("https:")
    }
}
