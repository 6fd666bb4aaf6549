//! In-memory copies of the cluster's objects, kept by `kube::runtime`'s watcher and reflector.
//!
//! The watcher lists, watches, resumes, and lists again when the server has dropped its resource version (410). After an
//! error it starts over with a list, so that the end of an outage is noticed even if no object changes. During an outage the
//! copy keeps its last content, and calls continue to be served from it.

use super::requests::describe;
use background::Backoff;
use futures_util::StreamExt as _;
use http::Request;
use kube::client::Body;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Error, Resource};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use std::error::Error as _;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

/// The server ends a watch after this time. The watcher takes one that is silent for 5 s longer for dead.
const WATCH_SECONDS: u32 = 60;
/// A watch that ends sooner is not reopened at once.
const MIN_WATCH_INTERVAL: Duration = Duration::from_secs(1);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
/// Objects are listed again this often, in case an event was missed.
const RELIST_PERIOD: Duration = Duration::from_secs(600);

pub(in crate::drivers::kubernetes) struct Mirror<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    store: Store<K>,
    writer: Mutex<Writer<K>>,
    /// `None` for objects without a namespace.
    namespace: Option<String>,
    synced: AtomicBool,
    stale: AtomicBool,
    /// Notified after every change.
    changed: Arc<Notify>,
}

impl<K> Mirror<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    pub(in crate::drivers::kubernetes) fn new(namespace: Option<String>, changed: Arc<Notify>) -> Self {
        let writer = Writer::default();
        Self {
            store: writer.as_reader(),
            writer: Mutex::new(writer),
            namespace,
            synced: AtomicBool::new(false),
            stale: AtomicBool::new(false),
            changed,
        }
    }

    /// Whether all objects have been listed once.
    pub(in crate::drivers::kubernetes) fn is_synced(&self) -> bool {
        self.synced.load(Ordering::Acquire)
    }

    /// Whether the last request failed, so that the copy may be outdated.
    pub(in crate::drivers::kubernetes) fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Acquire)
    }

    pub(in crate::drivers::kubernetes) fn set_stale(&self, stale: bool) {
        self.stale.store(stale, Ordering::Release);
    }

    pub(in crate::drivers::kubernetes) fn get(&self, name: &str) -> Option<Arc<K>> {
        let key = ObjectRef::new(name);
        self.store.get(&match &self.namespace {
            Some(namespace) => key.within(namespace),
            None => key,
        })
    }

    pub(in crate::drivers::kubernetes) fn all(&self) -> Vec<Arc<K>> {
        self.store.state()
    }

    /// Adds an object that was just created, before the watch reports it.
    pub(in crate::drivers::kubernetes) fn expect(&self, name: &str, object: K) {
        if self.get(name).is_none() {
            self.apply(&Event::Apply(object));
        }
    }

    pub(in crate::drivers::kubernetes) fn apply(&self, event: &Event<K>) {
        self.writer.lock().apply_watcher_event(event);
        match event {
            Event::Init | Event::InitApply(_) => return,
            Event::InitDone => {
                self.synced.store(true, Ordering::Release);
                self.set_stale(false);
            }
            Event::Apply(_) | Event::Delete(_) => {}
        }
        self.changed.notify_one();
    }
}

impl<K> Mirror<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// Keeps the copy up to date. Runs until it is cancelled.
    pub(in crate::drivers::kubernetes) async fn follow(self: Arc<Self>, api: Api<K>, labels: Option<String>) {
        let kind = K::kind(&());
        let config = watcher::Config { label_selector: labels, timeout: Some(WATCH_SECONDS), ..Default::default() };
        let (mut backoff, mut fails) = (BACKOFF, false);
        loop {
            let mut events = pin!(watcher(api.clone(), config.clone()));
            let relist_at = Instant::now() + RELIST_PERIOD;
            while let Ok(Some(event)) = timeout_at(relist_at, events.next()).await {
                match event {
                    Ok(event) => {
                        self.apply(&event);
                        if fails && matches!(event, Event::InitDone) {
                            tracing::info!(%kind, "watching the cluster's {kind}s again");
                            (backoff, fails) = (BACKOFF, false);
                        }
                    }
                    Err(error) => {
                        let why = describe(error.source().unwrap_or(&error));
                        self.set_stale(true);
                        if !std::mem::replace(&mut fails, true) {
                            tracing::warn!(%kind, %why, "cannot watch the cluster's {kind}s; keeping the last state: {why}");
                        }
                        sleep(backoff.next_delay()).await;
                        break;
                    }
                }
            }
        }
    }
}

/// A client for one mirror. Bounds the time to the head of a response, and spaces out watches: the watcher reconnects at
/// once when a watch ends, which would be a busy loop if the server, or a proxy before it, ends every watch at once.
pub(in crate::drivers::kubernetes) fn spaced(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let next_watch = Arc::new(tokio::sync::Mutex::new(Instant::now()));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, next_watch) = (client.clone(), Arc::clone(&next_watch));
        async move {
            if request.uri().query().is_some_and(|query| query.contains("watch=true")) {
                let mut next_watch = next_watch.lock().await;
                sleep_until(*next_watch).await;
                *next_watch = Instant::now() + MIN_WATCH_INTERVAL;
            }
            let response = timeout(RESPONSE_TIMEOUT, client.send(request)).await;
            response.unwrap_or_else(|_| Err(Error::Service(format!("no response within {RESPONSE_TIMEOUT:?}").into())))
        }
    });
    Client::new(service, namespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http::Response;
    use http_body_util::Full;
    use k8s_openapi::api::core::v1::Pod;
    use std::convert::Infallible;
    use std::sync::atomic::AtomicUsize;

    /// A server, or a proxy before it, that ends every watch at once.
    #[tokio::test]
    async fn a_watch_that_ends_at_once_is_not_reopened_without_a_pause() {
        let (lists, watches) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counts = (Arc::clone(&lists), Arc::clone(&watches));
        let respond = move |request: Request<Body>| {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            if is_watch { &counts.1 } else { &counts.0 }.fetch_add(1, Ordering::Relaxed);
            let list = r#"{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"1"},"items":[]}"#;
            let body = Full::new(Bytes::from(if is_watch { "" } else { list }));
            std::future::ready(Ok::<_, Infallible>(Response::new(body)))
        };
        let client = spaced(Client::new(tower::service_fn(respond), "default"));
        let mirror = Arc::new(Mirror::<Pod>::new(None, Arc::default()));
        let following = Arc::clone(&mirror).follow(Api::default_namespaced(client), None);
        let _ = timeout(Duration::from_millis(1_500), following).await;
        assert!(mirror.is_synced() && !mirror.is_stale());
        let (lists, watches) = (lists.load(Ordering::Relaxed), watches.load(Ordering::Relaxed));
        assert!(lists == 1 && (1..=4).contains(&watches), "{lists} lists, {watches} watches");
    }
}
