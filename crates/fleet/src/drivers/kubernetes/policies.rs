//! Network policies and disruption budgets: who may call replicas, what they may reach, and how fast nodes may be drained.
//!
//! The leader keeps them. It reads the existing ones every few minutes and when this process becomes leader again, since
//! others may have changed them, and an endpoint may have been deleted during an outage.

use super::ReplicaTargets;
use super::api::requests::{RequestError, Requests};
use super::pod::{ENDPOINT_LABEL, INSTANCE_LABEL, MANAGER};
use super::settings::{Callers, Egress, Settings};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::core::GroupVersion;
use kube::{Api, Client};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, OnceCell};

const RETRY_PAUSE: Duration = Duration::from_secs(30);
/// How long the last read objects are trusted.
const RELIST_PERIOD: Duration = Duration::from_secs(300);
/// The leader calls every second. After a gap this long another node may have led.
const LEADER_GAP: Duration = Duration::from_secs(10);

pub(super) struct Policies {
    client: Client,
    budgets: Api<PodDisruptionBudget>,
    networks: Api<NetworkPolicy>,
    requests: Arc<Requests>,
    instance: String,
    port: u16,
    callers: Option<Callers>,
    egress: Option<Egress>,
    /// Whether the server supports this version of budgets; read once.
    has_budgets: OnceCell<bool>,
    state: Mutex<KnownPolicies>,
}

#[derive(Default)]
struct KnownPolicies {
    /// The minimum of each existing budget, and when they were read.
    budgets: Option<(BTreeMap<String, u32>, Instant)>,
    network: Option<Instant>,
    called_at: Option<Instant>,
    /// No attempt before this time after a failure, since rounds of the reconciler wait here.
    not_before: Option<Instant>,
}

impl KnownPolicies {
    fn forget_outdated(&mut self, now: Instant) {
        let was_not_leader = self.called_at.is_none_or(|called_at| now.duration_since(called_at) >= LEADER_GAP);
        let is_old = |since: Instant| was_not_leader || now.duration_since(since) >= RELIST_PERIOD;
        self.budgets.take_if(|(_, since)| is_old(*since));
        self.network.take_if(|since| is_old(*since));
        self.called_at = Some(now);
    }
}

impl Policies {
    pub(super) fn new(client: Client, namespace: &str, settings: &Settings, requests: Arc<Requests>) -> Self {
        Self {
            budgets: Api::namespaced(client.clone(), namespace),
            networks: Api::namespaced(client.clone(), namespace),
            client,
            requests,
            instance: settings.instance.clone(),
            port: settings.port,
            callers: settings.callers.clone(),
            egress: settings.egress.clone(),
            has_budgets: OnceCell::new(),
            state: Mutex::default(),
        }
    }

    /// Writes what differs from the targets. Of several replicas all but one stay while nodes are drained. Endpoints without
    /// a target have no replicas here.
    pub(super) async fn keep(&self, targets: &ReplicaTargets, now: Instant) {
        let mut known = self.state.lock().await;
        if known.not_before.is_some_and(|moment| now < moment) {
            return;
        }
        known.forget_outdated(now);
        if let Err(why) = self.write(&mut known, targets, now).await {
            tracing::warn!(%why, "cannot write the network policies or the disruption budgets: {why}");
            known.not_before = Some(now + RETRY_PAUSE);
        }
    }

    async fn write(
        &self,
        known: &mut KnownPolicies,
        targets: &ReplicaTargets,
        now: Instant,
    ) -> Result<(), RequestError> {
        if known.network.is_none() {
            self.write_network_policies().await?;
            known.network = Some(now);
        }
        if !self.supports_budgets().await? {
            return Ok(());
        }
        let budgets = match &mut known.budgets {
            Some((budgets, _)) => budgets,
            nothing => &mut nothing.insert((self.list_budgets().await?, now)).0,
        };
        for BudgetChange { name, minimum } in changes(budgets, targets) {
            match minimum {
                Some((endpoint, minimum)) => {
                    self.write_budget(&name, &endpoint, minimum).await?;
                    budgets.insert(name, minimum);
                }
                None => {
                    self.remove_budget(&name).await?;
                    budgets.remove(&name);
                }
            }
        }
        Ok(())
    }

    async fn write_network_policies(&self) -> Result<(), RequestError> {
        if let Some(callers) = &self.callers {
            let name = format!("{}-replicas", self.instance);
            self.write_network_policy(&name, &ingress_policy(&name, &self.instance, self.port, callers)).await?;
        }
        let name = format!("{}-replicas-egress", self.instance);
        match &self.egress {
            Some(egress) => self.write_network_policy(&name, &egress_policy(&name, &self.instance, egress)).await,
            None => self.remove_network_policy(&name).await,
        }
    }

    async fn write_network_policy(&self, name: &str, policy: &Value) -> Result<(), RequestError> {
        let params = PatchParams::apply(MANAGER).force();
        self.requests.send(self.networks.patch(name, &params, &Patch::Apply(policy))).await.map(drop)
    }

    /// Policies add up, so an empty one instead would undo those of the operator.
    async fn remove_network_policy(&self, name: &str) -> Result<(), RequestError> {
        if self.requests.send(self.networks.get_opt(name)).await?.is_none() {
            return Ok(());
        }
        match self.requests.send(self.networks.delete(name, &DeleteParams::default())).await {
            Err(error) if !error.is_not_found() => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// The minimum of each budget of this installation; 0 for one that was changed to something else.
    async fn list_budgets(&self) -> Result<BTreeMap<String, u32>, RequestError> {
        let labels = format!("app.kubernetes.io/managed-by={MANAGER},{INSTANCE_LABEL}={}", self.instance);
        let found = self.requests.send(self.budgets.list(&ListParams::default().labels(&labels))).await?;
        let minimum = |budget: &PodDisruptionBudget| match budget.spec.as_ref()?.min_available {
            Some(IntOrString::Int(minimum)) => u32::try_from(minimum).ok(),
            Some(IntOrString::String(_)) | None => None,
        };
        Ok(found.iter().filter_map(|one| Some((one.metadata.name.clone()?, minimum(one).unwrap_or(0)))).collect())
    }

    async fn write_budget(&self, name: &str, endpoint: &str, minimum: u32) -> Result<(), RequestError> {
        let budget = budget(name, &self.instance, endpoint, minimum);
        let params = PatchParams::apply(MANAGER).force();
        self.requests.send(self.budgets.patch(name, &params, &Patch::Apply(&budget))).await.map(drop)
    }

    async fn remove_budget(&self, name: &str) -> Result<(), RequestError> {
        match self.requests.send(self.budgets.delete(name, &DeleteParams::default())).await {
            Err(error) if !error.is_not_found() => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Servers before 1.21 have only an older version of budgets, which is not used.
    async fn supports_budgets(&self) -> Result<bool, RequestError> {
        let read = || async {
            let version = GroupVersion::gv("policy", "v1").api_version();
            match self.requests.send(self.client.list_api_group_resources(&version)).await {
                Ok(found) => Ok(found.resources.iter().any(|resource| resource.name == "poddisruptionbudgets")),
                Err(error) if error.is_not_found() => {
                    tracing::info!("the cluster has no policy/v1: endpoints get no PodDisruptionBudget");
                    Ok(false)
                }
                Err(error) => Err(error),
            }
        };
        self.has_budgets.get_or_try_init(read).await.copied()
    }
}

/// A budget to write, with its endpoint and minimum, or to remove.
#[derive(Debug, PartialEq, Eq)]
struct BudgetChange {
    name: String,
    minimum: Option<(String, u32)>,
}

/// The difference between the existing budgets and those that the targets need.
fn changes(existing: &BTreeMap<String, u32>, targets: &ReplicaTargets) -> Vec<BudgetChange> {
    let budgets = targets.iter().filter_map(|(endpoint, replicas)| {
        let minimum = min_available(*replicas)?;
        Some((endpoint.replace('_', "-"), (endpoint.clone(), minimum)))
    });
    let budgets: BTreeMap<String, (String, u32)> = budgets.collect();
    let gone = existing.keys().filter(|name| !budgets.contains_key(*name));
    let mut changes: Vec<BudgetChange> = gone.map(|name| BudgetChange { name: name.clone(), minimum: None }).collect();
    let differs = |(name, (_, minimum)): &(String, (String, u32))| existing.get(name) != Some(minimum);
    let written = budgets.into_iter().filter(differs);
    changes.extend(written.map(|(name, minimum)| BudgetChange { name, minimum: Some(minimum) }));
    changes
}

/// `None` for a single replica: a budget would keep its node from ever being drained.
const fn min_available(replicas: u32) -> Option<u32> {
    match replicas {
        0 | 1 => None,
        _ => Some(replicas - 1),
    }
}

/// Budgets for Pods without a controller need an absolute number.
fn budget(name: &str, instance: &str, endpoint: &str, minimum: u32) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": { "name": name, "labels": labels(instance) },
        "spec": { "minAvailable": minimum, "selector": { "matchLabels": { ENDPOINT_LABEL: endpoint } } },
    })
}

/// Networks that are not public: those of clusters and machines, and link-local ones with the metadata of clouds.
const PRIVATE_V4: [&str; 7] =
    ["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"];
const PRIVATE_V6: [&str; 3] = ["::1/128", "fc00::/7", "fe80::/10"];

fn ingress_policy(name: &str, instance: &str, port: u16, callers: &Callers) -> Value {
    let mut from: Vec<Value> = callers.networks.iter().map(|cidr| json!({"ipBlock": {"cidr": cidr}})).collect();
    if !callers.pods.is_empty() {
        let mut pods = json!({ "podSelector": { "matchLabels": callers.pods } });
        if let Some(namespace) = &callers.namespace {
            pods["namespaceSelector"] = json!({ "matchLabels": { "kubernetes.io/metadata.name": namespace } });
        }
        from.push(pods);
    }
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": { "name": name, "labels": labels(instance) },
        "spec": {
            "podSelector": { "matchLabels": labels(instance) },
            "policyTypes": ["Ingress"],
            "ingress": [{ "from": from, "ports": [{ "port": port, "protocol": "TCP" }] }],
        },
    })
}

/// DNS, the hub, and what the operator names. Without it, an engine that fetches what a tenant names, or that was taken
/// over, reaches services of the cluster and the metadata of the cloud.
fn egress_policy(name: &str, instance: &str, egress: &Egress) -> Value {
    let dns = json!({ "ports": [{ "port": 53, "protocol": "UDP" }, { "port": 53, "protocol": "TCP" }] });
    let mut rules = vec![dns];
    if egress.public_https {
        let public = json!([
            { "ipBlock": { "cidr": "0.0.0.0/0", "except": PRIVATE_V4 } },
            { "ipBlock": { "cidr": "::/0", "except": PRIVATE_V6 } },
        ]);
        rules.push(json!({ "to": public, "ports": [{ "port": 443, "protocol": "TCP" }] }));
    }
    if !egress.networks.is_empty() {
        let networks: Vec<Value> = egress.networks.iter().map(|cidr| json!({"ipBlock": {"cidr": cidr}})).collect();
        rules.push(json!({ "to": networks }));
    }
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": { "name": name, "labels": labels(instance) },
        "spec": {
            "podSelector": { "matchLabels": labels(instance) },
            "policyTypes": ["Egress"],
            "egress": rules,
        },
    })
}

fn labels(instance: &str) -> Value {
    json!({ "app.kubernetes.io/managed-by": MANAGER, INSTANCE_LABEL: instance })
}

#[cfg(test)]
#[path = "policies_tests.rs"]
mod tests;
