use crate::databases::on_both;
use crate::outside::outside;
use crate::people::{self, NOW, entropy, later};
use domain::usage::{Actor, CallOrigin, CallSurface, Certainty, Tokens};
use domain::{CallClass, Caller, Grain, KeyId, ModelId, NanoUsd, Price, RequestId, UsageEvent, UserId, Workspace};
use sqlx::Executor;
use std::sync::Arc;
use store::Store;
use store::retention::classes_unknown_before;
use store::usage::UsageWriter;

pub(crate) fn event(workspace: &Workspace, number: i64) -> UsageEvent {
    let by_key = number % 2 == 0;
    UsageEvent {
        request: RequestId::new(later(number), entropy()),
        caller: Arc::new(Caller::new(
            workspace.organization.clone(),
            workspace.id.clone(),
            if by_key { Actor::Key(KeyId::new(NOW, 1)) } else { Actor::User(UserId::new(NOW, 1)) },
        )),
        model: ModelId::parse("acme/tiny-chat").unwrap(),
        replica: "127.0.0.1:9001".into(),
        streamed: by_key,
        status: 200,
        code: "".into(),
        tokens: Tokens { prompt: 10, completion: 5, cached: 2 },
        certainty: Certainty::Exact,
        price: Price {
            input_per_1m: NanoUsd::from_nanos(100),
            cached_input_per_1m: NanoUsd::from_nanos(50),
            output_per_1m: NanoUsd::from_nanos(400),
        },
        cost: NanoUsd::from_nanos(3),
        started_at: later(number),
        first_byte_micros: by_key.then_some(1_500),
        duration_micros: 20_000,
        held_micros: None,
        sent_micros: Some(700),
        origin: CallOrigin {
            surface: Some(CallSurface::Messages),
            requested_model: Some("claude-x".into()),
            ..CallOrigin::default()
        },
        failovers: 2,
        end_user: None,
        reserved_in: Default::default(),
    }
}

/// The numbers of the events that were new.
async fn insert(store: &Store, events: &[UsageEvent]) -> Vec<i64> {
    insert_with(&mut UsageWriter::default(), store, events).await
}

async fn insert_with(writer: &mut UsageWriter, store: &Store, events: &[UsageEvent]) -> Vec<i64> {
    let mut tx = store.begin().await.unwrap();
    let inserted = writer.write(&mut tx, events).await.unwrap();
    tx.commit().await.unwrap();
    let mut numbers: Vec<_> = inserted.iter().map(|event| event.started_at.millis() - NOW.millis()).collect();
    numbers.sort_unstable();
    numbers
}

#[tokio::test]
async fn a_batch_that_is_written_twice_counts_once() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let events: Vec<_> = (0..450).map(|number| event(&workspace, number)).collect();
        let mut writer = UsageWriter::default();
        assert!(insert_with(&mut writer, &store, &events[..400]).await.into_iter().eq(0..400));
        let with_duplicates = [&events[..], &events[440..]].concat();
        assert!(insert_with(&mut writer, &store, &with_duplicates).await.into_iter().eq(400..450));
        assert!(insert_with(&mut writer, &store, &events).await.is_empty());
        assert!(insert(&store, &events).await.is_empty(), "another writer");
        assert!(insert(&store, &[]).await.is_empty());
        assert_eq!(store::usage::list(&store, &workspace.id, 1_000).await.unwrap().len(), 450);
    })
    .await;
}

#[tokio::test]
async fn an_event_is_read_as_it_was_written_newest_first() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let class_of = |number: i64| if number % 9 == 4 { CallClass::Flex } else { CallClass::Interactive };
        // Large groups, small groups and a group of one, in mixed order.
        let odd = |number: i64| UsageEvent {
            replica: if number % 7 == 0 { "127.0.0.1:9002" } else { "127.0.0.1:9001" }.into(),
            code: if number % 100 == 3 { "bad_gateway" } else { "" }.into(),
            certainty: if number == 11 { Certainty::Void } else { Certainty::Exact },
            tokens: Tokens { prompt: 10 + number.unsigned_abs(), completion: 5, cached: 2 },
            cost: NanoUsd::from_nanos(number),
            held_micros: (number % 5 == 0).then_some(9),
            origin: CallOrigin { class: class_of(number), ..event(&workspace, number).origin },
            ..event(&workspace, number)
        };
        let events: Vec<_> = (0..777).map(odd).collect();
        insert(&store, &events).await;
        let found = store::usage::list(&store, &workspace.id, 1_000).await.unwrap();
        assert_eq!(found.len(), events.len());
        for (found, written) in found.iter().rev().zip(&events) {
            assert_eq!(found, written);
        }
    })
    .await;
}

#[tokio::test]
async fn events_from_before_dimensions_existed_are_migrated() {
    on_both(async |database, store| {
        let workspace = people::workspace(&store).await;
        let in_some_period = |number: i64| {
            let at = later(number % 4 * 20 * 24 * 3_600_000 + number);
            UsageEvent { request: RequestId::new(at, entropy()), started_at: at, ..event(&workspace, number) }
        };
        insert(&store, &(0..300).map(in_some_period).collect::<Vec<_>>()).await;
        let before = store::usage::list(&store, &workspace.id, 1_000).await.unwrap();
        assert_eq!(before.len(), 300);

        let mut outside = outside(database).await;
        for statement in [
            "CREATE TABLE old_events AS SELECT * FROM usage_events",
            "DROP VIEW usage_events",
            "DROP VIEW usage_failures",
            "DROP TABLE usage_calls",
            "DROP TABLE usage_kinds",
            "ALTER TABLE old_events RENAME TO usage_events",
            "ALTER TABLE refused_calls DROP COLUMN surface",
            "ALTER TABLE refused_calls DROP COLUMN requested_model",
            "ALTER TABLE refused_calls DROP COLUMN end_user",
            "ALTER TABLE refused_calls DROP COLUMN class",
            "DROP TABLE files",
            "DROP TABLE file_chunks",
            "DROP TABLE batches",
            "DROP TABLE batch_lines",
            "DROP TABLE batch_results",
            "DELETE FROM schema_version WHERE version IN (9, 11, 15, 16, 27, 30, 34)",
        ] {
            outside.execute(statement).await.unwrap();
        }
        store.migrate().await.unwrap();
        // It was not recorded then how a call was made, and no stream went on at another replica.
        let migrated = |event: UsageEvent| UsageEvent { origin: CallOrigin::default(), failovers: 0, ..event };
        let expected: Vec<_> = before.into_iter().map(migrated).collect();
        assert_eq!(store::usage::list(&store, &workspace.id, 1_000).await.unwrap(), expected);
    })
    .await;
}

#[tokio::test]
async fn sums_of_classes_from_before_rows_had_a_class_are_marked() {
    on_both(async |database, store| {
        let workspace = people::workspace(&store).await;
        let of_class = |number: i64, surface: CallSurface, class: CallClass| UsageEvent {
            origin: CallOrigin { surface: Some(surface), class, ..CallOrigin::default() },
            ..event(&workspace, number)
        };
        let events = [
            of_class(0, CallSurface::Chat, CallClass::Interactive),
            of_class(1, CallSurface::Chat, CallClass::Flex),
            of_class(2, CallSurface::Batch, CallClass::Batch),
        ];
        insert(&store, &events).await;
        assert_eq!(classes_unknown_before(&store).await.unwrap(), None, "their rows have a class");

        let mut outside = outside(database).await;
        for statement in [
            "DROP VIEW usage_events",
            "DROP VIEW usage_failures",
            "ALTER TABLE usage_calls DROP COLUMN class",
            "ALTER TABLE refused_calls DROP COLUMN class",
            "CREATE VIEW usage_events AS SELECT request_id FROM usage_calls",
            "CREATE VIEW usage_failures AS SELECT request_id FROM usage_calls",
            "DELETE FROM schema_version WHERE version = 34",
        ] {
            outside.execute(statement).await.unwrap();
        }
        store.migrate().await.unwrap();
        let found = store::usage::list(&store, &workspace.id, 10).await.unwrap();
        let classes: Vec<_> = found.iter().rev().map(|event| event.origin.class).collect();
        assert_eq!(classes, [CallClass::Interactive, CallClass::Interactive, CallClass::Batch]);
        let next_day = Grain::Day.start_of(NOW).plus_millis(Grain::Day.millis());
        assert_eq!(classes_unknown_before(&store).await.unwrap(), Some(next_day));
    })
    .await;
}

#[tokio::test]
async fn cached_dimensions_that_are_gone_are_written_again() {
    on_both(async |database, store| {
        let workspace = people::workspace(&store).await;
        let events: Vec<_> = (0..30).map(|number| event(&workspace, number)).collect();
        let mut writer = UsageWriter::default();
        insert_with(&mut writer, &store, &events[..10]).await;
        // As after a failover to a replica that was behind: the writer has cached ids that are not stored.
        let mut outside = outside(database).await;
        outside.execute("DELETE FROM usage_calls").await.unwrap();
        outside.execute("DELETE FROM usage_kinds").await.unwrap();
        assert!(insert_with(&mut writer, &store, &events[10..]).await.into_iter().eq(10..30));
        let found = store::usage::list(&store, &workspace.id, 1_000).await.unwrap();
        assert_eq!(found.len(), 20);
        assert!(found.iter().all(|found| found.model == events[0].model));
    })
    .await;
}

#[tokio::test]
async fn cached_dimensions_of_a_rolled_back_batch_are_written_with_the_next_one() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let events: Vec<_> = (0..20).map(|number| event(&workspace, number)).collect();
        let mut writer = UsageWriter::default();
        let mut tx = store.begin().await.unwrap();
        writer.write(&mut tx, &events).await.unwrap();
        drop(tx);
        assert!(insert_with(&mut writer, &store, &events[..10]).await.into_iter().eq(0..10));
        assert!(insert_with(&mut writer, &store, &events).await.into_iter().eq(10..20));
        assert_eq!(store::usage::list(&store, &workspace.id, 1_000).await.unwrap().len(), 20);
    })
    .await;
}
