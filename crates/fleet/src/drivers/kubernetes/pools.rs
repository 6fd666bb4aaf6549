//! Serverless pools as Pods of the cluster.
//!
//! The leader creates missing Pods and deletes obsolete ones; every gateway sends calls to those that are ready. A Pod's
//! name contains a hash of its manifest, so a changed configuration creates new Pods, and the old ones are deleted once the
//! new ones are ready.

use super::pod::{self, RestartPolicy};
use super::{KubernetesDriver, address_of, pod_status};
use crate::backend::{Backend, BackendId};
use crate::drivers::{ReplicaAuth, ReplicaName, ReplicaSpec};
use crate::engine::Family;
use crate::routes::Routes;
use background::Loop;
use domain::ModelId;
use domain::model::{Model, Serving, Upstream};
use k8s_openapi::api::core::v1::Pod;
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_millis(500);
const HASH_BYTES: usize = 6;

/// A Pod that should exist.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DesiredPod {
    model: ModelId,
    spec: ReplicaSpec,
}

impl KubernetesDriver {
    /// Creates missing Pods of pools and deletes obsolete ones. Called by the leader.
    pub async fn keep_pools(&self, routes: &Routes) {
        if !self.is_synced() {
            return;
        }
        let desired = desired_pods(routes, self);
        for one in &desired {
            let existing = self.pod(&one.spec.replica);
            if let Some(dead) = existing.as_ref().filter(|pod| self.is_dead(pod)) {
                self.delete_pool_pod(dead, 0).await;
            } else if existing.is_none()
                && let Err(why) = self.apply(&one.spec, RestartPolicy::Always).await
            {
                tracing::warn!(model = %one.model, why, "cannot create a Pod of {}: {why}", one.model);
            }
        }
        let names: HashSet<String> = desired.iter().map(|one| pod::name_of(&one.spec.replica)).collect();
        for pod in self.pool_pods() {
            let (Some(name), Some(model)) = (&pod.metadata.name, model_of(&pod)) else { continue };
            let successors = || desired.iter().filter(|one| one.model == model);
            let all_ready =
                || successors().all(|one| self.pod(&one.spec.replica).is_some_and(|pod| pod_status::is_ready(&pod)));
            if !names.contains(name) && !pod_status::is_leaving(&pod) && all_ready() {
                tracing::info!(model = %model, "deleting an obsolete Pod of {model}");
                self.delete_pool_pod(&pod, pod::full_grace_seconds(&self.shared.settings)).await;
            }
        }
    }

    async fn delete_pool_pod(&self, pod: &Pod, grace_seconds: u64) {
        if let Err(error) = self.delete(pod, grace_seconds).await {
            tracing::warn!(%error, "cannot delete a Pod of a pool");
        }
    }

    fn pool_pods(&self) -> Vec<Arc<Pod>> {
        let is_pooled =
            |pod: &Arc<Pod>| pod.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(pod::POOL_LABEL));
        self.shared.mirror.all().into_iter().filter(is_pooled).collect()
    }

    /// Whether no kubelet will restart it.
    fn is_dead(&self, pod: &Pod) -> bool {
        let node = pod_status::node_of(pod).map(|node| self.shared.nodes.health(node, Instant::now()));
        pod_status::has_ended(pod) || node == Some(pod_status::NodeHealth::Lost)
    }
}

/// The Pods that the catalogue needs.
fn desired_pods(routes: &Routes, driver: &KubernetesDriver) -> Vec<DesiredPod> {
    let table = routes.table();
    table.iter().flat_map(|route| pods_of(&route.model, driver)).collect()
}

fn pods_of(model: &Model, driver: &KubernetesDriver) -> Vec<DesiredPod> {
    let Serving::Engine(pool) = &model.serving else { return Vec::new() };
    let Some(flavor) = &pool.flavor else { return Vec::new() };
    let spec = |name: &str| {
        let name = ReplicaName::parse(name).expect("consists of a hash and a number");
        ReplicaSpec::of_flavor(
            name,
            (model.id.clone(), model.modality),
            flavor,
            model.context_length,
            Some(&pool.weights),
        )
    };
    let template = spec("pool");
    // The key is a part of the hash: when keys become required, new Pods replace those without.
    let key = driver.shared.auth.required_key(&template.replica);
    let manifest = pod::manifest(&template, RestartPolicy::Always, &driver.shared.settings, key.as_deref());
    let Ok(manifest) = manifest else {
        tracing::error!(model = %model.id, "the pool of {} has no valid Pod manifest", model.id);
        return Vec::new();
    };
    let digest = Sha256::digest(manifest.to_string());
    let hash: String = digest[..HASH_BYTES].iter().map(|byte| format!("{byte:02x}")).collect();
    let one = |number: u32| DesiredPod { model: model.id.clone(), spec: spec(&format!("pool-{hash}-{number}")) };
    (1..=pool.replicas).map(one).collect()
}

fn model_of(pod: &Pod) -> Option<ModelId> {
    ModelId::parse(pod_status::annotation(pod, pod::MODEL_ANNOTATION)?).ok()
}

/// Keeps the ready Pods of pools in the route table of this gateway.
pub struct Pools {
    driver: KubernetesDriver,
    routes: Routes,
    joined: HashMap<(String, SocketAddr), BackendId>,
}

impl Pools {
    pub fn new(driver: KubernetesDriver, routes: Routes) -> Self {
        Self { driver, routes, joined: HashMap::new() }
    }

    /// Runs until it is cancelled.
    pub async fn run(mut self) {
        let routes = Loop::every("routes of pools", PERIOD);
        let round = async move || {
            self.update();
            Ok::<_, Infallible>(())
        };
        routes.run(round).await;
    }

    fn update(&mut self) {
        let port = self.driver.shared.settings.port;
        let mut ready = HashMap::new();
        for pod in self.driver.pool_pods().into_iter().filter(|pod| pod_status::is_ready(pod)) {
            if let (Some(name), Some(address)) = (pod.metadata.name.clone(), address_of(&pod, port)) {
                ready.insert((name, address), pod);
            }
        }
        let routes = &self.routes;
        self.joined.retain(|key, id| {
            let stays = ready.contains_key(key);
            if !stays {
                routes.leave(*id);
            }
            stays
        });
        for (key, pod) in ready {
            if self.joined.contains_key(&key) {
                continue;
            }
            let Some((model, backend)) = backend_of(&pod, &key, &self.driver.shared.auth) else { continue };
            tracing::info!(model = %model, replica.name = %backend.name, "a Pod of {model} is ready");
            self.joined.insert(key, backend.id);
            self.routes.join(model, Arc::new(backend));
        }
    }
}

fn backend_of(pod: &Pod, (name, address): &(String, SocketAddr), auth: &ReplicaAuth) -> Option<(ModelId, Backend)> {
    let model = model_of(pod)?;
    let family = Family::parse(pod_status::annotation(pod, pod::ENGINE_ANNOTATION)?)?;
    let command = pod.spec.as_ref().and_then(|spec| spec.containers.first()?.command.as_deref()).unwrap_or_default();
    let upstream = Upstream {
        continuous_usage: matches!(family, Family::ForebayEngine | Family::Vllm | Family::Sglang),
        engine: family.engine(),
        priority_scheduling: family.engine().is_some_and(|engine| engine.schedules_by_priority(command)),
        api_key: Some(auth.key(&ReplicaName::parse(name).ok()?)),
        ..Upstream::plain(format!("http://{address}/v1"), model.as_str())
    };
    Some((model, Backend::new(name, upstream).ok()?))
}
