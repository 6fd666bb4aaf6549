//! An organization with two workspaces and a catalogue, and shortcuts for commands.

use crate::{DEFAULTS, NOW, command};
use control::endpoints::{
    self, CommandResponse, EndpointCommand, EndpointError, EndpointRef, EndpointRules, IdempotencyKey, RunMode, Scope,
};
use control::{Author, Command, bootstrap, workspaces};
use domain::allotment::Defaults;
use domain::endpoint::EndpointName;
use domain::endpoint::IfMatch;
use domain::endpoint::labels::LabelsPatch;
use domain::endpoint::request::{Change, NewEndpoint};
use domain::endpoint::scaling::{Metric, ScalingPatch};
use domain::leadership::Term;
use domain::model::{EngineKind, Flavor, Model};
use domain::workspace::OwnLimits;
use domain::{Catalogue, Endpoint, GpuType, KeyId, ModelId, NanoUsd, Timestamp, Workspace};
use serde_json::Value;
use store::{Fenced, Store, leader};

pub(crate) struct Platform {
    pub(crate) store: Store,
    pub(crate) catalogue: Catalogue,
    pub(crate) defaults: Defaults,
    pub(crate) author: Author,
    pub(crate) workspace: Workspace,
    /// Another workspace of the same organization.
    pub(crate) neighbour: Workspace,
    pub(crate) now: Timestamp,
}

pub(crate) fn gpu_type() -> GpuType {
    GpuType::parse("nvidia/h100").unwrap()
}

/// One model in flavors of 1, 2, 3 and 4 GPUs, and one flavor that llama-server runs.
pub(crate) fn catalogue() -> Catalogue {
    let flavor = |gpu_count: u32, engine| Flavor {
        gpu_count,
        precision: "fp8".into(),
        price_per_gpu_hour: NanoUsd::parse("2.50").unwrap(),
        weights: Some("weights".into()),
        default_target: (gpu_count == 4).then_some(32),
        ..Flavor::plain(format!("{gpu_count}x"), gpu_type(), engine)
    };
    let mut flavors: Vec<Flavor> = (1..=4).map(|count| flavor(count, EngineKind::Vllm)).collect();
    flavors.push(Flavor { name: "llama".into(), ..flavor(1, EngineKind::LlamaServer) });
    let model = Model { flavors, ..Model::plain(ModelId::parse("acme/tiny").unwrap()) };
    Catalogue::new(vec![model], "hash")
}

pub(crate) fn endpoint_ref(name: &str) -> EndpointRef {
    EndpointRef::parse(name).unwrap()
}

impl Platform {
    pub(crate) async fn new(store: Store, allotment: u32) -> Self {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let author = Author::Key { id: KeyId::new(NOW, 7), address: "10.0.0.1".into() };
        let own = OwnLimits::default();
        let neighbour = workspaces::create(command(&store), &first.organization.id, "Other", own).await.unwrap();
        Self {
            store,
            catalogue: catalogue(),
            defaults: [(gpu_type(), allotment)].into_iter().collect(),
            author,
            workspace: first.workspace,
            neighbour,
            now: NOW,
        }
    }

    pub(crate) fn rules(&self) -> EndpointRules<'_> {
        EndpointRules { catalogue: &self.catalogue, defaults: &self.defaults, max_endpoints: 100 }
    }

    pub(crate) fn scope(&self) -> Scope<'_> {
        Scope { organization: &self.workspace.organization, workspace: &self.workspace.id }
    }

    pub(crate) fn command(&self) -> EndpointCommand<'_> {
        let base = Command { store: &self.store, author: &self.author, now: self.now };
        EndpointCommand { base, rules: self.rules(), scope: self.scope(), idempotency: None, encode }
    }

    pub(crate) fn keyed<'a>(&'a self, key: &'a str, fingerprint: &'a str) -> EndpointCommand<'a> {
        EndpointCommand { idempotency: Some(IdempotencyKey { key, fingerprint }), ..self.command() }
    }

    pub(crate) async fn create(
        &self,
        name: &str,
        flavor: &str,
        scaling: Value,
    ) -> Result<CommandResponse, EndpointError> {
        endpoints::create(self.command(), &new(name, flavor, scaling), RunMode::Real).await
    }

    pub(crate) async fn patch(&self, name: &str, body: Value) -> Result<CommandResponse, EndpointError> {
        self.patch_if(name, body, None).await
    }

    pub(crate) async fn patch_if(
        &self,
        name: &str,
        body: Value,
        if_match: Option<&str>,
    ) -> Result<CommandResponse, EndpointError> {
        let change = Change { scaling: scaling(&body), labels: labels(&body) };
        let if_match = if_match.map(IfMatch::parse);
        endpoints::rescale(self.command(), &endpoint_ref(name), &change, if_match.as_ref()).await
    }

    pub(crate) async fn resume(&self, name: &str, body: Value) -> Result<CommandResponse, EndpointError> {
        let scaling = scaling(&body);
        endpoints::resume(self.command(), &endpoint_ref(name), &scaling).await
    }

    pub(crate) async fn suspend(&self, name: &str) -> Result<CommandResponse, EndpointError> {
        endpoints::suspend(self.command(), &endpoint_ref(name)).await
    }

    pub(crate) async fn delete(&self, name: &str) -> Result<CommandResponse, EndpointError> {
        endpoints::delete(self.command(), &endpoint_ref(name)).await
    }

    pub(crate) async fn show(&self, name: &str) -> Endpoint {
        endpoints::show(&self.store, self.scope(), &endpoint_ref(name)).await.unwrap()
    }

    pub(crate) async fn committed(&self) -> u64 {
        let lines = control::allotments::list(&self.store, &self.workspace.organization, &self.defaults).await.unwrap();
        lines[0].committed
    }

    /// The types of an endpoint's events, oldest first, without their common prefix.
    pub(crate) async fn events(&self, name: &str) -> Vec<String> {
        let filter = store::endpoint_events::Filter::default();
        let events = endpoints::events(&self.store, self.scope(), &endpoint_ref(name), filter, 100).await.unwrap();
        events.iter().rev().map(|event| event.kind.as_str().trim_start_matches("endpoint.").to_owned()).collect()
    }

    pub(crate) async fn fenced(&self) -> Fenced {
        Fenced::begin(&self.store, self.lead().await).await.unwrap()
    }

    /// Takes over the control plane, and returns the new epoch.
    pub(crate) async fn lead(&self) -> u64 {
        let seen = leader::read(&self.store).await.unwrap();
        let Term { epoch, .. } = leader::take_over(&self.store, &seen, "me", NOW).await.unwrap().unwrap();
        epoch
    }
}

#[expect(clippy::needless_pass_by_value, reason = "calls with `json!` read better without a reference")]
pub(crate) fn new(name: &str, flavor: &str, body: Value) -> NewEndpoint {
    NewEndpoint {
        name: EndpointName::parse(name).unwrap(),
        model: ModelId::parse("acme/tiny").unwrap(),
        flavor: flavor.to_owned(),
        scaling: scaling(&body),
        labels: labels(&body),
    }
}

/// A record in a response, short enough for tests.
fn encode(endpoint: &Endpoint) -> String {
    format!("{} {}", endpoint.id, endpoint.generation.0)
}

fn scaling(body: &Value) -> ScalingPatch {
    let number = |field: &str| body[field].as_u64().map(|number| u32::try_from(number).unwrap());
    let patch = ScalingPatch {
        replicas: number("replicas"),
        min: number("minReplicas"),
        max: number("maxReplicas"),
        metric: body["autoscalingMetric"].as_str().map(|name| Metric::parse(name).unwrap()),
        target: body["autoscalingTarget"].as_u64().map(|target| target * 1_000),
        to_zero_secs: number("scaleToZeroWindowSeconds"),
        up_secs: number("scaleUpWindowSeconds"),
        down_secs: number("scaleDownWindowSeconds"),
    };
    patch.check().unwrap();
    patch
}

fn labels(body: &Value) -> LabelsPatch {
    let members = body["labels"].as_object().into_iter().flatten();
    members.map(|(name, value)| (name.clone(), value.as_str().map(str::to_owned))).collect()
}

/// `committed 8`, or `allotment/committed/projected/need` if exceeded, or the code of another error.
pub(crate) async fn outcome_text(platform: &Platform, outcome: Result<CommandResponse, EndpointError>) -> String {
    match outcome {
        Ok(_) => format!("committed {}", platform.committed().await),
        Err(EndpointError::AllotmentExceeded(why)) => {
            let numbers = why.numbers;
            assert_eq!(platform.committed().await, numbers.committed, "a rejection changes nothing");
            format!("{}/{}/{}/{}", numbers.allotment, numbers.committed, numbers.projected, numbers.need)
        }
        Err(other) => other.code().to_owned(),
    }
}
