//! Commands of users and reports of nodes, each in one transaction.

use super::schedule::SLOTS;
use super::table::EndpointRow;
use super::world::{Mutation, World, moment};
use crate::endpoints::stepped;
use domain::allotment::{Change, Ledger};
use domain::autoscaler::{PrefillQueue, wake_size};
use domain::endpoint::labels::Labels;
use domain::endpoint::replica::{Replica, ReplicaState, Status};
use domain::endpoint::scaling::{Metric, Mode, Scaling, Target, Windows};
use domain::endpoint::state::{self, State, Step, Trigger};
use domain::endpoint::{EndpointName, Generation, Shape};
use domain::endpoint_load::{LoadReport, ReplicaCalls};
use domain::model::{EngineKind, Flavor, Model};
use domain::{Catalogue, Endpoint, EndpointId, GpuType, ModelId, OrganizationId, Timestamp, WorkspaceId};

const MODEL: &str = "acme/tiny";

/// One model in flavors of one and two GPUs.
pub(super) fn catalogue() -> Catalogue {
    let flavor = |gpu_count: u32| Flavor {
        gpu_count,
        precision: "fp8".into(),
        weights: Some("weights".into()),
        ..Flavor::plain(format!("{gpu_count}x"), GpuType::parse("nvidia/h100").unwrap(), EngineKind::Vllm)
    };
    let model = Model { flavors: vec![flavor(1), flavor(2)], ..Model::plain(ModelId::parse(MODEL).unwrap()) };
    Catalogue::new(vec![model], "hash")
}

pub(super) fn name_of(slot: u32) -> EndpointName {
    EndpointName::parse(&format!("e{slot}")).unwrap()
}

/// A policy with short windows, so that a schedule sees all of them.
pub(super) fn scaling(mode: Mode) -> Scaling {
    let windows = Windows { to_zero_secs: 60, up_secs: 10, down_secs: 30 };
    Scaling { mode, target: Target::default_of(Metric::Concurrency, None), windows }
}

/// A new endpoint.
pub(super) fn new_endpoint(number: u128, name: EndpointName, gpus: u32, mode: Mode, now: Timestamp) -> Endpoint {
    let catalogue = catalogue();
    let shape = Shape::of(catalogue.get(MODEL).unwrap(), &format!("{gpus}x")).unwrap();
    let step = state::create(scaling(mode), gpus);
    Endpoint {
        id: EndpointId::new(now, number),
        organization: OrganizationId::new(moment(0), 1),
        workspace: WorkspaceId::new(moment(0), 1),
        name,
        model: ModelId::parse(MODEL).unwrap(),
        shape,
        scaling: step.scaling,
        state: State::Provisioning,
        reason: step.reason,
        message: step.reason.message().to_owned(),
        state_since: now,
        started_at: now,
        status: Status { desired: step.desired, ..Status::default() },
        committed_gpus: step.committed,
        last_request_at: None,
        labels: Labels::new(),
        created_by: "user".into(),
        created_at: now,
        updated_at: now,
        generation: Generation(1),
    }
}

impl World {
    /// Creates an endpoint, unless its name is taken or the allotment is too small.
    pub(super) fn create(&mut self, slot: u32, gpus: u32, mode: Mode) {
        let name = name_of(slot % SLOTS);
        let now = self.clock_of(0);
        let number = u128::try_from(self.rows.endpoints.len()).expect("few endpoints");
        let endpoint = new_endpoint(number, name, gpus, mode, now);
        let change = Change { released: 0, added: endpoint.committed_gpus.into() };
        if self.rows.named(&endpoint.name).is_some() || !self.fits(change) {
            return;
        }
        let before = self.rows.committed();
        let row = EndpointRow { endpoint, drain_secs: state::SCALE_DOWN_DRAIN_SECS, epoch: 0, is_deleted: false };
        self.rows.endpoints.insert(row.endpoint.id.clone(), row);
        self.check_allotment(before);
    }

    /// Applies a user's trigger, unless the state or the allotment forbids it.
    pub(super) fn apply(&mut self, slot: u32, trigger: impl FnOnce(&Endpoint) -> Trigger) {
        let found = self.rows.named(&name_of(slot % SLOTS)).map(|row| self.rows.endpoint(row));
        let Some(before) = found else { return };
        let Ok(step) = state::step(&before.state_input(), trigger(&before)) else { return };
        let change = Change { released: before.committed_gpus.into(), added: step.committed.into() };
        if self.fits(change) {
            self.write(&before, &step);
        }
    }

    fn write(&mut self, before: &Endpoint, step: &Step) {
        let committed = self.rows.committed();
        let after = stepped(before, step, self.clock_of(0));
        self.rows.update(after, before.generation, step.drain_secs).expect("it was just read");
        self.check_allotment(committed);
    }

    fn fits(&self, change: Change) -> bool {
        let ledger = Ledger { allotment: self.rows.allotment, committed: self.rows.committed() };
        self.mutation == Some(Mutation::IgnoreAllotment) || ledger.project(change).is_ok()
    }

    /// A node's reports about all endpoints. Calls to an endpoint at zero wake it.
    pub(super) fn report(&mut self, node: usize, calls: u32) {
        for endpoint in self.rows.endpoints() {
            if endpoint.state == State::ScaledToZero && calls > 0 {
                let wake = wake_size(endpoint.scaling.target, endpoint.scaling.mode.ceiling(), calls.into());
                if let Ok(step) = state::step(&endpoint.state_input(), Trigger::Request { wake }) {
                    self.write(&endpoint, &step);
                }
            }
            let key = (endpoint.id.clone(), format!("node-{node}"));
            let last_call_at = if calls > 0 {
                Some(moment(self.now))
            } else {
                self.rows.loads.get(&key).and_then(|report| report.last_call_at)
            };
            let report = LoadReport {
                node: key.1.clone(),
                endpoint: endpoint.id.clone(),
                at: moment(self.now),
                load: u64::from(calls) * 1_000,
                open_calls: calls.into(),
                last_call_at,
                replicas: self.rows.live_of(&endpoint.id).filter_map(|replica| calls_to(replica, calls)).collect(),
            };
            self.rows.loads.insert(key, report);
        }
    }
}

/// A node's calls to a replica that serves or drains.
fn calls_to(replica: &Replica, calls: u32) -> Option<ReplicaCalls> {
    let routed = replica.is_serving();
    let is_known = routed || replica.state() == ReplicaState::Draining;
    let in_flight = if routed { calls.into() } else { 0 };
    let prefill = PrefillQueue::default();
    is_known.then(|| ReplicaCalls { replica: replica.id.clone(), routed, in_flight, prefill })
}
