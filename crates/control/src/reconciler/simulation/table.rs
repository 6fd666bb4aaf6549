//! The rows of the control plane in memory, with the rules of the store: its fence, generations and unique claims.
//!
//! `conformance` runs the same operations here and on the real store.

use super::world::{Link, Mutation, Target, World, moment};
use crate::reconciler::rows::Rows;
use domain::autoscaler::Memory;
use domain::endpoint::Generation;
use domain::endpoint::event::Event;
use domain::endpoint::replica::{Replica, ReplicaState, Status};
use domain::endpoint::state::State;
use domain::endpoint_load::LoadReport;
use domain::gpu_time::Hold;
use domain::leadership::Term;
use domain::{Endpoint, EndpointId, EndpointName, ReplicaId, Timestamp};
use std::collections::BTreeMap;
use store::holds::NewHold;
use store::nodes::Node;
use store::{LeaderWrite, StoreError};

pub(super) struct Table {
    pub(super) term: Term,
    pub(super) endpoints: BTreeMap<EndpointId, EndpointRow>,
    pub(super) replicas: BTreeMap<ReplicaId, ReplicaRow>,
    pub(super) holds: BTreeMap<ReplicaId, HoldRow>,
    pub(super) memories: BTreeMap<EndpointId, Memory>,
    pub(super) loads: BTreeMap<(EndpointId, String), LoadReport>,
    pub(super) allotment: u64,
}

#[derive(Debug, Clone)]
pub(super) struct EndpointRow {
    pub(super) endpoint: Endpoint,
    pub(super) drain_secs: u32,
    pub(super) epoch: u64,
    pub(super) is_deleted: bool,
}

#[derive(Debug, Clone)]
pub(super) struct ReplicaRow {
    pub(super) replica: Replica,
    epoch: u64,
}

#[derive(Debug, Clone)]
pub(super) struct HoldRow {
    pub(super) endpoint: EndpointId,
    pub(super) node: String,
    pub(super) gpus: Vec<String>,
    pub(super) hold: Hold,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            term: Term { epoch: 0, holder: String::new(), renewals: 0 },
            endpoints: BTreeMap::new(),
            replicas: BTreeMap::new(),
            holds: BTreeMap::new(),
            memories: BTreeMap::new(),
            loads: BTreeMap::new(),
            allotment: 6,
        }
    }
}

impl Table {
    pub(super) fn take_over(&mut self, seen: &Term, holder: &str) -> Option<Term> {
        if (self.term.epoch, self.term.renewals) != (seen.epoch, seen.renewals) {
            return None;
        }
        self.term = Term { epoch: seen.epoch + 1, holder: holder.to_owned(), renewals: seen.renewals + 1 };
        Some(self.term.clone())
    }

    pub(super) fn renew(&mut self, epoch: u64, holder: &str) -> bool {
        let leads = self.term.epoch == epoch && self.term.holder == holder;
        self.term.renewals += u64::from(leads);
        leads
    }

    /// All endpoints that are not deleted.
    pub(super) fn existing(&self) -> impl Iterator<Item = &EndpointRow> {
        self.endpoints.values().filter(|row| !row.is_deleted)
    }

    pub(super) fn named(&self, name: &EndpointName) -> Option<&EndpointRow> {
        self.existing().find(|row| row.endpoint.name == *name)
    }

    /// Replicas that have not ended.
    pub(super) fn live(&self) -> impl Iterator<Item = &Replica> {
        self.replicas.values().map(|row| &row.replica).filter(|replica| !replica.state().is_over())
    }

    pub(super) fn live_of(&self, endpoint: &EndpointId) -> impl Iterator<Item = &Replica> {
        self.live().filter(move |replica| replica.endpoint == *endpoint)
    }

    pub(super) fn hold_of(&self, replica: &str) -> Option<&Hold> {
        let id = ReplicaId::parse(replica).ok()?;
        self.holds.get(&id).map(|row| &row.hold)
    }

    pub(super) fn open_holds(&self) -> impl Iterator<Item = (&ReplicaId, &HoldRow)> {
        self.holds.iter().filter(|(_, row)| row.hold.ended_at.is_none())
    }

    /// The GPUs that all endpoints commit.
    pub(super) fn committed(&self) -> u64 {
        self.existing().map(|row| u64::from(row.endpoint.committed_gpus)).sum()
    }

    /// An endpoint with the counts of its replicas.
    pub(super) fn endpoint(&self, row: &EndpointRow) -> Endpoint {
        let mut endpoint = row.endpoint.clone();
        let mut status = Status { desired: endpoint.status.desired, ..Status::default() };
        for replica in self.live_of(&endpoint.id) {
            match replica.state() {
                ReplicaState::Pending => status.pending += 1,
                ReplicaState::Bound | ReplicaState::Starting => status.starting += 1,
                ReplicaState::Ready => status.ready += 1,
                ReplicaState::Draining => status.draining += 1,
                ReplicaState::Released | ReplicaState::Failed => {}
            }
        }
        endpoint.status = status;
        endpoint
    }

    pub(super) fn endpoints(&self) -> Vec<Endpoint> {
        self.existing().map(|row| self.endpoint(row)).collect()
    }

    /// A replica with the GPUs of its hold.
    fn replica(&self, row: &ReplicaRow) -> Replica {
        let mut replica = row.replica.clone();
        replica.gpu_ids = self.holds.get(&replica.id).map(|hold| hold.gpus.clone()).unwrap_or_default();
        replica
    }

    pub(super) fn live_replicas(&self) -> Vec<Replica> {
        let live = self.replicas.values().filter(|row| !row.replica.state().is_over());
        live.map(|row| self.replica(row)).collect()
    }

    pub(super) fn newest_replicas(&self, endpoint: &EndpointId, limit: u32) -> Vec<Replica> {
        let of_endpoint = self.replicas.values().rev().filter(|row| row.replica.endpoint == *endpoint);
        let mut newest: Vec<Replica> = of_endpoint.take(limit as usize).map(|row| self.replica(row)).collect();
        newest.reverse();
        newest
    }

    pub(super) fn last_seen(&self, replica: &ReplicaId) -> Option<Timestamp> {
        let row = self.holds.get(replica)?;
        row.hold.ended_at.is_none().then_some(row.hold.last_seen_at)
    }

    /// A change by a user: the first writer of a generation wins.
    pub(super) fn update(&mut self, changed: Endpoint, seen: Generation, drain_secs: u32) -> Result<(), StoreError> {
        let epoch = self.endpoints.get(&changed.id).map_or(0, |row| row.epoch);
        self.check_generation(&changed.id, seen, epoch)?;
        self.write(changed, seen, drain_secs, epoch);
        Ok(())
    }

    /// All writes, or none and an error.
    pub(super) fn commit(
        &mut self,
        epoch: u64,
        writes: &[LeaderWrite<'_>],
        mutation: Option<Mutation>,
    ) -> Result<(), StoreError> {
        if self.term.epoch != epoch && mutation != Some(Mutation::NoFence) {
            return Err(StoreError::NotLeader { epoch });
        }
        for write in writes {
            self.check(epoch, *write, mutation)?;
        }
        for write in writes {
            self.apply(epoch, *write, mutation);
        }
        Ok(())
    }

    /// The rules under which the store rejects a write.
    fn check(&self, epoch: u64, write: LeaderWrite<'_>, mutation: Option<Mutation>) -> Result<(), StoreError> {
        match write {
            LeaderWrite::Unchanged(endpoint) => self.check_generation(&endpoint.id, endpoint.generation, epoch),
            LeaderWrite::Endpoint { changed, seen, .. } => self.check_generation(&changed.id, seen, epoch),
            LeaderWrite::DeleteEndpoint { endpoint, .. } => {
                self.check_generation(&endpoint.id, endpoint.generation, epoch)?;
                let is_deleting = self.endpoints[&endpoint.id].endpoint.state == State::Deleting;
                is_deleting.then_some(()).ok_or(StoreError::EndpointStale)
            }
            LeaderWrite::OpenHold(new) if mutation != Some(Mutation::ShareGpus) => self.check_claim(&new),
            LeaderWrite::AddReplica(_)
            | LeaderWrite::Replica(_)
            | LeaderWrite::OpenHold(_)
            | LeaderWrite::CloseHold { .. }
            | LeaderWrite::Seen { .. }
            | LeaderWrite::NotBilled(_)
            | LeaderWrite::Event(_)
            | LeaderWrite::ScalingMemory { .. } => Ok(()),
        }
    }

    fn check_generation(&self, id: &EndpointId, seen: Generation, epoch: u64) -> Result<(), StoreError> {
        let is_current = |row: &EndpointRow| row.endpoint.generation == seen && !row.is_deleted && row.epoch <= epoch;
        self.endpoints.get(id).is_some_and(is_current).then_some(()).ok_or(StoreError::EndpointStale)
    }

    fn check_claim(&self, new: &NewHold<'_>) -> Result<(), StoreError> {
        let is_claimed =
            |gpu: &&String| self.open_holds().any(|(_, row)| row.node == new.node && row.gpus.contains(gpu));
        match new.gpus.iter().find(is_claimed) {
            Some(gpu) => Err(StoreError::GpuTaken { gpu: gpu.clone() }),
            None => Ok(()),
        }
    }

    fn apply(&mut self, epoch: u64, write: LeaderWrite<'_>, mutation: Option<Mutation>) {
        match write {
            LeaderWrite::AddReplica(replica) => {
                self.replicas.insert(replica.id.clone(), ReplicaRow { replica: replica.clone(), epoch });
            }
            LeaderWrite::Replica(replica) => self.update_replica(replica, epoch, mutation),
            LeaderWrite::OpenHold(new) => self.open(&new),
            LeaderWrite::CloseHold { replica, at, .. } => {
                if let Some(row) = self.holds.get_mut(replica).filter(|row| row.hold.ended_at.is_none())
                    && mutation != Some(Mutation::KeepHolds)
                {
                    let late = if mutation == Some(Mutation::BillTooLong) { 5_000 } else { 0 };
                    row.hold.ended_at = Some(at.max(row.hold.started_at).plus_millis(late));
                }
            }
            LeaderWrite::Seen { replica, at } => {
                if let Some(row) = self.holds.get_mut(replica).filter(|row| row.hold.ended_at.is_none()) {
                    row.hold.last_seen_at = row.hold.last_seen_at.max(at);
                }
            }
            LeaderWrite::NotBilled(replica) => {
                if let Some(row) = self.holds.get_mut(replica) {
                    row.hold.billable = false;
                }
            }
            LeaderWrite::Unchanged(_) | LeaderWrite::Event(_) => {}
            LeaderWrite::Endpoint { changed, seen, drain_secs } => {
                let mut changed = changed.clone();
                if mutation == Some(Mutation::KeepCommitment) {
                    changed.committed_gpus = self.endpoints[&changed.id].endpoint.committed_gpus + 1;
                }
                self.write(changed, seen, drain_secs, epoch);
            }
            LeaderWrite::DeleteEndpoint { endpoint, .. } => self.delete(&endpoint.id, epoch),
            LeaderWrite::ScalingMemory { endpoint, memory } => {
                self.memories.insert(endpoint.clone(), memory.clone());
            }
        }
    }

    fn update_replica(&mut self, replica: &Replica, epoch: u64, mutation: Option<Mutation>) {
        let state = match replica.state() {
            ReplicaState::Starting if mutation == Some(Mutation::Rewind) => ReplicaState::Pending,
            state => state,
        };
        if let Some(row) = self.replicas.get_mut(&replica.id)
            && row.epoch <= epoch
            && !row.replica.state().is_over()
        {
            *row = ReplicaRow { replica: replica.clone().restored(state), epoch };
        }
    }

    fn open(&mut self, new: &NewHold<'_>) {
        let hold = Hold {
            gpu_count: new.endpoint.gpu_count(),
            started_at: new.started_at,
            last_seen_at: new.started_at,
            ended_at: None,
            billable: true,
        };
        let mut gpus = new.gpus.to_vec();
        gpus.sort();
        let (endpoint, node) = (new.endpoint.id.clone(), new.node.to_owned());
        self.holds.insert(new.replica.clone(), HoldRow { endpoint, node, gpus, hold });
    }

    fn write(&mut self, changed: Endpoint, seen: Generation, drain_secs: u32, epoch: u64) {
        let Some(row) = self.endpoints.get_mut(&changed.id) else { return };
        let last_request_at = row.endpoint.last_request_at;
        row.endpoint = Endpoint { generation: Generation(seen.0 + 1), last_request_at, ..changed };
        (row.drain_secs, row.epoch) = (drain_secs, row.epoch.max(epoch));
    }

    fn delete(&mut self, id: &EndpointId, epoch: u64) {
        if let Some(row) = self.endpoints.get_mut(id) {
            (row.is_deleted, row.epoch, row.endpoint.committed_gpus) = (true, epoch, 0);
            row.endpoint.generation = Generation(row.endpoint.generation.0 + 1);
        }
        self.memories.remove(id);
        self.loads.retain(|(endpoint, _), _| endpoint != id);
    }
}

/// The event of a leader's transaction that explains the change of an endpoint.
pub(super) fn explanation<'a>(writes: &[LeaderWrite<'a>], endpoint: &EndpointId) -> Option<&'a Event> {
    let event = |write: &LeaderWrite<'a>| match write {
        LeaderWrite::Event(event) if event.endpoint == *endpoint && event.from.is_some() => Some(*event),
        _ => None,
    };
    writes.iter().find_map(event)
}

fn unavailable() -> StoreError {
    StoreError::Unavailable("a simulated fault".into())
}

impl Link {
    async fn read<T: Send>(&self, call: &str, read: impl FnOnce(&Table) -> T + Send) -> Result<T, StoreError> {
        self.change(call, |world| Ok(read(&world.rows))).await
    }

    async fn change<T: Send>(
        &self,
        call: &str,
        change: impl FnOnce(&mut World) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        self.call(Target::Store, call, || Err(unavailable()), change).await
    }
}

impl Rows for Link {
    async fn term(&self) -> Result<Term, StoreError> {
        let mut term = self.read("read the term", |rows| rows.term.clone()).await?;
        if self.lock().mutation == Some(Mutation::EveryoneLeads) {
            term.holder.clear();
        }
        Ok(term)
    }

    async fn take_over(&self, seen: &Term, holder: &str, _now: Timestamp) -> Result<Option<Term>, StoreError> {
        self.change("take over", |world| Ok(world.rows.take_over(seen, holder))).await
    }

    async fn renew(&self, epoch: u64, holder: &str, _now: Timestamp) -> Result<bool, StoreError> {
        self.change("renew", |world| Ok(world.rows.renew(epoch, holder))).await
    }

    async fn endpoints(&self) -> Result<Vec<Endpoint>, StoreError> {
        self.read("read endpoints", Table::endpoints).await
    }

    async fn live_replicas(&self) -> Result<Vec<Replica>, StoreError> {
        self.read("read replicas", Table::live_replicas).await
    }

    async fn newest_replicas(&self, endpoint: &EndpointId, limit: u32) -> Result<Vec<Replica>, StoreError> {
        self.read("read history", |rows| rows.newest_replicas(endpoint, limit)).await
    }

    async fn load_reports(&self) -> Result<Vec<LoadReport>, StoreError> {
        self.read("read loads", |rows| rows.loads.values().cloned().collect()).await
    }

    async fn clock(&self) -> Result<Timestamp, StoreError> {
        self.change("read the clock", |world| Ok(moment(world.now))).await
    }

    async fn drain_secs(&self, endpoint: &EndpointId) -> Result<Option<u32>, StoreError> {
        self.read("read the drain time", |rows| rows.endpoints.get(endpoint).map(|row| row.drain_secs)).await
    }

    async fn last_seen(&self, replica: &ReplicaId) -> Result<Option<Timestamp>, StoreError> {
        self.read("read a hold", |rows| rows.last_seen(replica)).await
    }

    async fn nodes(&self) -> Result<Vec<Node>, StoreError> {
        self.read("read nodes", |_| Vec::new()).await
    }

    async fn scaling_memory(&self, endpoint: &EndpointId) -> Result<Option<Memory>, StoreError> {
        self.read("read the memory", |rows| rows.memories.get(endpoint).cloned()).await
    }

    async fn commit(&self, epoch: u64, writes: &[LeaderWrite<'_>]) -> Result<(), StoreError> {
        let call = format!("commit {}", names(writes));
        self.change(&call, |world| world.commit(epoch, writes)).await
    }
}

/// What a transaction writes, for the trace.
fn names(writes: &[LeaderWrite<'_>]) -> String {
    let name = |write: &LeaderWrite<'_>| match write {
        LeaderWrite::Unchanged(endpoint) => format!("if {} is unchanged", endpoint.name),
        LeaderWrite::AddReplica(replica) => format!("add {}", replica.id),
        LeaderWrite::Replica(replica) => format!("{} {} ({})", replica.id, replica.state(), replica.intent),
        LeaderWrite::OpenHold(new) => format!("hold {} {:?}", new.replica, new.gpus),
        LeaderWrite::CloseHold { replica, .. } => format!("close {replica}"),
        LeaderWrite::Seen { replica, .. } => format!("seen {replica}"),
        LeaderWrite::NotBilled(replica) => format!("not billed {replica}"),
        LeaderWrite::Event(event) => format!("event {}", event.kind),
        LeaderWrite::Endpoint { changed, .. } => {
            format!("{} {} wants {}", changed.name, changed.state, changed.status.desired)
        }
        LeaderWrite::DeleteEndpoint { endpoint, .. } => format!("delete {}", endpoint.name),
        LeaderWrite::ScalingMemory { .. } => "memory".to_owned(),
    };
    writes.iter().map(name).collect::<Vec<_>>().join(", ")
}
