//! Waits for a replica that can serve.
//!
//! A serverless model does not wait: without a healthy replica it is not serving, and says so at once. An endpoint that
//! is suspended or on its way does not answer early: the call is held open until a replica is ready or the edge's
//! patience ends. Nothing here decides to start replicas; it only leaves a demand that the control plane reads.

use crate::refusal::Refusal;
use crate::resolve::Target;
use crate::{Call, Dataplane};
use fleet::backend::BackendId;
use fleet::endpoints::{Condition, QueueFullError, View};
use fleet::{Lease, LiveEndpoint, Unavailable};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A call that looks for a place.
#[derive(Clone, Copy)]
pub(crate) struct Seeker<'a> {
    /// How its prompt begins.
    pub(crate) prefix: &'a [u8],
    pub(crate) body_bytes: usize,
    /// Where it was tried in vain.
    pub(crate) tried: &'a [BackendId],
    /// When it gives up waiting.
    pub(crate) until: Instant,
}

impl Dataplane {
    /// A place at a replica, as soon as there is one.
    pub(crate) async fn hold(&self, target: &Target, call: &mut Call) -> Result<Lease, Refusal> {
        let seeker = call.seeker(&[]);
        match target {
            Target::Serverless(route) => route
                .pool
                .pick(seeker.prefix, seeker.tried, Instant::now())
                .map_err(|Unavailable| Refusal::NotServing { retry_after_secs: None }),
            Target::Dedicated(endpoint) => {
                // Who comes while others wait stands in line behind them.
                let place = if endpoint.held() == 0 { place(endpoint, seeker)? } else { None };
                match place {
                    Some(lease) => Ok(lease),
                    None => {
                        call.probe.keep_only_the_body();
                        call.tap.hold_begins();
                        let placed = Box::pin(wait(endpoint, call.seeker(&[]))).await;
                        call.tap.hold_ends();
                        placed
                    }
                }
            }
        }
    }
}

/// A place at another replica for a call that the replica `lost` did not answer: at one that has just come, or at
/// whichever comes once it is certain that this one is lost. As long as it is there and no other is, there is none.
pub(crate) async fn replace(
    endpoint: &Arc<LiveEndpoint>,
    lost: BackendId,
    seeker: Seeker<'_>,
) -> Option<Result<Lease, Refusal>> {
    /// The control plane sees the end of a process within a round or two.
    const SEEN_WITHIN: Duration = Duration::from_secs(5);
    let mut changes = endpoint.watch();
    let another_or_gone = async {
        loop {
            let view = Arc::clone(&changes.borrow_and_update());
            if let Some(found) = place(endpoint, seeker).transpose() {
                return Some(found);
            }
            let is_gone = view.route.pool.replicas().iter().all(|replica| replica.id != lost);
            if is_gone || changes.changed().await.is_err() {
                return None;
            }
        }
    };
    match tokio::time::timeout(SEEN_WITHIN, another_or_gone).await.ok()? {
        Some(found) => Some(found),
        None => Some(Box::pin(wait(endpoint, seeker)).await),
    }
}

/// A place, if there is one now; an error where waiting cannot help.
fn place(endpoint: &LiveEndpoint, seeker: Seeker<'_>) -> Result<Option<Lease>, Refusal> {
    let view = endpoint.view();
    if !is_routed(&view)? {
        return Ok(None);
    }
    Ok(view.route.pool.pick(seeker.prefix, seeker.tried, Instant::now()).ok())
}

/// Whether calls go to replicas now; an error where waiting cannot help.
fn is_routed(view: &View) -> Result<bool, Refusal> {
    match &view.condition {
        Condition::Serving => Ok(true),
        Condition::Waiting | Condition::ScaledToZero => Ok(false),
        Condition::Failed { reason } => Err(Refusal::EndpointFailed { reason: reason.clone() }),
        Condition::Deleting => Err(Refusal::unknown_model(view.route.model.id.as_str())),
    }
}

async fn wait(endpoint: &Arc<LiveEndpoint>, seeker: Seeker<'_>) -> Result<Lease, Refusal> {
    /// Replicas that could not be reached may be again, which nobody announces.
    const LOOK_AGAIN: Duration = Duration::from_millis(500);
    is_routed(&endpoint.view())?;
    let _place_in_queue = endpoint.hold(seeker.body_bytes).map_err(|QueueFullError| Refusal::HoldQueueFull)?;
    let served = async {
        // Who was served before had his turn, and does not hold up those who can go where he cannot.
        let _turn = if seeker.tried.is_empty() { Some(endpoint.turn().await) } else { None };
        let mut changes = endpoint.watch();
        loop {
            changes.mark_unchanged();
            if let Some(lease) = place(endpoint, seeker)? {
                return Ok(lease);
            }
            let is_serving = endpoint.view().condition == Condition::Serving;
            tokio::select! {
                changed = changes.changed() => if changed.is_err() {
                    return Err(Refusal::unknown_model(endpoint.view().route.model.id.as_str()));
                },
                () = tokio::time::sleep(LOOK_AGAIN), if is_serving => {}
            }
        }
    };
    tokio::time::timeout_at(seeker.until.into(), served).await.unwrap_or(Err(Refusal::HoldTimeout))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::{Modality, Model, ModelId, Serving, Upstream};
    use domain::{OrganizationId, Price, Timestamp, WorkspaceId};
    use fleet::Endpoints;
    use fleet::endpoints::EndpointUpdate;
    use std::sync::Mutex;
    use tokio::task::{JoinSet, yield_now};

    fn known(condition: Condition, replicas: &[&str]) -> EndpointUpdate {
        let upstream = |name: &str| Upstream::plain(format!("http://127.0.0.1:9/{name}"), "m");
        let id = ModelId::parse("dedicated/chat").unwrap();
        let now = Timestamp::from_millis(1);
        EndpointUpdate {
            id: "ep_1".into(),
            organization: OrganizationId::new(now, 1),
            workspace: WorkspaceId::new(now, 1),
            name: "chat".into(),
            model: Arc::new(Model {
                name: "chat".into(),
                modality: Modality::Chat,
                context_length: 100,
                price: Price::default(),
                optimized: false,
                serving: Serving::Upstreams(Vec::new()),
                flavors: Vec::new(),
                id,
            }),
            condition,
            replicas: replicas.iter().map(|name| ((*name).to_owned(), upstream(name))).collect(),
            draining: Vec::new(),
        }
    }

    fn waiting() -> (Endpoints, Arc<LiveEndpoint>) {
        let endpoints = Endpoints::default();
        endpoints.apply(vec![known(Condition::Waiting, &[])]);
        let endpoint = endpoints.all().remove(0);
        (endpoints, endpoint)
    }

    fn seeker(tried: &[BackendId]) -> Seeker<'_> {
        Seeker { prefix: b"hi", body_bytes: 1, tried, until: Instant::now() + Duration::from_secs(60) }
    }

    #[tokio::test]
    async fn who_came_first_is_served_first() {
        let (endpoints, endpoint) = waiting();
        let served = Arc::new(Mutex::new(Vec::new()));
        let mut calls = JoinSet::new();
        for number in 0..100 {
            let (endpoint, served) = (Arc::clone(&endpoint), Arc::clone(&served));
            calls.spawn(async move {
                let lease = wait(&endpoint, seeker(&[])).await.unwrap();
                served.lock().unwrap().push(number);
                drop(lease);
            });
            yield_now().await;
        }
        assert_eq!(endpoint.held(), 100);
        endpoints.apply(vec![known(Condition::Serving, &["a", "b"])]);
        calls.join_all().await;
        assert_eq!(*served.lock().unwrap(), (0..100).collect::<Vec<_>>());
        assert_eq!(endpoint.held(), 0);
    }

    #[tokio::test]
    async fn who_cannot_go_where_others_can_does_not_hold_them_up() {
        let (endpoints, endpoint) = waiting();
        endpoints.apply(vec![known(Condition::Serving, &["a"])]);
        let tried = [endpoint.view().route.pool.replicas()[0].id];
        let mut picky = JoinSet::new();
        let lost = Arc::clone(&endpoint);
        picky.spawn(async move { wait(&lost, seeker(&tried)).await.map(|lease| lease.replica().name.to_string()) });
        yield_now().await;
        assert_eq!(&*wait(&endpoint, seeker(&[])).await.unwrap().replica().name, "a");
        endpoints.apply(vec![known(Condition::Serving, &["a", "b"])]);
        assert_eq!(picky.join_next().await.unwrap().unwrap().unwrap(), "b");
    }

    #[tokio::test]
    async fn who_lost_a_replica_goes_to_one_that_has_just_come_or_waits_until_it_is_gone() {
        let (endpoints, endpoint) = waiting();
        endpoints.apply(vec![known(Condition::Serving, &["a"])]);
        let tried = [endpoint.view().route.pool.replicas()[0].id];
        for later in [&["a", "b"] as &[&str], &["b"]] {
            endpoints.apply(vec![known(Condition::Serving, &["a"])]);
            let (found, ()) = tokio::join!(replace(&endpoint, tried[0], seeker(&tried)), async {
                endpoints.apply(vec![known(Condition::Serving, later)]);
            });
            assert_eq!(&*found.unwrap().unwrap().replica().name, "b");
        }
    }

    #[tokio::test]
    async fn all_who_wait_are_told_when_waiting_cannot_help_any_more() {
        for (condition, code) in [
            (Condition::Failed { reason: "no weights".into() }, "model_not_serving"),
            (Condition::Deleting, "model_not_found"),
        ] {
            let (endpoints, endpoint) = waiting();
            let mut calls = JoinSet::new();
            for _ in 0..20 {
                let endpoint = Arc::clone(&endpoint);
                calls.spawn(async move { wait(&endpoint, seeker(&[])).await.unwrap_err().code() });
                yield_now().await;
            }
            endpoints.apply(vec![known(condition, &[])]);
            assert!(calls.join_all().await.iter().all(|told| *told == code));
        }
    }
}
