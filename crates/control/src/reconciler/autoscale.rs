//! Runs the autoscaler over all autoscaled endpoints, once per tick.

use super::round::{Round, name_of};
use super::rows::Rows;
use crate::endpoints::{Note, Transition, new_event, transition};
use domain::autoscaler::signal;
use domain::autoscaler::{Decision, Memory, Notice, Observation, Signal, TICK_MILLIS, decide};
use domain::endpoint::event::{Actor, Event, EventType};
use domain::endpoint::replica::Replica;
use domain::endpoint::scaling::{DEFAULT_CONCURRENCY, DEFAULT_PREFILL_TARGET, Metric, Mode};
use domain::endpoint::state::{State, Trigger};
use domain::{Endpoint, Timestamp};
use fleet::drivers::Driver;
use fleet::engine::EngineLoad;
use serde_json::json;
use store::{LeaderWrite, StoreError};
use tokio::task::JoinSet;

const PART: &str = "autoscaler";

#[derive(Default)]
pub(super) struct Autoscaler {
    ticked_at: Option<Timestamp>,
}

impl Autoscaler {
    pub(super) async fn tick<D: Driver + Clone, S: Rows>(&mut self, round: &Round<'_, D, S>) -> Result<(), StoreError> {
        let now = round.now;
        if self.ticked_at.is_some_and(|at| now >= at && now.millis_since(at) < TICK_MILLIS) {
            return Ok(());
        }
        self.ticked_at = Some(now);
        for endpoint in &round.snapshot.endpoints {
            let is_autoscaled = matches!(endpoint.scaling.mode, Mode::Autoscaled { .. });
            if is_autoscaled && matches!(endpoint.state, State::Provisioning | State::Serving) {
                match scale(round, endpoint).await {
                    Ok(()) | Err(StoreError::EndpointStale) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

async fn scale<D: Driver + Clone, S: Rows>(round: &Round<'_, D, S>, endpoint: &Endpoint) -> Result<(), StoreError> {
    let (now, current) = (round.now, endpoint.status.desired);
    let stored = round.parts.store.scaling_memory(&endpoint.id).await?;
    let mut memory = stored.unwrap_or_else(|| Memory::seeded(current, now));
    let decision = decide(&mut memory, &observe(round, endpoint).await, now);
    let notice = decision.notice.map(|notice| notice_event(endpoint, notice, &decision, now));
    let changed = decision.changes().then(|| {
        let trigger = if decision.to == 0 { Trigger::Idle } else { Trigger::Autoscaled { desired: decision.to } };
        let note = Note { part: PART, message: decision.to_string(), data: json!(decision.inputs()) };
        transition(endpoint, trigger, note, now)
    });
    let mut writes = vec![LeaderWrite::ScalingMemory { endpoint: &endpoint.id, memory: &memory }];
    writes.extend(notice.as_ref().map(LeaderWrite::Event));
    writes.extend(changed.iter().flat_map(Transition::writes));
    round.commit(&writes).await?;
    if decision.changes() {
        round.parts.nudge.notify_one();
        round.parts.metrics.count_scaling(current, decision.to);
    }
    Ok(())
}

fn notice_event(endpoint: &Endpoint, notice: Notice, decision: &Decision, now: Timestamp) -> Event {
    let (kind, message) = match notice {
        Notice::MetricsMissing => {
            (EventType::MetricsMissing, "Most ready replicas have not reported their load for a minute.")
        }
        Notice::MetricsRecovered => (EventType::MetricsRecovered, "The replicas report their load again."),
    };
    let event = new_event(&endpoint.id, kind, Actor::system(PART), now);
    Event { message: message.to_owned(), data: json!(decision.inputs()).to_string(), ..event }
}

async fn observe<D: Driver + Clone, S: Rows>(round: &Round<'_, D, S>, endpoint: &Endpoint) -> Observation {
    let (now, snapshot) = (round.now, &round.snapshot);
    let loads = snapshot.loads_of(&endpoint.id);
    let concurrency = loads.concurrency(endpoint.scaling.windows.down_secs);
    let is_ready = |replica: &&Replica| replica.endpoint == endpoint.id && replica.is_serving();
    let ready: Vec<&Replica> = snapshot.live.iter().filter(is_ready).collect();
    let signal = match endpoint.scaling.target.metric() {
        Metric::Concurrency => concurrency.signal,
        Metric::KvCacheUtilization => kv_cache(round, endpoint, &ready).await,
    };
    let became_ready = ready.iter().filter_map(|replica| replica.ready_at).max().unwrap_or(now);
    // Reports carry the store's time; only its distance from the store's present is used here.
    let quiet = loads.quiet_millis().and_then(|millis| i64::try_from(millis).ok());
    let last_call = quiet.map_or(Timestamp::default(), |millis| now.plus_millis(-millis));
    let calls = match concurrency.signal {
        Signal::Seen(load) => Some((load, endpoint.shape.flavor.default_target.unwrap_or(DEFAULT_CONCURRENCY))),
        Signal::Unclear | Signal::Missing => None,
    };
    let ahead = now.millis() - snapshot.store_now.millis();
    Observation {
        scaling: endpoint.scaling,
        current: endpoint.status.desired,
        ready: u32::try_from(ready.len()).unwrap_or(u32::MAX),
        signal,
        open_calls: loads.open_calls(),
        last_activity: last_call.max(became_ready),
        no_shrink_until: concurrency.no_shrink_until.map(|until| until.plus_millis(ahead)),
        concurrency: calls,
        prefill: loads.prefill(),
        prefill_target: endpoint.shape.flavor.prefill_target.unwrap_or(DEFAULT_PREFILL_TARGET),
    }
}

/// Reads all replicas concurrently, so that one that hangs does not delay the others.
async fn kv_cache<D: Driver + Clone, S>(round: &Round<'_, D, S>, endpoint: &Endpoint, ready: &[&Replica]) -> Signal {
    let now = round.now;
    let mut reads = JoinSet::new();
    for replica in ready {
        let (driver, name) = (round.parts.driver.clone(), name_of(replica));
        reads.spawn(async move { driver.load(&name).await.ok().and_then(|load| measured(&load, now)) });
    }
    let loads = reads.join_all().await;
    signal::kv_cache(&loads, endpoint.scaling.target.milli(), now)
}

/// `None` if the engine does not report its KV-cache usage.
fn measured(load: &EngineLoad, at: Timestamp) -> Option<signal::EngineLoad> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and rounded on purpose")]
    let whole = |value: f64| value.max(0.0).round() as u64;
    Some(signal::EngineLoad {
        at,
        kv_usage: whole(load.kv_cache_usage? * 1_000.0),
        running: whole(load.running.unwrap_or(0.0)),
        waiting: whole(load.waiting.unwrap_or(0.0)),
    })
}
