//! A copy of the cluster's objects, kept by a list and a watch.
//!
//! The watch is resumed where it stopped; the server says with 410 when that is too long ago, and everything is listed
//! again. While the server is away the copy stays what it was: that is what serving goes on by.

use super::requests::{tell, within};
use futures_util::{StreamExt as _, pin_mut};
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The server ends a watch after so long; bookmarks keep its place meanwhile.
const WATCH_SECONDS: u32 = 60;
/// A watch that says nothing for so long is dead.
const SILENCE: Duration = Duration::from_secs(75);
const LIST_TIME: Duration = Duration::from_secs(30);
const PAGE: u32 = 500;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
const GONE: u16 = 410;
/// A watch that ends sooner was not meant to be resumed at once.
const SHORTEST_WATCH: Duration = Duration::from_secs(1);
/// After so many watches in a row that went wrong everything is listed again.
const MOST_FAILURES: u32 = 5;
/// Everything is listed again now and then: whatever was missed is not missed for ever.
const LIST_AGAIN: Duration = Duration::from_secs(600);

pub(in crate::drivers::kubernetes) struct Mirror<K> {
    objects: RwLock<HashMap<String, Arc<K>>>,
    synced: AtomicBool,
    /// Whether the server did not answer when it was last asked.
    stale: AtomicBool,
    /// Told after every change.
    changed: Arc<Notify>,
}

impl<K> Mirror<K> {
    pub(in crate::drivers::kubernetes) fn new(changed: Arc<Notify>) -> Self {
        Self { objects: RwLock::default(), synced: AtomicBool::new(false), stale: AtomicBool::new(false), changed }
    }

    /// Whether everything was listed once.
    pub(in crate::drivers::kubernetes) fn is_synced(&self) -> bool {
        self.synced.load(Ordering::Acquire)
    }

    /// Whether the copy may be older than what is so, because the server is away.
    pub(in crate::drivers::kubernetes) fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Acquire)
    }

    pub(in crate::drivers::kubernetes) fn set_stale(&self, stale: bool) {
        self.stale.store(stale, Ordering::Release);
    }

    pub(in crate::drivers::kubernetes) fn get(&self, name: &str) -> Option<Arc<K>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub(in crate::drivers::kubernetes) fn all(&self) -> Vec<Arc<K>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// One that was just made, before the watch tells of it.
    pub(in crate::drivers::kubernetes) fn expect(&self, name: &str, object: K) {
        self.change(|objects| {
            objects.entry(name.to_owned()).or_insert_with(|| Arc::new(object));
        });
    }

    fn change(&self, change: impl FnOnce(&mut HashMap<String, Arc<K>>)) {
        change(&mut self.objects.write().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }
}

/// Why a watch ended.
enum Ended {
    /// It can be resumed.
    Resumable,
    /// The place where it stopped is not remembered any more.
    Forgotten,
}

impl<K> Mirror<K>
where
    K: Resource<DynamicType: Default>,
{
    /// These are all that there are.
    pub(in crate::drivers::kubernetes) fn replace(&self, found: impl IntoIterator<Item = K>) {
        let found = found.into_iter().map(|object| (object.name_any(), Arc::new(object))).collect();
        self.change(|objects| *objects = found);
        self.synced.store(true, Ordering::Release);
        self.set_stale(false);
    }
}

impl<K> Mirror<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Default,
{
    /// Keeps the copy true, for ever.
    pub(in crate::drivers::kubernetes) async fn follow(self: Arc<Self>, api: Api<K>, labels: Option<String>) {
        let kind = K::kind(&K::DynamicType::default()).into_owned();
        let mut pause = Pause::default();
        loop {
            let version = match self.list(&api, labels.as_deref()).await {
                Ok(version) => version,
                Err(why) => {
                    self.set_stale(true);
                    pause.tell(&kind, &why);
                    pause.wait().await;
                    continue;
                }
            };
            pause.is_over(&kind);
            self.resume(&api, labels.as_deref(), version, &kind, &mut pause).await;
        }
    }

    async fn list(&self, api: &Api<K>, labels: Option<&str>) -> Result<String, String> {
        let mut params = ListParams { label_selector: labels.map(ToOwned::to_owned), ..ListParams::default() };
        params.limit = Some(PAGE);
        let mut found = Vec::new();
        loop {
            let page = within(LIST_TIME, api.list(&params)).await.map_err(|error| error.to_string())?;
            found.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => {
                    self.replace(found);
                    return Ok(page.metadata.resource_version.unwrap_or_default());
                }
            }
        }
    }

    /// Watches from a version on, again and again, until everything is to be listed again.
    async fn resume(&self, api: &Api<K>, labels: Option<&str>, mut version: String, kind: &str, pause: &mut Pause) {
        let listed_at = Instant::now();
        let mut failures = 0;
        while failures < MOST_FAILURES && listed_at.elapsed() < LIST_AGAIN {
            let began_at = Instant::now();
            match self.watch(api, labels, &mut version).await {
                Ok(Ended::Resumable) if began_at.elapsed() >= SHORTEST_WATCH => {
                    failures = 0;
                    pause.is_over(kind);
                }
                Ok(Ended::Resumable) => {
                    failures += 1;
                    pause.wait().await;
                }
                Ok(Ended::Forgotten) => return,
                Err(why) => {
                    self.set_stale(true);
                    failures += 1;
                    pause.tell(kind, &why);
                    pause.wait().await;
                }
            }
        }
    }

    async fn watch(&self, api: &Api<K>, labels: Option<&str>, version: &mut String) -> Result<Ended, String> {
        let mut params = WatchParams::default().timeout(WATCH_SECONDS);
        params.label_selector = labels.map(ToOwned::to_owned);
        let events = match tokio::time::timeout(LIST_TIME, api.watch(&params, version)).await {
            Ok(Ok(events)) => events,
            Ok(Err(kube::Error::Api(status))) if status.code == GONE => return Ok(Ended::Forgotten),
            Ok(Err(error)) => return Err(tell(&error)),
            Err(_elapsed) => return Err(format!("no answer within {LIST_TIME:?}")),
        };
        self.set_stale(false);
        pin_mut!(events);
        loop {
            let Ok(event) = tokio::time::timeout(SILENCE, events.next()).await else {
                return Err(format!("nothing was heard for {SILENCE:?}"));
            };
            let noted = |object: &K, version: &mut String| {
                if let Some(newer) = object.resource_version() {
                    *version = newer;
                }
                object.name_any()
            };
            match event {
                None => return Ok(Ended::Resumable),
                Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object))) => {
                    let name = noted(&object, version);
                    self.change(|objects| drop(objects.insert(name, Arc::new(object))));
                }
                Some(Ok(WatchEvent::Deleted(object))) => {
                    let name = noted(&object, version);
                    self.change(|objects| drop(objects.remove(&name)));
                }
                Some(Ok(WatchEvent::Bookmark(mark))) => *version = mark.metadata.resource_version,
                Some(Ok(WatchEvent::Error(status))) if status.code == GONE => return Ok(Ended::Forgotten),
                Some(Ok(WatchEvent::Error(status))) => return Err(status.message),
                Some(Err(kube::Error::Api(status))) if status.code == GONE => return Ok(Ended::Forgotten),
                Some(Err(error)) => return Err(error.to_string()),
            }
        }
    }
}

/// Grows while requests fail, and says so once.
struct Pause {
    next: Duration,
    told: bool,
}

impl Default for Pause {
    fn default() -> Self {
        Self { next: FIRST_PAUSE, told: false }
    }
}

impl Pause {
    fn tell(&mut self, kind: &str, why: &str) {
        if !std::mem::replace(&mut self.told, true) {
            tracing::warn!(kind, why, "the cluster does not tell about {kind}s; what is known stays: {why}");
        }
    }

    fn is_over(&mut self, kind: &str) {
        if self.told {
            tracing::info!(kind, "the cluster tells about {kind}s again");
        }
        *self = Self::default();
    }

    async fn wait(&mut self) {
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http::{Request, Response};
    use http_body_util::Full;
    use k8s_openapi::api::core::v1::Pod;
    use std::convert::Infallible;
    use std::sync::atomic::AtomicUsize;

    /// A server, or something before it, that ends every watch as soon as it has begun.
    #[tokio::test]
    async fn a_watch_that_ends_at_once_is_not_opened_again_without_a_pause() {
        let (lists, watches) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counts = (Arc::clone(&lists), Arc::clone(&watches));
        let answer = move |request: Request<kube::client::Body>| {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            if is_watch { &counts.1 } else { &counts.0 }.fetch_add(1, Ordering::Relaxed);
            let list = r#"{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"1"},"items":[]}"#;
            let body = Full::new(Bytes::from(if is_watch { "" } else { list }));
            std::future::ready(Ok::<_, Infallible>(Response::new(body)))
        };
        let client = kube::Client::new(tower::service_fn(answer), "default");
        let mirror = Arc::new(Mirror::<Pod>::new(Arc::default()));
        let following = Arc::clone(&mirror).follow(Api::default_namespaced(client), None);
        let _ = tokio::time::timeout(Duration::from_millis(1_500), following).await;
        assert!(mirror.is_synced() && !mirror.is_stale());
        let (lists, watches) = (lists.load(Ordering::Relaxed), watches.load(Ordering::Relaxed));
        assert!(lists == 1 && (1..=4).contains(&watches), "{lists} lists, {watches} watches");
    }
}
