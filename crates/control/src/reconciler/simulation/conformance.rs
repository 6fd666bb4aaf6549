//! Keeps [`Table`] honest: the same operations on it and on the real store have the same results.

use super::commands::{name_of, new_endpoint};
use super::random::Random;
use super::schedule::SLOTS;
use super::table::{EndpointRow, HoldRow, Table};
use super::world::moment;
use crate::reconciler::rows::Rows;
use domain::autoscaler::Memory;
use domain::endpoint::Generation;
use domain::endpoint::replica::{Intent, Replica, ReplicaState};
use domain::endpoint::scaling::Mode;
use domain::endpoint::state::{SCALE_DOWN_DRAIN_SECS, State};
use domain::endpoint_load::LoadReport;
use domain::leadership::Term;
use domain::{Endpoint, ReplicaId, Span, Timestamp};
use std::fmt::Debug;
use store::holds::{self, NewHold};
use store::{LeaderWrite, Store, StoreError, endpoint_loads, endpoints};

const SEEDS: u64 = 6;
const OPERATIONS: u32 = 60;

/// The store and its double, side by side.
struct Pair {
    store: Store,
    table: Table,
    random: Random,
    now: i64,
    replicas: Vec<ReplicaId>,
}

#[tokio::test]
async fn the_rows_of_the_simulation_follow_the_rules_of_the_store() {
    for seed in 0..SEEDS {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:forebay.db", folder.path()).await.unwrap();
        store.migrate().await.unwrap();
        let table = Table { term: store.term().await.unwrap(), ..Table::default() };
        let mut pair = Pair { store, table, random: Random::new(seed), now: 0, replicas: Vec::new() };
        for number in 0..OPERATIONS {
            pair.now += 1_000;
            pair.operate(number.into()).await;
            pair.compare().await;
        }
        pair.store.close().await;
    }
}

/// What a caller can tell apart.
fn kind<T: Debug>(outcome: &Result<T, StoreError>) -> String {
    match outcome {
        Ok(value) => format!("{value:?}"),
        Err(error) => error.to_string(),
    }
}

impl Pair {
    async fn operate(&mut self, number: u128) {
        match self.random.below(12) {
            0 => self.take_over().await,
            1 => self.renew().await,
            2 | 3 => self.create(number).await,
            4 => self.change().await,
            5 => self.report().await,
            _ => self.commit(number).await,
        }
    }

    fn now(&self) -> Timestamp {
        moment(self.now)
    }

    /// The current number, or an older one.
    fn or_stale(&mut self, current: u64) -> u64 {
        if self.random.chance(20) { current.saturating_sub(1) } else { current }
    }

    async fn take_over(&mut self) {
        let term = self.table.term.clone();
        let seen = Term { renewals: self.or_stale(term.renewals), ..term };
        let real = self.store.take_over(&seen, "b", self.now()).await.unwrap();
        assert_eq!(self.table.take_over(&seen, "b"), real);
    }

    async fn renew(&mut self) {
        let epoch = self.table.term.epoch;
        let (epoch, holder) = (self.or_stale(epoch), self.random.pick(&["a", "b"]));
        let real = self.store.renew(epoch, holder, self.now()).await.unwrap();
        assert_eq!(self.table.renew(epoch, holder), real);
    }

    async fn create(&mut self, number: u128) {
        let name = name_of(self.random.below(SLOTS));
        let mode = Mode::Autoscaled { min: 0, max: 1 + self.random.below(3) };
        let endpoint = new_endpoint(number, name, 1, mode, self.now());
        let mut tx = self.store.begin().await.unwrap();
        let real = endpoints::insert(&mut tx, &endpoint, SCALE_DOWN_DRAIN_SECS).await;
        tx.commit().await.unwrap();
        assert_eq!(real.is_ok(), self.table.named(&endpoint.name).is_none());
        if real.is_ok() {
            let row = EndpointRow { endpoint, drain_secs: SCALE_DOWN_DRAIN_SECS, epoch: 0, is_deleted: false };
            self.table.endpoints.insert(row.endpoint.id.clone(), row);
        }
    }

    /// One of the endpoints that exist or existed, changed.
    fn changed_endpoint(&mut self) -> Option<(Endpoint, Generation)> {
        let all: Vec<Endpoint> = self.table.endpoints.values().map(|row| row.endpoint.clone()).collect();
        let mut endpoint = self.one_of(&all)?.clone();
        let seen = Generation(self.or_stale(endpoint.generation.0));
        endpoint.state = self.random.pick(&[State::Serving, State::Suspended, State::Deleting, State::ScaledToZero]);
        endpoint.committed_gpus = self.random.below(4);
        endpoint.status.desired = self.random.below(4);
        endpoint.updated_at = self.now();
        Some((endpoint, seen))
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let count = u32::try_from(all.len()).unwrap();
        if count == 0 { None } else { all.get(self.random.below(count) as usize) }
    }

    async fn change(&mut self) {
        let Some((changed, seen)) = self.changed_endpoint() else { return };
        let mut tx = self.store.begin().await.unwrap();
        let real = endpoints::update(&mut tx, changed.clone(), seen, 7).await.map(drop);
        tx.commit().await.unwrap();
        assert_eq!(kind(&self.table.update(changed, seen, 7)), kind(&real));
    }

    async fn report(&mut self) {
        let all: Vec<Endpoint> = self.table.endpoints();
        let Some(endpoint) = self.one_of(&all) else { return };
        let node = self.random.pick(&["a", "b"]).to_owned();
        let report = LoadReport {
            node: node.clone(),
            endpoint: endpoint.id.clone(),
            at: self.now(),
            load: 1_000,
            open_calls: 1,
            last_call_at: None,
            replicas: Vec::new(),
        };
        let mut tx = self.store.begin().await.unwrap();
        endpoint_loads::report(&mut tx, &report).await.unwrap();
        tx.commit().await.unwrap();
        self.table.loads.insert((endpoint.id.clone(), node), report);
    }

    /// A transaction of the leader, or of a former one, with one to three writes.
    async fn commit(&mut self, number: u128) {
        let current = self.table.term.epoch;
        let epoch = self.or_stale(current);
        let Some((changed, seen)) = self.changed_endpoint() else { return };
        let added = Replica::new(ReplicaId::new(self.now(), number), changed.id.clone(), self.now());
        let known = self.replicas.clone();
        let chosen = self.one_of(&known).cloned().unwrap_or_else(|| added.id.clone());
        let replica = self.changed_replica(&chosen, &changed);
        let memory = Memory::seeded(self.random.below(4), self.now());
        let gpus = [format!("gpu-{}", self.random.below(3))];
        let unheld = known.iter().find(|id| !self.table.holds.contains_key(id)).unwrap_or(&added.id);
        let hold = NewHold {
            replica: unheld,
            endpoint: &changed,
            node: self.random.pick(&["a", "b"]),
            gpus: &gpus,
            price_per_gpu_hour: changed.shape.flavor.price_per_gpu_hour,
            started_at: self.now(),
        };
        let at = moment(self.now - i64::from(self.random.below(9_000)));
        let first = match self.random.below(5) {
            4 => LeaderWrite::Unchanged(&changed),
            0 => LeaderWrite::Endpoint { changed: &changed, seen, drain_secs: 9 },
            1 => LeaderWrite::DeleteEndpoint { endpoint: &changed, at },
            2 => LeaderWrite::ScalingMemory { endpoint: &changed.id, memory: &memory },
            _ => LeaderWrite::AddReplica(&added),
        };
        let second = match self.random.below(5) {
            0 => LeaderWrite::OpenHold(hold),
            1 => LeaderWrite::CloseHold { replica: &chosen, at, reason: "released" },
            2 => LeaderWrite::Seen { replica: &chosen, at },
            3 => LeaderWrite::NotBilled(&chosen),
            _ => LeaderWrite::Replica(&replica),
        };
        let writes = [first, second, LeaderWrite::Replica(&replica)];
        let count = 1 + self.random.below(3) as usize;
        let real = Rows::commit(&self.store, epoch, &writes[..count]).await;
        assert_eq!(kind(&self.table.commit(epoch, &writes[..count], None)), kind(&real), "{:?}", &writes[..count]);
        if real.is_ok() && matches!(first, LeaderWrite::AddReplica(_)) {
            self.replicas.push(added.id.clone());
        }
    }

    fn changed_replica(&mut self, id: &ReplicaId, endpoint: &Endpoint) -> Replica {
        let state = self.random.pick(&ReplicaState::ALL);
        let created_at = id.made_at();
        let mut replica = Replica::new(id.clone(), endpoint.id.clone(), created_at).restored(state);
        replica.intent = self.random.pick(&[Intent::Run, Intent::Remove]);
        replica.ready_at = self.random.chance(50).then_some(self.now());
        replica.node = self.random.chance(50).then(|| "a".to_owned());
        replica
    }

    async fn compare(&self) {
        assert_eq!(self.table.term, self.store.term().await.unwrap());
        assert_eq!(self.table.endpoints(), Rows::endpoints(&self.store).await.unwrap());
        assert_eq!(self.table.live_replicas(), self.store.live_replicas().await.unwrap());
        let loads: Vec<LoadReport> = self.table.loads.values().cloned().collect();
        assert_eq!(loads, self.store.load_reports().await.unwrap());
        for (id, row) in &self.table.endpoints {
            assert_eq!(self.table.newest_replicas(id, 2), self.store.newest_replicas(id, 2).await.unwrap());
            assert_eq!(Some(row.drain_secs), Rows::drain_secs(&self.store, id).await.unwrap());
            assert_eq!(self.table.memories.get(id).cloned(), self.store.scaling_memory(id).await.unwrap());
        }
        for replica in &self.replicas {
            assert_eq!(self.table.last_seen(replica), Rows::last_seen(&self.store, replica).await.unwrap());
        }
        let ever = Span { from: Timestamp::default(), to: moment(i64::from(i32::MAX)) };
        let real = holds::overlapping(&self.store, ever).await.unwrap();
        let of_table = |(id, row): (&ReplicaId, &HoldRow)| (id.clone(), row.node.clone(), row.hold);
        let expected: Vec<_> = self.table.holds.iter().map(of_table).collect();
        let found: Vec<_> = real.into_iter().map(|held| (held.replica, held.node, held.hold)).collect();
        assert_eq!(expected, found);
    }
}
