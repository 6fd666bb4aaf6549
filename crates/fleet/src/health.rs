//! Asks replicas how they are.
//!
//! Engines say so at `/health`. One that has no such route but answers at all is taken to be up: hosted services
//! have none. The loop looks at the whole table each round, so a reload needs no word to it.

use crate::backend::{Backend, BackendId, Health};
use crate::connect::{Connector, Stream, is_local_failure};
use crate::endpoints::Endpoints;
use crate::routes::Routes;
use bytes::Bytes;
use http::{Request, StatusCode};
use http1::client::{OnceResponse, send_once};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const PERIOD: Duration = Duration::from_secs(2);
/// SGLang generates a token for its answer and may take 20 s to give up on itself.
const PATIENCE: Duration = Duration::from_secs(25);
const ROUND: Duration = Duration::from_millis(250);
/// Bad answers in a row that put a replica down; one that refuses to connect is down at once.
const BAD_ANSWERS: u32 = 2;
const MAX_PROBES: usize = 256;
/// Metrics of an engine with many histograms take some hundred KiB.
const LARGEST_ANSWER: usize = 8 << 20;

/// What one probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeOutcome {
    Healthy,
    Unhealthy,
    Unreachable,
    /// We could not even ask: that says nothing about the replica.
    Inconclusive,
}

/// How a replica stands after a probe: its health, and how many bad answers in a row led there.
fn judge(before: Health, bad_answers: u32, finding: ProbeOutcome) -> (Health, u32) {
    match finding {
        ProbeOutcome::Healthy => (Health::Up, 0),
        ProbeOutcome::Unreachable => (Health::Down, 0),
        ProbeOutcome::Inconclusive => (before, bad_answers),
        ProbeOutcome::Unhealthy if bad_answers + 1 >= BAD_ANSWERS || before == Health::Unknown => (Health::Down, 0),
        ProbeOutcome::Unhealthy => (before, bad_answers + 1),
    }
}

#[derive(Default)]
struct Watched {
    asked_at: Option<Instant>,
    asking: bool,
    bad_answers: u32,
}

/// Probes every replica of the table and of the endpoints, for ever.
pub async fn watch(routes: Routes, endpoints: Endpoints, connector: Connector) {
    let mut watched: HashMap<BackendId, Watched> = HashMap::new();
    let mut probes = JoinSet::new();
    loop {
        let mut present: HashMap<BackendId, Arc<Backend>> =
            routes.table().replicas().map(|(_, replica)| (replica.id, Arc::clone(replica))).collect();
        for endpoint in endpoints.all() {
            let view = endpoint.view();
            present.extend(view.route.pool.replicas().iter().map(|replica| (replica.id, Arc::clone(replica))));
        }
        watched.retain(|replica, _| present.contains_key(replica));
        for (key, replica) in present {
            let state = watched.entry(key).or_default();
            let due = state.asked_at.is_none_or(|at| at.elapsed() >= PERIOD);
            if due && !state.asking && probes.len() < MAX_PROBES {
                state.asking = true;
                state.asked_at = Some(Instant::now());
                let connector = connector.clone();
                probes.spawn(async move { (probe(&replica, &connector).await, replica) });
            }
        }
        let pause = tokio::time::sleep(ROUND);
        tokio::pin!(pause);
        loop {
            tokio::select! {
                () = &mut pause => break,
                Some(Ok((finding, replica))) = probes.join_next() => {
                    if let Some(state) = watched.get_mut(&replica.id) {
                        state.asking = false;
                        note(&replica, state, finding);
                    }
                }
            }
        }
    }
}

fn note(replica: &Backend, state: &mut Watched, finding: ProbeOutcome) {
    let (health, bad_answers) = judge(replica.health(), state.bad_answers, finding);
    state.bad_answers = bad_answers;
    if replica.set_health(health) {
        match health {
            Health::Down => tracing::warn!(replica.name = %replica.name, "replica {} is down", replica.name),
            Health::Up => tracing::info!(replica.name = %replica.name, "replica {} is up", replica.name),
            Health::Unknown => {}
        }
    }
}

/// Asks once.
pub async fn probe(replica: &Backend, connector: &Connector) -> ProbeOutcome {
    match tokio::time::timeout(PATIENCE, request(replica, connector)).await {
        Ok(finding) => finding,
        Err(_) => ProbeOutcome::Unhealthy,
    }
}

async fn request(replica: &Backend, connector: &Connector) -> ProbeOutcome {
    let health_path = &replica.upstream.health_path;
    match send(replica, health_path, connector).await {
        Ok(response) if is_healthy(response.status) => ProbeOutcome::Healthy,
        Ok(_) => ProbeOutcome::Unhealthy,
        Err(finding) => finding,
    }
}

/// The body that a replica returns for a path of its host; `None` unless the status is 200.
pub(crate) async fn get(replica: &Backend, path: &str, connector: &Connector) -> Option<String> {
    let read = async {
        let mut response = send(replica, path, connector).await.ok()?;
        if response.status != StatusCode::OK {
            return None;
        }
        let body = response.body(LARGEST_ANSWER).await.ok()?;
        Some(String::from_utf8_lossy(&body).into_owned())
    };
    tokio::time::timeout(PATIENCE, read).await.ok()?
}

async fn send(replica: &Backend, path: &str, connector: &Connector) -> Result<OnceResponse<Stream>, ProbeOutcome> {
    let stream = match connector.connect(&replica.address).await {
        Ok(stream) => stream,
        Err(error) if is_local_failure(&error) => return Err(ProbeOutcome::Inconclusive),
        Err(_) => return Err(ProbeOutcome::Unreachable),
    };
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = path.parse().map_err(|_| ProbeOutcome::Unhealthy)?;
    request.headers_mut().clone_from(&replica.template.headers);
    send_once(stream, &request).await.map_err(|_| ProbeOutcome::Unhealthy)
}

/// Anything but a failure of its own: 404 and 401 come from servers that have no such route.
fn is_healthy(status: StatusCode) -> bool {
    !status.is_server_error() && status != StatusCode::TOO_MANY_REQUESTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_answer_is_forgiven_and_a_refused_connection_is_not() {
        use ProbeOutcome::{Healthy, Unhealthy, Unreachable};
        assert_eq!(judge(Health::Unknown, 0, Healthy), (Health::Up, 0));
        assert_eq!(judge(Health::Unknown, 0, Unhealthy), (Health::Down, 0));
        assert_eq!(judge(Health::Up, 0, Unhealthy), (Health::Up, 1));
        assert_eq!(judge(Health::Up, 1, Unhealthy), (Health::Down, 0));
        assert_eq!(judge(Health::Up, 0, Unreachable), (Health::Down, 0));
        assert_eq!(judge(Health::Down, 0, Unhealthy), (Health::Down, 1));
        assert_eq!(judge(Health::Down, 0, Healthy), (Health::Up, 0));
    }
}
