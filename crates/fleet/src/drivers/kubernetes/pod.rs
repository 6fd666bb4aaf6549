//! The Pod of a replica: a plain function of what it is to run and of what the operator says about the cluster.

use super::settings::{Fetch, GpuNodes, Settings, Toleration, Volume, Weights};
use crate::drivers::{ReplicaName, ReplicaSpec};
use crate::engine::{BuiltInEngine, CommandError, Family};
use domain::model::{EngineKind, Launch};
use serde_json::{Value, json};

/// What ours is called in the cluster.
pub(super) const MANAGER: &str = "forebay";
pub(super) const INSTANCE_LABEL: &str = "forebay.dev/instance";
pub(super) const REPLICA_LABEL: &str = "forebay.dev/replica-id";
pub(super) const ENDPOINT_LABEL: &str = "forebay.dev/endpoint-id";
const WORKSPACE_LABEL: &str = "forebay.dev/workspace";
const GENERATION_LABEL: &str = "forebay.dev/generation";
pub(super) const POOL_LABEL: &str = "forebay.dev/pool";
pub(super) const ENGINE_ANNOTATION: &str = "forebay.dev/engine";
pub(super) const MODEL_ANNOTATION: &str = "forebay.dev/model";
pub(super) const MODALITY_ANNOTATION: &str = "forebay.dev/modality";
pub(super) const DRAINING_ANNOTATION: &str = "forebay.dev/draining-since";
/// It was us who asked the Pod to end.
pub(super) const STOPPED_ANNOTATION: &str = "forebay.dev/stopped";
/// Keeps the Pod's last words until the hold is closed.
pub(super) const FINALIZER: &str = "forebay.dev/hold";
pub(super) const ENGINE_CONTAINER: &str = "engine";
pub(super) const WEIGHTS_CONTAINER: &str = "weights";

/// From SIGTERM to SIGKILL, beside what open calls get.
const LAST_SECONDS: u64 = 30;
const STARTUP_PERIOD_SECONDS: u64 = 2;
/// As long as a start may take.
const STARTUP_SECONDS: u64 = 1_800;
/// The end of a failed container's log comes with the news of its end, whether or not the log can be had then.
const LAST_WORDS_IN_STATUS: &str = "FallbackToLogsOnError";
const CACHE_DIR: &str = "/var/cache/forebay";
/// The usual folders, and the one in which llama.cpp's own image has it.
const LLAMA_SERVER_PATH: &str = "/app:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const HUB_REFERENCE: &str = "hf://";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PodError {
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("the configuration does not say which nodes have {0}")]
    UnknownGpuType(String),
    #[error("the configuration names no image for this engine")]
    NoImage,
}

/// Names of objects have no underscores.
pub(super) fn name_of(replica: &ReplicaName) -> String {
    replica.as_str().replace('_', "-").to_ascii_lowercase()
}

/// How long a Pod lives on when its kubelet ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// It ends when its engine does: the reconciler counts its ends and starts another.
    Once,
    /// Its kubelet starts the engine again.
    ForEver,
}

/// The manifest that is applied.
pub(super) fn manifest(spec: &ReplicaSpec, life: Life, settings: &Settings) -> Result<Value, PodError> {
    let nodes = settings.gpus.get(&spec.gpu_type).ok_or_else(|| PodError::UnknownGpuType(spec.gpu_type.clone()))?;
    let image = spec.image.as_deref().or(settings.images.of(&spec.launch)).ok_or(PodError::NoImage)?;
    let place = spec.weights.as_deref().map(|weights| Place::of(weights, &spec.launch, &settings.weights));
    let built_in = BuiltInEngine { binary: "forebay-engine".into(), cache_dir: CACHE_DIR.into() };
    let path = place.as_ref().map(|place| place.path.as_str());
    let argv = spec.invocation(path, ("0.0.0.0", settings.port), settings.drain).argv(&built_in)?;
    let volumes = Volumes::of(&settings.weights);
    let fetch = settings.weights.fetch.as_ref().zip(place.and_then(Fetched::of));
    let family = Family::of(&spec.launch);
    let mut container = json!({
        "name": ENGINE_CONTAINER,
        "image": image,
        "command": argv,
        "terminationMessagePolicy": LAST_WORDS_IN_STATUS,
        "ports": [{"name": "http", "containerPort": settings.port}],
        "env": environment(family, &settings.weights),
        "resources": resources(nodes, spec.gpu_count),
        "startupProbe": {
            "periodSeconds": STARTUP_PERIOD_SECONDS, "failureThreshold": STARTUP_SECONDS / STARTUP_PERIOD_SECONDS,
            "timeoutSeconds": patience(family),
        },
        "readinessProbe": { "periodSeconds": 5, "failureThreshold": 2, "timeoutSeconds": patience(family) },
        "livenessProbe": { "periodSeconds": 20, "failureThreshold": 6, "timeoutSeconds": 25 },
        "lifecycle": { "preStop": { "exec": { "command": ["sleep", settings.pre_stop.as_secs().to_string()] } } },
        "securityContext": { "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } },
        "volumeMounts": volumes.mounts(fetch.is_none()),
    });
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let (kind, how) = question(family, settings.port);
        container[probe][kind] = how;
    }
    if let Some(secret) = &settings.environment_secret {
        container["envFrom"] = json!([{"secretRef": {"name": secret}}]);
    }
    let mut pod = json!({
        "restartPolicy": match life { Life::Once => "Never", Life::ForEver => "Always" },
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": longest_goodbye(settings),
        "securityContext": { "seccompProfile": { "type": "RuntimeDefault" } },
        "nodeSelector": nodes.node_selector,
        "tolerations": nodes.tolerations.iter().map(toleration).collect::<Vec<_>>(),
        "imagePullSecrets": settings.image_pull_secrets.iter().map(|name| json!({"name": name})).collect::<Vec<_>>(),
        "containers": [container],
        "volumes": volumes.volumes(),
    });
    if let Some((fetch, fetched)) = fetch {
        pod["initContainers"] = json!([init_container(fetch, &fetched, settings, &volumes)]);
    }
    if let Some(account) = &settings.service_account {
        pod["serviceAccountName"] = json!(account);
    }
    Ok(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata(spec, life, settings, family), "spec": pod }))
}

fn metadata(spec: &ReplicaSpec, life: Life, settings: &Settings, family: Family) -> Value {
    let mut labels = json!({
        "app.kubernetes.io/managed-by": MANAGER,
        "app.kubernetes.io/name": "forebay-replica",
        INSTANCE_LABEL: settings.instance,
        REPLICA_LABEL: spec.replica.as_str(),
    });
    if let Some(owner) = &spec.owner {
        labels[ENDPOINT_LABEL] = json!(owner.endpoint);
        labels[WORKSPACE_LABEL] = json!(owner.workspace);
        labels[GENERATION_LABEL] = json!(owner.generation.to_string());
    }
    let finalizers: &[&str] = match life {
        Life::Once => &[FINALIZER],
        Life::ForEver => {
            labels[POOL_LABEL] = json!("true");
            &[]
        }
    };
    let annotations = json!({
        ENGINE_ANNOTATION: family.as_str(),
        MODEL_ANNOTATION: spec.model.as_str(),
        MODALITY_ANNOTATION: spec.modality.as_str(),
    });
    json!({ "name": name_of(&spec.replica), "labels": labels, "annotations": annotations, "finalizers": finalizers })
}

/// Engines say at `/health` how they are; of a server of the operator's own only its port is known.
fn question(family: Family, port: u16) -> (&'static str, Value) {
    match family {
        Family::ForebayEngine | Family::Vllm | Family::Sglang | Family::LlamaServer => {
            ("httpGet", json!({"path": "/health", "port": port}))
        }
        Family::Unknown => ("tcpSocket", json!({"port": port})),
    }
}

/// SGLang generates a token for its answer.
const fn patience(family: Family) -> u64 {
    match family {
        Family::Sglang => 25,
        Family::ForebayEngine | Family::Vllm | Family::LlamaServer | Family::Unknown => 5,
    }
}

fn resources(nodes: &GpuNodes, gpus: u32) -> Value {
    let mut limits = json!({ (nodes.resource.as_str()): gpus.to_string() });
    let mut requests = limits.clone();
    if let Some(memory) = &nodes.memory {
        (limits["memory"], requests["memory"]) = (json!(memory.times(gpus)), json!(memory.times(gpus)));
    }
    if let Some(cpu) = &nodes.cpu {
        requests["cpu"] = json!(cpu.times(gpus));
    }
    json!({ "limits": limits, "requests": requests })
}

fn toleration(toleration: &Toleration) -> Value {
    let mut written = match &toleration.value {
        Some(value) => json!({"key": toleration.key, "operator": "Equal", "value": value}),
        None => json!({"key": toleration.key, "operator": "Exists"}),
    };
    if let Some(effect) = &toleration.effect {
        written["effect"] = json!(effect);
    }
    written
}

fn environment(family: Family, weights: &Weights) -> Value {
    let mut variables = Vec::new();
    // What engines fetch themselves stays on a node's folder for the next one.
    if let Some(Volume::NodeFolder(_)) = weights.volume {
        variables.push(json!({"name": "HF_HOME", "value": format!("{}/.hub", weights.mount)}));
    }
    // Whoever starts the container looks for its program by this variable.
    if family == Family::LlamaServer {
        variables.push(json!({"name": "PATH", "value": LLAMA_SERVER_PATH}));
    }
    Value::Array(variables)
}

/// Where weights are for the engine in the Pod, and where they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    path: String,
    /// What was written behind `hf://`.
    source: Option<String>,
}

impl Place {
    fn of(weights: &str, launch: &Launch, settings: &Weights) -> Self {
        let Some(source) = weights.strip_prefix(HUB_REFERENCE) else {
            let path = if weights.starts_with('/') { weights.to_owned() } else { below(&settings.mount, weights) };
            return Self { path, source: None };
        };
        let path = match (&settings.fetch, launch) {
            (Some(_), _) => below(&settings.mount, source),
            (None, Launch::Engine(EngineKind::Vllm | EngineKind::Sglang)) => source.to_owned(),
            (None, Launch::Engine(EngineKind::ForebayEngine | EngineKind::LlamaServer) | Launch::Argv(_)) => {
                weights.to_owned()
            }
        };
        Self { path, source: Some(source.to_owned()) }
    }
}

/// Weights that do not lie on the volume already.
struct Fetched {
    path: String,
    source: String,
}

impl Fetched {
    fn of(place: Place) -> Option<Self> {
        Some(Self { path: place.path, source: place.source? })
    }
}

fn below(folder: &str, path: &str) -> String {
    format!("{}/{path}", folder.trim_end_matches('/'))
}

fn init_container(fetch: &Fetch, fetched: &Fetched, settings: &Settings, volumes: &Volumes<'_>) -> Value {
    let filled = |argument: &String| argument.replace("{weights}", &fetched.path).replace("{source}", &fetched.source);
    let mut container = json!({
        "name": WEIGHTS_CONTAINER,
        "image": fetch.image,
        "command": fetch.argv.iter().map(filled).collect::<Vec<_>>(),
        "terminationMessagePolicy": LAST_WORDS_IN_STATUS,
        "securityContext": { "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } },
        "volumeMounts": volumes.mounts(false),
    });
    if let Some(secret) = &settings.environment_secret {
        container["envFrom"] = json!([{"secretRef": {"name": secret}}]);
    }
    container
}

/// What a Pod mounts: shared memory for engines with several GPUs, a cache, and the weights.
struct Volumes<'a> {
    weights: &'a Weights,
}

impl<'a> Volumes<'a> {
    const fn of(weights: &'a Weights) -> Self {
        Self { weights }
    }

    fn volumes(&self) -> Value {
        let mut volumes = vec![
            json!({"name": "shared-memory", "emptyDir": {"medium": "Memory"}}),
            json!({"name": "cache", "emptyDir": {}}),
        ];
        match &self.weights.volume {
            Some(Volume::Claim(claim)) => {
                volumes.push(json!({"name": "weights", "persistentVolumeClaim": {"claimName": claim}}));
            }
            Some(Volume::NodeFolder(path)) => {
                let folder = json!({"path": path, "type": "DirectoryOrCreate"});
                volumes.push(json!({"name": "weights", "hostPath": folder}));
            }
            None => {}
        }
        Value::Array(volumes)
    }

    /// A claim that nobody fills here is only read.
    fn mounts(&self, nobody_fills: bool) -> Value {
        let mut mounts = vec![
            json!({"name": "shared-memory", "mountPath": "/dev/shm"}),
            json!({"name": "cache", "mountPath": CACHE_DIR}),
        ];
        if let Some(volume) = &self.weights.volume {
            let read_only = nobody_fills && matches!(volume, Volume::Claim(_));
            mounts.push(json!({"name": "weights", "mountPath": self.weights.mount, "readOnly": read_only}));
        }
        Value::Array(mounts)
    }
}

/// A Pod that we stop has been drained: it need not wait for calls again.
pub(super) fn goodbye(settings: &Settings) -> u64 {
    settings.pre_stop.as_secs() + LAST_SECONDS
}

/// How many seconds a Pod has from the word that it is to end, when others say it.
pub(super) fn longest_goodbye(settings: &Settings) -> u64 {
    settings.drain.as_secs() + goodbye(settings)
}

#[cfg(test)]
#[path = "pod_tests.rs"]
mod tests;
