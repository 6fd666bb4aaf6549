//! Sums of usage against the events they are sums of.

use crate::databases::on_both;
use crate::outside::outside;
use crate::people::{self, NOW, entropy, later};
use crate::retries::when_available;
use domain::end_user::EndUser;
use domain::grouping::Group;
use domain::span::{Span, plan, plan_by_end_user};
use domain::usage::{Actor, CallOrigin, Certainty, Tokens, Totals};
use domain::{
    CallClass, Caller, Day, EndUserId, Grain, Grouping, KeyId, ModelId, NanoUsd, Price, RequestId, Timestamp,
    UsageEvent, UserId, Workspace,
};
use fastrand::Rng;
use sqlx::{AssertSqlSafe, Executor};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use store::usage::UsageWriter;
use store::usage::sums::consumers::{self, ConsumerKind};
use store::usage::sums::{Selection, Summed, Sums, check, read, read_classes, read_keys};
use store::{Store, StoreError};
use tokio::task::JoinSet;

const DAYS: i64 = 4;
const GROUPINGS: [&str; 6] = ["", "model", "day,key", "key", "day", "key,model,day"];

/// Anywhere in four days, and often right at the border of an hour.
fn moment(rng: &mut Rng) -> Timestamp {
    let start = Grain::Day.start_of(NOW).millis();
    Timestamp::from_millis(match rng.u8(0..3) {
        0 => start + rng.i64(0..DAYS * 24) * Grain::Hour.millis() + rng.i64(-1..=1),
        _ => start + rng.i64(0..DAYS * Grain::Day.millis()),
    })
}

fn event(rng: &mut Rng, workspace: &Workspace) -> UsageEvent {
    let started_at = moment(rng);
    let certainty = *rng.choice(&[Certainty::Exact, Certainty::Estimated, Certainty::Void]).unwrap();
    let (prompt, completion) = (rng.u64(0..5_000), rng.u64(0..900));
    let tokens = match certainty {
        Certainty::Exact | Certainty::Estimated => Tokens { prompt, completion, cached: rng.u64(0..=prompt) },
        Certainty::Void => Tokens::default(),
    };
    let price = Price {
        input_per_1m: NanoUsd::from_nanos(rng.i64(0..999_999_999)),
        cached_input_per_1m: NanoUsd::from_nanos(rng.i64(0..999_999)),
        output_per_1m: NanoUsd::from_nanos(rng.i64(0..9_999_999_999)),
    };
    let number = rng.u128(0..3);
    UsageEvent {
        request: RequestId::new(started_at, entropy()),
        caller: Arc::new(Caller::new(
            workspace.organization.clone(),
            workspace.id.clone(),
            if rng.bool() { Actor::Key(KeyId::new(NOW, number)) } else { Actor::User(UserId::new(NOW, number)) },
        )),
        model: ModelId::parse(rng.choice(["acme/Big", "acme/tiny-chat", "Acme/tiny"]).unwrap()).unwrap(),
        replica: "127.0.0.1:9001".into(),
        streamed: rng.bool(),
        status: 200,
        code: "".into(),
        tokens,
        certainty,
        price,
        cost: price.charge(tokens),
        started_at,
        first_byte_micros: None,
        duration_micros: 20_000,
        held_micros: None,
        sent_micros: Some(700),
        origin: CallOrigin { class: *rng.choice(&CallClass::ALL).unwrap(), ..CallOrigin::default() },
        failovers: 0,
        end_user: end_user(rng),
        reserved_in: Default::default(),
    }
}

/// One of three, or none.
fn end_user(rng: &mut Rng) -> Option<Arc<EndUser>> {
    let number = rng.u8(0..4);
    let id = EndUserId::parse(&format!("eu_{number:032x}")).unwrap();
    (number > 0).then(|| Arc::new(EndUser { id, text: None }))
}

async fn insert(store: &Store, events: &[UsageEvent]) -> Result<usize, StoreError> {
    let mut tx = store.begin().await?;
    let inserted = UsageWriter::default().write(&mut tx, events).await?.len();
    tx.commit().await?;
    Ok(inserted)
}

/// The plain way: every event that is in the span.
fn expected(events: &[UsageEvent], workspace: &Workspace, span: Span, grouping: &Grouping) -> Vec<Summed> {
    let mut sums: BTreeMap<Vec<Group>, Totals> = BTreeMap::new();
    if grouping.dimensions().is_empty() {
        sums.insert(Vec::new(), Totals::default());
    }
    for event in events {
        let served = event.certainty != Certainty::Void;
        if served && span.contains(event.started_at) && event.caller.workspace == workspace.id {
            let group = |dimension: &_| match dimension {
                domain::grouping::Dimension::Model => Group::Model(event.model.clone()),
                domain::grouping::Dimension::Key => Group::Actor(event.caller.actor.clone()),
                domain::grouping::Dimension::Day => Group::Day(Day::of(event.started_at)),
                domain::grouping::Dimension::Surface => Group::Surface(event.origin.surface),
                domain::grouping::Dimension::EndUser => {
                    Group::EndUser(event.end_user.as_ref().map(|end_user| end_user.id.clone()))
                }
            };
            let sum = sums.entry(grouping.dimensions().iter().map(group).collect()).or_default();
            *sum += Totals {
                requests: 1,
                prompt_tokens: event.tokens.prompt,
                completion_tokens: event.tokens.completion,
                cached_tokens: event.tokens.cached,
                cost: event.cost,
            };
        }
    }
    sums.into_iter().map(|(groups, totals)| Summed { groups, totals }).collect()
}

async fn assert_sums(store: &Store, rng: &mut Rng, rounds: usize, events: &[UsageEvent], workspaces: &[Workspace]) {
    for _ in 0..rounds {
        let (one, other, now) = (moment(rng), moment(rng), moment(rng));
        let span = Span::new(one.min(other), one.max(other)).unwrap();
        let workspace = rng.choice(workspaces).unwrap();
        let grouping = Grouping::parse(rng.choice(GROUPINGS).unwrap()).unwrap();
        let found = read(store, Selection::all(&workspace.id), &plan(span, now), &grouping).await.unwrap();
        assert_eq!(found, expected(events, workspace, span, &grouping), "{span:?} by {grouping:?}");
    }
}

/// Whole days by end user.
async fn assert_end_users(store: &Store, events: &[UsageEvent], workspaces: &[Workspace]) {
    let from = Grain::Day.start_of(NOW).plus_millis(-Grain::Day.millis());
    let span = Span { from, to: from.plus_millis((DAYS + 2) * Grain::Day.millis()) };
    let grouping = Grouping::parse("endUser,day,key,model").unwrap();
    for workspace in workspaces {
        let pieces = plan_by_end_user(span);
        let found = read(store, Selection::all(&workspace.id), &pieces, &grouping).await.unwrap();
        assert_eq!(found, expected(events, workspace, span, &grouping));
    }
}

/// Whole days by class.
async fn assert_classes(store: &Store, events: &[UsageEvent], workspaces: &[Workspace]) {
    let from = Grain::Day.start_of(NOW).plus_millis(-Grain::Day.millis());
    let span = Span { from, to: from.plus_millis((DAYS + 2) * Grain::Day.millis()) };
    for workspace in workspaces {
        let mut expected: BTreeMap<_, Totals> = BTreeMap::new();
        let yields = |event: &&UsageEvent| event.origin.class.yields() && event.caller.workspace == workspace.id;
        for event in events.iter().filter(yields) {
            let key = (Day::of(event.started_at), event.origin.class, event.model.clone());
            *expected.entry(key).or_default() += Totals::from(event);
        }
        expected.retain(|_, totals| *totals != Totals::default());
        let found = read_classes(store, &workspace.id, span).await.unwrap();
        let found: BTreeMap<_, _> =
            found.into_iter().map(|sum| ((sum.day, sum.class, sum.model), sum.totals)).collect();
        assert_eq!(found, expected);
    }
}

/// How many rows `check` corrects, over everything there is.
async fn corrected(store: &Store) -> u64 {
    let mut corrected = 0;
    let mut last = None;
    while let Some(workspace) = check::next_workspace(store, last.as_ref()).await.unwrap() {
        for sums in Sums::ALL {
            let mut from = Timestamp::from_millis(0);
            while let Some(start) = check::next_start(store, &workspace, sums, from).await.unwrap() {
                corrected += when_available(|| check::correct(store, &workspace, sums, start)).await.unwrap();
                from = Timestamp::from_millis(start.millis() + sums.grain().millis());
            }
        }
        last = Some(workspace);
    }
    corrected
}

#[tokio::test]
async fn any_span_and_grouping_is_the_sum_of_its_events() {
    on_both(async |_, store| {
        let mut rng = Rng::with_seed(4);
        let workspaces = [people::workspace(&store).await, people::workspace(&store).await];
        let events: Vec<_> = (0..1_500).map(|number| event(&mut rng, &workspaces[number % 2])).collect();
        let mut inserted = 0;
        for batch in events.chunks(400) {
            inserted += insert(&store, batch).await.unwrap();
        }
        inserted += insert(&store, &events[300..900]).await.unwrap();
        assert_eq!(inserted, 1_500);
        assert_sums(&store, &mut rng, 150, &events, &workspaces).await;
        assert_end_users(&store, &events, &workspaces).await;
        assert_classes(&store, &events, &workspaces).await;
        assert_eq!(corrected(&store).await, 0);
    })
    .await;
}

#[tokio::test]
async fn whole_hours_and_days_are_read_without_their_events() {
    on_both(async |database, store| {
        let mut rng = Rng::with_seed(9);
        let workspace = people::workspace(&store).await;
        let events: Vec<_> = (0..500).map(|_| event(&mut rng, &workspace)).collect();
        insert(&store, &events).await.unwrap();
        outside(database).await.execute("DELETE FROM usage_calls").await.unwrap();

        let grouping = Grouping::parse("day,model,key").unwrap();
        for _ in 0..20 {
            let (one, other) = (Grain::Hour.start_of(moment(&mut rng)), Grain::Hour.start_of(moment(&mut rng)));
            let span = Span::new(one.min(other), one.max(other)).unwrap();
            let found = read(&store, Selection::all(&workspace.id), &plan(span, NOW), &grouping).await.unwrap();
            assert_eq!(found, expected(&events, &workspace, span, &grouping), "{span:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn damaged_sums_are_corrected_and_then_agree_again() {
    on_both(async |database, store| {
        let mut rng = Rng::with_seed(5);
        let workspaces = [people::workspace(&store).await];
        let events: Vec<_> = (0..300).map(|_| event(&mut rng, &workspaces[0])).collect();
        insert(&store, &events).await.unwrap();

        let id = &workspaces[0].id;
        let (hour, day) = (Grain::Hour.start_of(NOW).millis(), Grain::Day.start_of(NOW).millis());
        let mut connection = outside(database).await;
        let damages = [
            format!(
                "INSERT INTO usage_hours VALUES ('{id}', {hour}, 'acme/gone', '{}', 7, 1, 2, 3, 4)",
                events[0].caller.actor.as_str()
            ),
            "UPDATE usage_hours SET cost = cost + 1 WHERE starts_at = (SELECT MAX(starts_at) FROM usage_hours)".into(),
            "DELETE FROM usage_hours WHERE starts_at = (SELECT MIN(starts_at) FROM usage_hours)".into(),
            "UPDATE usage_days SET requests = requests - 1000 WHERE model = 'acme/Big'".into(),
            "DELETE FROM usage_days WHERE starts_at = (SELECT MIN(starts_at) FROM usage_days)".into(),
            "UPDATE usage_classes SET prompt_tokens = prompt_tokens + 1 WHERE class = 'flex'".into(),
            "DELETE FROM usage_classes WHERE starts_at = (SELECT MIN(starts_at) FROM usage_classes)".into(),
            format!("INSERT INTO usage_classes VALUES ('{id}', {day}, 'batch', 'acme/gone', 7, 1, 2, 3, 4)"),
            "UPDATE usage_end_users SET cost = cost - 1 WHERE model = 'acme/Big'".into(),
            "DELETE FROM usage_end_users WHERE starts_at = (SELECT MIN(starts_at) FROM usage_end_users)".into(),
            format!(
                "INSERT INTO usage_end_users VALUES ('{id}', 'eu_{:032x}', {day}, 'acme/gone', '{}', 7, 1, 2, 3, 4)",
                9,
                events[0].caller.actor.as_str()
            ),
        ];
        let mut damaged = 0;
        for damage in damages {
            damaged += connection.execute(AssertSqlSafe(damage)).await.unwrap().rows_affected();
        }
        let repaired = corrected(&store).await;
        assert!(repaired > 4 && repaired <= damaged, "{repaired} of {damaged}");
        assert_eq!(corrected(&store).await, 0);
        assert_sums(&store, &mut rng, 100, &events, &workspaces).await;
        assert_end_users(&store, &events, &workspaces).await;
        assert_classes(&store, &events, &workspaces).await;
    })
    .await;
}

#[tokio::test]
async fn end_users_who_are_not_known_have_no_sums_to_correct() {
    on_both(async |_, store| {
        let mut rng = Rng::with_seed(3);
        let workspace = people::workspace(&store).await;
        let events: Vec<_> = (0..50).map(|_| event(&mut rng, &workspace)).collect();
        let mut tx = store.begin().await.unwrap();
        UsageWriter::new(1).write(&mut tx, &events).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(corrected(&store).await, 0);
    })
    .await;
}

#[tokio::test]
async fn calls_to_dedicated_endpoints_are_in_no_sum_of_classes() {
    on_both(async |_, store| {
        let mut rng = Rng::with_seed(2);
        let workspaces = [people::workspace(&store).await];
        let model = ModelId::parse("dedicated/chat").unwrap();
        let dedicated: Vec<_> =
            (0..20).map(|_| UsageEvent { model: model.clone(), ..event(&mut rng, &workspaces[0]) }).collect();
        let others: Vec<_> = (0..20).map(|_| event(&mut rng, &workspaces[0])).collect();
        insert(&store, &dedicated).await.unwrap();
        insert(&store, &others).await.unwrap();
        assert_classes(&store, &others, &workspaces).await;
        assert_eq!(corrected(&store).await, 0);
    })
    .await;
}

#[tokio::test]
async fn the_migration_adds_up_usage_from_before_there_were_sums() {
    const MIGRATION: &str = include_str!("../../migrations/0002_quota_and_costs.sql");
    on_both(async |database, store| {
        let mut rng = Rng::with_seed(8);
        let workspaces = [people::workspace(&store).await];
        let events: Vec<_> = (0..300).map(|_| event(&mut rng, &workspaces[0])).collect();
        insert(&store, &events).await.unwrap();
        let mut connection = outside(database).await;
        connection.execute("DELETE FROM usage_hours").await.unwrap();
        connection.execute("DELETE FROM usage_days").await.unwrap();
        for statement in MIGRATION.split(';').filter(|statement| statement.contains("INSERT INTO usage_")) {
            connection.execute(statement).await.unwrap();
        }
        assert_sums(&store, &mut rng, 50, &events, &workspaces).await;
        assert_eq!(corrected(&store).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_write_and_check_at_once_neither_deadlock_nor_miscount() {
    on_both(async |database, store| {
        let mut rng = Rng::with_seed(6);
        let workspaces = [people::workspace(&store).await, people::workspace(&store).await];
        let events: Vec<_> = (0..1_200).map(|number| event(&mut rng, &workspaces[number % 2])).collect();
        insert(&store, &events[..200]).await.unwrap();
        let mut connection = outside(database).await;
        connection.execute("UPDATE usage_days SET cost = cost + 5").await.unwrap();
        connection.execute("UPDATE usage_hours SET prompt_tokens = 0 WHERE model = 'acme/Big'").await.unwrap();
        connection.execute("UPDATE usage_classes SET cost = cost - 5").await.unwrap();
        drop(connection);

        let mut nodes = JoinSet::new();
        for seed in 0..3 {
            let (store, mut events) = (database.open().await, events.clone());
            nodes.spawn(async move {
                Rng::with_seed(seed).shuffle(&mut events);
                for batch in events.chunks(100) {
                    when_available(|| insert(&store, batch)).await.unwrap();
                }
            });
        }
        for _ in 0..2 {
            let store = database.open().await;
            nodes.spawn(async move {
                corrected(&store).await;
            });
        }
        nodes.join_all().await;
        assert_eq!(corrected(&store).await, 0);
        assert_sums(&store, &mut rng, 50, &events, &workspaces).await;
        assert_classes(&store, &events, &workspaces).await;
    })
    .await;
}

#[tokio::test]
async fn absurd_token_counts_do_not_stop_the_meter() {
    on_both(async |_, store| {
        let mut rng = Rng::with_seed(7);
        let workspace = people::workspace(&store).await;
        let mut absurd = event(&mut rng, &workspace);
        (absurd.tokens.prompt, absurd.cost, absurd.certainty) =
            (u64::MAX, NanoUsd::from_nanos(i64::MAX), Certainty::Exact);
        let again = UsageEvent { request: RequestId::new(later(1), entropy()), ..absurd.clone() };
        assert_eq!(insert(&store, &[absurd]).await.unwrap(), 1);
        assert_eq!(insert(&store, &[again]).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn the_usage_of_single_keys_is_that_of_the_whole_workspace_by_key() {
    on_both(async |_, store| {
        let mut rng = Rng::with_seed(11);
        let workspace = people::workspace(&store).await;
        let events: Vec<_> = (0..60).map(|_| event(&mut rng, &workspace)).collect();
        insert(&store, &events).await.unwrap();
        let from = Grain::Day.start_of(NOW);
        let days = Span { from, to: from.plus_millis(2 * Grain::Day.millis()) };
        let by_key = expected(&events, &workspace, days, &Grouping::parse("key").unwrap());
        let all = [0, 1, 2, 3].map(|number| KeyId::new(NOW, number));
        for keys in [&all[..], &all[1..2], &[]] {
            let found = read_keys(&store, &keys.iter().collect::<Vec<_>>(), days).await.unwrap();
            let totals = |key: &KeyId| {
                let group = [Group::Actor(Actor::Key(key.clone()))];
                by_key.iter().find(|sum| sum.groups == group).map(|sum| sum.totals)
            };
            let used = keys.iter().filter_map(|key| Some((key.clone(), totals(key)?)));
            assert_eq!(found, used.collect::<HashMap<_, _>>(), "{keys:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn consumers_of_all_workspaces_add_up_to_the_usage_of_each() {
    on_both(async |_, store| {
        let mut rng = Rng::with_seed(7);
        let workspaces = [people::workspace(&store).await, people::workspace(&store).await];
        for workspace in &workspaces {
            let events: Vec<_> = (0..40).map(|_| event(&mut rng, workspace)).collect();
            insert(&store, &events).await.unwrap();
        }
        let from = Grain::Day.start_of(NOW);
        let span = Span { from, to: from.plus_millis(DAYS * Grain::Day.millis()) };
        let pieces = plan(span, span.to);
        for kind in [ConsumerKind::Organization, ConsumerKind::Key] {
            let found = consumers::read(&store, kind, &pieces).await.unwrap();
            for workspace in &workspaces {
                let is_owner = |one: &&consumers::Consumer| {
                    one.organization.as_ref().is_some_and(|(id, _)| *id == workspace.organization)
                };
                let sum: Totals = found.iter().filter(is_owner).map(|one| one.totals).sum();
                let whole =
                    read(&store, Selection::all(&workspace.id), &pieces, &Grouping::parse("").unwrap()).await.unwrap();
                assert_eq!(sum, whole[0].totals, "{kind}");
                let of_one: Vec<_> = found.iter().filter(is_owner).cloned().collect();
                let mut read = consumers::read_of(&store, kind, &[&workspace.organization], &pieces).await.unwrap();
                read.sort_by_key(|one| of_one.iter().position(|other| other == one));
                assert_eq!(read, of_one, "{kind}");
            }
            let owners = workspaces.each_ref().map(|workspace| &workspace.organization);
            let of_both = consumers::read_of(&store, kind, &owners, &pieces).await.unwrap();
            assert_eq!(of_both.len(), found.len(), "{kind}");
            assert_eq!(consumers::read_of(&store, kind, &[], &pieces).await.unwrap(), [], "{kind}");
        }
        let models = consumers::read(&store, ConsumerKind::Model, &pieces).await.unwrap();
        assert!(models.iter().any(|one| one.model == "acme/Big" && one.organization.is_none()), "{models:?}");
        assert_eq!(consumers::read(&store, ConsumerKind::Endpoint, &pieces).await.unwrap(), []);
    })
    .await;
}
