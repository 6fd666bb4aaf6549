//! An OpenAI-compatible engine that does what it is told.
//!
//! Tests hold a [`FakeEngine`] and script it call by call; the binary `fake-engine` takes the same scripts over the
//! wire (`POST /script`, `POST /script/next`, or a member `"fake": {…}` in a request) and is quick enough to stand
//! behind a load test. It runs in threads of its own, so a test may block without stopping it.

mod answer;
mod asked;
mod body;
mod chat;
mod embeddings;
mod errors;
mod script;
mod server;
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
pub use script::{EmbedAs, ErrorBody, Script};
pub use state::{Connections, Recorded};

use server::Threads;
use state::State;

/// How often a waiting test looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// A running engine; dropping it stops it.
pub struct FakeEngine {
    address: SocketAddr,
    state: Arc<State>,
    threads: Option<Threads>,
    thread_count: usize,
    /// Bound, but not listening: keeps the port ours while the engine is stopped.
    _reservation: Socket,
}

impl FakeEngine {
    /// An engine on a free loopback port that records every call.
    pub async fn start() -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        Self::listen(address, 1, State::new(true)).expect("a loopback port is free for the fake engine")
    }

    /// The engine of the binary: any address, several threads, calls are counted and not kept.
    pub fn for_load(address: SocketAddr, thread_count: usize) -> anyhow::Result<Self> {
        Self::listen(address, thread_count, State::new(false))
    }

    fn listen(wanted: SocketAddr, thread_count: usize, state: Arc<State>) -> anyhow::Result<Self> {
        let reservation = server::bind(wanted)?;
        let address = reservation.local_addr()?.as_socket().context("the socket has an IP address")?;
        let threads = Some(Threads::start(address, thread_count, &state)?);
        Ok(Self { address, state, threads, thread_count, _reservation: reservation })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base address that goes into a configuration: `http://127.0.0.1:PORT/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What all following calls do.
    pub fn script(&self, script: Script) {
        self.state.set_standing(script);
    }

    /// What the next call does that no earlier push has taken.
    pub fn push(&self, script: Script) {
        self.state.push(script);
    }

    /// The calls so far, oldest first, with what became of them.
    pub fn calls(&self) -> Vec<Recorded> {
        self.state.calls()
    }

    pub fn forget_calls(&self) {
        self.state.forget_calls();
    }

    /// Calls whose answer is not complete.
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

    /// Closes the listener and every connection; calls on their way do not count as cancelled.
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
        self.threads = Some(threads.expect("the port was kept for the fake engine"));
    }

    /// Blocks as long as the engine runs.
    pub fn join(mut self) {
        if let Some(threads) = self.threads.take() {
            threads.join();
        }
    }

    /// Whether a caller left before its answer was complete, within the time given.
    pub async fn wait_until_cancelled(&self, timeout: Duration) -> bool {
        self.wait_until(timeout, |engine| engine.state.cancelled.load(SeqCst) > 0).await
    }

    /// Whether the engine has seen this many calls, within the time given.
    pub async fn wait_for_calls(&self, count: usize, timeout: Duration) -> bool {
        self.wait_until(timeout, |engine| engine.state.served.load(SeqCst) >= count).await
    }

    /// Whether no call is on its way any more, within the time given.
    pub async fn wait_until_idle(&self, timeout: Duration) -> bool {
        self.wait_until(timeout, |engine| engine.in_flight() == 0).await
    }

    async fn wait_until(&self, timeout: Duration, holds: impl Fn(&Self) -> bool) -> bool {
        let deadline = Instant::now() + timeout;
        while !holds(self) {
            if Instant::now() >= deadline {
                return false;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        true
    }
}

impl Drop for FakeEngine {
    fn drop(&mut self) {
        self.stop();
    }
}
