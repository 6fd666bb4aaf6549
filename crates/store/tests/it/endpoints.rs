use crate::databases::on_both;
use crate::fleets::{self, new_endpoint, new_replica};
use crate::people::{self, NOW, later};
use domain::endpoint::event::{Actor, Event, EventType};
use domain::endpoint::replica::{ReplicaState, Status};
use domain::endpoint::scaling::{Metric, ScalingPatch};
use domain::endpoint::state::StateReason;
use domain::endpoint::{Generation, State};
use domain::model::Launch;
use domain::{Endpoint, EndpointId, EventId};
use std::time::Duration;
use store::endpoints::{self, Filter};
use store::{Change, Order, StoreError, endpoint_events, idempotency, replicas};

#[tokio::test]
async fn an_endpoint_is_read_as_it_was_written() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let kv =
            ScalingPatch { replicas: Some(3), metric: Some(Metric::KvCacheUtilization), ..ScalingPatch::default() };
        let mut new = new_endpoint(&workspace, "chat", 2, kv);
        new.shape.flavor.launch = Launch::Argv(vec!["serve".into(), "{weights}".into()]);
        let mut feed = store.changes().await.unwrap();
        let mut tx = store.begin().await.unwrap();
        endpoints::insert(&mut tx, &new, 120).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(feed.next(Duration::from_millis(50)).await.unwrap(), [Change::Endpoint(new.id.clone())]);
        assert_eq!(endpoints::by_id(&store, &new.id).await.unwrap().as_ref(), Some(&new));
        assert_eq!(endpoints::by_name(&store, &new.organization, &new.name).await.unwrap().as_ref(), Some(&new));

        let mut tx = store.begin().await.unwrap();
        let again = new_endpoint(&workspace, "chat", 1, ScalingPatch::default());
        let rejected = endpoints::insert(&mut tx, &again, 120).await.unwrap_err();
        assert!(matches!(rejected, StoreError::EndpointNameTaken), "{rejected:?}");
    })
    .await;
}

#[tokio::test]
async fn the_second_of_two_concurrent_writers_has_to_read_again() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let changed = Endpoint { state: State::Serving, reason: StateReason::Plain, updated_at: later(5), ..endpoint };
        let mut tx = store.begin().await.unwrap();
        let written = endpoints::update(&mut tx, changed.clone(), Generation(1), 120).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(written.generation, Generation(2));
        assert_eq!(endpoints::by_id(&store, &written.id).await.unwrap(), Some(written));

        let mut tx = store.begin().await.unwrap();
        let rejected = endpoints::update(&mut tx, changed, Generation(1), 120).await.unwrap_err();
        assert!(matches!(rejected, StoreError::EndpointStale), "{rejected:?}");
    })
    .await;
}

#[tokio::test]
async fn failed_endpoints_of_all_workspaces_are_listed_latest_first() {
    on_both(async |_, store| {
        let mut failed = Vec::new();
        for (number, state) in (0..).zip([State::Failed, State::Serving, State::Failed, State::Failed]) {
            let endpoint = fleets::any_endpoint(&store).await;
            let changed = Endpoint { state, state_since: later(number), updated_at: later(number), ..endpoint };
            let mut tx = store.begin().await.unwrap();
            let written = endpoints::update(&mut tx, changed, Generation(1), 120).await.unwrap();
            tx.commit().await.unwrap();
            if state == State::Failed {
                failed.insert(0, written);
            }
        }
        assert_eq!(endpoints::list_failed(&store, 10).await.unwrap(), failed);
        assert_eq!(endpoints::list_failed(&store, 2).await.unwrap(), failed[..2]);
    })
    .await;
}

#[tokio::test]
async fn lists_are_newest_first_filtered_and_paged() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        for (number, name) in (1..).zip(["a", "b", "c"]) {
            let mut new = new_endpoint(&workspace, name, 1, ScalingPatch::default());
            new.created_at = later(number / 2); // b and c at the same moment
            new.id = EndpointId::new(NOW, u128::from(number.unsigned_abs()));
            let mut tx = store.begin().await.unwrap();
            endpoints::insert(&mut tx, &new, 120).await.unwrap();
            tx.commit().await.unwrap();
        }
        fleets::any_endpoint(&store).await; // of someone else
        let names = async |filter: Filter<'_>, limit| {
            let found = endpoints::list(&store, &workspace.id, filter, limit).await.unwrap();
            found.iter().map(|endpoint| endpoint.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(Filter::default(), 20).await, ["c", "b", "a"]);
        let first = endpoints::list(&store, &workspace.id, Filter::default(), 1).await.unwrap();
        let before = Some(&first[0].id);
        assert_eq!(names(Filter { before, ..Filter::default() }, 20).await, ["b", "a"]);
        let order = Order::parse("name");
        assert_eq!(names(Filter { order, ..Filter::default() }, 20).await, ["a", "b", "c"]);
        let first = endpoints::list(&store, &workspace.id, Filter { order, ..Filter::default() }, 1).await.unwrap();
        let before = Some(&first[0].id);
        assert_eq!(names(Filter { order, before, ..Filter::default() }, 1).await, ["b"]);
        let searched = Filter { search: "B", ..Filter::default() };
        assert_eq!(names(searched, 20).await, ["b"], "in any case, and not in the model");
        for (filter, count) in [(Filter::default(), 3), (searched, 1), (Filter { search: "none", ..searched }, 0)] {
            assert_eq!(endpoints::count(&store, &workspace.id, filter).await.unwrap(), count, "{filter:?}");
        }
        let labels = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
        };
        for (pairs, found) in [
            (labels(&[("team", "b")]), vec!["b"]),
            (labels(&[("env", "test"), ("team", "c")]), vec!["c"]),
            (labels(&[("team", "a"), ("env", "prod")]), vec![]),
        ] {
            assert_eq!(names(Filter { labels: &pairs, ..Filter::default() }, 20).await, found);
        }
        assert!(names(Filter { state: Some(State::Failed), ..Filter::default() }, 20).await.is_empty());
        let all = endpoints::list_all(&store).await.unwrap();
        let mut shapes: Vec<_> = all.into_iter().map(|endpoint| (endpoint.name, endpoint.shape)).collect();
        shapes.sort_by(|one, other| one.0.cmp(&other.0));
        let stored = endpoints::list_shapes(&store).await.unwrap();
        assert_eq!(stored.into_iter().map(|stored| (stored.name, stored.shape)).collect::<Vec<_>>(), shapes);
        assert_eq!(shapes.len(), 4);
    })
    .await;
}

#[tokio::test]
async fn a_deleted_endpoint_frees_its_name_and_an_active_one_is_not_deleted() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let endpoint = fleets::endpoint(&store, &workspace, "chat").await;
        let mut tx = fleets::fenced(&store).await;
        assert!(matches!(endpoints::mark_deleted(&mut tx, &endpoint, NOW).await, Err(StoreError::EndpointStale)));
        let deleting = Endpoint { state: State::Deleting, ..endpoint };
        let deleting = endpoints::update_as_leader(&mut tx, deleting, Generation(1), 120).await.unwrap();
        endpoints::mark_deleted(&mut tx, &deleting, NOW).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(endpoints::by_id(&store, &deleting.id).await.unwrap(), None);
        fleets::endpoint(&store, &workspace, "chat").await;
    })
    .await;
}

#[tokio::test]
async fn the_status_counts_the_replicas_by_state() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let mut tx = fleets::fenced(&store).await;
        let states = [ReplicaState::Pending, ReplicaState::Bound, ReplicaState::Starting, ReplicaState::Ready];
        for (number, state) in (0..).zip(states.into_iter().chain([ReplicaState::Draining, ReplicaState::Failed])) {
            let mut replica = new_replica(&endpoint, number).restored(state);
            replica.log_tail = "é".repeat(4_000);
            replicas::insert(&mut tx, &replica).await.unwrap();
        }
        tx.commit().await.unwrap();
        let found = endpoints::by_id(&store, &endpoint.id).await.unwrap().unwrap();
        assert_eq!(found.status, Status { desired: 1, pending: 1, starting: 2, ready: 1, draining: 1 });
        let live = replicas::list_live(&store).await.unwrap();
        assert_eq!((live.len(), live[0].log_tail.len()), (5, 4_096));
        assert_eq!(replicas::newest_of(&store, &endpoint.id, 2).await.unwrap()[1].state(), ReplicaState::Failed);

        let mut tx = fleets::fenced(&store).await;
        let over = replicas::newest_of(&store, &endpoint.id, 1).await.unwrap().remove(0);
        let over = over.restored(ReplicaState::Ready);
        assert!(!replicas::update(&mut tx, &over).await.unwrap(), "what is over stays over");
        let mut ready = live[3].clone();
        ready.transition(ReplicaState::Draining).unwrap();
        assert!(replicas::update(&mut tx, &ready).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn events_are_read_newest_first_and_kept_for_ninety_days() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let mut tx = store.begin().await.unwrap();
        for (number, kind) in (0_u32..).zip([EventType::Created, EventType::Scaled, EventType::Scaled]) {
            let id = EventId::new(NOW, u128::from(number));
            let actor = Actor::system("autoscaler");
            let at = later(i64::from(number) * 1_000);
            let event = Event { message: "1 → 2".into(), ..Event::new(id, endpoint.id.clone(), kind, actor, at) };
            endpoint_events::append(&mut tx, &event).await.unwrap();
        }
        tx.commit().await.unwrap();
        let list = async |filter| endpoint_events::list(&store, &endpoint.id, filter, 20).await.unwrap();
        let all = list(endpoint_events::Filter::default()).await;
        assert_eq!(all.iter().map(|event| event.at).collect::<Vec<_>>(), [later(2_000), later(1_000), NOW]);
        let before = Some((all[0].at, &all[0].id));
        assert_eq!(list(endpoint_events::Filter { before, ..Default::default() }).await, all[1..]);
        let kind = Some(EventType::Created);
        assert_eq!(list(endpoint_events::Filter { kind, ..Default::default() }).await, all[2..]);
        let since = Some(later(1_000));
        assert_eq!(list(endpoint_events::Filter { since, ..Default::default() }).await, all[..2]);
        let ninety_days = 90 * 24 * 3_600_000;
        assert_eq!(endpoint_events::prune(&store, later(ninety_days + 1_001)).await.unwrap(), 2);
    })
    .await;
}

#[tokio::test]
async fn an_idempotency_key_repeats_its_response_for_a_day_if_the_change_was_committed() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let request = idempotency::Request { workspace: &workspace.id, key: "k", fingerprint: "f" };
        let mut tx = store.begin().await.unwrap();
        assert_eq!(idempotency::claim(&mut tx, request, NOW).await.unwrap(), idempotency::Claim::New);
        drop(tx); // rejected: nothing is kept
        let mut tx = store.begin().await.unwrap();
        assert_eq!(idempotency::claim(&mut tx, request, NOW).await.unwrap(), idempotency::Claim::New);
        idempotency::complete(&mut tx, request, "created", "{}").await.unwrap();
        tx.commit().await.unwrap();

        let claim = async |request, at| {
            let mut tx = store.begin().await.unwrap();
            idempotency::claim(&mut tx, request, at).await.unwrap()
        };
        let completed = idempotency::Claim::Completed { outcome: "created".into(), response: "{}".into() };
        let day = 24 * 3_600_000;
        assert_eq!(claim(request, later(day - 1)).await, completed);
        let other = idempotency::Request { fingerprint: "g", ..request };
        assert_eq!(claim(other, NOW).await, idempotency::Claim::Reused);
        assert_eq!(claim(request, later(day)).await, idempotency::Claim::New);
        assert_eq!(idempotency::prune(&store, later(day)).await.unwrap(), 1);
    })
    .await;
}
