//! Fills the store with calls in the order of time, in batches as the usage writer does.

use domain::series::Resolution;
use domain::usage::{Actor, CallOrigin, CallSurface, Certainty, Tokens};
use domain::{Caller, KeyId, ModelId, NanoUsd, OrganizationId, Price, RequestId, Timestamp, UsageEvent, WorkspaceId};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use store::Store;
use store::retention::{BATCH as CLEARED_AT_ONCE, RowKind, clear};
use store::usage::UsageWriter;

const BATCH: u64 = 1_000;
const DAY_MILLIS: u64 = 86_400_000;
/// The default of `[retention] minutes`.
const MINUTES_KEPT: u64 = 2 * DAY_MILLIS;
const CLEAR_EVERY: u64 = 20_000;

pub(crate) struct Plan {
    pub(crate) organization: OrganizationId,
    pub(crate) workspace: WorkspaceId,
    pub(crate) requests: u64,
    pub(crate) days: u32,
    pub(crate) models: u32,
    pub(crate) keys: u32,
}

/// The time it took.
pub(crate) async fn fill(store: &Store, plan: &Plan) -> anyhow::Result<Duration> {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let now = u64::try_from(since_1970.as_millis())?;
    let span = u64::from(plan.days) * DAY_MILLIS;
    let callers: Vec<Arc<Caller>> = (0..plan.keys)
        .map(|number| {
            let actor = Actor::Key(KeyId::new(Timestamp::from_millis(1), u128::from(number)));
            Arc::new(Caller::new(plan.organization.clone(), plan.workspace.clone(), actor))
        })
        .collect();
    let models: Vec<ModelId> =
        (0..plan.models).map(|number| ModelId::parse(&format!("acme/model-{number}"))).collect::<Result<_, _>>()?;
    let started = Instant::now();
    let mut dice = Dice(0x5eed);
    let mut writer = UsageWriter::default();
    let mut first = 0;
    while first < plan.requests {
        let last = (first + BATCH).min(plan.requests);
        let events: Vec<UsageEvent> = (first..last)
            .map(|number| {
                let at = now - span + span * number / plan.requests;
                event(&mut dice, &callers, &models, Timestamp::from_millis(i64::try_from(at).unwrap_or(0)))
            })
            .collect();
        let mut tx = store.begin().await?;
        writer.write(&mut tx, &events).await?;
        tx.commit().await?;
        first = last;
        if first.is_multiple_of(CLEAR_EVERY) {
            let at = now - span + span * first / plan.requests;
            forget_minutes(store, Timestamp::from_millis(i64::try_from(at.saturating_sub(MINUTES_KEPT)).unwrap_or(0)))
                .await?;
        }
        if first.is_multiple_of(100_000) {
            eprintln!("  {first} of {} after {:.0} s", plan.requests, started.elapsed().as_secs_f64());
        }
    }
    Ok(started.elapsed())
}

/// Deletes old rows, as the leader does.
async fn forget_minutes(store: &Store, before: Timestamp) -> anyhow::Result<()> {
    for kind in [RowKind::Series(Resolution::Minute), RowKind::Codes(Resolution::Minute)] {
        while clear(store, kind, before).await? == CLEARED_AT_ONCE {}
    }
    Ok(())
}

/// Some models and keys are used far more often than others; one call in fifty fails.
fn event(dice: &mut Dice, callers: &[Arc<Caller>], models: &[ModelId], at: Timestamp) -> UsageEvent {
    let skewed = |dice: &mut Dice, count: usize| dice.below(count as u64).min(dice.below(count as u64)) as usize;
    let tokens = Tokens { prompt: dice.below(4_000) + 1, completion: dice.below(800), cached: 0 };
    let first_byte = 30_000 + dice.below(400_000);
    let failed = dice.below(50) == 0;
    let price = Price {
        input_per_1m: NanoUsd::from_nanos(100_000_000),
        cached_input_per_1m: NanoUsd::from_nanos(50_000_000),
        output_per_1m: NanoUsd::from_nanos(400_000_000),
    };
    UsageEvent {
        request: RequestId::new(at, u128::from(dice.next()) << 16 | u128::from(dice.next() & 0xffff)),
        caller: Arc::clone(&callers[skewed(dice, callers.len())]),
        model: models[skewed(dice, models.len())].clone(),
        replica: "acme/model#1".into(),
        streamed: dice.below(4) > 0,
        status: if failed { 502 } else { 200 },
        code: if failed { "bad_gateway".into() } else { "".into() },
        tokens,
        certainty: Certainty::Exact,
        price,
        cost: price.charge(tokens),
        started_at: at,
        first_byte_micros: Some(first_byte),
        duration_micros: first_byte + tokens.completion * (8_000 + dice.below(4_000)),
        held_micros: None,
        sent_micros: Some(100 + dice.below(900)),
        origin: CallOrigin { surface: Some(CallSurface::Chat), ..CallOrigin::default() },
        failovers: 0,
        end_user: None,
        reserved_in: Default::default(),
    }
}

/// Reproducible pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}
