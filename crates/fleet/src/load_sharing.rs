//! Exchanges prompt loads and placements with the other nodes, as messages that someone else carries.
//!
//! Each node reports what it has in flight at each replica and adds up what the others report, see
//! [`crate::routing::exchange`]. Calls only read the sums. Models with one replica are omitted.

use crate::backend::Backend;
use crate::endpoints::Endpoints;
use crate::routes::Routes;
use crate::routing::PrefixIndex;
use crate::routing::exchange::{self, NodeKey, NodeLoad, Peers, ReplicaKey, ReplicaReport};
use foldhash::quality::FixedState;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A load that does not change is reported this often, well before it ages out.
const REPEAT_PERIOD: Duration = Duration::from_millis(500);

/// This node's part of the exchange.
#[derive(Debug)]
pub struct LoadSharing {
    routes: Routes,
    endpoints: Endpoints,
    node: NodeKey,
    /// Distinguishes the loopback addresses of this machine from those of others.
    machine: String,
    peers: Peers,
    /// The last report of each replica whose load was not zero.
    reported: HashMap<ReplicaKey, (Instant, NodeLoad)>,
}

impl LoadSharing {
    pub fn new(routes: Routes, endpoints: Endpoints) -> Self {
        let node = NodeKey(RandomState::new().hash_one(0));
        Self { routes, endpoints, node, machine: machine(node), peers: Peers::default(), reported: HashMap::new() }
    }

    /// The messages to send to the other nodes now; none if there is no news.
    pub fn collect(&mut self, now: Instant) -> Vec<Vec<u8>> {
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
        self.reported.retain(|replica, _| reports.contains_key(replica));
        let news: Vec<ReplicaReport> = reports.into_values().filter(|report| self.is_news(report, now)).collect();
        for ReplicaReport { replica, load, .. } in &news {
            match *load == NodeLoad::default() {
                true => self.reported.remove(replica),
                false => self.reported.insert(*replica, (now, *load)),
            };
        }
        exchange::encode(self.node, &news)
    }

    /// Whether, by the last report, calls of this node are running at any replica.
    pub fn has_reported_load(&self) -> bool {
        !self.reported.is_empty()
    }

    fn is_news(&self, report: &ReplicaReport, now: Instant) -> bool {
        let has_changed = match self.reported.get(&report.replica) {
            Some((at, load)) => *load != report.load || now.saturating_duration_since(*at) >= REPEAT_PERIOD,
            None => report.load != NodeLoad::default(),
        };
        has_changed || !report.placed.is_empty()
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
        self.divide(now);
    }

    /// Divides the replicas of each model among the nodes that report loads of it, so that each prefers others.
    fn divide(&self, now: Instant) {
        let busy = self.peers.nodes(now);
        for pool in balanced_pools(&self.routes, &self.endpoints) {
            let mut keyed: Vec<_> = pool.iter().map(|replica| (key_of(replica, &self.machine), replica)).collect();
            keyed.sort_unstable_by_key(|(key, _)| *key);
            let others = keyed.iter().filter_map(|(key, _)| busy.get(key)).flatten().copied();
            let nodes: BTreeSet<NodeKey> = others.chain([self.node]).collect();
            let own = nodes.iter().position(|node| *node == self.node).unwrap_or(0);
            for (position, (_, replica)) in keyed.into_iter().enumerate() {
                replica.prompt_load().set_foreign(position % nodes.len() != own);
            }
        }
    }

    fn replicas(&self) -> Vec<(ReplicaKey, Arc<Backend>)> {
        let keyed = |replica: Arc<Backend>| (key_of(&replica, &self.machine), replica);
        balanced_replicas(&self.routes, &self.endpoints).into_iter().map(keyed).collect()
    }
}

/// The replicas of models and endpoints that have several.
pub(crate) fn balanced_replicas(routes: &Routes, endpoints: &Endpoints) -> Vec<Arc<Backend>> {
    balanced_pools(routes, endpoints).into_iter().flatten().collect()
}

fn balanced_pools(routes: &Routes, endpoints: &Endpoints) -> Vec<Vec<Arc<Backend>>> {
    let mut found = Vec::new();
    let mut add = |replicas: &[Arc<Backend>]| {
        if replicas.len() > 1 {
            found.push(replicas.to_vec());
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
    use domain::model::{Model, ModelId, Upstream};
    use domain::{OrganizationId, Timestamp, WorkspaceId};

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
            model: Arc::new(Model::plain(ModelId::parse("dedicated/chat").unwrap())),
            condition: Condition::Serving,
            replicas: ports.iter().map(upstream).collect(),
            draining: Vec::new(),
        }]);
        let replicas = endpoints.all()[0].view().route.pool.replicas().to_vec();
        let mut sharing = LoadSharing::new(Routes::default(), endpoints);
        sharing.collect(Instant::now());
        Node { sharing, replicas }
    }

    fn send(from: &mut Node, to: &mut Node, now: Instant) -> usize {
        let messages = from.sharing.collect(now);
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
        let sent = [0, 100, 600].map(|millis| send(&mut one, &mut other, now + Duration::from_millis(millis)));
        assert_eq!(sent, [1, 0, 1], "repeated before it ages out");
        assert!(one.sharing.has_reported_load());
        one.replicas[1].prompt_load().end(5);
        let after = [700, 800, 2_000].map(|millis| send(&mut one, &mut other, now + Duration::from_millis(millis)));
        assert_eq!(after, [1, 0, 0]);
        assert!(!one.sharing.has_reported_load());
        assert_eq!(other.replicas[1].prompt_load().queued_tokens(), 0);
    }

    #[test]
    fn nodes_that_are_busy_prefer_different_replicas() {
        let (mut one, mut other) = (node(&[1, 2, 3, 4]), node(&[4, 3, 2, 1]));
        let now = Instant::now();
        let own = |node: &Node| {
            let preferred = node.replicas.iter().filter(|replica| !replica.prompt_load().is_foreign());
            let mut names: Vec<String> = preferred.map(|replica| replica.name.to_string()).collect();
            names.sort();
            names
        };
        one.sharing.apply(now);
        assert_eq!(own(&one).len(), 4, "alone");
        for node in [&one, &other] {
            node.replicas[0].prompt_load().begin(1);
        }
        send(&mut one, &mut other, now);
        send(&mut other, &mut one, now);
        let mut all = [own(&one), own(&other)].concat();
        assert_eq!((own(&one).len(), own(&other).len()), (2, 2));
        all.sort();
        assert_eq!(all, ["1", "2", "3", "4"]);
        one.sharing.apply(now + Duration::from_secs(3));
        assert_eq!(own(&one).len(), 4);
    }

    #[test]
    fn a_node_that_is_busy_with_other_replicas_prefers_none_of_these() {
        let (mut one, mut other) = (node(&[1, 2, 3, 4]), node(&[8, 9]));
        other.replicas[0].prompt_load().begin(1);
        assert_eq!(send(&mut other, &mut one, Instant::now()), 1);
        assert!(one.replicas.iter().all(|replica| !replica.prompt_load().is_foreign()));
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
