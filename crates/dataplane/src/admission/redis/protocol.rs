//! The keys in Redis and the settings of connections. All keys of a workspace, or of an organization with limits of its own,
//! share a hash tag, for Redis Cluster.

use crate::admission::charge::{Charge, CounterId, Home};
use redis::AsyncConnectionConfig;
use std::time::Duration;

/// Reservations expire after this time unless they are raised or settled.
pub(super) const RESERVATION_SECS: u64 = 900;

/// A connection with this limit on connecting and on each response.
pub(super) fn with_timeout(timeout: Duration) -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_connection_timeout(Some(timeout)).set_response_timeout(Some(timeout))
}

/// Requests and tokens, in the order of [`Charge::limits`].
pub(super) fn bucket_keys(charge: &Charge) -> Vec<String> {
    let home = charge.home.as_str();
    let mut keys = vec![format!("forebay:{{{home}}}:requests"), format!("forebay:{{{home}}}:tokens")];
    for one in &charge.others {
        let id = match &one.id {
            CounterId::Workspace(workspace) => workspace.to_string(),
            CounterId::Key(key) => key.to_string(),
            CounterId::Model(key, model) => format!("{key}:{model}"),
            CounterId::EndUser(end_user) => end_user.to_string(),
        };
        keys.extend([format!("forebay:{{{home}}}:{id}:requests"), format!("forebay:{{{home}}}:{id}:tokens")]);
    }
    keys
}

/// The tokens of a request that was counted before are a reservation of their own.
pub(super) fn reservation_key(charge: &Charge) -> String {
    let part = if charge.requests == 0 { ":tokens" } else { "" };
    format!("forebay:{{{}}}:{}{part}", charge.home.as_str(), charge.request)
}

/// A reservation of nothing: the script needs a key even if it only reads the buckets.
pub(super) fn look_key(home: &Home) -> String {
    format!("forebay:{{{}}}:look", home.as_str())
}
