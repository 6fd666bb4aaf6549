//! Asks replicas how they are.
//!
//! Engines say so at `/health`. One that has no such route but answers at all is taken to be up: hosted services
//! have none. The loop looks at the whole table each round, so a reload needs no word to it.

use crate::backend::{Backend, BackendId, Health};
use crate::connect::{Connector, is_local_failure};
use crate::endpoints::Endpoints;
use crate::routes::Routes;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
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
    match exchange(replica, health_path, connector, async |answer| answer.status()).await {
        Ok(status) if is_healthy(status) => ProbeOutcome::Healthy,
        Ok(_) => ProbeOutcome::Unhealthy,
        Err(finding) => finding,
    }
}

/// What a replica answers at a path of its host; nothing but a good answer counts.
pub(crate) async fn get(replica: &Backend, path: &str, connector: &Connector) -> Option<String> {
    let read = async |answer: Response<Incoming>| {
        if answer.status() != StatusCode::OK {
            return None;
        }
        let body = Limited::new(answer.into_body(), LARGEST_ANSWER).collect().await.ok()?;
        Some(String::from_utf8_lossy(&body.to_bytes()).into_owned())
    };
    tokio::time::timeout(PATIENCE, exchange(replica, path, connector, read)).await.ok()?.ok()?
}

async fn exchange<T>(
    replica: &Backend,
    path: &str,
    connector: &Connector,
    read: impl AsyncFnOnce(Response<Incoming>) -> T,
) -> Result<T, ProbeOutcome> {
    let stream = match connector.connect(&replica.address).await {
        Ok(stream) => stream,
        Err(error) if is_local_failure(&error) => return Err(ProbeOutcome::Inconclusive),
        Err(_) => return Err(ProbeOutcome::Unreachable),
    };
    let Ok((mut sender, connection)) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await else {
        return Err(ProbeOutcome::Unhealthy);
    };
    let mut request = Request::new(Empty::<Bytes>::new());
    let Ok(uri) = path.parse() else { return Err(ProbeOutcome::Unhealthy) };
    *request.uri_mut() = uri;
    request.headers_mut().clone_from(&replica.template.headers);
    let answer = async {
        let answer = sender.send_request(request).await.map_err(|_| ProbeOutcome::Unhealthy)?;
        Ok(read(answer).await)
    };
    // An engine may close as soon as it has answered, so the answer is looked at also when the connection has ended.
    let (mut answer, mut connection) = (pin!(answer), pin!(connection));
    let mut closed = false;
    let answered = poll_fn(|cx| {
        closed = closed || connection.as_mut().poll(cx).is_ready();
        answer.as_mut().poll(cx)
    });
    answered.await
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
