//! A fake kubelet: its node exists only as an API object. The real scheduler places Pods on it, and their commands run
//! as processes on this machine.
//!
//! It supports what replicas need: images (present or missing), init containers, probes, status, logs, preStop, grace
//! periods and finalizers, and it can inject faults. There are no containers: a Pod's address is in 127.0.0.0/8,
//! `0.0.0.0` in a command is replaced by it, and volume paths are replaced by folders.

mod container;
mod logs;
mod node;
mod pod;
mod probe;
mod status;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// Polling interval of the node's Pods.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Configuration of a node.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    /// Extended resources such as `nvidia.com/gpu`.
    pub capacity: BTreeMap<String, u32>,
    /// Folders searched first for programs of Pods.
    pub programs: Vec<PathBuf>,
    /// Certificate and key for serving logs to the API server.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Injected faults.
#[derive(Debug, Default)]
struct Faults {
    missing_images: BTreeSet<String>,
    /// Pods whose process is killed as if out of memory.
    out_of_memory: BTreeSet<String>,
    /// Pods whose process is stopped.
    frozen: BTreeSet<String>,
}

/// One node; dropping it ends its processes and heartbeats.
pub struct Kubelet {
    shared: Arc<Shared>,
    /// Owns the node's processes.
    follower: AbortHandle,
    _tasks: JoinSet<()>,
}

struct Shared {
    options: NodeOptions,
    client: Client,
    faults: Mutex<Faults>,
    /// While silent, the node neither reports to the API server nor reads from it.
    silent: watch::Sender<bool>,
    scratch: TempDir,
    log_port: Option<u16>,
    withhold_logs: Arc<AtomicBool>,
}

impl Shared {
    fn faults(&self) -> std::sync::MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_silent(&self) -> bool {
        *self.silent.borrow()
    }

    fn pods(&self, namespace: &str) -> Api<Pod> {
        Api::namespaced(self.client.clone(), namespace)
    }

    fn log_file(&self, uid: &str, container: &str) -> PathBuf {
        self.scratch.path().join(format!("{uid}.{container}.log"))
    }
}

/// A client with the permissions of the kubeconfig.
pub async fn client(kubeconfig: &std::path::Path) -> anyhow::Result<Client> {
    let read = Kubeconfig::read_from(kubeconfig).context("read the kubeconfig")?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

impl Kubelet {
    /// Registers the node and runs the Pods placed on it.
    pub async fn start(client: Client, options: NodeOptions) -> anyhow::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("forebay-kubelet-").tempdir()?;
        let mut tasks = JoinSet::new();
        let withhold_logs = Arc::<AtomicBool>::default();
        let log_port = match &options.certificate {
            Some(files) => {
                let source = logs::Source {
                    client: client.clone(),
                    folder: scratch.path().to_owned(),
                    withheld: Arc::clone(&withhold_logs),
                };
                Some(logs::serve(&mut tasks, files, source).await?)
            }
            None => None,
        };
        let silent = watch::Sender::new(false);
        let faults = Mutex::default();
        let shared = Arc::new(Shared { options, client, faults, silent, scratch, log_port, withhold_logs });
        node::register(&shared).await?;
        tasks.spawn(node::heartbeat(Arc::clone(&shared)));
        let follower = tasks.spawn(follow(Arc::clone(&shared)));
        Ok(Self { shared, follower, _tasks: tasks })
    }

    pub fn name(&self) -> &str {
        &self.shared.options.name
    }

    /// Makes an image impossible to pull.
    pub fn lose_image(&self, image: &str) {
        self.shared.faults().missing_images.insert(image.to_owned());
    }

    /// Stops serving logs.
    pub fn withhold_logs(&self) {
        self.shared.withhold_logs.store(true, Ordering::Relaxed);
    }

    /// Kills the Pod's process as the kernel does when out of memory.
    pub fn run_out_of_memory(&self, pod: &str) {
        self.shared.faults().out_of_memory.insert(pod.to_owned());
    }

    /// Stops the Pod's process: it accepts connections but does not respond.
    pub fn freeze(&self, pod: &str) {
        self.shared.faults().frozen.insert(pod.to_owned());
    }

    /// Continues a frozen process.
    pub fn thaw(&self, pod: &str) {
        self.shared.faults().frozen.remove(pod);
    }

    /// Disconnects the node: its processes continue, but nothing is reported.
    pub fn go_silent(&self) {
        self.shared.silent.send_replace(true);
    }

    /// Simulates a power failure: its processes end, and nothing is reported.
    pub fn die(&self) {
        self.go_silent();
        self.follower.abort();
    }

    /// Reconnects a silent node.
    pub fn come_back(&self) {
        self.shared.silent.send_replace(false);
    }

    /// Removes the node from the cluster.
    pub async fn remove(self) -> anyhow::Result<()> {
        let nodes: Api<Node> = Api::all(self.shared.client.clone());
        nodes.delete(self.name(), &kube::api::DeleteParams::default()).await?;
        Ok(())
    }
}

/// Runs a task for every Pod of the node.
async fn follow(shared: Arc<Shared>) {
    let pods: Api<Pod> = Api::all(shared.client.clone());
    // Served from the API server's cache; slightly stale data is fine.
    let params = ListParams::default().fields(&format!("spec.nodeName={}", shared.options.name)).match_any().at("0");
    let mut running: HashMap<String, (watch::Sender<Option<Pod>>, AbortHandle)> = HashMap::new();
    let mut tasks = JoinSet::new();
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        while tasks.try_join_next().is_some() {}
        if shared.is_silent() {
            continue;
        }
        let Ok(found) = pods.list(&params).await else { continue };
        let mut present = BTreeSet::new();
        for pod in found {
            let Some(uid) = pod.uid() else { continue };
            present.insert(uid.clone());
            match running.get(&uid) {
                Some((updates, _)) => drop(updates.send_replace(Some(pod))),
                None => {
                    let (updates, receiver) = watch::channel(Some(pod));
                    let task = tasks.spawn(pod::run(Arc::clone(&shared), receiver));
                    running.insert(uid, (updates, task));
                }
            }
        }
        // A deleted Pod ends its processes.
        running.retain(|uid, (updates, task)| {
            let stays = present.contains(uid);
            if !stays {
                updates.send_replace(None);
                task.abort();
            }
            stays
        });
    }
}
