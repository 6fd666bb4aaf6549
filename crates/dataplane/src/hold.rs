//! Waits for a replica that can serve.
//!
//! Calls to a serverless model without a healthy replica fail at once, and so do interactive calls if all are full. Flex calls
//! wait until interactive calls leave room, or the hold timeout passes. Calls to an endpoint that is suspended or
//! provisioning are held until a replica is ready or the hold timeout passes. This module never starts replicas; it only
//! records demand for the control plane.

use crate::admission::TooManyCallsError;
use crate::call::SlotSearch;
use crate::error::CallError;
use crate::resolve::Target;
use crate::{Call, Dataplane};
use domain::CallClass;
use fleet::backend::BackendId;
use fleet::endpoints::{Condition, QueueFullError, View};
use fleet::{Availability, LiveEndpoint, PickError, Pool, Route, Slot};
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Dataplane {
    pub(crate) async fn hold(&self, call: &mut Call, target: &Target) -> Result<Slot, CallError> {
        let search = call.slot_search(target.tenant(&call.caller, &self.salt_secret), &[]);
        match target {
            Target::Serverless(route) if call.class.yields() => Box::pin(self.find_room(call, target, route)).await,
            Target::Serverless(route) => route
                .pool
                .pick(call.class, || search.prompt(), search.tried, Instant::now())
                .map_err(|PickError| CallError::NotServing { retry_after_secs: None }),
            Target::Dedicated(endpoint) => {
                // A new call queues behind those that already wait.
                let slot = if endpoint.held() == 0 { try_pick(endpoint, search)? } else { None };
                match slot {
                    Some(slot) => Ok(slot),
                    None => {
                        call.request.detach_body();
                        call.tap.hold_begins();
                        let search = call.slot_search(target.tenant(&call.caller, &self.salt_secret), &[]);
                        let result = Box::pin(wait(endpoint, search)).await;
                        call.tap.hold_ends();
                        result
                    }
                }
            }
        }
    }

    /// A slot that interactive calls leave free. A call that finds none waits for one, behind those that wait already.
    async fn find_room(&self, call: &mut Call, target: &Target, route: &Arc<Route>) -> Result<Slot, CallError> {
        if let Ok(_turn) = route.pool.turn().try_lock() {
            let search = call.slot_search(target.tenant(&call.caller, &self.salt_secret), &[]);
            if let Some(slot) = pick_room(&route.pool, call.class, search)? {
                return Ok(slot);
            }
        }
        let waiting = self.waiting_flex_calls.enter(&call.caller.workspace);
        let _waiting = waiting.map_err(|TooManyCallsError { max: _ }| CallError::NoRoom)?;
        call.request.detach_body();
        call.tap.hold_begins();
        let search = call.slot_search(target.tenant(&call.caller, &self.salt_secret), &[]);
        let found = self.wait_for_room(route, call.class, search);
        let found = tokio::time::timeout_at(search.until.into(), found).await.unwrap_or(Err(CallError::NoRoom));
        call.tap.hold_ends();
        found
    }

    async fn wait_for_room(
        &self,
        route: &Arc<Route>,
        class: CallClass,
        search: SlotSearch<'_>,
    ) -> Result<Slot, CallError> {
        /// Only the first of the waiting calls polls, so that calls which end do not have to look for one to wake.
        const POLL_PERIOD: Duration = Duration::from_millis(20);
        let _turn = route.pool.turn().lock().await;
        loop {
            let found = {
                // The catalogue may have changed since.
                let table = self.routes.table();
                let current = table.get(route.model.id.as_str()).unwrap_or(route);
                pick_room(&current.pool, class, search)?
            };
            match found {
                Some(slot) => return Ok(slot),
                None => tokio::time::sleep(POLL_PERIOD).await,
            }
        }
    }
}

/// A slot if there is room now; an error if no replica is healthy, so that waiting is pointless.
fn pick_room(pool: &Pool, class: CallClass, search: SlotSearch<'_>) -> Result<Option<Slot>, CallError> {
    match pool.pick(class, || search.prompt(), search.tried, Instant::now()) {
        Ok(slot) => Ok(Some(slot)),
        Err(PickError) => match pool.availability() {
            Availability::Unavailable => Err(CallError::NotServing { retry_after_secs: None }),
            Availability::Available | Availability::Degraded => Ok(None),
        },
    }
}

/// A slot at another replica, for a call that the replica `lost` did not serve: at any other one that is ready, or at
/// the next one to become ready once `lost` is gone. `None` if `lost` remains the only replica.
pub(crate) async fn replace(
    endpoint: &Arc<LiveEndpoint>,
    lost: BackendId,
    search: SlotSearch<'_>,
) -> Option<Result<Slot, CallError>> {
    /// The control plane notices the exit of a process within one or two of its rounds.
    const GONE_WITHIN: Duration = Duration::from_secs(5);
    let mut changes = endpoint.watch();
    let found_or_gone = async {
        loop {
            let view = Arc::clone(&changes.borrow_and_update());
            if let Some(found) = try_pick(endpoint, search).transpose() {
                return Some(found);
            }
            let is_gone = view.route.pool.replicas().iter().all(|replica| replica.id != lost);
            if is_gone || changes.changed().await.is_err() {
                return None;
            }
        }
    };
    match tokio::time::timeout(GONE_WITHIN, found_or_gone).await.ok()? {
        Some(found) => Some(found),
        None => Some(Box::pin(wait(endpoint, search)).await),
    }
}

/// A slot if there is one now; an error if waiting is pointless.
fn try_pick(endpoint: &LiveEndpoint, search: SlotSearch<'_>) -> Result<Option<Slot>, CallError> {
    let view = endpoint.view();
    if !is_routed(&view)? {
        return Ok(None);
    }
    Ok(view.route.pool.pick(CallClass::Interactive, || search.prompt(), search.tried, Instant::now()).ok())
}

/// Whether calls go to replicas now; an error if waiting is pointless.
fn is_routed(view: &View) -> Result<bool, CallError> {
    match &view.condition {
        Condition::Serving => Ok(true),
        Condition::Waiting | Condition::ScaledToZero => Ok(false),
        Condition::Failed { reason } => Err(CallError::EndpointFailed { reason: reason.clone() }),
        Condition::Deleting => Err(CallError::unknown_model(view.route.model.id.as_str())),
    }
}

async fn wait(endpoint: &Arc<LiveEndpoint>, search: SlotSearch<'_>) -> Result<Slot, CallError> {
    /// Unreachable replicas may recover without a change of the endpoint, so they are polled.
    const POLL_PERIOD: Duration = Duration::from_millis(500);
    is_routed(&endpoint.view())?;
    let _held = endpoint.hold(search.body_bytes()).map_err(|QueueFullError| CallError::HoldQueueFull)?;
    let found = async {
        // Retried calls skip the queue, so that they do not block calls that can use other replicas.
        let _turn = if search.tried.is_empty() { Some(endpoint.turn().await) } else { None };
        let mut changes = endpoint.watch();
        loop {
            changes.mark_unchanged();
            if let Some(slot) = try_pick(endpoint, search)? {
                return Ok(slot);
            }
            let is_serving = endpoint.view().condition == Condition::Serving;
            tokio::select! {
                changed = changes.changed() => if changed.is_err() {
                    return Err(CallError::unknown_model(endpoint.view().route.model.id.as_str()));
                },
                () = tokio::time::sleep(POLL_PERIOD), if is_serving => {}
            }
        }
    };
    tokio::time::timeout_at(search.until.into(), found).await.unwrap_or(Err(CallError::HoldTimeout))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{ParsedRequest, chat};
    use domain::model::{Model, ModelId, Upstream};
    use domain::{OrganizationId, Timestamp, WorkspaceId};
    use fleet::Endpoints;
    use fleet::endpoints::EndpointUpdate;
    use parking_lot::Mutex;
    use std::sync::LazyLock;
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
            model: Arc::new(Model::plain(id)),
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

    fn search(tried: &[BackendId]) -> SlotSearch<'_> {
        static REQUEST: LazyLock<ParsedRequest> = LazyLock::new(|| {
            chat::parse(r#"{"model":"dedicated/chat","messages":[{"role":"user","content":"hi"}]}"#.into()).unwrap()
        });
        SlotSearch::new(&REQUEST, tried, Instant::now() + Duration::from_secs(60))
    }

    #[tokio::test]
    async fn held_calls_are_served_in_order_of_arrival() {
        let (endpoints, endpoint) = waiting();
        let served = Arc::new(Mutex::new(Vec::new()));
        let mut calls = JoinSet::new();
        for number in 0..100 {
            let (endpoint, served) = (Arc::clone(&endpoint), Arc::clone(&served));
            calls.spawn(async move {
                let slot = wait(&endpoint, search(&[])).await.unwrap();
                served.lock().push(number);
                drop(slot);
            });
            yield_now().await;
        }
        assert_eq!(endpoint.held(), 100);
        endpoints.apply(vec![known(Condition::Serving, &["a", "b"])]);
        calls.join_all().await;
        assert_eq!(*served.lock(), (0..100).collect::<Vec<_>>());
        assert_eq!(endpoint.held(), 0);
    }

    #[tokio::test]
    async fn a_retried_call_does_not_block_calls_that_can_use_other_replicas() {
        let (endpoints, endpoint) = waiting();
        endpoints.apply(vec![known(Condition::Serving, &["a"])]);
        let tried = [endpoint.view().route.pool.replicas()[0].id];
        let mut retried = JoinSet::new();
        let lost = Arc::clone(&endpoint);
        retried.spawn(async move { wait(&lost, search(&tried)).await.map(|slot| slot.replica().name.to_string()) });
        yield_now().await;
        assert_eq!(&*wait(&endpoint, search(&[])).await.unwrap().replica().name, "a");
        endpoints.apply(vec![known(Condition::Serving, &["a", "b"])]);
        assert_eq!(retried.join_next().await.unwrap().unwrap().unwrap(), "b");
    }

    #[tokio::test]
    async fn a_call_that_lost_its_replica_uses_a_new_one_or_waits_until_the_lost_one_is_gone() {
        let (endpoints, endpoint) = waiting();
        endpoints.apply(vec![known(Condition::Serving, &["a"])]);
        let tried = [endpoint.view().route.pool.replicas()[0].id];
        for later in [&["a", "b"] as &[&str], &["b"]] {
            endpoints.apply(vec![known(Condition::Serving, &["a"])]);
            let (found, ()) = tokio::join!(replace(&endpoint, tried[0], search(&tried)), async {
                endpoints.apply(vec![known(Condition::Serving, later)]);
            });
            assert_eq!(&*found.unwrap().unwrap().replica().name, "b");
        }
    }

    #[tokio::test]
    async fn all_held_calls_fail_when_waiting_becomes_pointless() {
        for (condition, code) in [
            (Condition::Failed { reason: "no weights".into() }, "model_not_serving"),
            (Condition::Deleting, "model_not_found"),
        ] {
            let (endpoints, endpoint) = waiting();
            let mut calls = JoinSet::new();
            for _ in 0..20 {
                let endpoint = Arc::clone(&endpoint);
                calls.spawn(async move { wait(&endpoint, search(&[])).await.unwrap_err().code() });
                yield_now().await;
            }
            endpoints.apply(vec![known(condition, &[])]);
            assert!(calls.join_all().await.iter().all(|found| *found == code));
        }
    }
}
