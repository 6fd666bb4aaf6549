//! A backend: one model server as the gateway calls it, with its address, health and load.
//!
//! It is an upstream of the catalogue, an engine of a pool, or a ready replica of an endpoint.

use crate::breaker::{Breaker, Witness};
use crate::queue::Queue;
use crate::room::{self, CapacityProbe, Occupancy};
use crate::routing::{PrefixIndex, PromptLoad};
use arc_swap::ArcSwap;
use domain::CallClass;
use domain::capabilities::{Capabilities, Capability, CapabilitySet, Support};
use domain::model::{BatchShare, EngineKind, RerankApi, Upstream};
use http::header::{self, HeaderMap, HeaderValue};
use outbound::{Address, AddressError};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Result of the last probe or connection attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// Not probed yet; calls may try it.
    Unknown,
    Up,
    Down,
}

/// Calls whose connections break within this time were probably lost with the same process.
const LOST_TOGETHER: Duration = Duration::from_secs(1);

/// Why what is known of an engine may be outdated. The later one includes the earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Staleness {
    /// A call was rejected for what the engine lacked: an operator may have given it other options.
    CallRejected,
    /// It was down.
    Restarted,
}

/// Identifies a backend among all that this process has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BackendId(u64);

impl BackendId {
    fn next() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self(COUNT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What a call needs to begin at a replica.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) class: CallClass,
    /// The share of the replica that yielding calls may take.
    pub(crate) batch_share: BatchShare,
    pub(crate) now: Instant,
}

#[derive(Debug)]
pub struct Backend {
    pub id: BackendId,
    /// Shown in usage records, metrics and logs.
    pub name: Arc<str>,
    pub address: Address,
    pub upstream: Upstream,
    /// Common parts of all requests to it.
    pub template: Template,
    health: AtomicU8,
    in_flight: AtomicU32,
    /// Calls that yield to interactive ones.
    yielding: AtomicU32,
    created_at: Instant,
    /// When an interactive call last began, in seconds after `created_at`.
    interactive_secs: AtomicU64,
    /// The first of the calls that wait for room sleeps.
    is_awaited: AtomicBool,
    /// The queue of its pool.
    queue: Mutex<Weak<Queue>>,
    probe: CapacityProbe,
    prompt_load: PromptLoad,
    prefixes: Mutex<PrefixIndex>,
    breaker: Mutex<Breaker>,
    /// When a call was last lost with it.
    lost_at: Mutex<Option<Instant>>,
    /// Whether it has reported tokens that it found in its cache.
    has_reported_cached: AtomicBool,
    /// As far as it is known.
    capabilities: ArcSwap<Capabilities>,
    /// Why its capabilities may have changed since they were found: 0 for no reason, else the [`Staleness`] plus one.
    staleness: AtomicU8,
}

/// The parts of a request that are the same for all calls.
#[derive(Debug)]
pub struct Template {
    /// Head of a request, without the headers that differ between calls.
    pub chat: Box<[u8]>,
    pub completions: Box<[u8]>,
    pub embeddings: Box<[u8]>,
    pub rerank: Box<[u8]>,
    pub score: Box<[u8]>,
    pub messages: Box<[u8]>,
    pub message_tokens: Box<[u8]>,
    pub responses: Box<[u8]>,
    /// Host, content type, user agent, and the upstream's key.
    pub headers: HeaderMap,
}

/// The version of Anthropic's API that requests to it name.
const ANTHROPIC_VERSION: &str = "anthropic-version: 2023-06-01\r\n";
const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("forebay/", env!("CARGO_PKG_VERSION")));

impl Template {
    fn new(address: &Address, upstream: &Upstream) -> Result<Self, AddressError> {
        let invalid = || AddressError::of(&upstream.url);
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(header::HOST, HeaderValue::from_str(&address.authority).map_err(|_| invalid())?);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::USER_AGENT, USER_AGENT);
        if let Some(key) = &upstream.api_key {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| invalid())?;
            bearer.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, bearer);
        }
        let head = |route: &str| {
            let path = [&address.path, route].concat();
            path.parse::<http::Uri>().map_err(|_| invalid()).map(|_| head(&path, &headers))
        };
        let compare = |route: &str| match upstream.rerank_api {
            RerankApi::Vllm => head(route),
            RerankApi::Tei => Ok(self::head(&[root_of(&address.path), "/rerank"].concat(), &headers)),
        };
        Ok(Self {
            chat: head("/chat/completions")?,
            completions: head("/completions")?,
            embeddings: head("/embeddings")?,
            rerank: compare("/rerank")?,
            score: compare("/score")?,
            messages: [&head("/messages")?, ANTHROPIC_VERSION.as_bytes()].concat().into(),
            message_tokens: [&head("/messages/count_tokens")?, ANTHROPIC_VERSION.as_bytes()].concat().into(),
            responses: head("/responses")?,
            headers,
        })
    }
}

/// The path of routes beside OpenAI's API.
fn root_of(path: &str) -> &str {
    path.strip_suffix("/v1").unwrap_or(path)
}

/// Encodes a request line and headers.
fn head(path: &str, headers: &HeaderMap) -> Box<[u8]> {
    let mut text = format!("POST {path} HTTP/1.1\r\n").into_bytes();
    for (name, value) in headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    text.into_boxed_slice()
}

impl Backend {
    pub fn new(name: &str, upstream: Upstream) -> Result<Self, AddressError> {
        let address = Address::parse(&upstream.url)?;
        Ok(Self {
            id: BackendId::next(),
            name: name.into(),
            template: Template::new(&address, &upstream)?,
            address,
            upstream,
            health: AtomicU8::new(Health::Unknown as u8),
            in_flight: AtomicU32::new(0),
            yielding: AtomicU32::new(0),
            created_at: Instant::now(),
            interactive_secs: AtomicU64::new(0),
            is_awaited: AtomicBool::new(false),
            queue: Mutex::default(),
            probe: CapacityProbe::default(),
            prompt_load: PromptLoad::default(),
            prefixes: Mutex::default(),
            breaker: Mutex::default(),
            lost_at: Mutex::default(),
            has_reported_cached: AtomicBool::new(false),
            capabilities: ArcSwap::default(),
            staleness: AtomicU8::new(0),
        })
    }

    /// The head of a request to a route beside OpenAI's API, without the headers that differ between calls.
    pub fn head_at_root(&self, route: &str) -> Box<[u8]> {
        head(&[root_of(&self.address.path), route].concat(), &self.template.headers)
    }

    pub fn health(&self) -> Health {
        match self.health.load(Ordering::Relaxed) {
            0 => Health::Unknown,
            1 => Health::Up,
            _ => Health::Down,
        }
    }

    /// Returns whether the health changed. A backend that was down has restarted, so its cache is empty, and its engine may
    /// have other options: what it lacked is not known until it was probed.
    pub fn set_health(&self, health: Health) -> bool {
        let has_changed = self.health.swap(health as u8, Ordering::Relaxed) != health as u8;
        if has_changed {
            self.wake_waiting();
        }
        if has_changed && health == Health::Down {
            self.prefixes(PrefixIndex::clear);
            self.mark_stale(Staleness::Restarted);
            self.capabilities.rcu(|known| known.without_missing());
        }
        has_changed
    }

    /// What its engine can do, as far as it is known.
    pub fn capabilities(&self) -> Arc<Capabilities> {
        self.capabilities.load_full()
    }

    /// What it has shown to lack. Every call reads it.
    pub(crate) fn missing_capabilities(&self) -> CapabilitySet {
        self.capabilities.load().missing()
    }

    pub fn set_capabilities(&self, capabilities: Arc<Capabilities>) {
        self.capabilities.store(capabilities);
    }

    /// Notes that its capabilities may have changed, so that it is probed again.
    pub fn mark_stale(&self, staleness: Staleness) {
        self.staleness.fetch_max(staleness as u8 + 1, Ordering::Relaxed);
    }

    /// Whether there is a reason that was not taken so far.
    pub fn is_stale(&self) -> bool {
        self.staleness.load(Ordering::Relaxed) != 0
    }

    /// Why its capabilities may have changed since the last call of this.
    pub fn take_staleness(&self) -> Option<Staleness> {
        match self.staleness.swap(0, Ordering::Relaxed) {
            0 => None,
            1 => Some(Staleness::CallRejected),
            _ => Some(Staleness::Restarted),
        }
    }

    /// Whether its responses say how many tokens of a prompt were cached, in their last usage at least. An engine that was not
    /// probed is expected to do what its kind can: its first calls may find a full cache, whose tokens have a lower price.
    pub fn reports_cached(&self) -> bool {
        self.has_reported_cached.load(Ordering::Relaxed)
            || match self.capabilities.load().get(Capability::CachedTokens) {
                Support::Yes => true,
                Support::No => false,
                Support::Unknown => self.upstream.engine.is_some_and(EngineKind::reports_cached_tokens_last),
            }
    }

    /// It has reported tokens that it found in its cache.
    pub(crate) fn note_cached(&self) {
        if !self.has_reported_cached.load(Ordering::Relaxed) {
            self.has_reported_cached.store(true, Ordering::Relaxed);
        }
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// The prompt work at this backend.
    pub fn prompt_load(&self) -> &PromptLoad {
        &self.prompt_load
    }

    /// Reads or changes the prefixes that it probably has in its cache.
    pub fn prefixes<T>(&self, change: impl FnOnce(&mut PrefixIndex) -> T) -> T {
        change(&mut self.prefixes.lock())
    }

    /// Calls in flight that yield to interactive ones.
    pub(crate) fn yielding(&self) -> u32 {
        self.yielding.load(Ordering::Relaxed)
    }

    pub(crate) fn has_room(&self, claim: Claim) -> bool {
        self.upstream.max_in_flight.is_none_or(|limit| self.in_flight() < limit)
            && (!claim.class.yields() || self.leaves_room_beside(self.yielding(), claim))
    }

    /// Whether another call that yields may begin beside this many.
    fn leaves_room_beside(&self, yielding: u32, claim: Claim) -> bool {
        let is_left = room::is_left(Occupancy {
            max_in_flight: self.upstream.max_in_flight,
            probed_capacity: self.probe.capacity.load(Ordering::Relaxed),
            share: claim.batch_share,
            quiet_secs: self.age_secs(claim.now).saturating_sub(self.interactive_secs.load(Ordering::Relaxed)),
            in_flight: self.in_flight(),
            yielding,
            queued: self.prompt_load.engine_queue(),
        });
        if !is_left {
            self.probe.used_up();
        }
        is_left
    }

    /// Counts a call, unless there is no room for its class.
    pub(crate) fn enter(&self, claim: Claim) -> bool {
        if !claim.class.yields() {
            self.interactive_secs.store(self.age_secs(claim.now), Ordering::Relaxed);
            return self.count();
        }
        let more = |yielding| self.leaves_room_beside(yielding, claim).then(|| yielding + 1);
        if self.yielding.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            return false;
        }
        let is_counted = self.count();
        if !is_counted {
            self.yielding.fetch_sub(1, Ordering::Relaxed);
        }
        is_counted
    }

    fn age_secs(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.created_at).as_secs()
    }

    /// Counts a call of any class, unless the limit is reached.
    fn count(&self) -> bool {
        let limit = self.upstream.max_in_flight.unwrap_or(u32::MAX);
        self.in_flight.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| (now < limit).then(|| now + 1)).is_ok()
    }

    pub(crate) fn leave(&self, class: CallClass) {
        if class.yields() {
            self.yielding.fetch_sub(1, Ordering::SeqCst);
        }
        // In one order with the marks of calls that wait: they see the room, or this sees the mark.
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        self.wake_waiting();
    }

    /// The calls that wait in the queue are woken from now on if it is awaited.
    pub(crate) fn wakes(&self, queue: &Arc<Queue>) {
        *self.queue.lock() = Arc::downgrade(queue);
        self.wake_waiting();
    }

    pub(crate) fn await_room(&self) {
        self.is_awaited.store(true, Ordering::SeqCst);
    }

    /// There may be room that there was not before.
    pub(crate) fn wake_waiting(&self) {
        if self.is_awaited.load(Ordering::SeqCst) {
            self.is_awaited.store(false, Ordering::SeqCst);
            let queue = self.queue.lock().upgrade();
            if let Some(queue) = queue {
                queue.wake();
            }
        }
    }

    /// Notes when a stream had its first event, while the capacity for yielding calls is probed.
    pub(crate) fn first_event_after(&self, time: impl FnOnce() -> Duration) {
        if self.upstream.max_in_flight.is_none() && self.yielding() > 0 {
            self.probe.first_event_after(time());
        }
    }

    /// Ends a round of the probe of its capacity, if there are calls that need to know it.
    pub(crate) fn probe_capacity(&self) {
        if self.upstream.max_in_flight.is_none() && self.yielding() > 0 {
            self.probe.end_round(self.prompt_load.engine_queue());
        }
        self.wake_waiting();
    }

    pub(crate) fn breaker<T>(&self, change: impl FnOnce(&mut Breaker) -> T) -> T {
        change(&mut self.breaker.lock())
    }

    /// Records a successful response.
    pub fn succeeded(&self) {
        self.breaker(Breaker::succeeded);
    }

    /// Records a failed response.
    pub fn failed(&self, witness: Witness, now: Instant) {
        self.breaker(|breaker| breaker.failed(witness, now));
    }

    /// Whether its last responses were bad, as far as one caller saw.
    pub(crate) fn is_suspect(&self) -> bool {
        self.breaker(|breaker| breaker.is_suspect())
    }

    /// Records that a call was lost with it. Returns whether the call was alone: no other one was running, or was lost just
    /// before.
    pub fn lost(&self, now: Instant) -> bool {
        let before = self.lost_at.lock().replace(now);
        let was_lost_before = before.is_some_and(|before| now.saturating_duration_since(before) < LOST_TOGETHER);
        self.in_flight() <= 1 && !was_lost_before
    }

    /// Records a failed connection. It gets no calls until a probe succeeds. Returns whether its health changed.
    pub fn unreachable(&self) -> bool {
        self.set_health(Health::Down)
    }
}
