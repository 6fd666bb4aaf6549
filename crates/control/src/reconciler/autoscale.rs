//! Decides how many replicas autoscaled endpoints should have, once in a tick.

use super::Parts;
use crate::endpoints::{Note, transition};
use domain::autoscaler::signal::{self, NodeReport};
use domain::autoscaler::{Memory, Sight, Signal, TICK_MILLIS, decide};
use domain::endpoint::replica::{Replica, ReplicaState};
use domain::endpoint::scaling::{Metric, Mode};
use domain::endpoint::state::{State, Trigger};
use domain::{Endpoint, Timestamp};
use fleet::drivers::{Driver, EngineLoad, ReplicaName};
use store::{Fenced, StoreError, autoscaler, endpoints, replicas};

#[derive(Default)]
pub(super) struct Autoscaler {
    ticked_at: Option<Timestamp>,
}

impl Autoscaler {
    pub(super) async fn tick<D: Driver>(&mut self, parts: &Parts<D>, epoch: u64) -> Result<(), StoreError> {
        let now = (parts.now)();
        if self.ticked_at.is_some_and(|at| now >= at && now.millis_since(at) < TICK_MILLIS) {
            return Ok(());
        }
        self.ticked_at = Some(now);
        for endpoint in endpoints::list_all(&parts.store).await? {
            let scales = matches!(endpoint.scaling.mode, Mode::Autoscaled { .. });
            if scales && matches!(endpoint.state, State::Provisioning | State::Serving) {
                match scale(parts, epoch, &endpoint, now).await {
                    Ok(()) | Err(StoreError::EndpointStale) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

async fn scale<D: Driver>(parts: &Parts<D>, epoch: u64, endpoint: &Endpoint, now: Timestamp) -> Result<(), StoreError> {
    let current = endpoint.status.desired;
    let recalled = autoscaler::recall(&parts.store, &endpoint.id).await?;
    let mut memory = recalled.unwrap_or_else(|| Memory::seeded(current, now));
    let sight = look(parts, endpoint, now).await?;
    let decision = decide(&mut memory, &sight, now);
    let mut tx = Fenced::begin(&parts.store, epoch).await?;
    autoscaler::remember(&mut tx, &endpoint.id, &memory).await?;
    if decision.to != current {
        let trigger = if decision.to == 0 { Trigger::Idle } else { Trigger::Autoscaled { desired: decision.to } };
        let note = Note { part: "autoscaler", message: decision.to_string(), data: decision.inputs() };
        transition(&mut tx, endpoint, trigger, note, now).await?;
        parts.nudge.notify_one();
    }
    tx.commit().await?;
    if decision.to != current {
        parts.figures.count_scaling(current, decision.to);
    }
    Ok(())
}

async fn look<D: Driver>(parts: &Parts<D>, endpoint: &Endpoint, now: Timestamp) -> Result<Sight, StoreError> {
    let here = parts.endpoints.get(&endpoint.organization, endpoint.name.as_str());
    let open_calls = here.as_ref().map_or(0, |here| u64::from(here.in_flight()) + u64::from(here.held()));
    let load = open_calls * 1_000;
    let down_secs = endpoint.scaling.windows.down_secs;
    let concurrency = signal::concurrency(&[NodeReport { at: now, load }], down_secs, now);
    let live = replicas::live_of(&parts.store, &endpoint.id).await?;
    let ready: Vec<&Replica> = live.iter().filter(|replica| replica.state == ReplicaState::Ready).collect();
    let signal = match endpoint.scaling.target.metric() {
        Metric::Concurrency => concurrency.signal,
        Metric::KvCacheUtilization => kv_cache(parts, endpoint, &ready, now).await,
    };
    let idle_millis = here.map_or(0, |here| i64::try_from(here.idle().as_millis()).unwrap_or(i64::MAX));
    let last_call = endpoint.last_request_at.unwrap_or_default().max(now.plus_millis(-idle_millis));
    let became_ready = ready.iter().filter_map(|replica| replica.ready_at).max().unwrap_or(now);
    Ok(Sight {
        scaling: endpoint.scaling,
        current: endpoint.status.desired,
        ready: u32::try_from(ready.len()).unwrap_or(u32::MAX),
        signal,
        open_calls,
        last_activity: last_call.max(became_ready),
        no_shrink_until: concurrency.no_shrink_until,
        concurrency: endpoint.shape.flavor.default_target.map(|target| (load, target)),
    })
}

async fn kv_cache<D: Driver>(parts: &Parts<D>, endpoint: &Endpoint, ready: &[&Replica], now: Timestamp) -> Signal {
    let mut loads = Vec::with_capacity(ready.len());
    for replica in ready {
        let name = ReplicaName::parse(replica.id.as_str()).expect("ids are made of letters and digits");
        let load = parts.driver.load(&name).await.ok();
        loads.push(load.and_then(|load| measured(&load, now)));
    }
    signal::kv_cache(&loads, endpoint.scaling.target.milli(), now)
}

/// What an engine does not say is not known.
fn measured(load: &EngineLoad, at: Timestamp) -> Option<signal::EngineLoad> {
    let whole = |value: f64| value.max(0.0).round() as u64;
    Some(signal::EngineLoad {
        at,
        kv_usage: whole(load.kv_cache_usage? * 1_000.0),
        running: whole(load.running.unwrap_or(0.0)),
        waiting: whole(load.waiting.unwrap_or(0.0)),
    })
}
