//! The keys in Redis and the settings of connections. All keys of a workspace share a hash tag, for Redis Cluster.

use crate::admission::charge::Charge;
use domain::{KeyId, WorkspaceId};
use redis::AsyncConnectionConfig;
use std::time::Duration;

/// Reservations expire after this time unless they are raised or settled.
pub(super) const RESERVATION_SECS: u64 = 900;

/// A connection with this limit on connecting and on each response.
pub(super) fn with_timeout(timeout: Duration) -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_connection_timeout(Some(timeout)).set_response_timeout(Some(timeout))
}

/// Requests and tokens of the workspace.
pub(super) fn workspace_bucket_keys(workspace: &WorkspaceId) -> Vec<String> {
    vec![format!("forebay:{{{workspace}}}:requests"), format!("forebay:{{{workspace}}}:tokens")]
}

/// Requests and tokens of the workspace, then of the key if it has limits of its own.
pub(super) fn bucket_keys(charge: &Charge) -> Vec<String> {
    let workspace = charge.workspace();
    let of_key = |key: &KeyId| {
        [format!("forebay:{{{workspace}}}:{key}:requests"), format!("forebay:{{{workspace}}}:{key}:tokens")]
    };
    let mut keys = workspace_bucket_keys(workspace);
    keys.extend(charge.key().into_iter().flat_map(|(key, _)| of_key(key)));
    keys
}

/// The tokens of a request that was counted before are a reservation of their own.
pub(super) fn reservation_key(charge: &Charge) -> String {
    let part = if charge.requests == 0 { ":tokens" } else { "" };
    format!("forebay:{{{}}}:{}{part}", charge.workspace(), charge.request)
}

/// A reservation of nothing: the script needs a key even if it only reads the buckets.
pub(super) fn look_key(workspace: &WorkspaceId) -> String {
    format!("forebay:{{{workspace}}}:look")
}
