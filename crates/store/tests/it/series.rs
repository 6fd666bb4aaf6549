//! The series against the events and rejections they are sums of.

use crate::databases::on_both;
use crate::people::{self, NOW, entropy};
use domain::series::{Level, Resolution, Tally, Timing, spread};
use domain::usage::{Actor, CallOrigin, CallSurface};
use domain::{KeyId, ModelId, RequestId, Span, Timestamp, UsageEvent, Workspace};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::Store;
use store::series::{self, CodeCount, Measure, Point, Rejections, Selection};
use store::usage::UsageWriter;
use tokio::task::JoinSet;

const CODES: [&str; 3] = ["", "bad_gateway", "client_gone"];
const SURFACES: [Option<CallSurface>; 3] = [Some(CallSurface::Chat), Some(CallSurface::Responses), None];

fn key(number: u128) -> Actor {
    Actor::Key(KeyId::new(NOW, number))
}

/// A call of random length within three hours.
fn event(rng: &mut Rng, workspace: &Workspace) -> UsageEvent {
    let started_at = Timestamp::from_millis(NOW.millis() + rng.i64(0..3 * 3_600_000));
    let mut event = crate::usage_events::event(workspace, 0);
    let caller = Arc::make_mut(&mut event.caller);
    caller.actor = key(rng.u128(0..2));
    let duration = rng.u64(1_000..200_000_000);
    UsageEvent {
        request: RequestId::new(started_at, entropy()),
        model: ModelId::parse(rng.choice(["acme/tiny", "dedicated/mine"]).unwrap()).unwrap(),
        streamed: rng.bool(),
        code: (*rng.choice(&CODES).unwrap()).into(),
        started_at,
        first_byte_micros: Some(rng.u64(500..=duration)),
        duration_micros: duration,
        held_micros: rng.bool().then(|| rng.u64(0..5_000_000)),
        origin: CallOrigin { surface: *rng.choice(&SURFACES).unwrap(), ..CallOrigin::default() },
        ..event
    }
}

async fn insert(store: &Store, events: &[UsageEvent]) {
    let mut tx = store.begin().await.unwrap();
    UsageWriter::default().write(&mut tx, events).await.unwrap();
    tx.commit().await.unwrap();
}

/// The content of a row as comparable text.
fn shown(tally: &Tally) -> String {
    let timings = [Timing::Ttft, Timing::TimePerOutputToken, Timing::Latency, Timing::Hold, Timing::Queue];
    let of = |timing| {
        let sketch = tally.timing(timing);
        format!("{}:{:?}:{:?}", sketch.count(), sketch.quantile(0.5), sketch.quantile(0.99))
    };
    format!(
        "{} calls {}/{}/{} tokens {} µs {}",
        tally.requests,
        tally.prompt_tokens,
        tally.completion_tokens,
        tally.cached_tokens,
        tally.busy_micros,
        timings.map(of).join(" ")
    )
}

fn selection(workspace: &Workspace, resolution: Resolution, level: Level) -> Selection<'_> {
    let span = Span { from: Timestamp::default(), to: Timestamp::from_millis(NOW.millis() * 2) };
    Selection { workspace: Some(&workspace.id), resolution, level, span, model: None, actor: None }
}

/// The rows of a level, with counts and timings merged.
async fn found(store: &Store, selection: Selection<'_>) -> BTreeMap<(i64, String, String), String> {
    let mut whole: BTreeMap<(i64, String, String), Tally> = BTreeMap::new();
    let timings = [Timing::Ttft, Timing::TimePerOutputToken, Timing::Latency, Timing::Hold, Timing::Queue];
    let counts = [Measure::Requests, Measure::Tokens, Measure::Busy];
    let all = counts.into_iter().chain(timings.map(Measure::Timing));
    for measure in all {
        for Point { starts_at, model, actor, tally } in series::read(store, selection, measure).await.unwrap() {
            whole.entry((starts_at.millis(), model, actor)).or_default().merge(&tally);
        }
    }
    whole.into_iter().map(|(key, tally)| (key, shown(&tally))).collect()
}

fn expected(
    events: &[UsageEvent],
    workspace: &Workspace,
    resolution: Resolution,
    level: Level,
) -> BTreeMap<(i64, String, String), String> {
    let mut tallies: BTreeMap<(i64, String, String), Tally> = BTreeMap::new();
    let is_counted = |event: &&UsageEvent| {
        event.caller.workspace == workspace.id
            && Level::of_call(event.origin.surface).any(|counted_at| counted_at == level)
    };
    for event in events.iter().filter(is_counted) {
        let key = |moment: Timestamp| {
            let model = if level.has_models() { event.model.to_string() } else { String::new() };
            let actor = if level.has_actors() { event.caller.actor.as_str().to_owned() } else { String::new() };
            (resolution.start_of(moment).millis(), model, actor)
        };
        tallies.entry(key(event.started_at)).or_default().count(event);
        for (minute, micros) in spread(event.started_at, event.duration_micros) {
            tallies.entry(key(minute)).or_default().busy_micros += micros;
        }
    }
    tallies.into_iter().map(|(key, tally)| (key, shown(&tally))).collect()
}

async fn assert_series(store: &Store, events: &[UsageEvent], workspaces: &[Workspace]) {
    let levels: BTreeSet<Level> = SURFACES.into_iter().flat_map(Level::of_call).collect();
    for workspace in workspaces {
        for resolution in Resolution::ALL {
            for &level in &levels {
                let found = found(store, selection(workspace, resolution, level)).await;
                assert_eq!(found, expected(events, workspace, resolution, level), "{resolution:?} {level:?}");
            }
        }
    }
}

#[tokio::test]
async fn every_row_is_the_sum_of_its_events_even_if_they_are_written_twice() {
    on_both(async |_, store| {
        let mut rng = Rng::with_seed(1);
        let workspaces = [people::workspace(&store).await, people::workspace(&store).await];
        let events: Vec<_> = (0..300).map(|number| event(&mut rng, &workspaces[number % 2])).collect();
        for batch in events.chunks(70) {
            insert(&store, batch).await;
        }
        insert(&store, &events[50..200]).await;
        assert_series(&store, &events, &workspaces).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_nodes_that_add_to_the_same_rows_lose_nothing() {
    on_both(async |database, store| {
        let mut rng = Rng::with_seed(2);
        let workspaces = [people::workspace(&store).await];
        let events: Vec<_> = (0..240).map(|_| event(&mut rng, &workspaces[0])).collect();
        let mut nodes = JoinSet::new();
        for seed in 0..3 {
            let (store, mut events) = (database.open().await, events.clone());
            nodes.spawn(async move {
                Rng::with_seed(seed).shuffle(&mut events);
                for batch in events.chunks(40) {
                    insert(&store, batch).await;
                }
            });
        }
        nodes.join_all().await;
        assert_series(&store, &events, &workspaces).await;
    })
    .await;
}

#[tokio::test]
async fn rejected_calls_are_counted_by_code_like_failed_ones() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let rejections = |model: &str, code: &str, surface, calls| Rejections {
            workspace: workspace.id.clone(),
            actor: key(1),
            model: ModelId::parse(model).ok(),
            at: NOW,
            surface: Some(surface),
            code: code.to_owned(),
            calls,
        };
        let mut broken = crate::usage_events::event(&workspace, 0);
        (broken.code, broken.status) = ("bad_gateway".into(), 502);
        insert(&store, &[broken]).await;
        for _ in 0..2 {
            let mut tx = store.begin().await.unwrap();
            let batch = [
                rejections("acme/tiny-chat", "rate_limit_exceeded", CallSurface::Chat, 7),
                rejections("", "model_not_found", CallSurface::Messages, 2),
            ];
            series::add_rejections(&mut tx, &batch).await.unwrap();
            tx.commit().await.unwrap();
        }
        let per_model = selection(&workspace, Resolution::Hour, Level::Model);
        let mut codes: Vec<_> = series::read_codes(&store, per_model).await.unwrap();
        codes.sort_by(|one, other| one.code.cmp(&other.code));
        let shown: Vec<_> =
            codes.iter().map(|CodeCount { model, code, calls, .. }| format!("{model} {code} {calls}")).collect();
        assert_eq!(
            shown,
            ["acme/tiny-chat bad_gateway 1", " model_not_found 4", "acme/tiny-chat rate_limit_exceeded 14"]
        );
        let whole = selection(&workspace, Resolution::Day, Level::Workspace);
        let requests = series::read(&store, whole, Measure::Requests).await.unwrap();
        assert_eq!((requests.len(), requests[0].tally.requests), (1, 19));
        let of_one = Selection { model: Some("acme/tiny-chat"), ..per_model };
        assert_eq!(series::read(&store, of_one, Measure::Requests).await.unwrap()[0].tally.requests, 15);

        let of_messages = selection(&workspace, Resolution::Day, Level::SurfaceAndModel(CallSurface::Messages));
        let mut codes: Vec<_> = series::read_codes(&store, of_messages).await.unwrap();
        codes.sort_by(|one, other| one.code.cmp(&other.code));
        let shown: Vec<_> =
            codes.iter().map(|CodeCount { model, code, calls, .. }| format!("{model} {code} {calls}")).collect();
        assert_eq!(shown, ["acme/tiny-chat bad_gateway 1", " model_not_found 4"]);
    })
    .await;
}
