//! Decides how many replicas autoscaled endpoints should have, once in a tick.

use super::replica::name_of;
use super::{Parts, Picture};
use crate::endpoints::{Note, new_event, transition};
use domain::autoscaler::signal;
use domain::autoscaler::{Decision, Memory, Notice, Observation, Signal, TICK_MILLIS, decide};
use domain::endpoint::event::{Actor, Event, EventType};
use domain::endpoint::replica::Replica;
use domain::endpoint::scaling::{DEFAULT_CONCURRENCY, Metric, Mode};
use domain::endpoint::state::{State, Trigger};
use domain::{Endpoint, Timestamp};
use fleet::drivers::{Driver, EngineLoad};
use store::{Fenced, StoreError, autoscaler, endpoint_events, endpoints, replicas};
use tokio::task::JoinSet;

const PART: &str = "autoscaler";

#[derive(Default)]
pub(super) struct Autoscaler {
    ticked_at: Option<Timestamp>,
}

impl Autoscaler {
    pub(super) async fn tick<D: Driver + Clone>(
        &mut self,
        parts: &Parts<D>,
        epoch: u64,
        picture: &Picture,
    ) -> Result<(), StoreError> {
        let now = (parts.now)();
        if self.ticked_at.is_some_and(|at| now >= at && now.millis_since(at) < TICK_MILLIS) {
            return Ok(());
        }
        self.ticked_at = Some(now);
        for endpoint in endpoints::list_all(&parts.store).await? {
            let scales = matches!(endpoint.scaling.mode, Mode::Autoscaled { .. });
            if scales && matches!(endpoint.state, State::Provisioning | State::Serving) {
                match scale(parts, epoch, &endpoint, picture, now).await {
                    Ok(()) | Err(StoreError::EndpointStale) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

async fn scale<D: Driver + Clone>(
    parts: &Parts<D>,
    epoch: u64,
    endpoint: &Endpoint,
    picture: &Picture,
    now: Timestamp,
) -> Result<(), StoreError> {
    let current = endpoint.status.desired;
    let recalled = autoscaler::recall(&parts.store, &endpoint.id).await?;
    let mut memory = recalled.unwrap_or_else(|| Memory::seeded(current, now));
    let sight = look(parts, endpoint, picture, now).await?;
    let decision = decide(&mut memory, &sight, now);
    let mut tx = Fenced::begin(&parts.store, epoch).await?;
    autoscaler::remember(&mut tx, &endpoint.id, &memory).await?;
    if let Some(notice) = decision.notice {
        endpoint_events::append(&mut tx, &told(endpoint, notice, &decision, now)).await?;
    }
    if decision.changes() {
        let trigger = if decision.to == 0 { Trigger::Idle } else { Trigger::Autoscaled { desired: decision.to } };
        let note = Note { part: PART, message: decision.to_string(), data: decision.inputs() };
        transition(&mut tx, endpoint, trigger, note, now).await?;
        parts.nudge.notify_one();
    }
    tx.commit().await?;
    if decision.to != current {
        parts.figures.count_scaling(current, decision.to);
    }
    Ok(())
}

fn told(endpoint: &Endpoint, notice: Notice, decision: &Decision, now: Timestamp) -> Event {
    let (kind, message) = match notice {
        Notice::MetricsMissing => {
            (EventType::MetricsMissing, "Most ready replicas have not told their load for a minute.")
        }
        Notice::MetricsRecovered => (EventType::MetricsRecovered, "The replicas tell their load again."),
    };
    let event = new_event(&endpoint.id, kind, Actor::system(PART), now);
    Event { message: message.to_owned(), data: decision.inputs(), ..event }
}

async fn look<D: Driver + Clone>(
    parts: &Parts<D>,
    endpoint: &Endpoint,
    picture: &Picture,
    now: Timestamp,
) -> Result<Observation, StoreError> {
    let loads = picture.loads_of(&endpoint.id);
    let concurrency = loads.concurrency(endpoint.scaling.windows.down_secs);
    let live = replicas::live_of(&parts.store, &endpoint.id).await?;
    let ready: Vec<&Replica> = live.iter().filter(|replica| replica.is_serving()).collect();
    let signal = match endpoint.scaling.target.metric() {
        Metric::Concurrency => concurrency.signal,
        Metric::KvCacheUtilization => kv_cache(parts, endpoint, &ready, now).await,
    };
    let became_ready = ready.iter().filter_map(|replica| replica.ready_at).max().unwrap_or(now);
    // The nodes' moments are by the store's clock, all others here by this node's.
    let quiet = loads.quiet_millis().and_then(|millis| i64::try_from(millis).ok());
    let last_call = quiet.map_or(Timestamp::default(), |millis| now.plus_millis(-millis));
    let calls = match concurrency.signal {
        Signal::Seen(load) => Some((load, endpoint.shape.flavor.default_target.unwrap_or(DEFAULT_CONCURRENCY))),
        Signal::Unclear | Signal::Missing => None,
    };
    // Of the store's clock only how long it is from now matters.
    let ahead = now.millis() - picture.told_at.millis();
    Ok(Observation {
        scaling: endpoint.scaling,
        current: endpoint.status.desired,
        ready: u32::try_from(ready.len()).unwrap_or(u32::MAX),
        signal,
        open_calls: loads.open_calls(),
        last_activity: last_call.max(became_ready),
        no_shrink_until: concurrency.no_shrink_until.map(|until| until.plus_millis(ahead)),
        concurrency: calls,
    })
}

/// All replicas are asked at once: one that hangs does not hold up the others.
async fn kv_cache<D: Driver + Clone>(
    parts: &Parts<D>,
    endpoint: &Endpoint,
    ready: &[&Replica],
    now: Timestamp,
) -> Signal {
    let mut asked = JoinSet::new();
    for replica in ready {
        let (driver, name) = (parts.driver.clone(), name_of(replica));
        asked.spawn(async move { driver.load(&name).await.ok().and_then(|load| measured(&load, now)) });
    }
    let loads = asked.join_all().await;
    signal::kv_cache(&loads, endpoint.scaling.target.milli(), now)
}

/// What an engine does not say is not known.
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
