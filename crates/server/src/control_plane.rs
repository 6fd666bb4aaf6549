//! The control plane of dedicated endpoints as one process runs it: every node follows the rows, the leader acts.

use crate::config::Config;
use crate::edge::clock;
use crate::node::NodeState;
use anyhow::Context;
use control::reconciler::{Follower, Parts, Reconciler};
use fleet::drivers::Drivers;
use fleet::drivers::kubernetes::{KubernetesDriver, Pools};
use fleet::drivers::process::{BuiltInEngine, Care, ProcessDriver, Settings, ShimProgram, USUAL_PORTS};
use fleet::{Endpoints, Launcher, Routes};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{Change, Store};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// How long replicas may take to end when they are to end with the gateway.
const STOP_TIME: Duration = Duration::from_secs(45);

pub(crate) struct ControlPlane {
    parts: Parts<Drivers>,
    changed: Arc<Notify>,
    loops: JoinSet<()>,
}

impl ControlPlane {
    pub(crate) async fn open(
        config: &Config,
        data_dir: &Path,
        engine: &Launcher,
        store: Store,
        node: &NodeState,
        (routes, endpoints): (Routes, Endpoints),
    ) -> anyhow::Result<Self> {
        let slots = config.drivers.process_slots.iter().map(|(kind, count)| (kind.to_string(), *count)).collect();
        let settings = Settings {
            root: data_dir.join("replicas"),
            slots,
            ports: USUAL_PORTS,
            built_in: BuiltInEngine { binary: engine.binary.clone(), cache_dir: engine.cache_dir.clone() },
            shim: ShimProgram::own(),
            care: Care::default(),
        };
        let process = ProcessDriver::open(settings).context("the folder of replicas cannot be used")?;
        let kubernetes = match config.drivers.kubernetes.clone() {
            Some(settings) => Some(KubernetesDriver::open(settings).await.context("[drivers.kubernetes]")?),
            None => None,
        };
        let driver = Drivers { process, kubernetes };
        let nudge = Arc::new(Notify::new());
        let parts = Parts { store, driver, routes, endpoints, node: node.id().to_owned(), now: clock::now, nudge };
        Ok(Self { parts, changed: Arc::default(), loops: JoinSet::new() })
    }

    /// Follows and leads from now on.
    pub(crate) fn start(&mut self) {
        self.loops.spawn(self.follower().run());
        self.loops.spawn(Reconciler::new(self.parts.clone()).run());
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

    /// What a surface that changes endpoints tells so.
    pub(crate) fn follower(&self) -> Follower<Drivers> {
        Follower::new(self.parts.clone(), Arc::clone(&self.changed))
    }

    /// What hears of changes to endpoints.
    pub(crate) fn ear(&self) -> impl Fn(&Change) + Send + Sync + 'static {
        let (changed, nudge) = (Arc::clone(&self.changed), Arc::clone(&self.parts.nudge));
        move |change| {
            if matches!(change, Change::Endpoint(_) | Change::Everything) {
                changed.notify_one();
                nudge.notify_one();
            }
        }
    }

    /// Stops acting; replicas go on, for the next start to adopt.
    pub(crate) async fn leave(&mut self) {
        self.loops.shutdown().await;
    }

    /// Ends the replicas of this machine and closes their holds.
    pub(crate) async fn stop_replicas(&self) {
        match tokio::time::timeout(STOP_TIME, self.parts.driver.process.stop_all()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::error!(%error, "replicas of this machine could not be stopped"),
            Err(_elapsed) => tracing::error!("replicas of this machine did not stop in time"),
        }
        if let Err(error) = Reconciler::new(self.parts.clone()).release_ended().await {
            tracing::error!(%error, "the holds of replicas that were stopped are closed at the next start");
        }
    }
}
