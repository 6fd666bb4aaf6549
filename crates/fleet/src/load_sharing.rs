//! Exchanges prompt loads and placements with the other nodes, as messages that someone else carries.
//!
//! Each node reports what it has in flight at each replica and adds up what the others report, see
//! [`crate::routing::exchange`]. Calls only read the sums. Models with one replica are left out.

use crate::backend::Backend;
use crate::endpoints::Endpoints;
use crate::routes::Routes;
use crate::routing::PrefixIndex;
use crate::routing::exchange::{self, NodeKey, NodeLoad, Peers, ReplicaKey, ReplicaReport};
use foldhash::quality::FixedState;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

/// This node's part of the exchange.
#[derive(Debug)]
pub struct LoadSharing {
    routes: Routes,
    endpoints: Endpoints,
    node: NodeKey,
    /// Distinguishes the loopback addresses of this machine from those of others.
    machine: String,
    peers: Peers,
    /// Replicas whose last reported load was not zero.
    reported: HashSet<ReplicaKey>,
}

impl LoadSharing {
    pub fn new(routes: Routes, endpoints: Endpoints) -> Self {
        let node = NodeKey(RandomState::new().hash_one(0));
        Self { routes, endpoints, node, machine: machine(node), peers: Peers::default(), reported: HashSet::new() }
    }

    /// The messages to send to the other nodes now.
    pub fn collect(&mut self) -> Vec<Vec<u8>> {
        let mut reports: BTreeMap<ReplicaKey, ReplicaReport> = BTreeMap::new();
        for (key, replica) in self.replicas() {
            let load = replica.prompt_load();
            let running = replica.in_flight().saturating_sub(load.prefilling());
            let placed = replica.prefixes(PrefixIndex::take_unshared);
            // Two models may have the same replica.
            let empty = || ReplicaReport { replica: key, load: NodeLoad::default(), placed: Vec::new() };
            let report = reports.entry(key).or_insert_with(empty);
            report.load.prefill_tokens = report.load.prefill_tokens.saturating_add(load.own_prefill_tokens());
            report.load.running = report.load.running.saturating_add(running);
            report.placed.extend(placed);
        }
        let is_idle = |report: &ReplicaReport| report.load == NodeLoad::default();
        // A load that has ended is reported once more.
        let is_news = |report: &ReplicaReport| {
            !is_idle(report) || !report.placed.is_empty() || self.reported.contains(&report.replica)
        };
        let news: Vec<ReplicaReport> = reports.into_values().filter(is_news).collect();
        self.reported = news.iter().filter(|report| !is_idle(report)).map(|report| report.replica).collect();
        exchange::encode(self.node, &news)
    }

    /// Takes note of a message, which may be our own.
    pub fn receive(&mut self, message: &[u8], now: Instant) {
        let Some((node, reports)) = exchange::decode(message).filter(|(node, _)| *node != self.node) else { return };
        let replicas = self.replicas();
        for ReplicaReport { replica, load, placed } in reports {
            self.peers.receive(node, replica, load, now);
            for (_, known) in replicas.iter().filter(|(key, _)| *key == replica && !placed.is_empty()) {
                known.prefixes(|prefixes| prefixes.place_remote(placed.iter().copied()));
            }
        }
    }

    /// Applies the sums of what others have reported recently.
    pub fn apply(&mut self, now: Instant) {
        let totals = self.peers.totals(now);
        for (key, replica) in self.replicas() {
            let NodeLoad { prefill_tokens, running } = totals.get(&key).copied().unwrap_or_default();
            replica.prompt_load().set_remote(prefill_tokens, running);
        }
    }

    fn replicas(&self) -> Vec<(ReplicaKey, Arc<Backend>)> {
        let keyed = |replica: Arc<Backend>| (key_of(&replica, &self.machine), replica);
        balanced_replicas(&self.routes, &self.endpoints).into_iter().map(keyed).collect()
    }
}

/// The replicas of models and endpoints that have several.
pub(crate) fn balanced_replicas(routes: &Routes, endpoints: &Endpoints) -> Vec<Arc<Backend>> {
    let mut found = Vec::new();
    let mut add = |replicas: &[Arc<Backend>]| {
        if replicas.len() > 1 {
            found.extend_from_slice(replicas);
        }
    };
    routes.table().iter().for_each(|route| add(route.pool.replicas()));
    endpoints.all().iter().for_each(|endpoint| add(endpoint.view().route.pool.replicas()));
    found
}

/// Equal on all nodes that call the same model at the same address.
fn key_of(replica: &Backend, machine: &str) -> ReplicaKey {
    let host = &replica.address.host;
    let is_loopback = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    let scope = if is_loopback { machine } else { "" };
    ReplicaKey(FixedState::default().hash_one((&replica.upstream.url, &replica.upstream.model, scope)))
}

/// The running system and its network namespace, in which loopback addresses have one meaning. If they are unknown, the
/// node shares no loopback addresses.
fn machine(node: NodeKey) -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let namespace = fs::read_link("/proc/self/ns/net");
    match (boot, namespace) {
        (Ok(boot), Ok(namespace)) => format!("{} {}", boot.trim(), namespace.display()),
        _ => format!("{node:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::{Fingerprint, FingerprintBuilder};
    use domain::model::{Model, ModelId, Serving, Upstream};
    use domain::{OrganizationId, Timestamp, WorkspaceId};
    use std::time::Duration;

    /// A node that serves an endpoint with these replicas.
    struct Node {
        sharing: LoadSharing,
        replicas: Vec<Arc<Backend>>,
    }

    fn node(ports: &[u16]) -> Node {
        use crate::endpoints::{Condition, EndpointUpdate};
        let endpoints = Endpoints::default();
        let upstream = |port: &u16| (port.to_string(), Upstream::plain(format!("http://127.0.0.1:{port}/v1"), "m"));
        let now = Timestamp::from_millis(1);
        endpoints.apply(vec![EndpointUpdate {
            id: "ep_1".into(),
            organization: OrganizationId::new(now, 1),
            workspace: WorkspaceId::new(now, 1),
            name: "chat".into(),
            model: Arc::new(Model {
                id: ModelId::parse("dedicated/chat").unwrap(),
                name: "chat".into(),
                modality: domain::model::Modality::Chat,
                context_length: 100,
                price: domain::Price::default(),
                optimized: false,
                share_prefix_cache: false,
                chat: domain::model::ChatTraits::default(),
                rules: domain::model::RequestRules::default(),
                serving: Serving::Upstreams(Vec::new()),
                flavors: Vec::new(),
            }),
            condition: Condition::Serving,
            replicas: ports.iter().map(upstream).collect(),
            draining: Vec::new(),
        }]);
        let replicas = endpoints.all()[0].view().route.pool.replicas().to_vec();
        let mut sharing = LoadSharing::new(Routes::default(), endpoints);
        sharing.collect();
        Node { sharing, replicas }
    }

    fn send(from: &mut Node, to: &mut Node, now: Instant) -> usize {
        let messages = from.sharing.collect();
        messages.iter().for_each(|message| to.sharing.receive(message, now));
        to.sharing.apply(now);
        messages.len()
    }

    fn prompt() -> Fingerprint {
        let mut builder = FingerprintBuilder::new(1, 0);
        builder.text(&[b'x'; 5_000]);
        builder.finish(None)
    }

    #[test]
    fn loads_of_others_are_added_and_age_out() {
        let (mut one, mut other) = (node(&[1, 2]), node(&[2, 1]));
        let now = Instant::now();
        one.replicas[0].prompt_load().begin(700);
        assert_eq!(send(&mut one, &mut other, now), 1);
        let queued =
            |node: &Node| node.replicas.iter().map(|one| one.prompt_load().queued_tokens()).collect::<Vec<_>>();
        assert_eq!((queued(&one), queued(&other)), (vec![700, 0], vec![0, 700]));
        send(&mut other, &mut one, now);
        assert_eq!(queued(&one), [700, 0], "what was reported to a node does not come back");
        other.sharing.apply(now + Duration::from_secs(2));
        assert_eq!(queued(&other), [0, 0]);
    }

    #[test]
    fn a_load_that_ends_is_reported_once_more() {
        let (mut one, mut other) = (node(&[1, 2]), node(&[1, 2]));
        let now = Instant::now();
        one.replicas[1].prompt_load().begin(5);
        let sent: Vec<usize> = (0..2).map(|_| send(&mut one, &mut other, now)).collect();
        one.replicas[1].prompt_load().end(5);
        let after: Vec<usize> = (0..3).map(|_| send(&mut one, &mut other, now)).collect();
        assert_eq!((sent, after), (vec![1, 1], vec![1, 0, 0]));
        assert_eq!(other.replicas[1].prompt_load().queued_tokens(), 0);
    }

    #[test]
    fn placements_of_others_are_known() {
        let (mut one, mut other) = (node(&[1, 2]), node(&[2, 1]));
        one.replicas[0].prefixes(|prefixes| prefixes.place(&prompt()));
        send(&mut one, &mut other, Instant::now());
        let depths = other.replicas.iter().map(|replica| replica.prefixes(|known| known.depth_of(prompt().hashes())));
        assert_eq!(depths.collect::<Vec<_>>(), [0, 4]);
    }

    #[test]
    fn loopback_addresses_of_other_machines_are_other_replicas() {
        let here = Backend::new("a", Upstream::plain("http://127.0.0.1:1/v1".to_owned(), "m")).unwrap();
        let there = Backend::new("a", Upstream::plain("http://models:1/v1".to_owned(), "m")).unwrap();
        assert_ne!(key_of(&here, "one"), key_of(&here, "other"));
        assert_eq!(key_of(&there, "one"), key_of(&there, "other"));
    }
}
