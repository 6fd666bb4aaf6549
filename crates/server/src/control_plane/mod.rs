//! The control plane of dedicated endpoints in one process: every node follows the rows, the leader acts.

mod neighbours;
mod replica_keys;

use anyhow::Context;
use background::Tasks;
use config::Config;
use control::bill_check::Monitor;
use control::meters::{self, Meters};
use control::reconciler::{self, Follower, Metrics, Parts, Reach, Reconciler};
use fleet::drivers::kubernetes::{self, KubernetesDriver, Pools};
use fleet::drivers::process::{ProcessDriver, Settings, ShimPolicy, ShimProgram};
use fleet::drivers::{Drivers, ReplicaAuth};
use fleet::engine::BuiltInEngine;
use fleet::{Connector, Endpoints, Launcher, Routes};
use node::clock;
use node::state::NodeState;
use replica_keys::KeyKeeper;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{Change, Store, StoreError, endpoint_loads};
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// Timeout for stopping the replicas that end with the gateway.
const STOP_TIME: Duration = Duration::from_secs(45);
/// Timeout for resigning at shutdown.
const RESIGN_TIME: Duration = Duration::from_secs(3);

pub(crate) struct ControlPlane {
    parts: Parts<Drivers>,
    changed: Arc<Notify>,
    follower: Follower<Drivers>,
    store_id: String,
    keys: (KeyKeeper, ReplicaAuth),
    loops: Tasks,
}

impl ControlPlane {
    pub(crate) async fn open(
        config: &Config,
        data_dir: &Path,
        engine: &Launcher,
        (store, store_id): (Store, String),
        node: &NodeState,
        (routes, endpoints): (Routes, Endpoints),
    ) -> anyhow::Result<Self> {
        let slots = config.drivers.process_slots.iter().map(|(kind, count)| (kind.to_string(), *count)).collect();
        let (is_wanted, own) = (config.drivers.replica_keys, node.id().to_owned());
        let keeper = KeyKeeper { store: store.clone(), node: own, now: clock::now, is_wanted };
        let auth = keeper.open().await?;
        let settings = Settings {
            root: data_dir.join("replicas"),
            slots,
            ports: config.drivers.process_ports.clone(),
            built_in: BuiltInEngine { binary: engine.binary.clone(), cache_dir: engine.cache_dir.clone() },
            shim: ShimProgram::own(),
            shim_policy: ShimPolicy::default(),
            auth: auth.clone(),
            now: clock::now,
        };
        let process = ProcessDriver::open(settings).context("the folder of replicas cannot be used")?;
        let kubernetes = match config.drivers.kubernetes.clone() {
            Some(settings) => {
                // Pods of another store belong to another installation.
                let instance = format!("store-{store_id}");
                let settings = kubernetes::Settings { instance, ..settings };
                let opened = KubernetesDriver::open(settings, auth.clone(), clock::now).await;
                Some(opened.context("[drivers.kubernetes]")?)
            }
            None => None,
        };
        let driver = Drivers { process, kubernetes };
        let nudge = Arc::new(Notify::new());
        let (reach, node, metrics) = (Reach::of_node(node.id()), node.id().to_owned(), Arc::default());
        let parts = Parts { store, driver, routes, endpoints, node, reach, now: clock::now, nudge, metrics };
        let changed = Arc::default();
        let follower = Follower::new(parts.clone(), Arc::clone(&changed));
        Ok(Self { parts, changed, follower, store_id, keys: (keeper, auth), loops: Tasks::new(Handle::current()) })
    }

    /// Starts following the rows, and leading when elected.
    pub(crate) fn start(&self) {
        neighbours::start(self.parts.clone(), self.store_id.clone(), &self.loops);
        let (keeper, auth) = self.keys.clone();
        keeper.start(auth, &self.loops);
        self.follower().start(&self.loops);
        Reconciler::new(self.parts.clone()).start(&self.loops);
        if let Some(cluster) = self.parts.driver.kubernetes.clone() {
            self.loops.spawn(Pools::new(cluster.clone(), self.parts.routes.clone()).run());
            let (changed, nudge) = (Arc::clone(&self.changed), Arc::clone(&self.parts.nudge));
            self.loops.spawn(async move {
                loop {
                    cluster.changed().await;
                    changed.notify_one();
                    nudge.notify_one();
                }
            });
        }
    }

    /// The meters of this node's replicas and engines.
    pub(crate) fn meters(&self, connector: Connector, bill: Arc<Monitor>) -> Meters<Drivers> {
        let parts = self.parts.clone();
        Meters::new(meters::MeterParts {
            store: parts.store,
            instruments: parts.driver,
            routes: parts.routes,
            endpoints: parts.endpoints,
            connector,
            node: parts.node,
            now: parts.now,
            bill,
        })
    }

    /// For surfaces: notified after they have changed an endpoint.
    pub(crate) fn follower(&self) -> Follower<Drivers> {
        self.follower.clone()
    }

    /// The driver of this machine.
    pub(crate) fn process_driver(&self) -> ProcessDriver {
        self.parts.driver.process.clone()
    }

    /// The driver of the cluster, if one is configured.
    pub(crate) fn cluster_driver(&self) -> Option<KubernetesDriver> {
        self.parts.driver.kubernetes.clone()
    }

    /// Counters of the loops.
    pub(crate) fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.parts.metrics)
    }

    /// A listener for changes of endpoints.
    pub(crate) fn change_listener(&self) -> impl Fn(&Change) + Send + Sync + 'static {
        let (changed, nudge) = (Arc::clone(&self.changed), Arc::clone(&self.parts.nudge));
        move |change| {
            if matches!(change, Change::Endpoint(_) | Change::Everything) {
                changed.notify_one();
                nudge.notify_one();
            }
        }
    }

    /// Stops the loops. Replicas keep running, for the next start to adopt.
    pub(crate) async fn leave(&self) {
        self.loops.abort().await;
    }

    /// Reports that this node has no more calls, and lets another node lead at once.
    pub(crate) async fn resign(&self) {
        let resigned = async {
            let mut tx = self.parts.store.begin().await?;
            endpoint_loads::leave(&mut tx, &self.parts.node).await?;
            tx.commit().await?;
            reconciler::resign(&self.parts.store, &self.parts.node).await
        };
        let resigned: Result<Result<(), StoreError>, _> = tokio::time::timeout(RESIGN_TIME, resigned).await;
        if !matches!(resigned, Ok(Ok(()))) {
            tracing::warn!("cannot resign; another node leads when this node's term has expired");
        }
    }

    /// Stops the replicas of this machine and closes their holds.
    pub(crate) async fn stop_replicas(&self) {
        match tokio::time::timeout(STOP_TIME, self.parts.driver.process.stop_all()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::error!(%error, "cannot stop the replicas of this machine"),
            Err(_elapsed) => tracing::error!("replicas of this machine did not stop in time"),
        }
        if let Err(error) = Reconciler::new(self.parts.clone()).release_ended().await {
            tracing::error!(%error, "cannot close the holds of stopped replicas; the next start closes them");
        }
    }
}
