//! Waits for a replica that can serve.
//!
//! Calls to a serverless model without a healthy replica fail at once, and so do interactive calls if all are full, unless
//! the model has a `queue_timeout`. Flex calls and lines of batches wait until interactive calls leave room, or the hold
//! timeout passes. Calls to an endpoint that is suspended or provisioning are held until a replica is ready or the hold
//! timeout passes. Waiting calls are served in the order of [`domain::fair_queue`]. This module never starts replicas; it
//! only records demand for the control plane.

use crate::call::SlotSearch;
use crate::error::CallError;
use crate::resolve::Target;
use crate::{Call, Dataplane};
use domain::CallClass;
use domain::fair_queue::{Newcomer, QueueFullError};
use fleet::backend::BackendId;
use fleet::endpoints::{Condition, View};
use fleet::{Availability, LiveEndpoint, Outlook, PickError, Pool, QueueCharge, QueuedCall, Route, Slot};
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Dataplane {
    pub(crate) async fn hold(&self, call: &mut Call, target: &Target) -> Result<Slot, CallError> {
        let search = call.slot_search(target.tenant(&call.caller, &self.salt_secret), &[]);
        match target {
            Target::Serverless(route) => {
                let timeout = room_timeout(call, route);
                // A new call queues behind those that already wait.
                if (timeout.is_none() || !route.pool.queue().has_before(call.class))
                    && let Some(slot) = pick_room(&route.pool, search)?
                {
                    return Ok(slot);
                }
                match timeout {
                    Some(timeout) => Box::pin(self.wait_for_room(call, target, route, timeout)).await,
                    None => Err(CallError::NotServing { retry_after_secs: None }),
                }
            }
            Target::Dedicated(endpoint) => {
                // Calls that yield may wait for long, and keep no others waiting.
                let is_next = endpoint.held() == 0 || !endpoint.view().route.pool.queue().has_before(call.class);
                let slot = if is_next { try_pick(endpoint, search)? } else { None };
                match slot {
                    Some(slot) => Ok(slot),
                    None => {
                        call.request.detach_body();
                        call.tap.hold_begins();
                        let newcomer = newcomer(call, &endpoint.view().route);
                        let search = call.slot_search(target.tenant(&call.caller, &self.salt_secret), &[]);
                        let result = Box::pin(wait(endpoint, Some(newcomer), search)).await;
                        call.tap.hold_ends();
                        let (slot, charge) = result?;
                        call.tap.charged_by_queue(charge);
                        Ok(slot)
                    }
                }
            }
        }
    }

    /// Waits in the queue of the model for a slot.
    async fn wait_for_room(
        &self,
        call: &mut Call,
        target: &Target,
        route: &Arc<Route>,
        timeout: Duration,
    ) -> Result<Slot, CallError> {
        let (class, queue) = (call.class, route.pool.queue());
        let newcomer = newcomer(call, route);
        let joined = queue.join(newcomer);
        let queued = joined.map_err(|QueueFullError { .. }| no_room(class, queue.outlook_for(class)))?;
        call.request.detach_body();
        call.tap.hold_begins();
        let search = call.slot_search(target.tenant(&call.caller, &self.salt_secret), &[]);
        let until = search.until.min(Instant::now() + timeout);
        let found = tokio::time::timeout_at(until.into(), self.room_for(&queued, route, search)).await;
        call.tap.hold_ends();
        let slot = found.unwrap_or_else(|_| Err(no_room(class, queued.outlook())))?;
        let charge = queued.serve(cost(call, route, &slot));
        call.tap.charged_by_queue(charge);
        Ok(slot)
    }

    async fn room_for(
        &self,
        queued: &QueuedCall,
        route: &Arc<Route>,
        search: SlotSearch<'_>,
    ) -> Result<Slot, CallError> {
        loop {
            if queued.is_first() {
                // The catalogue may have changed since.
                let current = {
                    let table = self.routes.table();
                    Arc::clone(table.get(route.model.id.as_str()).unwrap_or(route))
                };
                if let Some(slot) = first_slot(&current.pool, || pick_room(&current.pool, search))? {
                    return Ok(slot);
                }
            }
            queued.woken().await;
        }
    }
}

/// How long the call may wait while no replica has room; `None` if it fails at once.
fn room_timeout(call: &Call, route: &Route) -> Option<Duration> {
    if call.class.yields() {
        return Some(call.hold_timeout);
    }
    Some(route.model.queue_timeout).filter(|timeout| !timeout.is_zero())
}

fn no_room(class: CallClass, outlook: Outlook) -> CallError {
    if class.yields() { CallError::NoRoom { class, outlook } } else { CallError::ModelBusy { outlook } }
}

/// The call as one that waits at the model.
fn newcomer(call: &Call, route: &Route) -> Newcomer {
    let (prompt, completion) = expected_tokens(call, route);
    Newcomer {
        class: call.class,
        workspace: call.caller.workspace.clone(),
        weight: call.caller.weight,
        actor: call.caller.actor.clone(),
        tokens: prompt.saturating_add(completion),
        since: Instant::now(),
    }
}

/// What a call will probably cost at the replica of the slot.
fn cost(call: &Call, route: &Route, slot: &Slot) -> u64 {
    let (prompt, completion) = expected_tokens(call, route);
    prompt.saturating_sub(slot.cached_estimate().unwrap_or(0)).saturating_add(completion)
}

/// The tokens of the prompt, and those that the call is expected to generate.
fn expected_tokens(call: &Call, route: &Route) -> (u64, u64) {
    let context_length = route.model.context_length;
    let prompt = call.request.prompt_tokens(context_length, route.pool.prompt_ratio());
    let usual = call.tap.expected_completion();
    (prompt, usual.unwrap_or_else(|| call.request.estimate.expected(context_length, u64::MAX, None).1))
}

/// A slot for the first call of the queue, which is woken from now on if there is none.
fn first_slot(pool: &Pool, pick: impl Fn() -> Result<Option<Slot>, CallError>) -> Result<Option<Slot>, CallError> {
    if let Some(slot) = pick()? {
        return Ok(Some(slot));
    }
    pool.await_room();
    pick()
}

/// A slot if there is room now; an error if no replica is healthy, so that waiting is pointless.
fn pick_room(pool: &Pool, search: SlotSearch<'_>) -> Result<Option<Slot>, CallError> {
    match pool.pick(search.class, || search.prompt(), search.tried, Instant::now()) {
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
        // A call that has waited before, and has another replica to go to, does not queue again.
        None => Some(Box::pin(wait(endpoint, None, search)).await.map(|(slot, _)| slot)),
    }
}

/// A slot if there is one now; an error if waiting is pointless.
fn try_pick(endpoint: &LiveEndpoint, search: SlotSearch<'_>) -> Result<Option<Slot>, CallError> {
    let view = endpoint.view();
    if !is_routed(&view)? {
        return Ok(None);
    }
    Ok(view.route.pool.pick(search.class, || search.prompt(), search.tried, Instant::now()).ok())
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

/// Holds a call until a replica is ready, and its turn has come if it queues. Retried calls do not, so that they do not block
/// calls that can use other replicas.
async fn wait(
    endpoint: &Arc<LiveEndpoint>,
    newcomer: Option<Newcomer>,
    search: SlotSearch<'_>,
) -> Result<(Slot, Option<QueueCharge>), CallError> {
    /// Unreachable replicas may recover without a change of the endpoint, so they are polled.
    const POLL_PERIOD: Duration = Duration::from_millis(500);
    is_routed(&endpoint.view())?;
    let _held = endpoint.hold(search.class, search.body_bytes()).map_err(|_| CallError::HoldQueueFull)?;
    let tokens = newcomer.as_ref().map_or(0, |newcomer| newcomer.tokens);
    let queued = newcomer.map(|newcomer| endpoint.view().route.pool.queue().join(newcomer)).transpose();
    let queued = queued.map_err(|QueueFullError { .. }| CallError::HoldQueueFull)?;
    let found = async {
        if let Some(queued) = &queued {
            while !queued.is_first() {
                queued.woken().await;
            }
        }
        let mut changes = endpoint.watch();
        loop {
            changes.mark_unchanged();
            let view = endpoint.view();
            if queued.as_ref().is_none_or(QueuedCall::is_first)
                && let Some(slot) = first_slot(&view.route.pool, || try_pick(endpoint, search))?
            {
                return Ok(slot);
            }
            let is_serving = view.condition == Condition::Serving;
            tokio::select! {
                changed = changes.changed() => if changed.is_err() {
                    return Err(CallError::unknown_model(view.route.model.id.as_str()));
                },
                () = woken(queued.as_ref()) => {}
                () = tokio::time::sleep(POLL_PERIOD), if is_serving => {}
            }
        }
    };
    let slot = tokio::time::timeout_at(search.until.into(), found).await.unwrap_or(Err(CallError::HoldTimeout))?;
    let cached = slot.cached_estimate().unwrap_or(0);
    Ok((slot, queued.and_then(|queued| queued.serve(tokens.saturating_sub(cached)))))
}

/// Never ends for a call that does not queue.
async fn woken(queued: Option<&QueuedCall>) {
    match queued {
        Some(queued) => queued.woken().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{ParsedRequest, chat};
    use domain::caller::Actor;
    use domain::model::{Model, ModelId, Upstream};
    use domain::{KeyId, OrganizationId, QueueWeight, Timestamp, WorkspaceId};
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

    fn newcomer() -> Newcomer {
        let now = Timestamp::from_millis(1);
        Newcomer {
            class: CallClass::Interactive,
            workspace: WorkspaceId::new(now, 1),
            weight: QueueWeight::default(),
            actor: Actor::Key(KeyId::new(now, 1)),
            tokens: 10,
            since: Instant::now(),
        }
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
                let found = wait(&endpoint, Some(newcomer()), search(&[])).await.unwrap();
                served.lock().push(number);
                drop(found);
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
        retried.spawn(async move {
            wait(&lost, None, search(&tried)).await.map(|(slot, _)| slot.replica().name.to_string())
        });
        yield_now().await;
        assert_eq!(&*wait(&endpoint, Some(newcomer()), search(&[])).await.unwrap().0.replica().name, "a");
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
                calls.spawn(async move { wait(&endpoint, Some(newcomer()), search(&[])).await.unwrap_err().code() });
                yield_now().await;
            }
            endpoints.apply(vec![known(condition, &[])]);
            assert!(calls.join_all().await.iter().all(|found| *found == code));
        }
    }
}
