//! Credentials that are expected to be valid, as fingerprints in memory.
//!
//! They have a gate to the store of their own, so that the key of a client is looked up without waiting behind guesses. The
//! fingerprint covers the secret too: an unknown segment and a wrong secret take the same way, and neither is expected.
//! A fingerprint decides nothing but the gate; whether a key is valid is read from the store.

use domain::{SecretHash, Segment};
use foldhash::HashSet;
use foldhash::quality::RandomState;
use parking_lot::RwLock;
use std::hash::BuildHasher;

/// About 20 MiB. Further keys take the gate of all others until they are cached.
pub(super) const MAX_EXPECTED: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Expected {
    hasher: RandomState,
    fingerprints: RwLock<HashSet<u64>>,
}

impl Expected {
    pub(super) fn contains(&self, segment: Segment, hash: SecretHash) -> bool {
        self.fingerprints.read().contains(&self.fingerprint(segment, hash))
    }

    pub(super) fn add(&self, credentials: impl IntoIterator<Item = (Segment, SecretHash)>) {
        let mut fingerprints = self.fingerprints.write();
        for (segment, hash) in credentials {
            if fingerprints.len() < MAX_EXPECTED {
                fingerprints.insert(self.fingerprint(segment, hash));
            }
        }
    }

    /// Removes a credential that the store has rejected.
    pub(super) fn remove(&self, segment: Segment, hash: SecretHash) {
        let fingerprint = self.fingerprint(segment, hash);
        // Most rejected credentials were never expected.
        if self.fingerprints.read().contains(&fingerprint) {
            self.fingerprints.write().remove(&fingerprint);
        }
    }

    pub(super) fn clear(&self) {
        self.fingerprints.write().clear();
    }

    fn fingerprint(&self, segment: Segment, hash: SecretHash) -> u64 {
        self.hasher.hash_one((segment, hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_credential_is_expected() {
        let expected = Expected::default();
        let [segment, other] = ["aaaaaaaaaaaa", "bbbbbbbbbbbb"].map(|text| Segment::parse(text).unwrap());
        let [hash, wrong] = ["right", "wrong"].map(SecretHash::of);
        expected.add([(segment, hash)]);
        assert!(expected.contains(segment, hash));
        assert!(!expected.contains(segment, wrong) && !expected.contains(other, hash));
        expected.remove(segment, wrong);
        assert!(expected.contains(segment, hash));
        expected.remove(segment, hash);
        assert!(!expected.contains(segment, hash));
    }
}
