//! Objects beside Pods: who may call replicas, and how fast nodes may be emptied.

use super::mirror::{tell, within};
use super::pod::{ENDPOINT_LABEL, INSTANCE_LABEL, MANAGER};
use super::settings::{Callers, Settings};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::core::GroupVersion;
use kube::{Api, Client};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, OnceCell};

const ASK_TIME: Duration = Duration::from_secs(10);
const TRY_AGAIN: Duration = Duration::from_secs(30);

pub(super) struct Policies {
    client: Client,
    budgets: Api<PodDisruptionBudget>,
    networks: Api<NetworkPolicy>,
    instance: String,
    port: u16,
    callers: Option<Callers>,
    /// Whether the server knows budgets of this version; asked once it answers.
    has_budgets: OnceCell<bool>,
    /// What was last written for each endpoint, and whether the network's policy was.
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    budgets: HashMap<String, u32>,
    network: bool,
    /// After a failure the cluster is left alone for a while: rounds of the reconciler wait here.
    not_before: Option<Instant>,
}

impl Policies {
    pub(super) fn new(client: Client, namespace: &str, settings: &Settings) -> Self {
        Self {
            budgets: Api::namespaced(client.clone(), namespace),
            networks: Api::namespaced(client.clone(), namespace),
            client,
            instance: settings.instance.clone(),
            port: settings.port,
            callers: settings.callers.clone(),
            has_budgets: OnceCell::new(),
            written: Mutex::default(),
        }
    }

    /// So many replicas of the endpoint are wanted: of several, all but one stay while nodes are emptied.
    pub(super) async fn protect(&self, endpoint: &str, wanted: u32) {
        let mut written = self.written.lock().await;
        if written.not_before.is_some_and(|moment| Instant::now() < moment) {
            return;
        }
        if let Err(why) = self.write(&mut written, endpoint, wanted).await {
            tracing::warn!(why, "who may call replicas, or how fast nodes are emptied, could not be written: {why}");
            written.not_before = Some(Instant::now() + TRY_AGAIN);
        }
    }

    async fn write(&self, written: &mut Written, endpoint: &str, wanted: u32) -> Result<(), String> {
        if !written.network {
            self.limit_callers().await?;
            written.network = true;
        }
        if written.budgets.get(endpoint) == Some(&wanted) || !self.knows_budgets().await? {
            return Ok(());
        }
        self.write_budget(endpoint, wanted).await?;
        written.budgets.insert(endpoint.to_owned(), wanted);
        Ok(())
    }

    async fn limit_callers(&self) -> Result<(), String> {
        let Some(callers) = &self.callers else { return Ok(()) };
        let name = format!("{}-replicas", self.instance);
        let policy = network_policy(&name, &self.instance, self.port, callers);
        let params = PatchParams::apply(MANAGER).force();
        within(ASK_TIME, self.networks.patch(&name, &params, &Patch::Apply(&policy))).await.map(drop)
    }

    async fn write_budget(&self, endpoint: &str, wanted: u32) -> Result<(), String> {
        let name = endpoint.replace('_', "-");
        let Some(least) = least_available(wanted) else {
            return match tokio::time::timeout(ASK_TIME, self.budgets.delete(&name, &DeleteParams::default())).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(kube::Error::Api(status))) if status.code == 404 => Ok(()),
                Ok(Err(error)) => Err(tell(&error)),
                Err(_elapsed) => Err("no answer".to_owned()),
            };
        };
        let budget = budget(&name, &self.instance, endpoint, least);
        let params = PatchParams::apply(MANAGER).force();
        within(ASK_TIME, self.budgets.patch(&name, &params, &Patch::Apply(&budget))).await.map(drop)
    }

    /// Servers before 1.21 have budgets of another version only; there are none then.
    async fn knows_budgets(&self) -> Result<bool, String> {
        let ask = || async {
            let version = GroupVersion::gv("policy", "v1").api_version();
            match tokio::time::timeout(ASK_TIME, self.client.list_api_group_resources(&version)).await {
                Ok(Ok(found)) => Ok(found.resources.iter().any(|resource| resource.name == "poddisruptionbudgets")),
                Ok(Err(kube::Error::Api(status))) if status.code == 404 => {
                    tracing::info!("the cluster has no policy/v1: endpoints get no PodDisruptionBudget");
                    Ok(false)
                }
                Ok(Err(error)) => Err(tell(&error)),
                Err(_elapsed) => Err("no answer".to_owned()),
            }
        };
        self.has_budgets.get_or_try_init(ask).await.copied()
    }
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
mod tests {
    use super::*;

    #[test]
    fn one_replica_may_be_moved_and_of_several_one_at_a_time() {
        assert_eq!([0, 1, 2, 5].map(least_available), [None, None, Some(1), Some(4)]);
        let written = budget("ep-1", "forebay", "ep_1", 4);
        assert_eq!(written["spec"]["minAvailable"], 4);
        assert_eq!(written["spec"]["selector"]["matchLabels"]["forebay.dev/endpoint-id"], "ep_1");
    }

    #[test]
    fn only_those_named_may_call() {
        let callers = Callers {
            pods: [("app".to_owned(), "gateway".to_owned())].into(),
            namespace: Some("front".into()),
            networks: vec!["10.1.0.0/16".into()],
        };
        let policy = network_policy("n", "forebay", 8000, &callers);
        let rule = &policy["spec"]["ingress"][0];
        assert_eq!(rule["from"][0]["ipBlock"]["cidr"], "10.1.0.0/16");
        assert_eq!(rule["from"][1]["podSelector"]["matchLabels"]["app"], "gateway");
        assert_eq!(rule["from"][1]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"], "front");
        assert_eq!(rule["ports"][0]["port"], 8000);
    }
}
