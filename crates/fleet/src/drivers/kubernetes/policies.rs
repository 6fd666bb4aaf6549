//! Objects beside Pods: who may call replicas, and how fast nodes may be emptied.
//!
//! The leader brings them to what is wanted. What is there is looked at every few minutes, and when this process leads
//! anew: others may have changed it meanwhile, and an endpoint may have gone while the server was away.

use super::ReplicaTargets;
use super::api::requests::{RequestError, Requests};
use super::pod::{ENDPOINT_LABEL, INSTANCE_LABEL, MANAGER};
use super::settings::{Callers, Settings};
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

const TRY_AGAIN: Duration = Duration::from_secs(30);
/// What is known is as good as forgotten after so long.
const LOOK_AGAIN: Duration = Duration::from_secs(300);
/// Leaders come by every second: who was not here for so long did not lead, and somebody else may have.
const AWAY: Duration = Duration::from_secs(10);

pub(super) struct Policies {
    client: Client,
    budgets: Api<PodDisruptionBudget>,
    networks: Api<NetworkPolicy>,
    requests: Arc<Requests>,
    instance: String,
    port: u16,
    callers: Option<Callers>,
    /// Whether the server knows budgets of this version; asked once it answers.
    has_budgets: OnceCell<bool>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The least of each budget that is there, and when that was looked at.
    budgets: Option<(BTreeMap<String, u32>, Instant)>,
    network: Option<Instant>,
    asked_at: Option<Instant>,
    /// After a failure the cluster is left alone for a while: rounds of the reconciler wait here.
    not_before: Option<Instant>,
}

impl Known {
    fn forget_what_is_old(&mut self, now: Instant) {
        let was_away = self.asked_at.is_none_or(|asked_at| now.duration_since(asked_at) >= AWAY);
        let is_old = |since: Instant| was_away || now.duration_since(since) >= LOOK_AGAIN;
        self.budgets.take_if(|(_, since)| is_old(*since));
        self.network.take_if(|since| is_old(*since));
        self.asked_at = Some(now);
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
            has_budgets: OnceCell::new(),
            known: Mutex::default(),
        }
    }

    /// So many replicas of these endpoints are wanted: of several, all but one stay while nodes are emptied. Endpoints
    /// that are not named have no replicas here.
    pub(super) async fn keep(&self, wanted: &ReplicaTargets, now: Instant) {
        let mut known = self.known.lock().await;
        if known.not_before.is_some_and(|moment| now < moment) {
            return;
        }
        known.forget_what_is_old(now);
        if let Err(why) = self.write(&mut known, wanted, now).await {
            tracing::warn!(%why, "who may call replicas, or how fast nodes are emptied, could not be written: {why}");
            known.not_before = Some(now + TRY_AGAIN);
        }
    }

    async fn write(&self, known: &mut Known, wanted: &ReplicaTargets, now: Instant) -> Result<(), RequestError> {
        if known.network.is_none() {
            self.limit_callers().await?;
            known.network = Some(now);
        }
        if !self.knows_budgets().await? {
            return Ok(());
        }
        let budgets = match &mut known.budgets {
            Some((budgets, _)) => budgets,
            nothing => &mut nothing.insert((self.look().await?, now)).0,
        };
        for Change { name, least } in changes(budgets, wanted) {
            match least {
                Some((endpoint, least)) => {
                    self.write_budget(&name, &endpoint, least).await?;
                    budgets.insert(name, least);
                }
                None => {
                    self.remove_budget(&name).await?;
                    budgets.remove(&name);
                }
            }
        }
        Ok(())
    }

    async fn limit_callers(&self) -> Result<(), RequestError> {
        let Some(callers) = &self.callers else { return Ok(()) };
        let name = format!("{}-replicas", self.instance);
        let policy = network_policy(&name, &self.instance, self.port, callers);
        let params = PatchParams::apply(MANAGER).force();
        self.requests.ask(self.networks.patch(&name, &params, &Patch::Apply(&policy))).await.map(drop)
    }

    /// The budgets of this installation that there are. One that is not ours alone is taken to be none.
    async fn look(&self) -> Result<BTreeMap<String, u32>, RequestError> {
        let labels = format!("app.kubernetes.io/managed-by={MANAGER},{INSTANCE_LABEL}={}", self.instance);
        let found = self.requests.ask(self.budgets.list(&ListParams::default().labels(&labels))).await?;
        let least = |budget: &PodDisruptionBudget| match budget.spec.as_ref()?.min_available {
            Some(IntOrString::Int(least)) => u32::try_from(least).ok(),
            Some(IntOrString::String(_)) | None => None,
        };
        Ok(found.iter().filter_map(|one| Some((one.metadata.name.clone()?, least(one).unwrap_or(0)))).collect())
    }

    async fn write_budget(&self, name: &str, endpoint: &str, least: u32) -> Result<(), RequestError> {
        let budget = budget(name, &self.instance, endpoint, least);
        let params = PatchParams::apply(MANAGER).force();
        self.requests.ask(self.budgets.patch(name, &params, &Patch::Apply(&budget))).await.map(drop)
    }

    async fn remove_budget(&self, name: &str) -> Result<(), RequestError> {
        match self.requests.ask(self.budgets.delete(name, &DeleteParams::default())).await {
            Err(error) if !error.is_not_found() => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Servers before 1.21 have budgets of another version only; there are none then.
    async fn knows_budgets(&self) -> Result<bool, RequestError> {
        let ask = || async {
            let version = GroupVersion::gv("policy", "v1").api_version();
            match self.requests.ask(self.client.list_api_group_resources(&version)).await {
                Ok(found) => Ok(found.resources.iter().any(|resource| resource.name == "poddisruptionbudgets")),
                Err(error) if error.is_not_found() => {
                    tracing::info!("the cluster has no policy/v1: endpoints get no PodDisruptionBudget");
                    Ok(false)
                }
                Err(error) => Err(error),
            }
        };
        self.has_budgets.get_or_try_init(ask).await.copied()
    }
}

/// A budget that is to be written, for an endpoint and with a least, or to be removed.
#[derive(Debug, PartialEq, Eq)]
struct Change {
    name: String,
    least: Option<(String, u32)>,
}

/// What must be done so that there are the budgets that are wanted, and no others.
fn changes(there: &BTreeMap<String, u32>, wanted: &ReplicaTargets) -> Vec<Change> {
    let budgets = wanted.iter().filter_map(|(endpoint, replicas)| {
        let least = least_available(*replicas)?;
        Some((endpoint.replace('_', "-"), (endpoint.clone(), least)))
    });
    let budgets: BTreeMap<String, (String, u32)> = budgets.collect();
    let gone = there.keys().filter(|name| !budgets.contains_key(*name));
    let mut changes: Vec<Change> = gone.map(|name| Change { name: name.clone(), least: None }).collect();
    let differs = |(name, (_, least)): &(String, (String, u32))| there.get(name) != Some(least);
    let written = budgets.into_iter().filter(differs);
    changes.extend(written.map(|(name, least)| Change { name, least: Some(least) }));
    changes
}

/// A budget for a single replica would keep its node from ever being emptied.
const fn least_available(wanted: u32) -> Option<u32> {
    match wanted {
        0 | 1 => None,
        _ => Some(wanted - 1),
    }
}

/// Bare Pods can only be counted, so the least is a number.
fn budget(name: &str, instance: &str, endpoint: &str, least: u32) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": { "name": name, "labels": labels(instance) },
        "spec": { "minAvailable": least, "selector": { "matchLabels": { ENDPOINT_LABEL: endpoint } } },
    })
}

fn network_policy(name: &str, instance: &str, port: u16, callers: &Callers) -> Value {
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

fn labels(instance: &str) -> Value {
    json!({ "app.kubernetes.io/managed-by": MANAGER, INSTANCE_LABEL: instance })
}

#[cfg(test)]
#[path = "policies_tests.rs"]
mod tests;
