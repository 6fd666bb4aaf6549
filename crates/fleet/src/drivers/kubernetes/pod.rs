//! The manifest of a replica's Pod: a pure function of its specification and the settings.

use super::settings::{Fetch, GpuNodes, Settings, Toleration, Volume, Weights};
use crate::drivers::{ReplicaName, ReplicaSpec};
use crate::engine::{BuiltInEngine, CommandError, Family};
use domain::model::{EngineKind, Launch};
use serde_json::{Value, json};

/// Value of `app.kubernetes.io/managed-by`.
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
/// Set on Pods that the gateway itself deleted.
pub(super) const STOPPED_ANNOTATION: &str = "forebay.dev/stopped";
/// Keeps the Pod's status and log until the hold is closed.
pub(super) const FINALIZER: &str = "forebay.dev/hold";
pub(super) const ENGINE_CONTAINER: &str = "engine";
pub(super) const WEIGHTS_CONTAINER: &str = "weights";

/// Time from SIGTERM to SIGKILL, in addition to that for open calls.
const KILL_GRACE_SECONDS: u64 = 30;
const STARTUP_PERIOD_SECONDS: u64 = 2;
/// Start timeout of a replica.
const STARTUP_SECONDS: u64 = 1_800;
/// Puts the end of a failed container's log into its status, where it is available even if the log is not.
const TERMINATION_MESSAGE_POLICY: &str = "FallbackToLogsOnError";
/// An empty volume for caches, and the home folder of the engine.
const CACHE_DIR: &str = "/var/cache/forebay";
/// A name for the user, who is not in the image's list: Python looks it up for folder names.
const USER_NAME: &str = "forebay";
/// The default, preceded by the folder of llama-server in llama.cpp's image.
const LLAMA_SERVER_PATH: &str = "/app:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const HUB_REFERENCE: &str = "hf://";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PodError {
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("no nodes are configured for the GPU type {0}")]
    UnknownGpuType(String),
    #[error("no image is configured for this engine")]
    NoImage,
}

/// Name of a replica's Pod. Object names have no underscores.
pub(super) fn name_of(replica: &ReplicaName) -> String {
    replica.as_str().replace('_', "-").to_ascii_lowercase()
}

/// What happens when the engine of a Pod ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestartPolicy {
    /// The Pod ends too: the reconciler counts failures and starts another.
    Never,
    /// The kubelet restarts the engine.
    Always,
}

/// The manifest that is applied. With a key, the engine rejects requests without it.
pub(super) fn manifest(
    spec: &ReplicaSpec,
    restart: RestartPolicy,
    settings: &Settings,
    key: Option<&str>,
) -> Result<Value, PodError> {
    let nodes = settings.gpus.get(&spec.gpu_type).ok_or_else(|| PodError::UnknownGpuType(spec.gpu_type.clone()))?;
    let image = spec.image.as_deref().or(settings.images.of(&spec.launch)).ok_or(PodError::NoImage)?;
    let location = spec.weights.as_deref().map(|weights| WeightsLocation::of(weights, &spec.launch, &settings.weights));
    let built_in = BuiltInEngine { binary: "forebay-engine".into(), cache_dir: CACHE_DIR.into() };
    let path = location.as_ref().map(|location| location.path.as_str());
    let mut argv = spec.invocation(path, ("0.0.0.0", settings.port), settings.drain).argv(&built_in)?;
    let fetched = location.and_then(|location| Some((location.path, location.source?)));
    let engine_downloads = settings.weights.fetch.is_none() && fetched.is_some();
    let fetch = settings.weights.fetch.as_ref().zip(fetched);
    let family = Family::of(&spec.launch);
    let mut variables = environment(family, &settings.weights, engine_downloads);
    if let Some(key) = key {
        variables.push(json!({"name": family.key_variable(), "value": key}));
        if family == Family::Sglang {
            // Kubernetes inserts the variable.
            argv.extend(["--api-key".to_owned(), format!("$({})", family.key_variable())]);
        }
    }
    let mut container = json!({
        "name": ENGINE_CONTAINER,
        "image": image,
        "command": argv,
        "terminationMessagePolicy": TERMINATION_MESSAGE_POLICY,
        "ports": [{"name": "http", "containerPort": settings.port}],
        "env": variables,
        "resources": resources(nodes, spec.gpu_count),
        "startupProbe": {
            "periodSeconds": STARTUP_PERIOD_SECONDS, "failureThreshold": STARTUP_SECONDS / STARTUP_PERIOD_SECONDS,
            "timeoutSeconds": probe_timeout_seconds(family),
        },
        "readinessProbe": { "periodSeconds": 5, "failureThreshold": 2, "timeoutSeconds": probe_timeout_seconds(family) },
        "livenessProbe": { "periodSeconds": 20, "failureThreshold": 6, "timeoutSeconds": 25 },
        "lifecycle": { "preStop": { "exec": { "command": ["sleep", settings.pre_stop.as_secs().to_string()] } } },
        "securityContext": container_security(settings),
        "volumeMounts": mounts(&settings.weights, if engine_downloads { WeightsUse::Download } else { WeightsUse::Read }),
    });
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let (kind, check) = probe_check(family, settings.port);
        container[probe][kind] = check;
    }
    if let Some(secret) = &settings.environment_secret {
        container["envFrom"] = json!([{"secretRef": {"name": secret}}]);
    }
    let mut pod = json!({
        "restartPolicy": match restart { RestartPolicy::Never => "Never", RestartPolicy::Always => "Always" },
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": full_grace_seconds(settings),
        "securityContext": pod_security(settings),
        "nodeSelector": nodes.node_selector,
        "tolerations": nodes.tolerations.iter().map(toleration).collect::<Vec<_>>(),
        "imagePullSecrets": settings.image_pull_secrets.iter().map(|name| json!({"name": name})).collect::<Vec<_>>(),
        "containers": [container],
        "volumes": volumes(&settings.weights),
    });
    if let Some((fetch, (path, source))) = fetch {
        pod["initContainers"] = json!([init_container(fetch, &path, &source, settings)]);
    }
    if let Some(account) = &settings.service_account {
        pod["serviceAccountName"] = json!(account);
    }
    Ok(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata(spec, restart, settings, family), "spec": pod }))
}

/// The command of the manifest, and the names of its variables.
pub(in crate::drivers) fn command_of(spec: &ReplicaSpec, settings: &Settings) -> Option<(Vec<String>, Vec<String>)> {
    let manifest = manifest(spec, RestartPolicy::Never, settings, Some("")).ok()?;
    let container = &manifest["spec"]["containers"][0];
    let texts = |values: &Value, text: fn(&Value) -> &Value| {
        let values = values.as_array().into_iter().flatten();
        values.filter_map(|value| text(value).as_str().map(ToOwned::to_owned)).collect::<Vec<_>>()
    };
    let mut environment = texts(&container["env"], |variable| &variable["name"]);
    environment.extend(settings.environment_secret.iter().map(|secret| format!("those of the Secret {secret}")));
    Some((texts(&container["command"], |argument| argument), environment))
}

fn metadata(spec: &ReplicaSpec, restart: RestartPolicy, settings: &Settings, family: Family) -> Value {
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
    let finalizers: &[&str] = match restart {
        RestartPolicy::Never => &[FINALIZER],
        RestartPolicy::Always => {
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

/// Known engines have `/health`; of a custom server only the port is known.
fn probe_check(family: Family, port: u16) -> (&'static str, Value) {
    match family {
        Family::ForebayEngine | Family::Vllm | Family::Sglang | Family::LlamaServer => {
            ("httpGet", json!({"path": "/health", "port": port}))
        }
        Family::Unknown => ("tcpSocket", json!({"port": port})),
    }
}

/// SGLang generates a token for its health check.
const fn probe_timeout_seconds(family: Family) -> u64 {
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
    let mut manifest = match &toleration.value {
        Some(value) => json!({"key": toleration.key, "operator": "Equal", "value": value}),
        None => json!({"key": toleration.key, "operator": "Exists"}),
    };
    if let Some(effect) = &toleration.effect {
        manifest["effect"] = json!(effect);
    }
    manifest
}

/// The user of all containers. With a claim, its group may write to the volume.
fn pod_security(settings: &Settings) -> Value {
    let user = settings.run_as_user;
    let mut security = json!({
        "runAsNonRoot": user != 0,
        "runAsUser": user,
        "runAsGroup": user,
        "seccompProfile": { "type": "RuntimeDefault" },
    });
    if matches!(settings.weights.volume, Some(Volume::Claim(_))) && user != 0 {
        security["fsGroup"] = json!(user);
        security["fsGroupChangePolicy"] = json!("OnRootMismatch");
    }
    security
}

fn container_security(settings: &Settings) -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": settings.read_only_root,
        "capabilities": { "drop": ["ALL"] },
    })
}

/// Engines and their libraries write caches to the home folder, which is on a volume.
fn home() -> Vec<Value> {
    let variables = [("HOME", CACHE_DIR), ("USER", USER_NAME), ("LOGNAME", USER_NAME)];
    variables.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
}

fn environment(family: Family, weights: &Weights, engine_downloads: bool) -> Vec<Value> {
    let mut variables = home();
    // Weights that engines download themselves stay in the node's folder for the next replica.
    if engine_downloads && matches!(weights.volume, Some(Volume::NodeFolder(_))) {
        variables.push(json!({"name": "HF_HOME", "value": format!("{}/.hub", weights.mount)}));
    }
    // The container runtime looks for the program along this path.
    if family == Family::LlamaServer {
        variables.push(json!({"name": "PATH", "value": LLAMA_SERVER_PATH}));
    }
    variables
}

/// Location of weights in the Pod, and their source.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WeightsLocation {
    path: String,
    /// The text after `hf://`.
    source: Option<String>,
}

impl WeightsLocation {
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

fn below(folder: &str, path: &str) -> String {
    format!("{}/{path}", folder.trim_end_matches('/'))
}

/// Downloads the weights from the source to the path on the volume.
fn init_container(fetch: &Fetch, path: &str, source: &str, settings: &Settings) -> Value {
    let filled = |argument: &String| argument.replace("{weights}", path).replace("{source}", source);
    let mut container = json!({
        "name": WEIGHTS_CONTAINER,
        "image": fetch.image,
        "command": fetch.argv.iter().map(filled).collect::<Vec<_>>(),
        "terminationMessagePolicy": TERMINATION_MESSAGE_POLICY,
        "env": home(),
        "securityContext": container_security(settings),
        "volumeMounts": mounts(&settings.weights, WeightsUse::Fetch),
    });
    if let Some(secret) = &settings.environment_secret {
        container["envFrom"] = json!([{"secretRef": {"name": secret}}]);
    }
    container
}

/// Volumes of a Pod: shared memory for engines with several GPUs, a cache, temporary files, and the weights.
fn volumes(weights: &Weights) -> Value {
    let mut volumes = vec![
        json!({"name": "shared-memory", "emptyDir": {"medium": "Memory"}}),
        json!({"name": "cache", "emptyDir": {}}),
        json!({"name": "scratch", "emptyDir": {}}),
    ];
    match &weights.volume {
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

/// How a container uses the volume of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WeightsUse {
    Read,
    /// The init container downloads them.
    Fetch,
    /// The engine downloads them by itself.
    Download,
}

/// The weights are read-only, so that no engine can change those of others, except for the container that downloads them.
/// An engine that downloads by itself does so to a node's folder, but not to a claim.
fn mounts(weights: &Weights, weights_use: WeightsUse) -> Value {
    let mut mounts = vec![
        json!({"name": "shared-memory", "mountPath": "/dev/shm"}),
        json!({"name": "cache", "mountPath": CACHE_DIR}),
        json!({"name": "scratch", "mountPath": "/tmp"}),
    ];
    if let Some(volume) = &weights.volume {
        let read_only = match weights_use {
            WeightsUse::Read => true,
            WeightsUse::Fetch => false,
            WeightsUse::Download => matches!(volume, Volume::Claim(_)),
        };
        mounts.push(json!({"name": "weights", "mountPath": weights.mount, "readOnly": read_only}));
    }
    Value::Array(mounts)
}

/// Grace period of a Pod that the reconciler stops: it has been drained and need not wait for calls again.
pub(super) fn stop_grace_seconds(settings: &Settings) -> u64 {
    settings.pre_stop.as_secs() + KILL_GRACE_SECONDS
}

/// Grace period of a Pod that others delete: it may have open calls.
pub(super) fn full_grace_seconds(settings: &Settings) -> u64 {
    settings.drain.as_secs() + stop_grace_seconds(settings)
}

#[cfg(test)]
#[path = "pod_security_tests.rs"]
mod security_tests;
#[cfg(test)]
#[path = "pod_tests.rs"]
mod tests;
