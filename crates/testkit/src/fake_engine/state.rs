//! State of the fake engine: scripts, recorded calls and counters.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, Method};

use super::script::Script;
use super::simulation::{SimulatedEngine, Simulation};

/// Maximum number of recorded calls; the oldest is dropped.
const MAX_RECORDED_CALLS: usize = 100_000;

/// Variables in which engines find the key of their calls.
const KEY_VARIABLES: [&str; 4] = ["FOREBAY_REPLICA_KEY", "FOREBAY_ENGINE_API_KEY", "VLLM_API_KEY", "LLAMA_API_KEY"];

/// A recorded call to a model route.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub method: Method,
    /// Path and query.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub at: Instant,
    /// The client disconnected before the response was complete.
    pub cancelled: bool,
}

impl Recorded {
    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or(serde_json::Value::Null)
    }

    /// The value of a header, if present and text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Accepted and currently open connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    pub accepted: usize,
    pub open: usize,
}

/// A recorded call and whether it was cancelled since.
struct Entry {
    call: Recorded,
    cancelled: Arc<AtomicBool>,
}

#[derive(Default)]
struct Scripts {
    current: Arc<Script>,
    queued: VecDeque<Script>,
}

pub(super) struct State {
    /// The key that calls need, as real engines read it from their environment.
    pub(super) key: Option<String>,
    /// Off under load: calls are counted but not recorded.
    pub(super) recording: bool,
    scripts: Mutex<Scripts>,
    /// Whether the current script is the default and none is queued.
    plain: AtomicBool,
    entries: Mutex<VecDeque<Entry>>,
    /// Chats are computed instead of scripted.
    pub(super) simulated: Option<Arc<SimulatedEngine>>,
    /// Connections dropped while stopping do not count as cancelled.
    pub(super) stopping: AtomicBool,
    pub(super) health: AtomicU16,
    /// Prompt and completion tokens in its metrics, if it counts them.
    counters: Mutex<Option<(u64, u64)>>,
    pub(super) served: AtomicUsize,
    pub(super) in_flight: AtomicUsize,
    pub(super) cancelled: AtomicUsize,
    pub(super) accepted: AtomicUsize,
    pub(super) open: AtomicUsize,
}

impl State {
    pub(super) fn new(recording: bool, simulation: Option<Simulation>) -> Arc<Self> {
        // Only the program has an environment of its own.
        let key = KEY_VARIABLES.iter().filter(|_| !recording).find_map(|name| std::env::var(name).ok());
        Arc::new(Self {
            key,
            recording,
            simulated: simulation.map(SimulatedEngine::new).map(Arc::new),
            scripts: Mutex::default(),
            plain: AtomicBool::new(true),
            entries: Mutex::default(),
            stopping: AtomicBool::new(false),
            health: AtomicU16::new(200),
            counters: Mutex::default(),
            served: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
            accepted: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
        })
    }

    pub(super) fn set_counters(&self, prompt: u64, completion: u64) {
        *lock(&self.counters) = Some((prompt, completion));
    }

    /// The token counters in the notation of vLLM's metrics.
    pub(super) fn counters(&self) -> String {
        let counters = *lock(&self.counters);
        counters.map_or_else(String::new, |(prompt, completion)| {
            let label = "{model_name=\"fake-model\"}";
            format!("vllm:prompt_tokens_total{label} {prompt}\nvllm:generation_tokens_total{label} {completion}\n")
        })
    }

    pub(super) fn set_current(&self, script: Script) {
        let mut scripts = lock(&self.scripts);
        scripts.current = Arc::new(script);
        self.update_plain(&scripts);
    }

    pub(super) fn push(&self, script: Script) {
        let mut scripts = lock(&self.scripts);
        scripts.queued.push_back(script);
        self.update_plain(&scripts);
    }

    /// The script of the next call.
    pub(super) fn next_script(&self) -> Arc<Script> {
        let mut scripts = lock(&self.scripts);
        let Some(queued) = scripts.queued.pop_front() else {
            return Arc::clone(&scripts.current);
        };
        self.update_plain(&scripts);
        Arc::new(queued)
    }

    pub(super) fn current(&self) -> Arc<Script> {
        Arc::clone(&lock(&self.scripts).current)
    }

    pub(super) fn is_plain(&self) -> bool {
        self.plain.load(SeqCst)
    }

    fn update_plain(&self, scripts: &Scripts) {
        self.plain.store(scripts.queued.is_empty() && *scripts.current == Script::default(), SeqCst);
    }

    /// Counts a call as running until the guard is dropped.
    pub(super) fn begin_call(self: &Arc<Self>, parts: &http::request::Parts, body: &Bytes) -> CallGuard {
        self.served.fetch_add(1, SeqCst);
        self.in_flight.fetch_add(1, SeqCst);
        let cancelled = self.recording.then(|| self.record(parts, body));
        CallGuard { state: Arc::clone(self), cancelled, complete: false }
    }

    fn record(&self, parts: &http::request::Parts, body: &Bytes) -> Arc<AtomicBool> {
        let call = Recorded {
            method: parts.method.clone(),
            path: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
            headers: parts.headers.clone(),
            body: body.clone(),
            at: Instant::now(),
            cancelled: false,
        };
        let cancelled = Arc::new(AtomicBool::new(false));
        let mut entries = lock(&self.entries);
        if entries.len() == MAX_RECORDED_CALLS {
            entries.pop_front();
        }
        entries.push_back(Entry { call, cancelled: Arc::clone(&cancelled) });
        cancelled
    }

    pub(super) fn calls(&self) -> Vec<Recorded> {
        let current = |entry: &Entry| Recorded { cancelled: entry.cancelled.load(SeqCst), ..entry.call.clone() };
        lock(&self.entries).iter().map(current).collect()
    }

    pub(super) fn forget_calls(&self) {
        lock(&self.entries).clear();
        self.cancelled.store(0, SeqCst);
    }
}

/// A running call. If it is dropped before `complete`, the client has disconnected.
pub(super) struct CallGuard {
    state: Arc<State>,
    cancelled: Option<Arc<AtomicBool>>,
    complete: bool,
}

impl CallGuard {
    pub(super) fn complete(mut self) {
        self.complete = true;
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        if !self.complete && !self.state.stopping.load(SeqCst) {
            if let Some(cancelled) = &self.cancelled {
                cancelled.store(true, SeqCst);
            }
            self.state.cancelled.fetch_add(1, SeqCst);
        }
        self.state.in_flight.fetch_sub(1, SeqCst);
    }
}

/// Ignores poisoning, so that a panic elsewhere does not hide recorded calls.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
