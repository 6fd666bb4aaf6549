//! Serverless pools that the cluster runs: so many Pods for each model, for everybody.
//!
//! The leader makes the Pods and ends those that nobody wants; every gateway sends calls to those that are ready. A
//! Pod's name holds a hash of what it runs, so a change of the configuration makes new Pods beside the old ones, which
//! go when the new ones serve.

use super::pod::{self, Life};
use super::{KubernetesDriver, address_of, pod_status};
use crate::backend::{Backend, BackendId};
use crate::drivers::{ReplicaName, ReplicaSpec};
use crate::engine::Family;
use crate::routes::Routes;
use domain::ModelId;
use domain::model::{Model, Serving, Upstream};
use k8s_openapi::api::core::v1::Pod;
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUND: Duration = Duration::from_millis(500);
const HASH_BYTES: usize = 6;

/// A Pod that should run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wanted {
    model: ModelId,
    spec: ReplicaSpec,
}

impl KubernetesDriver {
    /// Makes the Pods of pools that are missing and ends those that nobody wants any more. For the leader.
    pub async fn keep_pools(&self, routes: &Routes) {
        if !self.is_synced() {
            return;
        }
        let wanted = wanted(routes, self);
        for one in &wanted {
            let there = self.pod(&one.spec.replica);
            if let Some(over) = there.as_ref().filter(|pod| self.is_beyond_help(pod)) {
                self.end(over, 0).await;
            } else if there.is_none()
                && let Err(why) = self.apply(&one.spec, Life::ForEver).await
            {
                tracing::warn!(model = %one.model, why, "a Pod of {} was not made: {why}", one.model);
            }
        }
        let names: HashSet<String> = wanted.iter().map(|one| pod::name_of(&one.spec.replica)).collect();
        for pod in self.pool_pods() {
            let (Some(name), Some(model)) = (&pod.metadata.name, model_of(&pod)) else { continue };
            let successors = || wanted.iter().filter(|one| one.model == model);
            let all_serve =
                || successors().all(|one| self.pod(&one.spec.replica).is_some_and(|pod| pod_status::is_ready(&pod)));
            if !names.contains(name) && !pod_status::is_leaving(&pod) && all_serve() {
                tracing::info!(model = %model, "a Pod of {model} is not wanted any more");
                self.end(&pod, pod::longest_goodbye(&self.shared.settings)).await;
            }
        }
    }

    async fn end(&self, pod: &Pod, grace_seconds: u64) {
        if let Err(error) = self.delete(pod, grace_seconds).await {
            tracing::warn!(%error, "a Pod of a pool could not be ended");
        }
    }

    fn pool_pods(&self) -> Vec<Arc<Pod>> {
        let is_pooled =
            |pod: &Arc<Pod>| pod.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(pod::POOL_LABEL));
        self.shared.mirror.all().into_iter().filter(is_pooled).collect()
    }

    /// Whether no kubelet will ever start it again.
    fn is_beyond_help(&self, pod: &Pod) -> bool {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let node = pod_status::node_of(pod).map(|node| self.shared.nodes.health(node, Instant::now()));
        matches!(phase, Some("Failed" | "Succeeded")) || node == Some(pod_status::NodeHealth::Lost)
    }
}

/// The Pods that the catalogue asks for.
fn wanted(routes: &Routes, driver: &KubernetesDriver) -> Vec<Wanted> {
    let table = routes.table();
    table.iter().flat_map(|route| pods_of(&route.model, driver)).collect()
}

fn pods_of(model: &Model, driver: &KubernetesDriver) -> Vec<Wanted> {
    let Serving::Engine(pool) = &model.serving else { return Vec::new() };
    let Some(flavor) = &pool.flavor else { return Vec::new() };
    let called = |name: &str| {
        let name = ReplicaName::parse(name).expect("made of a hash and a number");
        ReplicaSpec::of_flavor(
            name,
            (model.id.clone(), model.modality),
            flavor,
            model.context_length,
            Some(&pool.weights),
        )
    };
    let Ok(manifest) = pod::manifest(&called("pool"), Life::ForEver, &driver.shared.settings) else {
        tracing::error!(model = %model.id, "the pool of {} cannot be made into Pods", model.id);
        return Vec::new();
    };
    let digest = Sha256::digest(manifest.to_string());
    let hash: String = digest[..HASH_BYTES].iter().map(|byte| format!("{byte:02x}")).collect();
    let one = |number: u32| Wanted { model: model.id.clone(), spec: called(&format!("pool-{hash}-{number}")) };
    (1..=pool.replicas).map(one).collect()
}

fn model_of(pod: &Pod) -> Option<ModelId> {
    ModelId::parse(pod_status::annotation(pod, pod::MODEL_ANNOTATION)?).ok()
}

/// Lets the route table of this gateway follow the Pods of pools.
pub struct Pools {
    driver: KubernetesDriver,
    routes: Routes,
    joined: HashMap<(String, SocketAddr), BackendId>,
}

impl Pools {
    pub fn new(driver: KubernetesDriver, routes: Routes) -> Self {
        Self { driver, routes, joined: HashMap::new() }
    }

    /// Follows them, for ever.
    pub async fn run(mut self) {
        loop {
            self.look();
            tokio::time::sleep(ROUND).await;
        }
    }

    fn look(&mut self) {
        let port = self.driver.shared.settings.port;
        let mut ready = HashMap::new();
        for pod in self.driver.pool_pods().into_iter().filter(|pod| pod_status::is_ready(pod)) {
            if let (Some(name), Some(address)) = (pod.metadata.name.clone(), address_of(&pod, port)) {
                ready.insert((name, address), pod);
            }
        }
        let routes = &self.routes;
        self.joined.retain(|place, id| {
            let stays = ready.contains_key(place);
            if !stays {
                routes.leave(*id);
            }
            stays
        });
        for (place, pod) in ready {
            if self.joined.contains_key(&place) {
                continue;
            }
            let Some((model, replica)) = replica_of(&pod, &place) else { continue };
            tracing::info!(model = %model, replica.name = %replica.name, "a Pod of {model} is ready");
            self.joined.insert(place, replica.id);
            self.routes.join(model, Arc::new(replica));
        }
    }
}

fn replica_of(pod: &Pod, (name, address): &(String, SocketAddr)) -> Option<(ModelId, Backend)> {
    let model = model_of(pod)?;
    let family = Family::parse(pod_status::annotation(pod, pod::ENGINE_ANNOTATION)?)?;
    let upstream = Upstream {
        url: format!("http://{address}/v1"),
        model: model.as_str().to_owned(),
        api_key: None,
        max_in_flight: None,
        health_path: "/health".into(),
        continuous_usage: matches!(family, Family::ForebayEngine | Family::Vllm | Family::Sglang),
    };
    Some((model, Backend::new(name, upstream).ok()?))
}
