//! Credentials that are expected to be valid, as fingerprints in memory.
//!
//! They have a gate to the store of their own, so that the key of a client is looked up without waiting behind guesses. The
//! fingerprint covers the secret too: an unknown segment and a wrong secret take the same way, and neither is expected.
//! A fingerprint decides nothing but the gate; whether a key is valid is read from the store.

use domain::{SecretHash, Segment};
use foldhash::HashMap;
use foldhash::quality::RandomState;
use parking_lot::RwLock;
use std::hash::BuildHasher;

/// About 30 MiB. Further keys take the gate of all others until they are cached.
const MAX_EXPECTED: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Expected {
    hasher: RandomState,
    by_segment: RwLock<HashMap<Segment, u64>>,
}

impl Expected {
    pub(super) fn contains(&self, segment: Segment, hash: SecretHash) -> bool {
        self.by_segment.read().get(&segment) == Some(&self.fingerprint(segment, hash))
    }

    /// Adds as many as there is room for, and returns whether there is room for more.
    pub(super) fn add(&self, credentials: Vec<(Segment, SecretHash)>) -> bool {
        let mut by_segment = self.by_segment.write();
        let room = MAX_EXPECTED.saturating_sub(by_segment.len());
        let added = credentials.into_iter().take(room);
        by_segment.extend(added.map(|(segment, hash)| (segment, self.fingerprint(segment, hash))));
        by_segment.len() < MAX_EXPECTED
    }

    /// Removes a credential that the store has rejected.
    pub(super) fn remove(&self, segment: Segment, hash: SecretHash) {
        if self.contains(segment, hash) {
            self.by_segment.write().remove(&segment);
        }
    }

    /// Removes the credentials of keys that have changed.
    pub(super) fn remove_all(&self, segments: &[Segment]) {
        let mut by_segment = self.by_segment.write();
        for segment in segments {
            by_segment.remove(segment);
        }
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
        assert!(expected.add(vec![(segment, hash)]));
        assert!(expected.contains(segment, hash));
        assert!(!expected.contains(segment, wrong) && !expected.contains(other, hash));
        expected.remove(segment, wrong);
        assert!(expected.contains(segment, hash));
        expected.remove(segment, hash);
        assert!(!expected.contains(segment, hash));
        expected.add(vec![(segment, hash), (other, hash)]);
        expected.remove_all(&[segment]);
        assert!(!expected.contains(segment, hash) && expected.contains(other, hash));
    }
}
