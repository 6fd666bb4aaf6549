//! Keys of replicas: without its key, nothing but a gateway of the installation can call a replica's engine.

use crate::mac::hmac_hex;
use std::fmt;
use std::sync::Arc;

/// The secret that keys of replicas are derived from, the same on all nodes of an installation. A key need not be stored:
/// every node derives it from the name of the replica, also after a restart.
#[derive(Clone, PartialEq, Eq)]
pub struct ReplicaKeys(Arc<str>);

impl ReplicaKeys {
    pub fn new(secret: &str) -> Self {
        Self(secret.into())
    }

    /// The key of a replica: an HMAC of its name.
    pub fn key(&self, replica: &str) -> String {
        hmac_hex(&self.0, replica)
    }
}

/// Omits the secret.
impl fmt::Debug for ReplicaKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplicaKeys")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_with_one_secret_agree_on_a_key_that_no_other_replica_has() {
        let keys = ReplicaKeys::new("secret");
        assert_eq!(keys.key("rep_1"), ReplicaKeys::new("secret").key("rep_1"));
        assert_ne!(keys.key("rep_1"), keys.key("rep_2"));
        assert_ne!(keys.key("rep_1"), ReplicaKeys::new("other").key("rep_1"));
        assert_eq!(format!("{keys:?}"), "ReplicaKeys");
    }
}
