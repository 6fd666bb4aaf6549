use crate::databases::on_both;
use crate::people::{self, NOW, later};
use crate::retries::when_available;
use domain::{ApiKey, KeyId, KeyState, SecretHash, Segment, Workspace};
use store::key_list::{self, CreatedBy, KeyColumn, KeyFilter, KeysOf};
use store::{Conflict, Listing, Order, Page, SortColumn, SortedRow, Store, StoreError, api_keys};
use tokio::task::JoinSet;

async fn create(store: &Store, workspace: &Workspace, limit: u64) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    api_keys::insert_within(&mut tx, &people::new_key(workspace), limit).await?;
    tx.commit().await
}

fn all_of(workspace: &Workspace) -> KeyFilter<'_> {
    KeyFilter::all(KeysOf::Workspace(&workspace.id))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_limit_is_exact_under_fifty_concurrent_requests() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let mut requests = JoinSet::new();
        for _ in 0..50 {
            let (store, workspace) = (store.clone(), workspace.clone());
            requests.spawn(async move { when_available(|| create(&store, &workspace, 20)).await });
        }
        let outcomes = requests.join_all().await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 20);
        for rejected in outcomes.into_iter().filter_map(Result::err) {
            assert!(matches!(rejected, StoreError::Conflict(Conflict::KeyLimitReached { limit: 20 })), "{rejected:?}");
        }
        assert_eq!(key_list::list(&store, all_of(&workspace), Page::default()).await.unwrap().len(), 20);
    })
    .await;
}

#[tokio::test]
async fn disabled_keys_count_and_expired_or_revoked_ones_do_not() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let [revoked, expired, disabled] = [
            people::key(&store, &workspace).await,
            people::key(&store, &workspace).await,
            people::key(&store, &workspace).await,
        ];
        let mut tx = store.begin().await.unwrap();
        api_keys::revoke(&mut tx, &workspace.id, &revoked.id, NOW).await.unwrap();
        api_keys::expire(&mut tx, &workspace.id, &expired.id, NOW).await.unwrap();
        api_keys::disable(&mut tx, &workspace.id, &disabled.id, NOW).await.unwrap();
        tx.commit().await.unwrap();

        assert!(matches!(
            create(&store, &workspace, 1).await,
            Err(StoreError::Conflict(Conflict::KeyLimitReached { limit: 1 }))
        ));
        create(&store, &workspace, 2).await.unwrap();
        assert!(create(&store, &workspace, 2).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn a_key_is_found_by_its_segment_as_it_was_written() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let key = people::key(&store, &workspace).await;
        let found = api_keys::by_segment(&store, key.segment, NOW).await.unwrap().unwrap();
        assert_eq!(format!("{found:?}"), format!("{key:?}"));
        assert_eq!(found.hash, key.hash);
        assert_eq!(api_keys::by_id(&store, &key.id).await.unwrap().unwrap().segment, key.segment);
        let other = Segment::parse("000000000000").unwrap();
        assert!(api_keys::by_segment(&store, other, NOW).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn a_revocation_is_idempotent_and_keeps_its_first_time() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let key = people::key(&store, &workspace).await;
        for moment in [later(1), later(2)] {
            let mut tx = store.begin().await.unwrap();
            let revoked = api_keys::revoke(&mut tx, &workspace.id, &key.id, moment).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(revoked.revoked_at, Some(later(1)));
        }
        let found = api_keys::by_segment(&store, key.segment, later(3)).await.unwrap().unwrap();
        assert_eq!(found.state(later(3)), KeyState::Revoked);

        let mut tx = store.begin().await.unwrap();
        let enabled = api_keys::enable(&mut tx, &workspace.id, &key.id, later(3)).await;
        assert!(matches!(enabled, Err(StoreError::Conflict(Conflict::KeyRevoked))));
    })
    .await;
}

#[tokio::test]
async fn a_disabled_key_cannot_be_revoked_until_it_is_enabled() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let key = people::key(&store, &workspace).await;
        let mut tx = store.begin().await.unwrap();
        api_keys::disable(&mut tx, &workspace.id, &key.id, NOW).await.unwrap();
        let revoked = api_keys::revoke(&mut tx, &workspace.id, &key.id, NOW).await;
        assert!(matches!(revoked, Err(StoreError::Conflict(Conflict::KeyDisabled))));
        let enabled = api_keys::enable(&mut tx, &workspace.id, &key.id, NOW).await.unwrap();
        assert_eq!(enabled.state(NOW), KeyState::Active);
        api_keys::revoke(&mut tx, &workspace.id, &key.id, NOW).await.unwrap();
        tx.commit().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_expired_key_cannot_be_disabled_into_the_count_again() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let key = people::key(&store, &workspace).await;
        let mut tx = store.begin().await.unwrap();
        let expired = api_keys::expire(&mut tx, &workspace.id, &key.id, NOW).await.unwrap();
        assert_eq!(expired.state(NOW), KeyState::Expired);
        let disabled = api_keys::disable(&mut tx, &workspace.id, &key.id, NOW).await;
        assert!(matches!(disabled, Err(StoreError::Conflict(Conflict::KeyExpired))));
    })
    .await;
}

#[tokio::test]
async fn a_key_of_another_workspace_does_not_exist() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let other = people::workspace(&store).await;
        let key = people::key(&store, &workspace).await;
        let mut tx = store.begin().await.unwrap();
        let revoked = api_keys::revoke(&mut tx, &other.id, &key.id, NOW).await;
        assert!(matches!(revoked, Err(StoreError::Missing { noun: "key", .. })));
    })
    .await;
}

#[tokio::test]
async fn the_last_use_only_moves_forward() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let [one, other] = [people::key(&store, &workspace).await.id, people::key(&store, &workspace).await.id];
        let unknown = people::new_key(&workspace).id;
        for (moment_of_one, moment_of_other) in [(later(20), later(10)), (later(10), later(30))] {
            let used = [(other.clone(), moment_of_other), (unknown.clone(), later(40)), (one.clone(), moment_of_one)];
            let mut tx = store.begin().await.unwrap();
            api_keys::touch_last_used(&mut tx, &used).await.unwrap();
            tx.commit().await.unwrap();
        }
        for (key, last) in [(one, later(20)), (other, later(30))] {
            assert_eq!(api_keys::by_id(&store, &key).await.unwrap().unwrap().last_used_at, Some(last));
        }
    })
    .await;
}

#[tokio::test]
async fn a_list_is_read_page_by_page() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        for _ in 0..5 {
            people::key(&store, &workspace).await;
        }
        let all = key_list::list(&store, all_of(&workspace), Page::default()).await.unwrap();
        let first = key_list::list(&store, all_of(&workspace), Page::first(3)).await.unwrap();
        let rest = key_list::list(&store, all_of(&workspace), Page::after(first[2].key.id.as_str(), 3)).await.unwrap();
        let paged: Vec<_> = first.iter().chain(&rest).map(|one| one.key.id.clone()).collect();
        assert_eq!(paged, all.iter().map(|one| one.key.id.clone()).collect::<Vec<_>>());
        assert_eq!(paged.len(), 5);
    })
    .await;
}

#[tokio::test]
async fn keys_are_searched_sorted_and_counted() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        for (number, name) in (1_u8..).zip(["Delta", "alpha", "50%", "Beta"]) {
            let mut tx = store.begin().await.unwrap();
            let id = KeyId::new(NOW, number.into());
            let key = ApiKey { id, name: name.to_owned(), ..people::new_key(&workspace) };
            api_keys::insert_within(&mut tx, &key, 9).await.unwrap();
            tx.commit().await.unwrap();
        }
        let all = all_of(&workspace);
        let names = async |filter, search, sort, page| {
            let listing = Listing { page, search, order: Order::parse(sort), after: None };
            let found = key_list::list(&store, filter, listing).await.unwrap();
            found.into_iter().map(|one| one.key.name).collect::<Vec<_>>()
        };
        let whole = Page::default();
        assert_eq!(names(all, "", "", whole).await, ["Delta", "alpha", "50%", "Beta"], "oldest first");
        assert_eq!(names(all, "", "name", whole).await, ["50%", "alpha", "Beta", "Delta"]);
        assert_eq!(names(all, "", "-name", whole).await, ["Delta", "Beta", "alpha", "50%"]);
        assert_eq!(names(all, "eLTa", "", whole).await, ["Delta"]);
        assert_eq!(names(all, "%", "", whole).await, ["50%"]);

        // Where the values of all keys are equal, their ids decide.
        for sort in ["name", "-name", "createdAt", "-lastUsedAt", "expiresAt"] {
            let order: Option<Order<KeyColumn>> = Order::parse(sort);
            let (mut paged, mut last) = (Vec::new(), None::<(String, String)>);
            loop {
                let after = last.as_ref().zip(order);
                let after = after.and_then(|((_, value), order)| order.by.expression().parse(value));
                let page = Page::after(last.as_ref().map_or("", |(id, _)| id.as_str()), 3);
                let listing = Listing { page, search: "", order, after };
                let found = key_list::list(&store, all, listing).await.unwrap();
                let Some(end) = found.last() else { break };
                last = order.map(|order| (end.key.id.to_string(), end.sort_value(order.by)));
                paged.extend(found.into_iter().map(|one| one.key.name));
            }
            assert_eq!(paged, names(all, "", sort, whole).await, "{sort}");
        }

        let first = &key_list::list(&store, all, Page::first(1)).await.unwrap()[0].key;
        let public = first.masked().replace("-…", "");
        assert_eq!(names(all, &public, "", whole).await, ["Delta"], "by its public part");
        let mut tx = store.begin().await.unwrap();
        api_keys::revoke(&mut tx, &workspace.id, &first.id, NOW).await.unwrap();
        tx.commit().await.unwrap();
        let counted = KeyFilter { counted_at: Some(NOW), ..all };
        assert_eq!(names(counted, "", "name", whole).await, ["50%", "alpha", "Beta"]);
        for (filter, search, count) in [(all, "", 4), (counted, "", 3), (counted, "delta", 0), (all, "delta", 1)] {
            let listing = Listing { search, ..whole.into() };
            assert_eq!(key_list::count(&store, filter, listing).await.unwrap(), count, "{search}");
        }
        let removed = KeyFilter { created_by: CreatedBy::RemovedMembers, ..all };
        assert_eq!(key_list::count(&store, removed, whole.into()).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_rotated_key_has_two_secrets_until_the_overlap_ends() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let key = people::key(&store, &workspace).await;
        let rotate = async |text: &str, dies_at, now| {
            let fresh = (Segment::parse(text).unwrap(), SecretHash::of(text));
            let mut tx = store.begin().await.unwrap();
            let rotated = api_keys::rotate(&mut tx, &workspace.id, &key.id, fresh, dies_at, now).await;
            tx.commit().await.unwrap();
            rotated
        };
        let second = rotate("secondsecond", later(100), NOW).await.unwrap();
        assert_eq!((&second.id, &second.name, second.requests_per_minute), (&key.id, &key.name, Some(60)));
        let found = async |segment, now| api_keys::by_segment(&store, segment, now).await.unwrap();
        assert_eq!(found(key.segment, later(99)).await.unwrap().good_until(), Some(later(100)));
        assert!(found(key.segment, later(100)).await.is_none());
        assert_eq!(found(second.segment, later(100)).await.unwrap().good_until(), None);
        assert_eq!(key_list::list(&store, all_of(&workspace), Page::default()).await.unwrap().len(), 1);

        // A rotation without overlap also ends earlier secrets.
        let third = rotate("thirdthirdth", later(10), later(10)).await.unwrap();
        assert!(found(key.segment, later(10)).await.is_none() && found(second.segment, later(10)).await.is_none());
        assert_eq!(api_keys::by_id(&store, &key.id).await.unwrap().unwrap().segment, third.segment);

        let mut tx = store.begin().await.unwrap();
        api_keys::revoke(&mut tx, &workspace.id, &key.id, NOW).await.unwrap();
        tx.commit().await.unwrap();
        assert!(matches!(rotate("fourthfourth", NOW, NOW).await, Err(StoreError::Conflict(Conflict::KeyRevoked))));
    })
    .await;
}

#[tokio::test]
async fn credentials_are_listed_in_order_without_those_of_revoked_keys() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let mut keys = Vec::new();
        for _ in 0..7 {
            keys.push(people::key(&store, &workspace).await);
        }
        let mut tx = store.begin().await.unwrap();
        let revoked = keys.pop().unwrap();
        api_keys::revoke(&mut tx, &workspace.id, &revoked.id, NOW).await.unwrap();
        tx.commit().await.unwrap();

        let mut segments: Vec<Segment> = keys.iter().map(|key| key.segment).collect();
        segments.sort();
        let all = api_keys::credentials_after(&store, None).await.unwrap();
        assert_eq!(all.iter().map(|(segment, _)| *segment).collect::<Vec<_>>(), segments);
        let rest = api_keys::credentials_after(&store, Some(segments[3])).await.unwrap();
        assert_eq!(rest, all[4..]);
        let known = all.iter().find(|(segment, _)| *segment == keys[0].segment).unwrap();
        assert!(known.1 == keys[0].hash);

        let unknown = Segment::parse("aaaaaaaaaaaa").unwrap();
        let wanted = [keys[0].segment, unknown, revoked.segment, keys[1].segment, keys[2].segment];
        let found = api_keys::credentials_of(&store, &wanted).await.unwrap();
        let mut found: Vec<Segment> = found.into_iter().map(|(segment, _)| segment).collect();
        let mut present = keys[..3].iter().map(|key| key.segment).collect::<Vec<_>>();
        found.sort();
        present.sort();
        assert_eq!(found, present);
        assert!(api_keys::credentials_of(&store, &[]).await.unwrap().is_empty());
    })
    .await;
}
