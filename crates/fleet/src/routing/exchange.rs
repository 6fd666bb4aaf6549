//! What nodes report to each other: the prompt tokens that each has in flight at a replica, and the prompts it placed there.
//!
//! A message has a version, the sender, and for each replica its key, tokens in flight, running calls and placed prefixes.
//! Reports are added up and forgotten after [`MAX_AGE`] without a newer one.

use super::fingerprint::PrefixHash;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A report counts for this long.
pub const MAX_AGE: Duration = Duration::from_secs(2);
/// The most bytes of a message.
pub const MAX_MESSAGE: usize = 256 << 10;
/// Pairs of node and replica that are remembered; further ones are ignored.
const MAX_REPORTS: usize = 64 << 10;
const VERSION: u8 = 1;
const HEAD_BYTES: usize = 1 + 8;
const REPLICA_BYTES: usize = 8 + 8 + 4 + 4;
const HASH_BYTES: usize = 16;

/// Identifies a replica on every node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplicaKey(pub u64);

/// Identifies a node until it restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeKey(pub u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeLoad {
    pub prefill_tokens: u64,
    pub running: u32,
}

/// What a node reports of one replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaReport {
    pub replica: ReplicaKey,
    pub load: NodeLoad,
    /// In the order of placement.
    pub placed: Vec<PrefixHash>,
}

/// Encodes reports into messages of at most [`MAX_MESSAGE`] bytes. Placements that do not fit into one are omitted.
pub fn encode(node: NodeKey, reports: &[ReplicaReport]) -> Vec<Vec<u8>> {
    const MOST_HASHES: usize = (MAX_MESSAGE - HEAD_BYTES - REPLICA_BYTES) / HASH_BYTES;
    let mut messages: Vec<Vec<u8>> = Vec::new();
    for ReplicaReport { replica, load, placed } in reports {
        let placed = &placed[..placed.len().min(MOST_HASHES)];
        let size = REPLICA_BYTES + placed.len() * HASH_BYTES;
        if messages.last().is_none_or(|message| message.len() + size > MAX_MESSAGE) {
            let mut message = vec![VERSION];
            message.extend(node.0.to_le_bytes());
            messages.push(message);
        }
        let Some(message) = messages.last_mut() else { continue };
        message.extend(replica.0.to_le_bytes());
        message.extend(load.prefill_tokens.to_le_bytes());
        message.extend(load.running.to_le_bytes());
        message.extend(u32::try_from(placed.len()).unwrap_or(0).to_le_bytes());
        message.extend(placed.iter().flat_map(|hash| hash.0).flat_map(u64::to_le_bytes));
    }
    messages
}

/// Decodes a message; `None` if it is malformed or of another version.
pub fn decode(message: &[u8]) -> Option<(NodeKey, Vec<ReplicaReport>)> {
    let mut rest = message.strip_prefix(&[VERSION])?;
    let node = NodeKey(take_u64(&mut rest)?);
    let mut reports = Vec::new();
    while !rest.is_empty() {
        let replica = ReplicaKey(take_u64(&mut rest)?);
        let prefill_tokens = take_u64(&mut rest)?;
        let running = take_u32(&mut rest)?;
        let count = take_u32(&mut rest)? as usize;
        if count > rest.len() / HASH_BYTES {
            return None;
        }
        let mut placed = Vec::with_capacity(count);
        for _ in 0..count {
            placed.push(PrefixHash([take_u64(&mut rest)?, take_u64(&mut rest)?]));
        }
        reports.push(ReplicaReport { replica, load: NodeLoad { prefill_tokens, running }, placed });
    }
    Some((node, reports))
}

fn take_u64(rest: &mut &[u8]) -> Option<u64> {
    let (bytes, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u64::from_le_bytes(*bytes))
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    let (bytes, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u32::from_le_bytes(*bytes))
}

/// The last reports of other nodes.
#[derive(Debug, Default)]
pub struct Peers {
    received: HashMap<(NodeKey, ReplicaKey), (Instant, NodeLoad)>,
}

impl Peers {
    pub fn receive(&mut self, node: NodeKey, replica: ReplicaKey, load: NodeLoad, now: Instant) {
        if self.received.len() < MAX_REPORTS || self.received.contains_key(&(node, replica)) {
            self.received.insert((node, replica), (now, load));
        }
    }

    /// The nodes with a report on a replica that is not too old.
    pub fn nodes(&self, now: Instant) -> HashMap<ReplicaKey, Vec<NodeKey>> {
        let mut nodes: HashMap<ReplicaKey, Vec<NodeKey>> = HashMap::new();
        let recent = self.received.iter().filter(|(_, (at, _))| now.saturating_duration_since(*at) < MAX_AGE);
        recent.for_each(|((node, replica), _)| nodes.entry(*replica).or_default().push(*node));
        nodes
    }

    /// The sums per replica of reports that are not too old.
    pub fn totals(&mut self, now: Instant) -> HashMap<ReplicaKey, NodeLoad> {
        self.received.retain(|_, (at, _)| now.saturating_duration_since(*at) < MAX_AGE);
        let mut totals: HashMap<ReplicaKey, NodeLoad> = HashMap::new();
        for ((_, replica), (_, load)) in &self.received {
            let total = totals.entry(*replica).or_default();
            total.prefill_tokens = total.prefill_tokens.saturating_add(load.prefill_tokens);
            total.running = total.running.saturating_add(load.running);
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NODE: NodeKey = NodeKey(5);

    fn report(replica: u64, prefill_tokens: u64, hashes: usize) -> ReplicaReport {
        let placed = (0..hashes as u64).map(|number| PrefixHash([number, !number])).collect();
        ReplicaReport { replica: ReplicaKey(replica), load: NodeLoad { prefill_tokens, running: 3 }, placed }
    }

    #[test]
    fn messages_are_bounded_and_say_all_that_fits() {
        let reports: Vec<ReplicaReport> = (0..20).map(|replica| report(replica, replica, 4_096)).collect();
        let messages = encode(NODE, &reports);
        assert!(messages.len() > 1 && messages.iter().all(|message| message.len() <= MAX_MESSAGE));
        let read: Vec<ReplicaReport> = messages.iter().flat_map(|message| decode(message).unwrap().1).collect();
        assert_eq!(read, reports);
        let huge = encode(NODE, &[report(1, 1, 100_000)]);
        assert!(huge.len() == 1 && huge[0].len() <= MAX_MESSAGE);
        assert!(encode(NODE, &[]).is_empty());
    }

    #[test]
    fn reports_add_up_and_age_out() {
        let start = Instant::now();
        let mut peers = Peers::default();
        let load = |prefill_tokens| NodeLoad { prefill_tokens, running: 1 };
        peers.receive(NodeKey(1), ReplicaKey(7), load(100), start);
        peers.receive(NodeKey(2), ReplicaKey(7), load(10), start + Duration::from_secs(1));
        peers.receive(NodeKey(1), ReplicaKey(7), load(50), start + Duration::from_millis(100));
        assert_eq!(
            peers.totals(start + Duration::from_secs(1))[&ReplicaKey(7)],
            NodeLoad { prefill_tokens: 60, running: 2 }
        );
        assert_eq!(peers.totals(start + Duration::from_millis(2_500))[&ReplicaKey(7)], load(10));
        assert!(peers.totals(start + Duration::from_secs(3)).is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut message = bytes;
            decode(&message);
            message.insert(0, VERSION);
            decode(&message);
        }

        #[test]
        fn reports_survive_encoding(loads in prop::collection::vec((any::<u64>(), any::<u64>(), 0..50usize), 0..10)) {
            let reports: Vec<ReplicaReport> = loads.into_iter().map(|(replica, tokens, hashes)| report(replica, tokens, hashes)).collect();
            let read: Vec<ReplicaReport> = encode(NODE, &reports).iter().flat_map(|message| decode(message).unwrap().1).collect();
            prop_assert_eq!(read, reports);
        }
    }
}
