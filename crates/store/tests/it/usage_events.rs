use crate::databases::on_both;
use crate::outside::outside;
use crate::people::{self, NOW, entropy, later};
use domain::usage::{Actor, Certainty, Tokens};
use domain::{Caller, KeyId, ModelId, NanoUsd, Price, RequestId, UsageEvent, UserId, Workspace};
use sqlx::Executor;
use std::sync::Arc;
use store::{Store, usage_events};

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
    }
}

/// The numbers of the events that were new.
async fn insert(store: &Store, events: &[UsageEvent]) -> Vec<i64> {
    let mut tx = store.begin().await.unwrap();
    let inserted = usage_events::insert_batch(&mut tx, events).await.unwrap();
    tx.commit().await.unwrap();
    let mut numbers: Vec<_> = inserted.iter().map(|event| event.started_at.millis() - NOW.millis()).collect();
    numbers.sort_unstable();
    numbers
}

#[tokio::test]
async fn a_batch_that_comes_twice_counts_once() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let events: Vec<_> = (0..450).map(|number| event(&workspace, number)).collect();
        assert!(insert(&store, &events[..400]).await.into_iter().eq(0..400));
        let twice_in_itself = [&events[..], &events[440..]].concat();
        assert!(insert(&store, &twice_in_itself).await.into_iter().eq(400..450));
        assert!(insert(&store, &events).await.is_empty());
        assert!(insert(&store, &[]).await.is_empty());
        assert_eq!(usage_events::list(&store, &workspace.id, 1_000).await.unwrap().len(), 450);
    })
    .await;
}

#[tokio::test]
async fn an_event_is_read_as_it_was_written_newest_first() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        // Many that are alike, few that are, and one of its own; as they come, all mixed up.
        let odd = |number: i64| UsageEvent {
            replica: if number % 7 == 0 { "127.0.0.1:9002" } else { "127.0.0.1:9001" }.into(),
            code: if number % 100 == 3 { "bad_gateway" } else { "" }.into(),
            certainty: if number == 11 { Certainty::Void } else { Certainty::Exact },
            tokens: Tokens { prompt: 10 + number.unsigned_abs(), completion: 5, cached: 2 },
            cost: NanoUsd::from_nanos(number),
            held_micros: (number % 5 == 0).then_some(9),
            ..event(&workspace, number)
        };
        let events: Vec<_> = (0..777).map(odd).collect();
        insert(&store, &events).await;
        let found = usage_events::list(&store, &workspace.id, 1_000).await.unwrap();
        assert_eq!(found.len(), events.len());
        for (found, written) in found.iter().rev().zip(&events) {
            assert_eq!(found.request, written.request);
            assert_eq!(found.actor, written.caller.actor);
            assert_eq!((found.streamed, found.status), (written.streamed, written.status));
            assert_eq!((found.tokens, found.price, found.cost), (written.tokens, written.price, written.cost));
            assert_eq!(found.certainty, written.certainty.as_str());
            assert_eq!(found.started_at, written.started_at);
            assert_eq!(found.first_byte_micros, written.first_byte_micros);
            assert_eq!(found.duration_micros, written.duration_micros);
            assert_eq!((found.held_micros, found.sent_micros), (written.held_micros, written.sent_micros));
            assert_eq!((&found.organization, &found.workspace), (&workspace.organization, &workspace.id));
            assert_eq!(found.model, written.model);
            assert_eq!((&*found.replica, &*found.code), (&*written.replica, &*written.code));
        }
    })
    .await;
}

#[tokio::test]
async fn events_from_before_there_were_kinds_are_brought_along() {
    on_both(async |database, store| {
        let workspace = people::workspace(&store).await;
        let in_some_period = |number: i64| {
            let at = later(number % 4 * 20 * 24 * 3_600_000 + number);
            UsageEvent { request: RequestId::new(at, entropy()), started_at: at, ..event(&workspace, number) }
        };
        insert(&store, &(0..300).map(in_some_period).collect::<Vec<_>>()).await;
        let before = usage_events::list(&store, &workspace.id, 1_000).await.unwrap();
        assert_eq!(before.len(), 300);

        let mut outside = outside(database).await;
        for statement in [
            "CREATE TABLE events_as_they_were AS SELECT * FROM usage_events",
            "DROP VIEW usage_events",
            "DROP VIEW usage_failures",
            "DROP TABLE usage_calls",
            "DROP TABLE usage_kinds",
            "ALTER TABLE events_as_they_were RENAME TO usage_events",
            "DELETE FROM schema_version WHERE version = 9",
        ] {
            outside.execute(statement).await.unwrap();
        }
        store.migrate().await.unwrap();
        assert_eq!(usage_events::list(&store, &workspace.id, 1_000).await.unwrap(), before);
    })
    .await;
}

#[tokio::test]
async fn a_kind_that_is_gone_is_written_again() {
    on_both(async |database, store| {
        let workspace = people::workspace(&store).await;
        let events: Vec<_> = (0..30).map(|number| event(&workspace, number)).collect();
        insert(&store, &events[..10]).await;
        // As after a failover to a copy that was behind: this store remembers what is not there.
        let mut outside = outside(database).await;
        outside.execute("DELETE FROM usage_calls").await.unwrap();
        outside.execute("DELETE FROM usage_kinds").await.unwrap();
        assert!(insert(&store, &events[10..]).await.into_iter().eq(10..30));
        let found = usage_events::list(&store, &workspace.id, 1_000).await.unwrap();
        assert_eq!(found.len(), 20);
        assert!(found.iter().all(|found| found.model == events[0].model));
    })
    .await;
}

#[tokio::test]
async fn a_kind_of_a_batch_that_failed_is_written_with_the_next_one() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let events: Vec<_> = (0..20).map(|number| event(&workspace, number)).collect();
        let mut tx = store.begin().await.unwrap();
        usage_events::insert_batch(&mut tx, &events).await.unwrap();
        drop(tx);
        assert!(insert(&store, &events[..10]).await.into_iter().eq(0..10));
        assert!(insert(&store, &events).await.into_iter().eq(10..20));
        assert_eq!(usage_events::list(&store, &workspace.id, 1_000).await.unwrap().len(), 20);
    })
    .await;
}
