//! How gateways prove to replicas that they may call them.

use super::ReplicaName;
use domain::endpoint::replica_keys::ReplicaKeys;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The keys of replicas. Every request to a replica has its key; whether a new replica rejects requests without one depends on
/// the gateways: one of an earlier release, which may run during an upgrade, sends none. Clones share the setting.
#[derive(Debug, Clone)]
pub struct ReplicaAuth {
    keys: ReplicaKeys,
    is_required: Arc<AtomicBool>,
}

impl ReplicaAuth {
    pub fn new(keys: ReplicaKeys) -> Self {
        Self { keys, is_required: Arc::default() }
    }

    /// Whether replicas that are started from now on reject requests without their key.
    pub fn require(&self, is_required: bool) {
        self.is_required.store(is_required, Ordering::Relaxed);
    }

    /// The key to send to a replica.
    pub fn key(&self, replica: &ReplicaName) -> String {
        self.keys.key(replica.as_str())
    }

    /// The key that a new replica is to check.
    pub(super) fn required_key(&self, replica: &ReplicaName) -> Option<String> {
        self.is_required.load(Ordering::Relaxed).then(|| self.key(replica))
    }
}
