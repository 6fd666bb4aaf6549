//! The rules that hold after every step, whatever fails.

use super::machine::{GPUS, millis};
use super::table::{HoldRow, Table, explanation};
use super::world::{Mutation, World, moment};
use domain::endpoint::event::EventType;
use domain::endpoint::replica::{Intent, Replica, ReplicaState};
use domain::endpoint::state::{State, committed};
use domain::{Endpoint, ReplicaId, Span};
use std::collections::{BTreeMap, BTreeSet};
use store::{LeaderWrite, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Only the leader of the newest epoch writes.
    Fence,
    /// At most one node believes that it leads.
    OneLeader,
    /// No change adds GPUs beyond the cap, and no endpoint holds more for running replicas than it commits.
    Allotment,
    /// The ledger is the sum of what the endpoints commit.
    Ledger,
    /// Every change of an endpoint by the service has its event with both states, and every scaling its sentence.
    Explained,
    /// A GPU is claimed by one replica, and used by one process.
    Gpus,
    /// A replica with GPUs has an open hold, one without has none.
    Holds,
    /// The state of a replica follows the table of transitions, and one that was stopped does not come back.
    Transitions,
    /// GPU-hours are the lives of the processes: none lost, none billed twice.
    GpuHours,
    /// When faults stop, replicas and processes come to match the commands.
    Convergence,
}

#[derive(Debug, Clone)]
pub(super) struct Violation {
    pub(super) rule: Rule,
    pub(super) detail: String,
}

/// The rows that a transaction is about to change.
struct Before {
    endpoints: Vec<Endpoint>,
    replicas: Vec<Replica>,
}

impl Before {
    fn of(rows: &Table, writes: &[LeaderWrite<'_>]) -> Self {
        let endpoint = |write: &LeaderWrite<'_>| match write {
            LeaderWrite::Endpoint { changed: endpoint, .. } | LeaderWrite::DeleteEndpoint { endpoint, .. } => {
                rows.endpoints.get(&endpoint.id).map(|row| row.endpoint.clone())
            }
            _ => None,
        };
        let replica = |write: &LeaderWrite<'_>| match write {
            LeaderWrite::Replica(replica) => rows.replicas.get(&replica.id).map(|row| row.replica.clone()),
            _ => None,
        };
        Self {
            endpoints: writes.iter().filter_map(endpoint).collect(),
            replicas: writes.iter().filter_map(replica).collect(),
        }
    }
}

impl World {
    /// A transaction of a leader, checked.
    pub(super) fn commit(&mut self, epoch: u64, writes: &[LeaderWrite<'_>]) -> Result<(), StoreError> {
        let before = Before::of(&self.rows, writes);
        self.rows.commit(epoch, writes, self.mutation)?;
        if epoch != self.rows.term.epoch {
            let newest = self.rows.term.epoch;
            self.break_rule(Rule::Fence, format!("epoch {epoch} wrote, and the newest one is {newest}"));
        }
        for endpoint in &before.endpoints {
            self.check_explained(endpoint, writes);
        }
        for replica in &before.replicas {
            self.check_transition(replica);
        }
        for write in writes {
            if let LeaderWrite::OpenHold(new) = write {
                self.check_opened(&new.endpoint.name.to_string(), new.replica);
            }
        }
        self.check();
        Ok(())
    }

    fn check_explained(&mut self, before: &Endpoint, writes: &[LeaderWrite<'_>]) {
        let row = &self.rows.endpoints[&before.id];
        let after = &row.endpoint;
        let is_explained = match explanation(writes, &before.id).filter(|_| !self.hides_events()) {
            None => false,
            Some(event) if row.is_deleted => event.kind == EventType::Deleted,
            Some(event) => {
                let is_scaled = before.status.desired != after.status.desired && before.state == after.state;
                let states = (event.from, event.to) == (Some(before.state), Some(after.state));
                states && (!is_scaled || event.message.contains('→'))
            }
        };
        if !is_explained {
            let detail = format!("{} went from {} to {} without its event", before.name, before.state, after.state);
            self.break_rule(Rule::Explained, detail);
        }
    }

    fn hides_events(&self) -> bool {
        self.mutation == Some(Mutation::NoEvents)
    }

    fn check_transition(&mut self, before: &Replica) {
        let after = self.rows.replicas[&before.id].replica.state();
        if before.state() != after && !before.state().may_become(after) {
            let detail = format!("{} went from {} to {after}", before.id, before.state());
            self.break_rule(Rule::Transitions, detail);
        }
        let comes_back = before.state() == ReplicaState::Draining && after == ReplicaState::Ready;
        if comes_back && self.machine.stopped.contains(before.id.as_str()) {
            self.break_rule(Rule::Transitions, format!("{} was stopped and is kept", before.id));
        }
    }

    /// A hold may only be opened within what the endpoint commits at that moment.
    fn check_opened(&mut self, name: &str, replica: &ReplicaId) {
        let endpoint = &self.rows.holds[replica].endpoint;
        let runs = |id: &ReplicaId| self.rows.replicas[id].replica.intent == Intent::Run;
        let held: u32 = self
            .rows
            .open_holds()
            .filter(|(id, row)| row.endpoint == *endpoint && runs(id))
            .map(|(_, row)| row.hold.gpu_count)
            .sum();
        let committed = self.rows.endpoints[endpoint].endpoint.committed_gpus;
        if held > committed {
            self.break_rule(Rule::Allotment, format!("{name} holds {held} GPUs and commits {committed}"));
        }
    }

    /// The rules on the whole state.
    pub(super) fn check(&mut self) {
        let found =
            [(Rule::Ledger, self.wrong_ledger()), (Rule::Holds, self.wrong_hold()), (Rule::Gpus, self.shared_gpu())];
        for (rule, detail) in found {
            if let Some(detail) = detail {
                self.break_rule(rule, detail);
            }
        }
    }

    /// A command must not raise the commitment above the cap.
    pub(super) fn check_allotment(&mut self, committed_before: u64) {
        let (committed, allotment) = (self.rows.committed(), self.rows.allotment);
        if committed > committed_before && committed > allotment {
            self.break_rule(Rule::Allotment, format!("{committed} GPUs are committed, the cap is {allotment}"));
        }
    }

    fn wrong_ledger(&self) -> Option<String> {
        self.rows.existing().find_map(|row| {
            let endpoint = &row.endpoint;
            let expected = committed(endpoint.state, endpoint.scaling.mode, endpoint.gpu_count());
            let written = endpoint.committed_gpus;
            (written != expected).then(|| format!("{} commits {written} GPUs, not {expected}", endpoint.name))
        })
    }

    fn wrong_hold(&self) -> Option<String> {
        let has_gpus = |replica: &Replica| match replica.state() {
            ReplicaState::Bound | ReplicaState::Starting | ReplicaState::Ready | ReplicaState::Draining => true,
            ReplicaState::Pending | ReplicaState::Released | ReplicaState::Failed => false,
        };
        self.rows.replicas.values().find_map(|row| {
            let replica = &row.replica;
            let is_open = self.rows.holds.get(&replica.id).is_some_and(|row| row.hold.ended_at.is_none());
            let state = replica.state();
            (is_open != has_gpus(replica)).then(|| format!("{} is {state}, its hold is open: {is_open}", replica.id))
        })
    }

    fn shared_gpu(&self) -> Option<String> {
        let mut claimed = BTreeSet::new();
        let twice = self.rows.open_holds().flat_map(|(_, row)| &row.gpus).find(|gpu| !claimed.insert(*gpu));
        let mut used = BTreeSet::new();
        let used_twice = self.machine.devices_in_use().find(|device| !used.insert(*device));
        let claimed_twice = twice.map(|gpu| format!("{gpu} is in two open holds"));
        claimed_twice.or_else(|| used_twice.map(|device| format!("two processes run on {device}")))
    }

    /// Compares the holds with the lives of the processes. Valid when nothing runs that is not written.
    pub(super) fn check_gpu_hours(&mut self) {
        let slack = 2 * self.widest_skew;
        let found = self.wrong_life(slack).or_else(|| self.billed_twice(slack)).or_else(|| self.wrongly_billed());
        if let Some(detail) = found {
            self.break_rule(Rule::GpuHours, detail);
        }
    }

    fn wrong_life(&self, slack: i64) -> Option<String> {
        self.machine.lives.iter().find_map(|(name, life)| {
            let Some(hold) = self.rows.hold_of(name) else { return Some(format!("{name} ran without a hold")) };
            let from = millis(hold.started_at);
            if from > life.from + slack {
                return Some(format!("{name} ran from {} and is billed from {from}", life.from));
            }
            let (to, ended) = (life.to?, millis(hold.ended_at?));
            let is_wrong = if life.is_exact { (ended - to).abs() > slack } else { ended > to + slack };
            is_wrong.then(|| format!("{name} ran until {to} and is billed until {ended}"))
        })
    }

    /// A failed start is not billed; a replica that served is.
    fn wrongly_billed(&self) -> Option<String> {
        self.rows.replicas.values().find_map(|row| {
            let (replica, hold) = (&row.replica, &self.rows.holds.get(&row.replica.id)?.hold);
            let is_failed_start = replica.failure.is_some() && replica.ready_at.is_none();
            let is_wrong = if hold.billable { is_failed_start } else { replica.ready_at.is_some() };
            is_wrong
                .then(|| format!("{} has failed to start: {is_failed_start}, billed: {}", replica.id, hold.billable))
        })
    }

    /// Holds of one GPU follow each other.
    fn billed_twice(&self, slack: i64) -> Option<String> {
        let mut by_gpu: BTreeMap<&str, Vec<&HoldRow>> = BTreeMap::new();
        for row in self.rows.holds.values() {
            for gpu in &row.gpus {
                by_gpu.entry(gpu).or_default().push(row);
            }
        }
        by_gpu.into_iter().find_map(|(gpu, mut rows)| {
            rows.sort_by_key(|row| row.hold.started_at);
            let end = moment(self.now);
            let span = |row: &HoldRow| Span { to: row.hold.ended_at.unwrap_or(end), ..row.hold.span(end) };
            let overlap = |one: Span, other: Span| one.to.min(other.to).millis() - one.from.max(other.from).millis();
            let overlaps = rows.windows(2).find(|pair| overlap(span(pair[0]), span(pair[1])) > slack);
            overlaps.map(|pair| format!("{gpu} is billed twice: {:?} and {:?}", span(pair[0]), span(pair[1])))
        })
    }

    /// Why the world does not match the commands yet; `None` once it does.
    pub(super) fn unsettled(&self) -> Option<String> {
        self.unsettled_process().or_else(|| self.rows.existing().find_map(|row| self.unsettled_endpoint(&row.endpoint)))
    }

    fn unsettled_process(&self) -> Option<String> {
        let live: BTreeSet<&str> = self.rows.live().map(|replica| replica.id.as_str()).collect();
        let leaked = self.machine.processes.keys().find(|name| !live.contains(name.as_str()))?;
        Some(format!("the machine still has {leaked}"))
    }

    fn unsettled_endpoint(&self, endpoint: &Endpoint) -> Option<String> {
        let (name, desired) = (&endpoint.name, endpoint.status.desired as usize);
        let live: Vec<&Replica> = self.rows.live_of(&endpoint.id).collect();
        let ready = live.iter().filter(|replica| replica.is_serving()).count();
        match endpoint.state {
            State::Deleting => Some(format!("{name} is not deleted")),
            State::Suspended | State::Failed | State::ScaledToZero => {
                (!live.is_empty()).then(|| format!("{name} is {} and has {} replicas", endpoint.state, live.len()))
            }
            State::Provisioning | State::Serving => {
                let mode = endpoint.scaling.mode;
                if mode.clamp(endpoint.status.desired) != endpoint.status.desired {
                    return Some(format!("{name} wants {desired} replicas outside of its bounds"));
                }
                let is_settled = endpoint.state == State::Serving && ready == desired && live.len() == desired;
                let lacks_gpus = live.iter().any(|replica| replica.state() == ReplicaState::Pending)
                    && live.len() == desired
                    && self.free_gpus() < endpoint.gpu_count();
                let state = endpoint.state;
                let detail =
                    || format!("{name} is {state}, wants {desired} replicas and has {ready} of {}", live.len());
                (!is_settled && !lacks_gpus).then(detail)
            }
        }
    }

    fn free_gpus(&self) -> u32 {
        let held: u32 = self.rows.open_holds().map(|(_, row)| row.hold.gpu_count).sum();
        GPUS.saturating_sub(held)
    }
}
