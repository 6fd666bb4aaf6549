//! Waits for a store that is unreachable at the start, and serves what needs no store meanwhile.
//!
//! A node that gave up would have to be started again by hand or by its supervisor, and a supervisor may give up, too.
//! Nothing is kept from this time: when the store responds, the parts are built as usual, and other workers take over
//! the listening sockets.

use super::build::{self, Sockets};
use super::signals::Signals;
use super::start::{Start, Started};
use crate::surface::operations;
use crate::surface::starting::StartingSurface;
use ::background::{Backoff, Tasks};
use config::Config;
use control::CommandError;
use edge::cors::Cors;
use edge::limits::ConnectionLimits;
use edge::request_id::RequestIds;
use edge::workers::Workers;
use fleet::Routes;
use node::first_start;
use node::health::Report;
use node::state::NodeState;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{Store, StoreError};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// The delay before the store is tried again. Short, because an attempt is cheap and calls are rejected meanwhile.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(5));
/// Responses are short, so the connections end soon.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// The surfaces of a node without a store.
pub(super) struct Waiting {
    workers: Workers,
    operations: Tasks,
    stop_operations: watch::Sender<bool>,
}

impl Waiting {
    pub(super) fn start(
        config: &Config,
        data_dir: &Path,
        sockets: &Sockets,
        tls: Option<&TlsAcceptor>,
    ) -> anyhow::Result<Self> {
        let (public, ops) = (sockets.public[0].local_addr()?, sockets.ops.local_addr()?);
        let node = NodeState::open(data_dir, Routes::default())?;
        let report = Report::waiting_for_store(node.id(), &config.catalogue.hash);
        let listener = tokio::net::TcpListener::from_std(sockets.ops.try_clone()?)?;
        let tasks = Tasks::new(Handle::current());
        let (stop_operations, stop) = watch::channel(false);
        tasks.spawn(operations::serve(listener, stop, move |head| operations::respond_while_starting(&report, head)));

        let ids = Arc::new(RequestIds::new()?);
        let console_url = first_start::console_url(config, public);
        let limits = ConnectionLimits {
            stall_timeout: config.edge.client_stall_timeout,
            call_timeout: config.edge.call_timeout,
            peers: Arc::new(build::peer_table(config)),
            figures: Arc::default(),
        };
        let listeners = sockets.public.iter().map(TcpListener::try_clone).collect::<std::io::Result<Vec<_>>>()?;
        let workers = Workers::start(listeners, tls, DRAIN_TIMEOUT, &limits, |_| StartingSurface {
            ids: Arc::clone(&ids),
            cors: Cors::new(config.server.cors_origins.clone()),
            console_url: console_url.clone(),
            strict_transport: build::is_strict_transport(tls, &console_url),
        })?;
        first_start::write_listen(data_dir, public, ops)?;
        Ok(Self { workers, operations: tasks, stop_operations })
    }

    /// Ends without a store.
    pub(super) async fn stop(self, data_dir: &Path) {
        self.workers.stop().await;
        self.operations.abort().await;
        first_start::forget_listen(data_dir);
    }

    /// Leaves new connections to the operations port to the node's own surface. The workers continue until others serve.
    pub(super) fn leave_operations(&self) {
        self.stop_operations.send_replace(true);
    }

    /// Lets others accept from the same sockets. Returns when the connections have ended, or the drain timeout has passed.
    pub(super) async fn hand_over(self) {
        tokio::join!(self.workers.hand_over(), async {
            if tokio::time::timeout(DRAIN_TIMEOUT, self.operations.finish()).await.is_err() {
                self.operations.abort().await;
            }
        });
    }
}

/// Repeats the start until it succeeds; `None` if a signal ends the process before. Other errors than an unreachable store
/// are final.
pub(super) async fn retry(
    start: &mut Start<'_>,
    config: &Config,
    signals: &mut Signals,
) -> anyhow::Result<Option<Started>> {
    let mut backoff = BACKOFF;
    loop {
        let delay = jittered(backoff.next_delay(), getrandom::u32().unwrap_or(u32::MAX));
        let attempt = async {
            tokio::time::sleep(delay).await;
            start.attempt().await
        };
        let started = tokio::select! {
            started = attempt => started,
            () = signals.wait_for_termination() => return Ok(None),
        };
        match started {
            Ok(started) => return Ok(Some(started)),
            Err(error) if is_away(&error, config) => tracing::debug!("the store is still unreachable: {error:#}"),
            Err(error) => return Err(error),
        }
    }
}

/// Whether the error means that PostgreSQL does not respond. A SQLite file that cannot be opened does not come back.
pub(super) fn is_away(error: &anyhow::Error, config: &Config) -> bool {
    let is_postgres = matches!(Store::file(&config.store.url, Path::new("")), Ok(None));
    let is_unavailable = |cause: &(dyn std::error::Error + 'static)| {
        let is_store = cause.downcast_ref::<StoreError>().is_some_and(StoreError::is_unavailable);
        is_store || matches!(cause.downcast_ref::<CommandError>(), Some(CommandError::StoreUnavailable { .. }))
    };
    is_postgres && error.chain().any(is_unavailable)
}

/// Between half of the delay and all of it, so that nodes which were started together do not try together.
fn jittered(delay: Duration, random: u32) -> Duration {
    let half = delay / 2;
    half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_is_at_least_half_and_at_most_all_of_it() {
        let delay = Duration::from_secs(4);
        let delays = [0, u32::MAX / 2, u32::MAX].map(|random| jittered(delay, random).as_secs_f64().round() as u64);
        assert_eq!(delays, [2, 3, 4]);
    }
}
