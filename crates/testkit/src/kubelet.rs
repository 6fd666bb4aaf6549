//! Plays kubelet for a node that is only an object: the real scheduler places Pods on it, and their commands run as
//! processes of this machine.
//!
//! It does what replicas need of a kubelet: images that are there or not, init containers, probes, status, logs, preStop,
//! grace and finalizers; and it fails when it is told to. What it has not is containers: a Pod's address is one of
//! 127.0.0.0/8, `0.0.0.0` in a command stands for it, and paths of volumes are replaced by folders.

mod container;
mod life;
mod logs;
mod node;
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

/// How often the node's Pods are looked at.
const LOOK: Duration = Duration::from_millis(250);

/// What the node is.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    /// Extended resources such as `nvidia.com/gpu`.
    pub capacity: BTreeMap<String, u32>,
    /// Where programs of Pods are found, before the usual places.
    pub programs: Vec<PathBuf>,
    /// Certificate and key with which logs are served to the API server.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// What goes wrong, when told so.
#[derive(Debug, Default)]
struct Faults {
    missing_images: BTreeSet<String>,
    /// Pods whose process is to end as if it had used too much memory.
    out_of_memory: BTreeSet<String>,
    /// Pods whose process does nothing.
    frozen: BTreeSet<String>,
}

/// One node; dropped, it ends its processes and says nothing more.
pub struct Kubelet {
    shared: Arc<Shared>,
    /// Has the node's processes, which end with it.
    follower: AbortHandle,
    _tasks: JoinSet<()>,
}

struct Shared {
    options: NodeOptions,
    client: Client,
    faults: Mutex<Faults>,
    /// While it is silent nothing is told to the API server, and nothing heard.
    silent: watch::Sender<bool>,
    scratch: TempDir,
    log_port: Option<u16>,
    withholds_logs: Arc<AtomicBool>,
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

/// A client with the rights of the kubeconfig.
pub async fn client(kubeconfig: &std::path::Path) -> anyhow::Result<Client> {
    let read = Kubeconfig::read_from(kubeconfig).context("read the kubeconfig")?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

impl Kubelet {
    /// Registers the node and begins to run what is placed on it.
    pub async fn start(client: Client, options: NodeOptions) -> anyhow::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("forebay-kubelet-").tempdir()?;
        let mut tasks = JoinSet::new();
        let withholds_logs = Arc::<AtomicBool>::default();
        let log_port = match &options.certificate {
            Some(files) => {
                let source = logs::Source {
                    client: client.clone(),
                    folder: scratch.path().to_owned(),
                    withheld: Arc::clone(&withholds_logs),
                };
                Some(logs::serve(&mut tasks, files, source).await?)
            }
            None => None,
        };
        let silent = watch::Sender::new(false);
        let faults = Mutex::default();
        let shared = Arc::new(Shared { options, client, faults, silent, scratch, log_port, withholds_logs });
        node::register(&shared).await?;
        tasks.spawn(node::beat(Arc::clone(&shared)));
        let follower = tasks.spawn(follow(Arc::clone(&shared)));
        Ok(Self { shared, follower, _tasks: tasks })
    }

    pub fn name(&self) -> &str {
        &self.shared.options.name
    }

    /// This image cannot be pulled from now on.
    pub fn lose_image(&self, image: &str) {
        self.shared.faults().missing_images.insert(image.to_owned());
    }

    /// No log can be had from now on.
    pub fn withhold_logs(&self) {
        self.shared.withholds_logs.store(true, Ordering::Relaxed);
    }

    pub fn find_image(&self, image: &str) {
        self.shared.faults().missing_images.remove(image);
    }

    /// Ends the Pod's process as the kernel would for want of memory.
    pub fn run_out_of_memory(&self, pod: &str) {
        self.shared.faults().out_of_memory.insert(pod.to_owned());
    }

    /// Stops the Pod's process where it is: it takes connections, and answers nothing.
    pub fn freeze(&self, pod: &str) {
        self.shared.faults().frozen.insert(pod.to_owned());
    }

    pub fn thaw(&self, pod: &str) {
        self.shared.faults().frozen.remove(pod);
    }

    /// Cuts the node off: its processes go on, and nobody hears of them.
    pub fn go_silent(&self) {
        self.shared.silent.send_replace(true);
    }

    /// As if its power had failed: its processes are gone, and nobody tells so.
    pub fn die(&self) {
        self.go_silent();
        self.follower.abort();
    }

    pub fn come_back(&self) {
        self.shared.silent.send_replace(false);
    }

    /// Takes the node out of the cluster.
    pub async fn remove(self) -> anyhow::Result<()> {
        let nodes: Api<Node> = Api::all(self.shared.client.clone());
        nodes.delete(self.name(), &kube::api::DeleteParams::default()).await?;
        Ok(())
    }
}

/// Gives every Pod of the node a task of its own.
async fn follow(shared: Arc<Shared>) {
    let pods: Api<Pod> = Api::all(shared.client.clone());
    // From the server's memory: what is a moment old will do.
    let params = ListParams::default().fields(&format!("spec.nodeName={}", shared.options.name)).match_any().at("0");
    let mut running: HashMap<String, (watch::Sender<Option<Pod>>, AbortHandle)> = HashMap::new();
    let mut tasks = JoinSet::new();
    loop {
        tokio::time::sleep(LOOK).await;
        while tasks.try_join_next().is_some() {}
        if shared.is_silent() {
            continue;
        }
        let Ok(found) = pods.list(&params).await else { continue };
        let mut there = BTreeSet::new();
        for pod in found {
            let Some(uid) = pod.uid() else { continue };
            there.insert(uid.clone());
            match running.get(&uid) {
                Some((news, _)) => drop(news.send_replace(Some(pod))),
                None => {
                    let (news, hears) = watch::channel(Some(pod));
                    let task = tasks.spawn(life::run(Arc::clone(&shared), hears));
                    running.insert(uid, (news, task));
                }
            }
        }
        // An object that is gone takes its processes along, however it went.
        running.retain(|uid, (news, task)| {
            let stays = there.contains(uid);
            if !stays {
                news.send_replace(None);
                task.abort();
            }
            stays
        });
    }
}
