//! Dedicated endpoints as calls see them: condition, ready replicas, and held calls.
//!
//! The control plane updates the condition and the replicas; calls record demand, which it reads. Nothing here starts a
//! replica.

mod calls;

use crate::backend::Backend;
use crate::pool::Pool;
use crate::routes::Route;
use arc_swap::ArcSwap;
use calls::Calls;
use domain::model::{Model, Upstream};
use domain::{CallClass, OrganizationId, WorkspaceId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// Most calls that may be held for one endpoint on this node, and most bytes of their bodies. Calls that yield to interactive
/// ones take at most half of both.
const MAX_HELD: u32 = 10_000;
const MAX_HELD_BYTES: u64 = 64 << 20;

/// What happens to a call to an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Routed to a ready replica.
    Serving,
    /// Held: the endpoint is suspended, or its replicas are starting.
    Waiting,
    /// Held, which wakes the endpoint.
    ScaledToZero,
    /// Rejected: the endpoint does not recover by itself.
    Failed { reason: String },
    /// Treated as unknown.
    Deleting,
}

/// Current condition and route of an endpoint.
#[derive(Debug)]
pub struct View {
    pub condition: Condition,
    /// The model under the endpoint's name, and its ready replicas.
    pub route: Arc<Route>,
}

/// State of an endpoint, as the control plane publishes it.
#[derive(Debug, Clone)]
pub struct EndpointUpdate {
    pub id: String,
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub name: String,
    /// With the id `dedicated/<name>`.
    pub model: Arc<Model>,
    pub condition: Condition,
    /// Ready replicas with their ids.
    pub replicas: Vec<(String, Upstream)>,
    /// Replicas that finish their calls and get no new ones.
    pub draining: Vec<String>,
}

/// An endpoint as calls see it on this node.
#[derive(Debug)]
pub struct LiveEndpoint {
    pub id: String,
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub name: String,
    view: watch::Sender<Arc<View>>,
    held: AtomicU32,
    held_bytes: AtomicU64,
    calls: Calls,
    /// Replicas that get no new calls and still have open ones.
    leaving: Mutex<Vec<Arc<Backend>>>,
    /// Names of replicas that this node knows to be draining.
    draining: Mutex<Vec<Arc<str>>>,
    /// Number of changes to the set of replicas.
    reroutes: AtomicU64,
    demand: Arc<Notify>,
}

/// Load of an endpoint from this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Mean number of open calls over the last tick, in thousandths.
    pub mean_milli: u64,
    /// Calls in flight or held now.
    pub open_calls: u32,
    /// Time since the last call; `None` if there was none.
    pub quiet_for: Option<Duration>,
    pub replicas: Vec<ReplicaLoad>,
}

/// A replica that gets calls from this node, still has open ones, or is draining.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaLoad {
    pub name: Arc<str>,
    /// Whether it gets new calls.
    pub routed: bool,
    pub in_flight: u32,
    /// Uncached prompt tokens of calls without an event so far, and the number of these calls.
    pub prefill_tokens: u64,
    pub prefilling: u32,
}

/// Too many calls, or too many bytes, are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many calls are waiting for this endpoint")]
pub struct QueueFullError;

/// A place in the queue of held calls, released when dropped.
#[derive(Debug)]
pub struct HeldCall {
    endpoint: Arc<LiveEndpoint>,
    bytes: u64,
}

/// Counts a call as open, from its routing until it is dropped.
#[derive(Debug)]
pub struct OpenCall {
    endpoint: Arc<LiveEndpoint>,
}

impl LiveEndpoint {
    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.borrow())
    }

    /// Subscribes to changes of the view.
    pub fn watch(&self) -> watch::Receiver<Arc<View>> {
        self.view.subscribe()
    }

    /// Takes a place in the queue and notifies the control plane.
    pub fn hold(self: &Arc<Self>, class: CallClass, body_bytes: usize) -> Result<HeldCall, QueueFullError> {
        let held = HeldCall { endpoint: Arc::clone(self), bytes: body_bytes as u64 };
        let waiting = self.held.fetch_add(1, Ordering::Relaxed) + 1;
        let bytes = self.held_bytes.fetch_add(held.bytes, Ordering::Relaxed) + held.bytes;
        let (calls, total_bytes) =
            if class.yields() { (MAX_HELD / 2, MAX_HELD_BYTES / 2) } else { (MAX_HELD, MAX_HELD_BYTES) };
        if waiting > calls || bytes > total_bytes {
            return Err(QueueFullError);
        }
        self.demand.notify_one();
        Ok(held)
    }

    pub fn open_call(self: &Arc<Self>) -> OpenCall {
        self.calls.enter(Instant::now());
        OpenCall { endpoint: Arc::clone(self) }
    }

    /// Held calls; they count as open too.
    pub fn held(&self) -> u32 {
        self.held.load(Ordering::Relaxed)
    }

    /// Calls in flight or held.
    pub fn open_calls(&self) -> u32 {
        self.calls.open()
    }

    /// A number that changes whenever there is something new to report.
    pub fn activity(&self) -> u64 {
        self.calls.activity() + self.reroutes.load(Ordering::Relaxed)
    }

    pub fn load(&self) -> Load {
        let now = Instant::now();
        let report = |routed| {
            move |replica: &Arc<Backend>| ReplicaLoad {
                name: Arc::clone(&replica.name),
                routed,
                in_flight: replica.in_flight(),
                prefill_tokens: replica.prompt_load().own_prefill_tokens(),
                prefilling: replica.prompt_load().prefilling(),
            }
        };
        let mut leaving = self.leaving.lock();
        leaving.retain(|replica| replica.in_flight() > 0);
        let view = self.view();
        let routed = view.route.pool.replicas().iter().map(report(true));
        let mut replicas: Vec<ReplicaLoad> = routed.chain(leaving.iter().map(report(false))).collect();
        for name in self.draining.lock().iter() {
            if replicas.iter().all(|replica| replica.name != *name) {
                let name = Arc::clone(name);
                replicas.push(ReplicaLoad { name, routed: false, in_flight: 0, prefill_tokens: 0, prefilling: 0 });
            }
        }
        Load {
            mean_milli: self.calls.mean_milli(now),
            open_calls: self.calls.open(),
            quiet_for: self.calls.quiet_for(now),
            replicas,
        }
    }
}

impl Drop for HeldCall {
    fn drop(&mut self) {
        self.endpoint.held.fetch_sub(1, Ordering::Relaxed);
        self.endpoint.held_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.endpoint.calls.leave(Instant::now());
    }
}

type ByName = HashMap<String, Arc<LiveEndpoint>>;

/// All endpoints, by organization and name.
#[derive(Debug, Clone, Default)]
pub struct Endpoints {
    table: Arc<ArcSwap<HashMap<OrganizationId, ByName>>>,
    demand: Arc<Notify>,
}

impl Endpoints {
    pub fn get(&self, organization: &OrganizationId, name: &str) -> Option<Arc<LiveEndpoint>> {
        self.table.load().get(organization)?.get(name).cloned()
    }

    pub fn all(&self) -> Vec<Arc<LiveEndpoint>> {
        self.table.load().values().flat_map(HashMap::values).cloned().collect()
    }

    /// Waits until a call is held for an endpoint that may have to be woken.
    pub async fn demanded(&self) {
        self.demand.notified().await;
    }

    /// Replaces all endpoints. Endpoints and replicas that stay keep their calls.
    pub fn apply(&self, updates: Vec<EndpointUpdate>) {
        let before = self.table.load();
        let mut table: HashMap<OrganizationId, ByName> = HashMap::new();
        for update in updates {
            let existing = before.get(&update.organization).and_then(|names| names.get(&update.name));
            let endpoint = match existing.filter(|endpoint| endpoint.id == update.id) {
                Some(endpoint) => {
                    endpoint.apply(&update);
                    Arc::clone(endpoint)
                }
                None => Arc::new(self.endpoint(&update)),
            };
            table.entry(update.organization).or_default().insert(update.name, endpoint);
        }
        for gone in before.values().flat_map(HashMap::values) {
            let stays = table.get(&gone.organization).and_then(|names| names.get(&gone.name));
            if stays.is_none_or(|endpoint| endpoint.id != gone.id) {
                let route = Arc::clone(&gone.view().route);
                gone.view.send_replace(Arc::new(View { condition: Condition::Deleting, route }));
            }
        }
        self.table.store(Arc::new(table));
    }

    fn endpoint(&self, update: &EndpointUpdate) -> LiveEndpoint {
        LiveEndpoint {
            id: update.id.clone(),
            organization: update.organization.clone(),
            workspace: update.workspace.clone(),
            name: update.name.clone(),
            view: watch::Sender::new(Arc::new(view(update, None, &[]))),
            held: AtomicU32::new(0),
            held_bytes: AtomicU64::new(0),
            calls: Calls::since(Instant::now()),
            leaving: Mutex::default(),
            draining: Mutex::default(),
            reroutes: AtomicU64::new(0),
            demand: Arc::clone(&self.demand),
        }
    }
}

impl LiveEndpoint {
    fn apply(&self, update: &EndpointUpdate) {
        self.update_view(update);
        let mut draining = self.draining.lock();
        if !draining.iter().map(|name| &**name).eq(update.draining.iter().map(String::as_str)) {
            *draining = update.draining.iter().map(|name| name.as_str().into()).collect();
            self.reroutes.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn update_view(&self, update: &EndpointUpdate) {
        let before = self.view();
        let same_replicas = {
            let present = before.route.pool.replicas();
            present.len() == update.replicas.len()
                && present
                    .iter()
                    .zip(&update.replicas)
                    .all(|(replica, (id, upstream))| *replica.name == **id && replica.upstream == *upstream)
        };
        if before.condition == update.condition && same_replicas && before.route.model == update.model {
            return;
        }
        let mut leaving = self.leaving.lock();
        let present: Vec<Arc<Backend>> = before.route.pool.replicas().iter().chain(&*leaving).cloned().collect();
        let after = view(update, Some(&before.route.pool), &present);
        let stays =
            |replica: &Arc<Backend>| after.route.pool.replicas().iter().any(|other| Arc::ptr_eq(other, replica));
        *leaving = present.into_iter().filter(|replica| !stays(replica) && replica.in_flight() > 0).collect();
        if !same_replicas {
            self.reroutes.fetch_add(1, Ordering::Relaxed);
        }
        self.view.send_replace(Arc::new(after));
    }
}

/// Builds a view that replaces the one with the pool `before`; replicas in `present` are reused.
fn view(update: &EndpointUpdate, before: Option<&Pool>, present: &[Arc<Backend>]) -> View {
    let replicas = update.replicas.iter().filter_map(|(id, upstream)| {
        let existing = present.iter().find(|replica| *replica.name == **id && replica.upstream == *upstream);
        if let Some(replica) = existing {
            return Some(Arc::clone(replica));
        }
        match Backend::new(id, upstream.clone()) {
            Ok(replica) => Some(Arc::new(replica)),
            Err(error) => {
                tracing::error!(replica.name = id, %error, "a replica has an invalid address");
                None
            }
        }
    });
    let replicas = replicas.collect();
    let pool = match before {
        Some(before) => Pool::replacing(Some(before), replicas),
        None => Pool::replacing(Some(&Pool::of_endpoint()), replicas),
    };
    let pool = pool.sharing(update.model.batch_share);
    View { condition: update.condition.clone(), route: Arc::new(Route { model: Arc::clone(&update.model), pool }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::Fingerprint;
    use domain::{ModelId, Timestamp};

    const NOW: Timestamp = Timestamp::from_millis(1);

    fn update(condition: Condition, replicas: &[&str]) -> EndpointUpdate {
        let upstream = |id: &&str| Upstream::plain(format!("http://127.0.0.1:9/{id}"), "m");
        EndpointUpdate {
            id: "ep_1".into(),
            organization: OrganizationId::new(NOW, 1),
            workspace: WorkspaceId::new(NOW, 1),
            name: "chat".into(),
            model: Arc::new(Model::plain(ModelId::parse("dedicated/chat").unwrap())),
            condition,
            replicas: replicas.iter().map(|id| ((*id).to_owned(), upstream(id))).collect(),
            draining: Vec::new(),
        }
    }

    fn apply(endpoints: &Endpoints, condition: Condition, replicas: &[&str]) -> Arc<LiveEndpoint> {
        endpoints.apply(vec![update(condition, replicas)]);
        endpoints.get(&OrganizationId::new(NOW, 1), "chat").unwrap()
    }

    #[test]
    fn an_endpoint_and_its_replicas_stay_the_same_through_changes() {
        let endpoints = Endpoints::default();
        let first = apply(&endpoints, Condition::Waiting, &[]);
        let serving = apply(&endpoints, Condition::Serving, &["a"]);
        assert!(Arc::ptr_eq(&first, &serving));
        let one = Arc::clone(&serving.view().route.pool.replicas()[0]);
        let more = apply(&endpoints, Condition::Serving, &["a", "b"]);
        assert!(Arc::ptr_eq(&one, &more.view().route.pool.replicas()[0]), "its calls in flight are kept");
        let mut watched = more.watch();
        apply(&endpoints, Condition::Serving, &["a", "b"]);
        assert!(!watched.has_changed().unwrap(), "no change, no notification");
        endpoints.apply(Vec::new());
        assert!(watched.has_changed().unwrap());
        assert_eq!(watched.borrow_and_update().condition, Condition::Deleting);
        assert!(endpoints.get(&OrganizationId::new(NOW, 1), "chat").is_none());
    }

    #[test]
    fn the_queue_is_bounded_and_places_are_released() {
        let endpoints = Endpoints::default();
        let endpoint = apply(&endpoints, Condition::ScaledToZero, &[]);
        let held: Vec<HeldCall> = (0..MAX_HELD).map(|_| endpoint.hold(CallClass::Interactive, 1).unwrap()).collect();
        assert_eq!(endpoint.hold(CallClass::Interactive, 1).unwrap_err(), QueueFullError);
        assert_eq!(endpoint.held(), MAX_HELD, "a rejected call takes no place");
        drop(held);
        assert_eq!(endpoint.held(), 0);
        let big = endpoint.hold(CallClass::Interactive, 60 << 20).unwrap();
        assert_eq!(endpoint.hold(CallClass::Interactive, 8 << 20).unwrap_err(), QueueFullError);
        drop(big);
        assert!(endpoint.hold(CallClass::Interactive, 8 << 20).is_ok());
        let line = endpoint.hold(CallClass::Batch, 30 << 20).unwrap();
        assert_eq!(endpoint.hold(CallClass::Batch, 8 << 20).unwrap_err(), QueueFullError);
        assert!(endpoint.hold(CallClass::Interactive, 30 << 20).is_ok(), "lines leave room to interactive calls");
        drop(line);
    }

    #[test]
    fn a_leaving_replica_is_reported_until_its_last_call_has_ended() {
        let endpoints = Endpoints::default();
        let endpoint = apply(&endpoints, Condition::Serving, &["a", "b"]);
        let reported = |endpoint: &LiveEndpoint| {
            let load = endpoint.load();
            let of = |one: &ReplicaLoad| format!("{}{}{}", one.name, if one.routed { "+" } else { "-" }, one.in_flight);
            load.replicas.iter().map(of).collect::<Vec<_>>().join(" ")
        };
        let open_call = endpoint.open_call();
        let view = endpoint.view();
        let prompt = Fingerprint::opaque(10);
        let mut slots =
            (0..1_000).map(|_| view.route.pool.pick(CallClass::Interactive, || &prompt, &[], Instant::now()).unwrap());
        let call = slots.find(|slot| &*slot.replica().name == "a").unwrap();
        let activity = endpoint.activity();
        apply(&endpoints, Condition::Serving, &["b"]);
        assert_eq!(reported(&endpoint), "b+0 a-1");
        let idle = EndpointUpdate { draining: vec!["a".into(), "b".into()], ..update(Condition::Waiting, &[]) };
        endpoints.apply(vec![idle]);
        assert_eq!(reported(&endpoint), "a-1 b-0", "draining replicas are reported too");
        assert_ne!(endpoint.activity(), activity, "there is something to report");
        apply(&endpoints, Condition::Serving, &["a", "b"]);
        assert_eq!(reported(&endpoint), "a+1 b+0", "it returned with its call");
        apply(&endpoints, Condition::Waiting, &[]);
        assert_eq!(reported(&endpoint), "a-1");
        drop(call);
        assert_eq!(reported(&endpoint), "");
        assert_eq!((endpoint.open_calls(), endpoint.load().quiet_for), (1, Some(Duration::ZERO)));
        drop(open_call);
        assert_eq!(endpoint.open_calls(), 0);
    }
}
