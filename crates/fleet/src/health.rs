//! Health probes of all backends.
//!
//! Engines report their health at `/health`. A server without that route is up if it responds at all, since hosted services
//! have none. Each round reads the current table, so a reload needs no notification.

use crate::backend::{Backend, BackendId, Health};
use crate::endpoints::Endpoints;
use crate::routes::Routes;
use background::ticks;
use bytes::Bytes;
use http::{Request, StatusCode};
use http1::client::{OnceResponse, send_once};
use outbound::{Connector, Stream, is_local_failure};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const PERIOD: Duration = Duration::from_secs(2);
/// SGLang generates a token for its response and takes up to 20 s to report that it cannot.
const TIMEOUT: Duration = Duration::from_secs(25);
const ROUND: Duration = Duration::from_millis(500);
/// Bad responses in a row that take a backend down; one that refuses connections is down at once.
const MAX_BAD_RESPONSES: u32 = 2;
const MAX_PROBES: usize = 256;
/// Metrics of an engine with many histograms take a few hundred KiB.
const MAX_RESPONSE_BYTES: usize = 8 << 20;

/// Outcome of one probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeOutcome {
    Healthy,
    Unhealthy,
    Unreachable,
    /// This machine could not open a connection, so the health of the backend is unknown.
    Inconclusive,
}

/// The health after a probe, and the number of bad responses in a row. `is_suspect` if calls got bad responses, too.
fn evaluate(before: Health, bad_responses: u32, outcome: ProbeOutcome, is_suspect: bool) -> (Health, u32) {
    let max_bad_responses = if is_suspect { 1 } else { MAX_BAD_RESPONSES };
    match outcome {
        ProbeOutcome::Healthy => (Health::Up, 0),
        ProbeOutcome::Unreachable => (Health::Down, 0),
        ProbeOutcome::Inconclusive => (before, bad_responses),
        ProbeOutcome::Unhealthy if bad_responses + 1 >= max_bad_responses || before == Health::Unknown => {
            (Health::Down, 0)
        }
        ProbeOutcome::Unhealthy => (before, bad_responses + 1),
    }
}

#[derive(Default)]
struct ProbeState {
    probed_at: Option<Instant>,
    in_progress: bool,
    bad_responses: u32,
}

/// Probes the backends of the table and of the endpoints. Runs until it is cancelled.
pub async fn watch(routes: Routes, endpoints: Endpoints, connector: Connector) {
    let mut states: HashMap<BackendId, ProbeState> = HashMap::new();
    let mut probes = JoinSet::new();
    loop {
        let mut present: HashMap<BackendId, Arc<Backend>> =
            routes.table().replicas().map(|(_, backend)| (backend.id, Arc::clone(backend))).collect();
        for endpoint in endpoints.all() {
            let view = endpoint.view();
            present.extend(view.route.pool.replicas().iter().map(|backend| (backend.id, Arc::clone(backend))));
        }
        states.retain(|id, _| present.contains_key(id));
        for (id, backend) in present {
            let state = states.entry(id).or_default();
            // Rounds do not begin exactly on time.
            let due = state.probed_at.is_none_or(|at| at.elapsed() + ROUND / 2 >= PERIOD);
            if due && !state.in_progress && probes.len() < MAX_PROBES {
                state.in_progress = true;
                state.probed_at = Some(Instant::now());
                let connector = connector.clone();
                probes.spawn(async move { (probe(&backend, &connector).await, backend) });
            }
        }
        let pause = ticks::sleep(ROUND);
        tokio::pin!(pause);
        loop {
            tokio::select! {
                () = &mut pause => break,
                Some(Ok((outcome, backend))) = probes.join_next() => {
                    if let Some(state) = states.get_mut(&backend.id) {
                        state.in_progress = false;
                        record(&backend, state, outcome);
                    }
                }
            }
        }
    }
}

fn record(backend: &Backend, state: &mut ProbeState, outcome: ProbeOutcome) {
    let (health, bad_responses) = evaluate(backend.health(), state.bad_responses, outcome, backend.is_suspect());
    state.bad_responses = bad_responses;
    if backend.set_health(health) {
        match health {
            Health::Down => tracing::warn!(replica.name = %backend.name, "replica {} is down", backend.name),
            Health::Up => tracing::info!(replica.name = %backend.name, "replica {} is up", backend.name),
            Health::Unknown => {}
        }
    }
}

/// Probes a backend once.
pub async fn probe(backend: &Backend, connector: &Connector) -> ProbeOutcome {
    match tokio::time::timeout(TIMEOUT, request(backend, connector)).await {
        Ok(outcome) => outcome,
        Err(_) => ProbeOutcome::Unhealthy,
    }
}

async fn request(backend: &Backend, connector: &Connector) -> ProbeOutcome {
    let health_path = &backend.upstream.health_path;
    match send(backend, health_path, connector).await {
        Ok(response) if is_healthy(response.status) => ProbeOutcome::Healthy,
        Ok(_) => ProbeOutcome::Unhealthy,
        Err(outcome) => outcome,
    }
}

/// The body that a backend returns for a path of its host; `None` unless the status is 200, an error without a response.
pub(crate) async fn get(backend: &Backend, path: &str, connector: &Connector) -> Result<Option<String>, ProbeOutcome> {
    let read = async {
        let mut response = send(backend, path, connector).await?;
        if response.status != StatusCode::OK {
            return Ok(None);
        }
        let body = response.body(MAX_RESPONSE_BYTES).await.map_err(|_| ProbeOutcome::Unhealthy)?;
        Ok(Some(String::from_utf8_lossy(&body).into_owned()))
    };
    tokio::time::timeout(TIMEOUT, read).await.unwrap_or(Err(ProbeOutcome::Unhealthy))
}

async fn send(backend: &Backend, path: &str, connector: &Connector) -> Result<OnceResponse<Stream>, ProbeOutcome> {
    let stream = match connector.connect(&backend.address).await {
        Ok(stream) => stream,
        Err(error) if is_local_failure(&error) => return Err(ProbeOutcome::Inconclusive),
        Err(_) => return Err(ProbeOutcome::Unreachable),
    };
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = path.parse().map_err(|_| ProbeOutcome::Unhealthy)?;
    request.headers_mut().clone_from(&backend.template.headers);
    send_once(stream, &request).await.map_err(|_| ProbeOutcome::Unhealthy)
}

/// Any status but a server error or 429: servers without the route respond with 404 or 401.
fn is_healthy(status: StatusCode) -> bool {
    !status.is_server_error() && status != StatusCode::TOO_MANY_REQUESTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_response_is_tolerated_and_a_refused_connection_is_not() {
        use ProbeOutcome::{Healthy, Unhealthy, Unreachable};
        assert_eq!(super::evaluate(Health::Up, 0, Unhealthy, true), (Health::Down, 0), "calls have failed, too");
        let evaluate = |before, bad_responses, outcome| super::evaluate(before, bad_responses, outcome, false);
        assert_eq!(evaluate(Health::Unknown, 0, Healthy), (Health::Up, 0));
        assert_eq!(evaluate(Health::Unknown, 0, Unhealthy), (Health::Down, 0));
        assert_eq!(evaluate(Health::Up, 0, Unhealthy), (Health::Up, 1));
        assert_eq!(evaluate(Health::Up, 1, Unhealthy), (Health::Down, 0));
        assert_eq!(evaluate(Health::Up, 0, Unreachable), (Health::Down, 0));
        assert_eq!(evaluate(Health::Down, 0, Unhealthy), (Health::Down, 1));
        assert_eq!(evaluate(Health::Down, 0, Healthy), (Health::Up, 0));
    }
}
