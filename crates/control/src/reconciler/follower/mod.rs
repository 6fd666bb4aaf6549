//! Keeps this node's routing table up to date with the rows. Runs on every node, leader or not.

mod report;

use super::Parts;
use super::round::name_of;
use crate::endpoints::wake;
use background::{Loop, Pace, Tasks};
use domain::endpoint::replica::{Replica, ReplicaState};
use domain::endpoint::state::Admission;
use domain::model::{ChatTraits, DriverKind, EngineKind, Flavor, Model, ModelId, Upstream, usual_switch};
use domain::{Catalogue, Endpoint, EndpointId};
use fleet::UNIX_SCHEME;
use fleet::drivers::Driver;
use fleet::endpoints::{Condition, EndpointUpdate};
use report::Reporter;
use std::sync::Arc;
use std::time::Duration;
use store::{StoreError, endpoints, replicas};
use tokio::sync::{Mutex, Notify};

/// Period of reading the rows without a notification.
const REFRESH_EVERY: Duration = Duration::from_millis(300);
/// The same while there are no endpoints.
const IDLE_REFRESH: Duration = Duration::from_secs(10);

/// Clones share the state.
#[derive(Clone)]
pub struct Follower<D> {
    parts: Parts<D>,
    /// Notified when an endpoint has changed.
    changed: Arc<Notify>,
    /// Serializes refreshes, so that an older read never overwrites a newer one.
    refreshing: Arc<Mutex<()>>,
}

impl<D: Driver> Follower<D> {
    pub fn new(parts: Parts<D>, changed: Arc<Notify>) -> Self {
        Self { parts, changed, refreshing: Arc::default() }
    }

    /// Follows the rows, wakes endpoints with held calls, and reports this node's calls, until shutdown.
    pub fn start(self, tasks: &Tasks) {
        let rounds = Loop::every("endpoint routing", REFRESH_EVERY).nudged_by(Arc::clone(&self.changed));
        let (endpoints, changed) = (self.parts.endpoints.clone(), Arc::clone(&self.changed));
        tasks.spawn(async move {
            loop {
                endpoints.demanded().await;
                changed.notify_one();
            }
        });
        let mut reporter = Reporter::default();
        tasks.spawn(tasks.register(rounds).run_paced(async move || self.round(&mut reporter).await));
    }

    async fn round(&self, reporter: &mut Reporter) -> Result<Pace, StoreError> {
        let refreshed = self.refresh().await;
        self.wake_endpoints().await;
        reporter.report(&self.parts).await?;
        refreshed?;
        Ok(if self.parts.endpoints.all().is_empty() { Pace::Idle(IDLE_REFRESH) } else { Pace::Usual })
    }

    /// Called after a change by this node: refreshes the routing table and nudges the leader.
    pub async fn catch_up(&self) {
        self.parts.nudge.notify_one();
        if let Err(error) = self.refresh().await {
            tracing::debug!(%error, "the change takes effect with the next refresh");
        }
    }

    async fn refresh(&self) -> Result<(), StoreError> {
        let _guard = self.refreshing.lock().await;
        let all = endpoints::list_all(&self.parts.store).await?;
        let live = replicas::list_live(&self.parts.store).await?;
        let route = |replica: &Replica| match (replica.driver, self.parts.driver.cluster()) {
            (DriverKind::Kubernetes, Some(cluster)) => cluster.route(&name_of(replica), replica.address.as_deref()),
            (DriverKind::Kubernetes, None) | (DriverKind::Process, _) => replica.address.clone(),
        };
        let route = |replica: &Replica| Some((route(replica)?, self.parts.driver.key(&name_of(replica))));
        let catalogue = self.parts.routes.catalogue();
        let update = |endpoint: &Endpoint| update_of(endpoint, &catalogue, &live, route);
        self.parts.endpoints.apply(all.iter().map(update).collect());
        Ok(())
    }

    /// Wakes endpoints at zero that have held calls. Held calls are seen by every iteration, so a call that arrived just before
    /// the endpoint went to zero wakes it, too.
    async fn wake_endpoints(&self) {
        for endpoint in self.parts.endpoints.all() {
            if endpoint.view().condition != Condition::ScaledToZero || endpoint.held() == 0 {
                continue;
            }
            let Ok(id) = EndpointId::parse(&endpoint.id) else { continue };
            match wake(&self.parts.store, &id, u64::from(endpoint.held()), (self.parts.now)()).await {
                Ok(_) => self.parts.nudge.notify_one(),
                Err(error) => tracing::warn!(endpoint.name = endpoint.name, %error, "cannot wake an endpoint"),
            }
        }
    }
}

/// `route` is the address of a replica, and its key.
fn update_of(
    endpoint: &Endpoint,
    catalogue: &Catalogue,
    live: &[Replica],
    route: impl Fn(&Replica) -> Option<(String, Option<String>)>,
) -> EndpointUpdate {
    let id = endpoint.name.model_id();
    // The model may have been removed from the catalogue.
    let model: Option<&Model> = catalogue.get(endpoint.model.as_str()).map(AsRef::as_ref);
    let serves = |replica: &&Replica| replica.endpoint == endpoint.id && replica.is_serving();
    let drains = |replica: &&Replica| replica.endpoint == endpoint.id && replica.state() == ReplicaState::Draining;
    let replicas = live.iter().filter(serves).filter_map(|replica| {
        let (address, api_key) = route(replica)?;
        Some((replica.id.to_string(), Upstream { api_key, ..upstream(endpoint, &id, &address) }))
    });
    EndpointUpdate {
        id: endpoint.id.to_string(),
        organization: endpoint.organization.clone(),
        workspace: endpoint.workspace.clone(),
        name: endpoint.name.to_string(),
        // Without a price: tokens are counted and shown, but GPU-hours are billed.
        model: Arc::new(Model {
            name: endpoint.name.to_string(),
            modality: endpoint.shape.modality,
            context_length: endpoint.shape.flavor.max_len.unwrap_or(endpoint.shape.context_length),
            optimized: model.is_some_and(|model| model.optimized),
            failover: model.is_some_and(|model| model.failover),
            probe: model.and_then(|model| model.probe),
            batch_share: model.map(|model| model.batch_share).unwrap_or_default(),
            chat: chat_traits(model, &endpoint.shape.flavor),
            // That of new replicas: its options identify the engine.
            flavors: vec![endpoint.shape.effective(&endpoint.model, catalogue).into_owned().flavor],
            ..Model::plain(id.clone())
        }),
        condition: condition(endpoint),
        replicas: replicas.collect(),
        draining: live.iter().filter(drains).map(|replica| replica.id.to_string()).collect(),
    }
}

/// The traits of the model. Which switch of thinking is usual depends on the engine of the endpoint, not on those of
/// the serverless model.
fn chat_traits(model: Option<&Model>, flavor: &Flavor) -> ChatTraits {
    let traits = model.map(|model| model.chat).unwrap_or_default();
    let thinking = traits.thinking.unwrap_or(usual_switch(flavor.engine()));
    ChatTraits { thinking: Some(thinking), ..traits }
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
    let engine = endpoint.shape.flavor.engine();
    let continuous_usage = match engine {
        Some(EngineKind::ForebayEngine | EngineKind::Vllm | EngineKind::Sglang) => true,
        Some(EngineKind::LlamaServer) | None => false,
    };
    let args = &endpoint.shape.flavor.options.args;
    let priority_scheduling = engine.is_some_and(|engine| engine.schedules_by_priority(args));
    let scheme = if address.starts_with(UNIX_SCHEME) { "" } else { "http://" };
    let plain = Upstream::plain(format!("{scheme}{address}/v1"), model.as_str());
    Upstream { continuous_usage, engine, priority_scheduling, ..plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::GpuType;
    use domain::model::{ImageTokens, ReasoningNames, ThinkingSwitch};

    #[test]
    fn an_endpoint_has_the_chat_traits_of_its_model_and_the_usual_switch_of_its_engine() {
        let flavor = |engine| Flavor::plain("one", GpuType::parse("local/cpu").unwrap(), engine);
        let plain = Model::plain(ModelId::parse("acme/own").unwrap());
        let thinking = |model, engine| chat_traits(model, &flavor(engine)).thinking;
        assert_eq!(thinking(Some(&plain), EngineKind::Vllm), Some(ThinkingSwitch::EnableThinking));
        assert_eq!(thinking(None, EngineKind::ForebayEngine), Some(ThinkingSwitch::None));
        let chat = ChatTraits {
            thinking: Some(ThinkingSwitch::Thinking),
            merge_system: true,
            reasoning_names: ReasoningNames::AsIs,
            gathers_tools: true,
            images: ImageTokens { square: 14, most: 256 },
        };
        let own = Model { chat, ..plain };
        assert_eq!(chat_traits(Some(&own), &flavor(EngineKind::Vllm)), chat);
    }
}
