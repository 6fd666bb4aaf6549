//! Tells this node's calls what is so: every node follows the rows, whoever leads.

use super::Parts;
use super::replica::name_of;
use super::report::Reporter;
use crate::endpoints::wake;
use domain::endpoint::replica::{Replica, ReplicaState};
use domain::endpoint::state::Admission;
use domain::model::{EngineKind, Launch, Model, ModelId, Serving, Upstream};
use domain::{Endpoint, EndpointId, Price};
use fleet::drivers::Driver;
use fleet::endpoints::{Condition, Known};
use std::sync::Arc;
use std::time::Duration;
use store::{StoreError, endpoints, replicas};
use tokio::sync::{Mutex, Notify};

const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Clones are the same follower.
#[derive(Clone)]
pub struct Follower<D> {
    parts: Parts<D>,
    /// An endpoint has changed.
    changed: Arc<Notify>,
    /// Who looks. One after another: what was read first must not be told last.
    looking: Arc<Mutex<()>>,
}

impl<D: Driver> Follower<D> {
    pub fn new(parts: Parts<D>, changed: Arc<Notify>) -> Self {
        Self { parts, changed, looking: Arc::default() }
    }

    /// Follows the rows, wakes who is waited for, and tells of this node's calls, for ever.
    pub async fn run(self) {
        let mut reporter = Reporter::default();
        loop {
            if let Err(error) = self.look().await {
                tracing::debug!(%error, "endpoints cannot be read; calls go on as before");
            }
            self.wake_sleepers().await;
            if let Err(error) = reporter.tell(&self.parts).await {
                tracing::debug!(%error, "the store was not told of calls to endpoints");
            }
            tokio::select! {
                () = self.changed.notified() => {}
                () = self.parts.endpoints.demanded() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Somebody has changed an endpoint on this node: calls see it from now on, and the leader looks at once.
    pub async fn catch_up(&self) {
        self.parts.nudge.notify_one();
        if let Err(error) = self.look().await {
            tracing::debug!(%error, "a change is seen a moment later");
        }
    }

    async fn look(&self) -> Result<(), StoreError> {
        let _alone = self.looking.lock().await;
        let all = endpoints::list_all(&self.parts.store).await?;
        let live = replicas::list_live(&self.parts.store).await?;
        let route =
            |replica: &Replica| self.parts.driver.route(&name_of(replica), replica.driver, replica.address.as_deref());
        self.parts.endpoints.apply(all.iter().map(|endpoint| known(endpoint, &live, route)).collect());
        Ok(())
    }

    /// Of a crowd at an endpoint that sleeps, one question wakes it. Whoever waits is seen here again and again, so a call
    /// that came just before the endpoint fell asleep wakes it, too.
    async fn wake_sleepers(&self) {
        for endpoint in self.parts.endpoints.all() {
            if endpoint.view().condition != Condition::ScaledToZero || endpoint.held() == 0 {
                continue;
            }
            let Ok(id) = EndpointId::parse(&endpoint.id) else { continue };
            match wake(&self.parts.store, &id, u64::from(endpoint.held()), (self.parts.now)()).await {
                Ok(_) => self.parts.nudge.notify_one(),
                Err(error) => tracing::warn!(endpoint.name = endpoint.name, %error, "an endpoint could not be woken"),
            }
        }
    }
}

fn known(endpoint: &Endpoint, live: &[Replica], route: impl Fn(&Replica) -> Option<String>) -> Known {
    let id = endpoint.name.model_id();
    let serves = |replica: &&Replica| replica.endpoint == endpoint.id && replica.is_serving();
    let drains = |replica: &&Replica| replica.endpoint == endpoint.id && replica.state() == ReplicaState::Draining;
    let replicas = live.iter().filter(serves).filter_map(|replica| {
        let address = route(replica)?;
        Some((replica.id.to_string(), upstream(endpoint, &id, &address)))
    });
    Known {
        id: endpoint.id.to_string(),
        organization: endpoint.organization.clone(),
        workspace: endpoint.workspace.clone(),
        name: endpoint.name.to_string(),
        model: Arc::new(Model {
            name: endpoint.name.to_string(),
            modality: endpoint.shape.modality,
            context_length: endpoint.shape.flavor.max_len.unwrap_or(endpoint.shape.context_length),
            // Its tokens are counted and shown; what is paid is GPU-hours.
            price: Price::default(),
            optimized: false,
            serving: Serving::Upstreams(Vec::new()),
            flavors: Vec::new(),
            id: id.clone(),
        }),
        condition: condition(endpoint),
        replicas: replicas.collect(),
        draining: live.iter().filter(drains).map(|replica| replica.id.to_string()).collect(),
    }
}

fn condition(endpoint: &Endpoint) -> Condition {
    match endpoint.state.admission() {
        Admission::Routed => Condition::Serving,
        Admission::Held => Condition::Waiting,
        Admission::HeldAndWakes => Condition::ScaledToZero,
        Admission::NotServing => Condition::Failed { reason: endpoint.message.clone() },
        Admission::Unknown => Condition::Deleting,
    }
}

fn upstream(endpoint: &Endpoint, model: &ModelId, address: &str) -> Upstream {
    let continuous_usage = match &endpoint.shape.flavor.launch {
        Launch::Engine(EngineKind::ForebayEngine | EngineKind::Vllm | EngineKind::Sglang) => true,
        Launch::Engine(EngineKind::LlamaServer) | Launch::Argv(_) => false,
    };
    Upstream { continuous_usage, ..Upstream::plain(format!("http://{address}/v1"), model.as_str()) }
}
