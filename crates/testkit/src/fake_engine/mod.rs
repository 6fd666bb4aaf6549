//! A scripted OpenAI-compatible engine, which speaks Messages and Responses itself, too.
//!
//! Tests hold a [`FakeEngine`] and script it call by call. The binary `fake-engine` accepts the same scripts over HTTP
//! (`POST /script`, `POST /script/next`, or a member `"fake": {…}` in a request) and is fast enough for load tests. It
//! has its own threads, so a test may block without stopping it.

mod body;
mod chat;
mod completions;
mod embeddings;
mod errors;
mod native;
mod personality;
mod request;
mod rerank;
mod response;
mod script;
mod server;
mod simulation;
mod state;
mod stream;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use anyhow::Context;
use socket2::Socket;

pub use embeddings::vector as embedding_of;
pub use personality::{Personality, UsageFault};
pub use script::{EmbedAs, ErrorBody, Script};
pub use simulation::{BYTES_PER_TOKEN, SimulatedWork, Simulation};
pub use state::{Connections, Recorded};

use server::Threads;
use state::State;

/// Polling interval while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The response to a chat request, without a server: the events of a stream, or the one body.
pub fn render_chat(script: &Script, request: &serde_json::Value) -> Result<Vec<bytes::Bytes>, String> {
    let mut request = request::ChatRequest::parse(request.to_string().as_bytes())?;
    script.engine.read_own_members(&mut request);
    let continued = request.beginning().map(|text| script.continuing(text));
    let script = continued.as_ref().unwrap_or(script);
    if !request.stream {
        return Ok(vec![chat::render(script, &request)]);
    }
    let events = stream::render(script, &request).into_iter().filter_map(|step| match step {
        body::Step::Send(bytes) => Some(bytes),
        body::Step::Flush | body::Step::Wait(_) | body::Step::Stall | body::Step::Cut => None,
    });
    Ok(events.collect())
}

/// A running engine; dropping it stops it.
pub struct FakeEngine {
    address: SocketAddr,
    state: Arc<State>,
    threads: Option<Threads>,
    thread_count: usize,
    /// Bound but not listening: reserves the port while the engine is stopped.
    _reservation: Socket,
}

impl FakeEngine {
    /// An engine on a free loopback port that records every call.
    pub async fn start() -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        Self::listen(address, 1, State::new(true, None)).expect("a loopback port is free for the fake engine")
    }

    /// The engine of the binary: any address, several threads; calls are counted but not recorded.
    pub fn for_load(address: SocketAddr, thread_count: usize) -> anyhow::Result<Self> {
        Self::listen(address, thread_count, State::new(false, None))
    }

    /// An engine that takes its time for chats, as the simulation says, and has a cache.
    pub fn simulated(address: SocketAddr, simulation: Simulation) -> anyhow::Result<Self> {
        Self::listen(address, 1, State::new(false, Some(simulation)))
    }

    /// The prompts that a simulated engine has computed.
    pub fn simulated_work(&self) -> SimulatedWork {
        self.state.simulated.as_ref().map(|engine| engine.work()).unwrap_or_default()
    }

    fn listen(requested: SocketAddr, thread_count: usize, state: Arc<State>) -> anyhow::Result<Self> {
        let reservation = server::bind(requested)?;
        let address = reservation.local_addr()?.as_socket().context("the socket has an IP address")?;
        let threads = Some(Threads::start(address, thread_count, &state)?);
        Ok(Self { address, state, threads, thread_count, _reservation: reservation })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL for a configuration: `http://127.0.0.1:PORT/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Sets the script of all following calls.
    pub fn script(&self, script: Script) {
        self.state.set_current(script);
    }

    /// Queues a script for one call; queued scripts are used in order.
    pub fn push(&self, script: Script) {
        self.state.push(script);
    }

    /// Recorded calls, oldest first.
    pub fn calls(&self) -> Vec<Recorded> {
        self.state.calls()
    }

    pub fn forget_calls(&self) {
        self.state.forget_calls();
    }

    /// Calls whose response is not complete.
    pub fn in_flight(&self) -> usize {
        self.state.in_flight.load(SeqCst)
    }

    pub fn connections(&self) -> Connections {
        Connections { accepted: self.state.accepted.load(SeqCst), open: self.state.open.load(SeqCst) }
    }

    /// The status of `GET /health`.
    pub fn set_health(&self, status: u16) {
        self.state.health.store(status, SeqCst);
    }

    /// Prompt and completion tokens that `GET /metrics` shows; without them, it has no token counters.
    pub fn set_counters(&self, prompt: u64, completion: u64) {
        self.state.set_counters(prompt, completion);
    }

    /// Closes the listener and every connection; running calls do not count as cancelled.
    pub fn stop(&mut self) {
        if let Some(threads) = self.threads.take() {
            self.state.stopping.store(true, SeqCst);
            threads.stop();
        }
    }

    /// Listens again on the same port.
    pub fn restart(&mut self) {
        self.stop();
        self.state.stopping.store(false, SeqCst);
        let threads = Threads::start(self.address, self.thread_count, &self.state);
        self.threads = Some(threads.expect("the port is reserved for the fake engine"));
    }

    /// Blocks until the engine stops.
    pub fn join(mut self) {
        if let Some(threads) = self.threads.take() {
            threads.join();
        }
    }

    /// Waits until a client has disconnected before its response was complete; false on timeout.
    pub async fn wait_until_cancelled(&self, timeout: Duration) -> bool {
        self.wait_until(timeout, |engine| engine.state.cancelled.load(SeqCst) > 0).await
    }

    /// Waits until the engine has received this many calls; false on timeout.
    pub async fn wait_for_calls(&self, count: usize, timeout: Duration) -> bool {
        self.wait_until(timeout, |engine| engine.state.served.load(SeqCst) >= count).await
    }

    /// Waits until no call is running; false on timeout.
    pub async fn wait_until_idle(&self, timeout: Duration) -> bool {
        self.wait_until(timeout, |engine| engine.in_flight() == 0).await
    }

    async fn wait_until(&self, timeout: Duration, condition: impl Fn(&Self) -> bool) -> bool {
        let deadline = Instant::now() + timeout;
        while !condition(self) {
            if Instant::now() >= deadline {
                return false;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        true
    }
}

impl Drop for FakeEngine {
    fn drop(&mut self) {
        self.stop();
    }
}
