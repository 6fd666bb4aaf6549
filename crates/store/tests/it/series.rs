//! Series against the events and refusals that they are made of.

use crate::databases::on_both;
use crate::people::{self, NOW, entropy};
use domain::series::{Level, Resolution, Tally, Timing, spread};
use domain::usage::Actor;
use domain::{KeyId, ModelId, RequestId, Span, Timestamp, UsageEvent, Workspace};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::series::{self, Coded, Point, Question, Refusals, Wanted};
use store::{Store, usage_events};
use tokio::task::JoinSet;

const CODES: [&str; 3] = ["", "bad_gateway", "client_gone"];

fn key(number: u128) -> Actor {
    Actor::Key(KeyId::new(NOW, number))
}

/// Some time in three hours, of all lengths.
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
        ..event
    }
}

async fn insert(store: &Store, events: &[UsageEvent]) {
    let mut tx = store.begin().await.unwrap();
    usage_events::insert_batch(&mut tx, events).await.unwrap();
    tx.commit().await.unwrap();
}

/// Everything a row says, in words that can be compared.
fn shown(tally: &Tally) -> String {
    let timings = [Timing::Ttft, Timing::TimePerOutputToken, Timing::Latency, Timing::Hold, Timing::Queue];
    let of = |timing| {
        let sketch = tally.timing(timing);
        format!("{}:{:?}:{:?}", sketch.count(), sketch.quantile(0.5), sketch.quantile(0.99))
    };
    format!(
        "{} calls {} errors {}/{}/{} tokens {} µs {}",
        tally.requests,
        tally.errors,
        tally.prompt_tokens,
        tally.completion_tokens,
        tally.cached_tokens,
        tally.busy_micros,
        timings.map(of).join(" ")
    )
}

fn question(workspace: &Workspace, resolution: Resolution, level: Level) -> Question<'_> {
    let span = Span { from: Timestamp::default(), to: Timestamp::from_millis(NOW.millis() * 2) };
    Question { workspace: &workspace.id, resolution, level, span, model: None, actor: None }
}

/// What the rows of a level say, counts and timings put together.
async fn found(store: &Store, asked: Question<'_>) -> BTreeMap<(i64, String, String), String> {
    let mut whole: BTreeMap<(i64, String, String), Tally> = BTreeMap::new();
    let timings = [Timing::Ttft, Timing::TimePerOutputToken, Timing::Latency, Timing::Hold, Timing::Queue];
    let counts = [Wanted::Requests, Wanted::Errors, Wanted::Tokens, Wanted::Busy];
    let all = counts.into_iter().chain(timings.map(Wanted::Timing));
    for wanted in all {
        for Point { starts_at, model, actor, tally } in series::read(store, asked, wanted).await.unwrap() {
            whole.entry((starts_at.millis(), model, actor)).or_default().merge(&tally);
        }
    }
    whole.into_iter().map(|(place, tally)| (place, shown(&tally))).collect()
}

fn expected(
    events: &[UsageEvent],
    workspace: &Workspace,
    resolution: Resolution,
    level: Level,
) -> BTreeMap<(i64, String, String), String> {
    let mut tallies: BTreeMap<(i64, String, String), Tally> = BTreeMap::new();
    for event in events.iter().filter(|event| event.caller.workspace == workspace.id) {
        let place = |moment: Timestamp| {
            let model = if level.tells_models() { event.model.to_string() } else { String::new() };
            let actor = if level.tells_callers() { event.caller.actor.as_str().to_owned() } else { String::new() };
            (resolution.start_of(moment).millis(), model, actor)
        };
        tallies.entry(place(event.started_at)).or_default().count(event);
        for (minute, micros) in spread(event.started_at, event.duration_micros) {
            tallies.entry(place(minute)).or_default().busy_micros += micros;
        }
    }
    tallies.into_iter().map(|(place, tally)| (place, shown(&tally))).collect()
}

async fn assert_series(store: &Store, events: &[UsageEvent], workspaces: &[Workspace]) {
    for workspace in workspaces {
        for resolution in Resolution::ALL {
            for level in Level::ALL {
                let found = found(store, question(workspace, resolution, level)).await;
                assert_eq!(found, expected(events, workspace, resolution, level), "{resolution:?} {level:?}");
            }
        }
    }
}

#[tokio::test]
async fn every_row_is_the_sum_of_its_events_however_often_they_come() {
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
async fn nodes_that_add_to_the_same_rows_at_once_lose_nothing() {
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
async fn refused_calls_are_counted_by_code_beside_those_that_broke() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let refusals = |model: &str, code: &str, calls| Refusals {
            workspace: workspace.id.clone(),
            actor: key(1),
            model: model.to_owned(),
            at: NOW,
            code: code.to_owned(),
            calls,
        };
        let mut broken = crate::usage_events::event(&workspace, 0);
        (broken.code, broken.status) = ("bad_gateway".into(), 502);
        insert(&store, &[broken]).await;
        for _ in 0..2 {
            let mut tx = store.begin().await.unwrap();
            let batch = [refusals("acme/tiny-chat", "rate_limit_exceeded", 7), refusals("", "model_not_found", 2)];
            series::add_refusals(&mut tx, &batch).await.unwrap();
            tx.commit().await.unwrap();
        }
        let asked = question(&workspace, Resolution::Hour, Level::Model);
        let mut codes: Vec<_> = series::read_codes(&store, asked).await.unwrap();
        codes.sort_by(|one, other| one.code.cmp(&other.code));
        let shown: Vec<_> =
            codes.iter().map(|Coded { model, code, calls, .. }| format!("{model} {code} {calls}")).collect();
        assert_eq!(
            shown,
            ["acme/tiny-chat bad_gateway 1", " model_not_found 4", "acme/tiny-chat rate_limit_exceeded 14"]
        );
        let whole = question(&workspace, Resolution::Day, Level::Workspace);
        let requests = series::read(&store, whole, Wanted::Requests).await.unwrap();
        let errors = series::read(&store, whole, Wanted::Errors).await.unwrap();
        assert_eq!((requests.len(), requests[0].tally.requests, errors[0].tally.errors), (1, 19, 19));
        let of_one = Question { model: Some("acme/tiny-chat"), ..asked };
        assert_eq!(series::read(&store, of_one, Wanted::Requests).await.unwrap()[0].tally.requests, 15);
    })
    .await;
}
