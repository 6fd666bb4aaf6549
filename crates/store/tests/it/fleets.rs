//! Endpoints to put into a store.

use crate::people::{self, NOW, entropy};
use domain::allotment::Defaults;
use domain::endpoint::labels::Labels;
use domain::endpoint::replica::{Replica, Status};
use domain::endpoint::scaling::{Scaling, ScalingPatch};
use domain::endpoint::state::{self, Next};
use domain::endpoint::{Generation, Shape, State};
use domain::leadership::Term;
use domain::model::{EngineKind, Flavor, Modality};
use domain::{Endpoint, EndpointId, EndpointName, GpuType, ModelId, NanoUsd, ReplicaId, Workspace};
use store::{Fenced, Store, endpoints, leader};

pub(crate) fn cpu() -> GpuType {
    GpuType::parse("local/cpu").unwrap()
}

pub(crate) fn defaults(gpus: u32) -> Defaults {
    [(cpu(), gpus)].into_iter().collect()
}

pub(crate) fn new_endpoint(workspace: &Workspace, name: &str, gpu_count: u32, patch: ScalingPatch) -> Endpoint {
    let flavor = Flavor {
        gpu_count,
        precision: "q4".into(),
        price_per_gpu_hour: NanoUsd::parse("2.50").unwrap(),
        weights: Some("models/tiny.gguf".into()),
        default_target: Some(4),
        ..Flavor::plain("cpu", cpu(), EngineKind::ForebayEngine)
    };
    let scaling = Scaling::create(&patch, flavor.default_target).unwrap();
    let step = state::create(scaling, gpu_count);
    assert_eq!(step.to, Next::State(State::Provisioning));
    Endpoint {
        id: EndpointId::new(NOW, entropy()),
        organization: workspace.organization.clone(),
        workspace: workspace.id.clone(),
        name: EndpointName::parse(name).unwrap(),
        model: ModelId::parse("acme/tiny").unwrap(),
        shape: Shape { flavor, modality: Modality::Chat, context_length: 8_192 },
        scaling,
        state: State::Provisioning,
        reason: step.reason,
        message: step.reason.message().into(),
        state_since: NOW,
        started_at: NOW,
        status: Status { desired: step.desired, ..Status::default() },
        committed_gpus: step.committed,
        last_request_at: None,
        labels: Labels::from([("team".to_owned(), name.to_owned()), ("env".to_owned(), "test".to_owned())]),
        created_by: "usr_x".into(),
        created_at: NOW,
        updated_at: NOW,
        generation: Generation(1),
    }
}

pub(crate) async fn endpoint(store: &Store, workspace: &Workspace, name: &str) -> Endpoint {
    let new = new_endpoint(workspace, name, 1, ScalingPatch::default());
    let mut tx = store.begin().await.unwrap();
    endpoints::insert(&mut tx, &new, 120).await.unwrap();
    tx.commit().await.unwrap();
    new
}

pub(crate) async fn any_endpoint(store: &Store) -> Endpoint {
    let workspace = people::workspace(store).await;
    endpoint(store, &workspace, "chat").await
}

pub(crate) fn new_replica(endpoint: &Endpoint, number: u128) -> Replica {
    Replica::new(ReplicaId::new(NOW, number), endpoint.id.clone(), NOW)
}

/// Makes `holder` the leader.
pub(crate) async fn lead(store: &Store, holder: &str) -> Term {
    let seen = leader::read(store).await.unwrap();
    leader::take_over(store, &seen, holder, NOW).await.unwrap().unwrap()
}

pub(crate) async fn fenced(store: &Store) -> Fenced {
    let lease = leader::read(store).await.unwrap();
    Fenced::begin(store, lease.epoch).await.unwrap()
}
