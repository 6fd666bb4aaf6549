//! A prompt as a chain of hashes: one for each of its prefixes at fixed depths.
//!
//! Depths are every 1 KiB up to 32 KiB, then every 4 KiB. Each hash covers everything before it, so two prompts have equal
//! hashes exactly up to the last depth at which they are equal. Example: prompts of 3.5 KiB and 40 KiB that share their
//! first 2.9 KiB have 3 and 34 hashes, of which the first two are equal.

use foldhash::quality::FixedState;
use std::hash::BuildHasher;

const STEP: usize = 1 << 10;
/// Depths that are one step apart; further ones are [`COARSE_STEPS`] apart.
const FINE_DEPTHS: usize = 32;
const COARSE_STEPS: usize = 4;
/// The most hashes of a prompt: 4 MiB of text. What follows is not looked at.
const MAX_DEPTHS: usize = FINE_DEPTHS + 1016;
/// Bytes that a digest adds to the text that is hashed.
const DIGEST_BYTES: u64 = 8;
/// Separates the two halves of a hash.
const SECOND_HALF: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of a prefix, or of a session's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrefixHash(pub [u64; 2]);

/// The bytes of a prompt that its first `depths` hashes cover.
pub const fn covered_bytes(depths: usize) -> u64 {
    let fine = if depths < FINE_DEPTHS { depths } else { FINE_DEPTHS };
    ((fine + (depths - fine) * COARSE_STEPS) * STEP) as u64
}

/// The prefixes of a prompt, and its length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fingerprint {
    hashes: Vec<PrefixHash>,
    session: Option<PrefixHash>,
    bytes: u64,
}

impl Fingerprint {
    /// A prompt of this length that shares no prefix with any other.
    pub fn opaque(bytes: u64) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// From the shortest prefix to the longest.
    pub fn hashes(&self) -> &[PrefixHash] {
        &self.hashes
    }

    /// The session that the call belongs to, if the client named one.
    pub fn session(&self) -> Option<PrefixHash> {
        self.session
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A session as a client names it, within its workspace.
#[derive(Debug, Clone, Copy, Hash)]
pub struct SessionName<'a> {
    pub workspace: &'a str,
    pub name: &'a [u8],
}

/// The seed of a tenant's hashes. Prompts of different tenants have no hash in common.
pub fn seed(tenant: &str, salt: &[u8]) -> u64 {
    FixedState::default().hash_one((tenant, salt))
}

/// Hashes a prompt as it is read, piece by piece.
pub struct FingerprintBuilder {
    seed: u64,
    state: [u64; 2],
    block: [u8; STEP],
    filled: usize,
    /// Bytes until the next step. Digests count for more bytes than they fill, so that `filled + room <= STEP`.
    room: usize,
    steps: usize,
    found: Fingerprint,
}

impl FingerprintBuilder {
    /// `expected_bytes` is an estimate of the length.
    pub fn new(seed: u64, expected_bytes: usize) -> Self {
        let fine = expected_bytes / STEP;
        let expected = if fine <= FINE_DEPTHS { fine } else { FINE_DEPTHS + (fine - FINE_DEPTHS) / COARSE_STEPS };
        let hashes = Vec::with_capacity(expected.min(MAX_DEPTHS));
        let found = Fingerprint { hashes, session: None, bytes: 0 };
        let state = [seed, seed ^ SECOND_HALF];
        Self { seed, state, block: [0; STEP], filled: 0, room: STEP, steps: 0, found }
    }

    /// Adds text. How it is divided into calls makes no difference.
    pub fn text(&mut self, mut text: &[u8]) {
        self.found.bytes += text.len() as u64;
        while text.len() >= self.room && !self.is_full() {
            let (head, rest) = text.split_at(self.room);
            let block = if self.filled == 0 {
                self.hash(head)
            } else {
                self.block[self.filled..self.filled + head.len()].copy_from_slice(head);
                self.hash(&self.block[..self.filled + head.len()])
            };
            self.close_block(block);
            text = rest;
        }
        if !self.is_full() {
            self.block[self.filled..self.filled + text.len()].copy_from_slice(text);
            self.filled += text.len();
            self.room -= text.len();
        }
    }

    /// Adds something that is not hashed in place, such as an image, by its digest. It counts as `weight` bytes.
    pub fn digest(&mut self, digest: u64, weight: u64) {
        self.text(&digest.to_le_bytes());
        let mut rest = weight.saturating_sub(DIGEST_BYTES);
        self.found.bytes += rest;
        while rest >= self.room as u64 && !self.is_full() {
            rest -= self.room as u64;
            let block = self.hash(&self.block[..self.filled]);
            self.close_block(block);
        }
        if !self.is_full() {
            self.room -= usize::try_from(rest).expect("less than a step");
        }
    }

    pub fn finish(mut self, session: Option<SessionName<'_>>) -> Fingerprint {
        let seeds = [self.seed, self.seed ^ SECOND_HALF];
        self.found.session = session.map(|name| PrefixHash(seeds.map(|seed| hash_with(seed, ("session", name)))));
        self.found
    }

    fn is_full(&self) -> bool {
        self.found.hashes.len() >= MAX_DEPTHS
    }

    fn hash(&self, bytes: &[u8]) -> u64 {
        hash_with(self.seed, bytes)
    }

    fn close_block(&mut self, block: u64) {
        let [first, second] = self.state;
        self.state = [hash_with(first, (second, block)), hash_with(second, (block, first))];
        (self.filled, self.room) = (0, STEP);
        self.steps += 1;
        if self.steps <= FINE_DEPTHS || (self.steps - FINE_DEPTHS).is_multiple_of(COARSE_STEPS) {
            self.found.hashes.push(PrefixHash(self.state));
        }
    }
}

fn hash_with(seed: u64, value: impl std::hash::Hash) -> u64 {
    FixedState::with_seed(seed).hash_one(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(pieces: &[&[u8]]) -> Fingerprint {
        let mut builder = FingerprintBuilder::new(1, 0);
        pieces.iter().for_each(|piece| builder.text(piece));
        builder.finish(None)
    }

    #[test]
    fn there_is_a_hash_for_each_kibibyte_and_later_for_every_four() {
        let lengths = [0, 1023, 1024, 32 << 10, (36 << 10) - 1, 36 << 10, 100 << 10];
        let counts = lengths.map(|length| of(&[&vec![b'x'; length]]).hashes().len());
        assert_eq!(counts, [0, 0, 1, 32, 32, 33, 49]);
        assert_eq!([0, 1, 32, 33, 49].map(covered_bytes), [0, 1 << 10, 32 << 10, 36 << 10, 100 << 10]);
        assert_eq!(of(&[&vec![b'x'; 8 << 20]]).hashes().len(), MAX_DEPTHS, "bounded");
        assert_eq!(of(&[&vec![b'x'; 8 << 20]]).bytes(), 8 << 20);
    }

    #[test]
    fn tenants_salts_and_sessions_have_nothing_in_common() {
        let text = vec![b'x'; 5 << 10];
        let of_seed = |seed| {
            let mut builder = FingerprintBuilder::new(seed, text.len());
            builder.text(&text);
            builder.finish(Some(SessionName { workspace: "ws_1", name: b"s" }))
        };
        let all = [seed("a", b""), seed("b", b""), seed("a", b"x"), seed("ax", b"")].map(of_seed);
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert!(one.hashes().iter().all(|hash| !other.hashes().contains(hash)));
                assert_ne!(one.session(), other.session());
            }
        }
        assert_eq!(of_seed(seed("a", b"")), all[0]);
    }

    #[test]
    fn a_digest_counts_for_its_weight_and_changes_all_that_follows() {
        let with = |digest: u64, weight: u64| {
            let mut builder = FingerprintBuilder::new(1, 0);
            builder.text(&[b'x'; 1500]);
            builder.digest(digest, weight);
            builder.text(&[b'y'; 3000]);
            builder.finish(None)
        };
        let (one, same, other) = (with(1, 5000), with(1, 5000), with(2, 5000));
        assert_eq!(one, same);
        assert_eq!((one.bytes(), one.hashes().len()), (9500, 9));
        let shared = one.hashes().iter().zip(other.hashes()).take_while(|(one, other)| one == other).count();
        assert_eq!(shared, 1);
        assert_ne!(with(1, 5000).hashes(), with(1, 6000).hashes());
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(text in prop::collection::vec(any::<u8>(), 0..6000), cuts in prop::collection::vec(0..6000usize, 0..6)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(of(&pieces), of(&[&text]));
        }

        #[test]
        fn hashes_are_equal_exactly_up_to_the_first_difference(
            text in prop::collection::vec(any::<u8>(), 1..50_000), at in any::<prop::sample::Index>(),
        ) {
            let mut other = text.clone();
            let at = at.index(text.len());
            other[at] ^= 1;
            let (one, other) = (of(&[&text]), of(&[&other]));
            let shared = one.hashes().iter().zip(other.hashes()).filter(|(one, other)| one == other).count();
            let expected = (0..=one.hashes().len()).rev().find(|depths| covered_bytes(*depths) <= at as u64).unwrap();
            prop_assert_eq!(shared, expected);
        }
    }
}
