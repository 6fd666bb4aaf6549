//! Dedicated endpoints as calls see them: what state each is in, which of its replicas are ready, and who waits.
//!
//! The control plane says what is so; calls leave marks of demand that it reads. Nothing here starts a replica.

mod calls;

use crate::backend::Backend;
use crate::pool::Pool;
use crate::routes::Route;
use arc_swap::ArcSwap;
use calls::Calls;
use domain::model::{Model, Upstream};
use domain::{OrganizationId, WorkspaceId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// Calls that may wait for one endpoint on this node, and the bytes of their bodies.
const MAX_HELD: u32 = 10_000;
const MAX_HELD_BYTES: u64 = 64 << 20;

/// What a call to an endpoint meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// It is routed to a ready replica.
    Serving,
    /// It waits: the endpoint is suspended, or its replicas are on their way.
    Waiting,
    /// It waits, and its waiting wakes the endpoint.
    ScaledToZero,
    /// Waiting cannot help.
    Failed { reason: String },
    /// As if it were not there.
    Deleting,
}

/// What is so now.
#[derive(Debug)]
pub struct View {
    pub condition: Condition,
    /// The model under the endpoint's own name, and its ready replicas.
    pub route: Arc<Route>,
}

/// An endpoint as the control plane knows it.
#[derive(Debug, Clone)]
pub struct EndpointUpdate {
    pub id: String,
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub name: String,
    /// With the id `dedicated/<name>`.
    pub model: Arc<Model>,
    pub condition: Condition,
    /// Ready replicas, by their ids.
    pub replicas: Vec<(String, Upstream)>,
    /// Replicas that finish their calls and get no new ones.
    pub draining: Vec<String>,
}

#[derive(Debug)]
pub struct LiveEndpoint {
    pub id: String,
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub name: String,
    view: watch::Sender<Arc<View>>,
    /// Who waits takes turns at it, in the order of their coming.
    turn: tokio::sync::Mutex<()>,
    held: AtomicU32,
    held_bytes: AtomicU64,
    calls: Calls,
    /// Replicas that get no new calls and still have some.
    leaving: Mutex<Vec<Arc<Backend>>>,
    /// Replicas of which this node knows that they get no new calls.
    draining: Mutex<Vec<Arc<str>>>,
    /// How often other replicas were routed to, or let go.
    reroutes: AtomicU64,
    demand: Arc<Notify>,
}

/// What this node can tell of an endpoint's calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Calls at once in the last tick, on average over time, in thousandths.
    pub mean_milli: u64,
    /// Calls in flight and held now.
    pub open_calls: u32,
    /// How long there has been no call; nothing if there never was one.
    pub quiet_for: Option<Duration>,
    pub replicas: Vec<ReplicaLoad>,
}

/// A replica that gets calls from here, or still has some, or gets none any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaLoad {
    pub name: Arc<str>,
    /// Whether it gets new ones.
    pub routed: bool,
    pub in_flight: u32,
}

/// More calls wait than may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many calls wait for this endpoint")]
pub struct QueueFullError;

/// A place in the queue, given back when dropped.
#[derive(Debug)]
pub struct HeldCall {
    endpoint: Arc<LiveEndpoint>,
    bytes: u64,
}

/// A call at an endpoint, from its routing to its end.
#[derive(Debug)]
pub struct OpenCall {
    endpoint: Arc<LiveEndpoint>,
}

impl LiveEndpoint {
    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.borrow())
    }

    /// Follows what becomes of the endpoint.
    pub fn watch(&self) -> watch::Receiver<Arc<View>> {
        self.view.subscribe()
    }

    /// Takes a place in the queue. The control plane hears of it.
    pub fn hold(self: &Arc<Self>, body_bytes: usize) -> Result<HeldCall, QueueFullError> {
        let held = HeldCall { endpoint: Arc::clone(self), bytes: body_bytes as u64 };
        let waiting = self.held.fetch_add(1, Ordering::Relaxed) + 1;
        let bytes = self.held_bytes.fetch_add(held.bytes, Ordering::Relaxed) + held.bytes;
        if waiting > MAX_HELD || bytes > MAX_HELD_BYTES {
            return Err(QueueFullError);
        }
        self.demand.notify_one();
        Ok(held)
    }

    /// Waits until it is one's turn: who came first is served first.
    pub async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    pub fn open_call(self: &Arc<Self>) -> OpenCall {
        self.calls.enter(Instant::now());
        OpenCall { endpoint: Arc::clone(self) }
    }

    /// Calls that wait; they are open, too.
    pub fn held(&self) -> u32 {
        self.held.load(Ordering::Relaxed)
    }

    /// Calls in flight and held.
    pub fn open_calls(&self) -> u32 {
        self.calls.open()
    }

    /// A number that differs whenever there is something new to tell.
    pub fn activity(&self) -> u64 {
        self.calls.activity() + self.reroutes.load(Ordering::Relaxed)
    }

    pub fn load(&self) -> Load {
        let now = Instant::now();
        let told = |routed| {
            move |replica: &Arc<Backend>| ReplicaLoad {
                name: Arc::clone(&replica.name),
                routed,
                in_flight: replica.in_flight(),
            }
        };
        let mut leaving = self.leaving();
        leaving.retain(|replica| replica.in_flight() > 0);
        let view = self.view();
        let routed = view.route.pool.replicas().iter().map(told(true));
        let mut replicas: Vec<ReplicaLoad> = routed.chain(leaving.iter().map(told(false))).collect();
        for name in lock(&self.draining).iter() {
            if replicas.iter().all(|told| told.name != *name) {
                replicas.push(ReplicaLoad { name: Arc::clone(name), routed: false, in_flight: 0 });
            }
        }
        Load {
            mean_milli: self.calls.mean_milli(now),
            open_calls: self.calls.open(),
            quiet_for: self.calls.quiet_for(now),
            replicas,
        }
    }

    fn leaving(&self) -> MutexGuard<'_, Vec<Arc<Backend>>> {
        lock(&self.leaving)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Returns when calls wait for an endpoint that may have to be woken.
    pub async fn demanded(&self) {
        self.demand.notified().await;
    }

    /// Makes this what calls see. Endpoints and replicas that stay keep their calls.
    pub fn apply(&self, known: Vec<EndpointUpdate>) {
        let before = self.table.load();
        let mut table: HashMap<OrganizationId, ByName> = HashMap::new();
        for known in known {
            let same = before.get(&known.organization).and_then(|names| names.get(&known.name));
            let same = same.filter(|endpoint| endpoint.id == known.id);
            let endpoint = match same {
                Some(endpoint) => {
                    endpoint.change(&known);
                    Arc::clone(endpoint)
                }
                None => Arc::new(self.endpoint(&known)),
            };
            table.entry(known.organization).or_default().insert(known.name, endpoint);
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

    fn endpoint(&self, known: &EndpointUpdate) -> LiveEndpoint {
        LiveEndpoint {
            id: known.id.clone(),
            organization: known.organization.clone(),
            workspace: known.workspace.clone(),
            name: known.name.clone(),
            view: watch::Sender::new(Arc::new(view(known, &[]))),
            turn: tokio::sync::Mutex::default(),
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
    fn change(&self, known: &EndpointUpdate) {
        self.change_view(known);
        let mut draining = lock(&self.draining);
        if !draining.iter().map(|name| &**name).eq(known.draining.iter().map(String::as_str)) {
            *draining = known.draining.iter().map(|name| name.as_str().into()).collect();
            self.reroutes.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn change_view(&self, known: &EndpointUpdate) {
        let before = self.view();
        let same_replicas = {
            let present = before.route.pool.replicas();
            present.len() == known.replicas.len()
                && present
                    .iter()
                    .zip(&known.replicas)
                    .all(|(replica, (id, upstream))| *replica.name == **id && replica.upstream == *upstream)
        };
        if before.condition == known.condition && same_replicas && before.route.model == known.model {
            return;
        }
        let mut leaving = self.leaving();
        let present: Vec<Arc<Backend>> = before.route.pool.replicas().iter().chain(&*leaving).cloned().collect();
        let after = view(known, &present);
        let stays =
            |replica: &Arc<Backend>| after.route.pool.replicas().iter().any(|other| Arc::ptr_eq(other, replica));
        *leaving = present.into_iter().filter(|replica| !stays(replica) && replica.in_flight() > 0).collect();
        if !same_replicas {
            self.reroutes.fetch_add(1, Ordering::Relaxed);
        }
        self.view.send_replace(Arc::new(after));
    }
}

/// The view of what is known; replicas that are there already stay what they are.
fn view(known: &EndpointUpdate, present: &[Arc<Backend>]) -> View {
    let replicas = known.replicas.iter().filter_map(|(id, upstream)| {
        let same = present.iter().find(|replica| *replica.name == **id && replica.upstream == *upstream);
        if let Some(replica) = same {
            return Some(Arc::clone(replica));
        }
        match Backend::new(id, upstream.clone()) {
            Ok(replica) => Some(Arc::new(replica)),
            Err(error) => {
                tracing::error!(replica.name = id, %error, "a replica has an address that makes no sense");
                None
            }
        }
    });
    let pool = Pool::new(replicas.collect());
    View { condition: known.condition.clone(), route: Arc::new(Route { model: Arc::clone(&known.model), pool }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::{Modality, Serving};
    use domain::{ModelId, Price, Timestamp};

    const NOW: Timestamp = Timestamp::from_millis(1);

    fn known(condition: Condition, replicas: &[&str]) -> EndpointUpdate {
        let upstream = |id: &&str| Upstream::plain(format!("http://127.0.0.1:9/{id}"), "m");
        EndpointUpdate {
            id: "ep_1".into(),
            organization: OrganizationId::new(NOW, 1),
            workspace: WorkspaceId::new(NOW, 1),
            name: "chat".into(),
            model: Arc::new(Model {
                id: ModelId::parse("dedicated/chat").unwrap(),
                name: "chat".into(),
                modality: Modality::Chat,
                context_length: 100,
                price: Price::default(),
                optimized: false,
                serving: Serving::Upstreams(Vec::new()),
                flavors: Vec::new(),
            }),
            condition,
            replicas: replicas.iter().map(|id| ((*id).to_owned(), upstream(id))).collect(),
            draining: Vec::new(),
        }
    }

    fn apply(endpoints: &Endpoints, condition: Condition, replicas: &[&str]) -> Arc<LiveEndpoint> {
        endpoints.apply(vec![known(condition, replicas)]);
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
        assert!(Arc::ptr_eq(&one, &more.view().route.pool.replicas()[0]), "its calls in flight are counted on");
        let mut watched = more.watch();
        apply(&endpoints, Condition::Serving, &["a", "b"]);
        assert!(!watched.has_changed().unwrap(), "nobody is woken for nothing");
        endpoints.apply(Vec::new());
        assert!(watched.has_changed().unwrap());
        assert_eq!(watched.borrow_and_update().condition, Condition::Deleting);
        assert!(endpoints.get(&OrganizationId::new(NOW, 1), "chat").is_none());
    }

    #[test]
    fn a_place_in_the_queue_is_bounded_and_given_back() {
        let endpoints = Endpoints::default();
        let endpoint = apply(&endpoints, Condition::ScaledToZero, &[]);
        let held: Vec<HeldCall> = (0..MAX_HELD).map(|_| endpoint.hold(1).unwrap()).collect();
        assert_eq!(endpoint.hold(1).unwrap_err(), QueueFullError);
        assert_eq!(endpoint.held(), MAX_HELD, "who is refused takes no place");
        drop(held);
        assert_eq!(endpoint.held(), 0);
        let big = endpoint.hold(60 << 20).unwrap();
        assert_eq!(endpoint.hold(8 << 20).unwrap_err(), QueueFullError);
        drop(big);
        assert!(endpoint.hold(8 << 20).is_ok());
    }

    #[test]
    fn a_replica_that_leaves_is_told_of_until_its_last_call_has_ended() {
        let endpoints = Endpoints::default();
        let endpoint = apply(&endpoints, Condition::Serving, &["a", "b"]);
        let told = |endpoint: &LiveEndpoint| {
            let load = endpoint.load();
            let of = |one: &ReplicaLoad| format!("{}{}{}", one.name, if one.routed { "+" } else { "-" }, one.in_flight);
            load.replicas.iter().map(of).collect::<Vec<_>>().join(" ")
        };
        let open_call = endpoint.open_call();
        let view = endpoint.view();
        let mut prefixes = (0..=u8::MAX).map(|prefix| view.route.pool.pick(&[prefix], &[], Instant::now()).unwrap());
        let call = prefixes.find(|lease| &*lease.replica().name == "a").unwrap();
        let activity = endpoint.activity();
        apply(&endpoints, Condition::Serving, &["b"]);
        assert_eq!(told(&endpoint), "b+0 a-1");
        let idle = EndpointUpdate { draining: vec!["a".into(), "b".into()], ..known(Condition::Waiting, &[]) };
        endpoints.apply(vec![idle]);
        assert_eq!(told(&endpoint), "a-1 b-0", "that it heard of it is told, too");
        assert_ne!(endpoint.activity(), activity, "there is something to tell");
        apply(&endpoints, Condition::Serving, &["a", "b"]);
        assert_eq!(told(&endpoint), "a+1 b+0", "it came back with its call");
        apply(&endpoints, Condition::Waiting, &[]);
        assert_eq!(told(&endpoint), "a-1");
        drop(call);
        assert_eq!(told(&endpoint), "");
        assert_eq!((endpoint.open_calls(), endpoint.load().quiet_for), (1, Some(Duration::ZERO)));
        drop(open_call);
        assert_eq!(endpoint.open_calls(), 0);
    }
}
