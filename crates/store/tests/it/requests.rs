use crate::databases::on_both;
use crate::people::{self, NOW, entropy, later};
use crate::usage_events::event;
use domain::usage::{Actor, CallOrigin, CallSurface, Tokens};
use domain::{BatchId, CallClass, KeyId, ModelId, NanoUsd, RequestId, Span, Timestamp, UsageEvent, UserId, Workspace};
use store::requests::{self, CallColumn, Filter, LoggedCall, RejectedCall, SortedAfter, StatusFilter, insert_rejected};
use store::usage::UsageWriter;
use store::{Order, Store};

/// Ten calls, one each millisecond: calls 3 and 5 failed, call 6 was cancelled by its client, calls 7 and 9 were rejected, all
/// others were served. Calls 4 and 9 are flex calls.
async fn fill(store: &Store, workspace: &Workspace) {
    let mut events = Vec::new();
    let mut rejected = Vec::new();
    for number in 0..10 {
        let mut event = event(workspace, number);
        match number {
            3 => event.code = "bad_gateway".into(),
            4 => event.origin.class = CallClass::Flex,
            5 => (event.status, event.code) = (502, "bad_gateway".into()),
            6 => (event.status, event.code) = (499, "client_gone".into()),
            7 | 9 => {
                rejected.push(RejectedCall {
                    request: event.request.clone(),
                    workspace: workspace.id.clone(),
                    actor: Actor::Key(KeyId::new(NOW, 1)),
                    model: (number == 9).then(|| ModelId::parse("acme/tiny-chat").unwrap()),
                    status: if number == 7 { 404 } else { 429 },
                    code: if number == 7 { "model_not_found".into() } else { "rate_limit_exceeded".into() },
                    started_at: event.started_at,
                    duration_micros: 5,
                    held_micros: None,
                    origin: CallOrigin {
                        surface: Some(CallSurface::Chat),
                        class: if number == 9 { CallClass::Flex } else { CallClass::Interactive },
                        ..CallOrigin::default()
                    },
                    end_user: None,
                });
                continue;
            }
            _ => {}
        }
        events.push(event);
    }
    let mut tx = store.begin().await.unwrap();
    UsageWriter::default().write(&mut tx, &events).await.unwrap();
    insert_rejected(&mut tx, &rejected).await.unwrap();
    insert_rejected(&mut tx, &rejected).await.unwrap();
    tx.commit().await.unwrap();
}

fn all(workspace: &Workspace) -> Filter {
    Filter::all(workspace.id.clone(), Span { from: Timestamp::default(), to: later(1_000_000) })
}

/// The numbers of the calls, newest first.
async fn numbers(store: &Store, filter: &Filter) -> Vec<i64> {
    let found = requests::list(store, filter, 100).await.unwrap();
    assert_eq!(requests::count(store, filter, 100).await.unwrap(), found.len() as u64);
    found.iter().map(|call| call.started_at().millis() - NOW.millis()).collect()
}

#[tokio::test]
async fn calls_are_listed_newest_first_and_filtered() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let other = people::workspace(&store).await;
        fill(&store, &workspace).await;
        fill(&store, &other).await;
        let all = all(&workspace);
        assert_eq!(numbers(&store, &all).await, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
        let by_key = Actor::Key(KeyId::new(NOW, 1));
        let by_user = Actor::User(UserId::new(NOW, 1));
        for (filter, expected) in [
            (Filter { status: Some(StatusFilter::Exactly(429)), ..all.clone() }, vec![9]),
            (Filter { status: Some(StatusFilter::Class(4)), ..all.clone() }, vec![9, 7]),
            (Filter { status: Some(StatusFilter::Class(5)), ..all.clone() }, vec![5]),
            (Filter { status: Some(StatusFilter::Exactly(499)), ..all.clone() }, vec![6]),
            (Filter { status: Some(StatusFilter::Failed), ..all.clone() }, vec![9, 7, 5, 3]),
            (Filter { status: Some(StatusFilter::Exactly(200)), ..all.clone() }, vec![8, 4, 3, 2, 1, 0]),
            (Filter { code: Some("bad_gateway".into()), ..all.clone() }, vec![5, 3]),
            (Filter { code: Some("bad_gateway".into()), status: Some(StatusFilter::Class(2)), ..all.clone() }, vec![3]),
            (Filter { actor: Some(by_key), ..all.clone() }, vec![9, 8, 7, 6, 4, 2, 0]),
            (Filter { actor: Some(by_user), ..all.clone() }, vec![5, 3, 1]),
            (Filter { model: Some("acme/tiny-chat".into()), ..all.clone() }, vec![9, 8, 6, 5, 4, 3, 2, 1, 0]),
            (Filter { model: Some("acme/none".into()), ..all.clone() }, vec![]),
            (Filter { surface: Some(CallSurface::Messages), ..all.clone() }, vec![8, 6, 5, 4, 3, 2, 1, 0]),
            (Filter { surface: Some(CallSurface::Chat), ..all.clone() }, vec![9, 7]),
            (Filter { class: Some(CallClass::Flex), ..all.clone() }, vec![9, 4]),
            (Filter { class: Some(CallClass::Interactive), ..all.clone() }, vec![8, 7, 6, 5, 3, 2, 1, 0]),
            (Filter { class: Some(CallClass::Flex), status: Some(StatusFilter::Failed), ..all.clone() }, vec![9]),
            (Filter { class: Some(CallClass::Batch), ..all.clone() }, vec![]),
            (Filter { span: Span { from: later(2), to: later(5) }, ..all.clone() }, vec![4, 3, 2]),
        ] {
            assert_eq!(numbers(&store, &filter).await, expected, "{filter:?}");
        }
    })
    .await;
}

/// All calls, page by page.
async fn pages(store: &Store, workspace: &Workspace, limit: u32) -> Vec<LoggedCall> {
    let mut seen: Vec<LoggedCall> = Vec::new();
    loop {
        let before = seen.last().map(|call| (call.started_at(), call.request().clone()));
        let page = requests::list(store, &Filter { before, ..all(workspace) }, limit).await.unwrap();
        if page.is_empty() {
            return seen;
        }
        seen.extend(page);
    }
}

#[tokio::test]
async fn pages_have_no_gaps_and_no_duplicates() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        fill(&store, &workspace).await;
        let seen = pages(&store, &workspace, 3).await;
        let numbers: Vec<_> = seen.iter().map(|call| call.started_at().millis() - NOW.millis()).collect();
        assert_eq!(numbers, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
        let LoggedCall::Rejected(rejected) = &seen[0] else { panic!("{:?}", seen[0]) };
        assert_eq!((rejected.status, rejected.code.as_str()), (429, "rate_limit_exceeded"));
        assert_eq!(rejected.origin.class, CallClass::Flex);
        let LoggedCall::Served(served) = &seen[1] else { panic!("{:?}", seen[1]) };
        assert_eq!((served.tokens.total(), served.sent_micros, served.streamed), (15, Some(700), true));
        let absent = (later(4), RequestId::new(later(4), entropy()));
        let rest = requests::list(&store, &Filter { before: Some(absent), ..all(&workspace) }, 100).await.unwrap();
        assert!((4..=5).contains(&rest.len()), "a cursor may refer to a call that does not exist");
    })
    .await;
}

/// The numbers of the calls of all pages in an order.
async fn sorted(store: &Store, filter: &Filter, order: Order<CallColumn>) -> Vec<i64> {
    let (mut numbers, mut after) = (Vec::new(), None);
    loop {
        let page = requests::list_sorted(store, filter, order, after.as_ref(), 2).await.unwrap();
        let Some(last) = page.last() else { return numbers };
        after = Some(SortedAfter {
            value: order.by.value_of(last),
            started_at: last.started_at(),
            request: last.request().clone(),
        });
        numbers.extend(page.iter().map(|call| call.started_at().millis() - NOW.millis()));
    }
}

#[tokio::test]
async fn calls_are_sorted_by_their_figures_and_equal_ones_by_time_without_gaps() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        fill(&store, &workspace).await;
        let tokens = |prompt, completion| Tokens { prompt, completion, cached: 0 };
        let slow = UsageEvent {
            duration_micros: 30_000,
            tokens: tokens(1, 1),
            cost: NanoUsd::from_nanos(7),
            ..event(&workspace, 10)
        };
        let large =
            UsageEvent { duration_micros: 10, tokens: tokens(15, 25), cost: NanoUsd::ZERO, ..event(&workspace, 11) };
        let mut tx = store.begin().await.unwrap();
        UsageWriter::default().write(&mut tx, &[slow, large]).await.unwrap();
        tx.commit().await.unwrap();
        let all = all(&workspace);
        for (by, expected) in [
            (CallColumn::StartedAt, [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
            (CallColumn::Duration, [10, 8, 6, 5, 4, 3, 2, 1, 0, 11, 9, 7]),
            (CallColumn::Tokens, [11, 8, 6, 5, 4, 3, 2, 1, 0, 10, 9, 7]),
            (CallColumn::Cost, [10, 8, 6, 5, 4, 3, 2, 1, 0, 11, 9, 7]),
        ] {
            assert_eq!(sorted(&store, &all, Order { by, descending: true }).await, expected, "{by:?}");
            let ascending = sorted(&store, &all, Order { by, descending: false }).await;
            assert!(ascending.iter().rev().eq(&expected), "{by:?}: {ascending:?}");
        }
        let failed = Filter { status: Some(StatusFilter::Failed), ..all.clone() };
        let slowest = Order { by: CallColumn::Duration, descending: true };
        assert_eq!(sorted(&store, &failed, slowest).await, [5, 3, 9, 7]);

        let of_no_model = Filter { model: Some("acme/none".into()), ..all.clone() };
        assert_eq!(requests::count_sorted(&store, &of_no_model, 100).await.unwrap(), 12, "all calls are read");
        assert_eq!(requests::count_sorted(&store, &failed, 100).await.unwrap(), 5, "errors have an index");
        assert_eq!(requests::count_sorted(&store, &all, 3).await.unwrap(), 5, "three served and two rejected ones");
    })
    .await;
}

#[tokio::test]
async fn lines_of_an_old_batch_are_listed_when_they_ran_and_found_by_id() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let batch = BatchId::new(later(-20 * 3_600_000), entropy());
        let line = |number: u64| UsageEvent {
            request: batch.request_of(number),
            origin: CallOrigin {
                surface: Some(CallSurface::Batch),
                batch: Some(batch.clone()),
                class: CallClass::Batch,
                ..CallOrigin::default()
            },
            ..event(&workspace, 1)
        };
        let events = [event(&workspace, 0), line(1), line(2), event(&workspace, 2)];
        let mut tx = store.begin().await.unwrap();
        UsageWriter::default().write(&mut tx, &events).await.unwrap();
        tx.commit().await.unwrap();
        let seen = pages(&store, &workspace, 1).await;
        assert!(seen.iter().map(LoggedCall::request).eq(events.iter().rev().map(|event| &event.request)), "{seen:?}");
        let by_id = Filter { request: Some(batch.request_of(2)), ..all(&workspace) };
        assert_eq!(requests::list(&store, &by_id, 100).await.unwrap(), [seen[1].clone()]);
        let of_batches = Filter { class: Some(CallClass::Batch), ..all(&workspace) };
        assert_eq!(requests::list(&store, &of_batches, 100).await.unwrap(), seen[1..3]);
    })
    .await;
}

#[tokio::test]
async fn failed_and_rejected_calls_of_a_span_are_counted_by_cause() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        fill(&store, &workspace).await;
        let counted = async |from: i64, to: i64| {
            let span = Span { from: later(from), to: later(to) };
            let found = requests::count_errors(&store, span).await.unwrap();
            found.into_iter().map(|error| (error.code, error.count)).collect::<Vec<_>>()
        };
        let of = |code: &str, count: u64| (code.to_owned(), count);
        let (not_found, limited) = (of("model_not_found", 1), of("rate_limit_exceeded", 1));
        assert_eq!(counted(0, 10).await, [of("bad_gateway", 2), not_found.clone(), limited.clone()]);
        assert_eq!(counted(4, 9).await, [of("bad_gateway", 1), not_found]);
        assert_eq!(counted(8, 10).await, [limited]);
        assert!(counted(10, 20).await.is_empty());
    })
    .await;
}
