use crate::databases::on_both;
use crate::people::{self, NOW, later};
use domain::{ResponseRetention, Timestamp, Workspace, WorkspaceId};
use store::responses::{self, BATCH, Insert, NewResponse, Total};
use store::stored_bytes::MaxBytes;
use store::{Store, workspaces};

const DAY: i64 = 86_400_000;
const ROOM: MaxBytes = MaxBytes { workspace: 1 << 20, organization: 1 << 20, total: 1 << 20 };

fn new(workspace: &WorkspaceId, id: &str) -> NewResponse {
    NewResponse {
        workspace: workspace.clone(),
        id: id.to_owned(),
        previous: None,
        created_at: NOW,
        content_key: "k1".to_owned(),
        input: vec![0, 1, 255],
        response: b"sealed".to_vec(),
        items: Vec::new(),
    }
}

async fn insert(store: &Store, new: &NewResponse, room: MaxBytes) -> Insert {
    let mut tx = store.begin().await.unwrap();
    let inserted = responses::insert(&mut tx, new, room).await.unwrap();
    if inserted == Insert::Done {
        tx.commit().await.unwrap();
    }
    inserted
}

async fn delete(store: &Store, workspace: &WorkspaceId, id: &str) -> bool {
    let mut tx = store.begin().await.unwrap();
    let is_deleted = responses::delete(&mut tx, workspace, id, later(-DAY)).await.unwrap();
    tx.commit().await.unwrap();
    is_deleted
}

async fn ids_of_items(store: &Store, workspace: &WorkspaceId, items: &[&str]) -> Vec<String> {
    let found = responses::of_items(store, workspace, items, later(-DAY)).await.unwrap();
    found.into_iter().map(|link| link.id).collect()
}

#[tokio::test]
async fn a_response_is_found_by_its_workspace_until_it_is_too_old_or_deleted() {
    on_both(async |_, store| {
        let (own, other) = (people::workspace(&store).await.id, people::workspace(&store).await.id);
        let items = ["msg_1".to_owned(), "fc_1".to_owned(), "rs_1".to_owned()];
        let inserted = insert(&store, &NewResponse { items: items.to_vec(), ..new(&own, "resp_1") }, ROOM).await;
        assert_eq!(inserted, Insert::Done);
        let found = responses::find(&store, &own, "resp_1", NOW).await.unwrap().unwrap();
        assert_eq!((&found.input[..], &found.response[..]), (&[0, 1, 255][..], &b"sealed"[..]));
        assert_eq!(responses::find(&store, &own, "resp_1", later(1)).await.unwrap(), None, "too old");
        assert_eq!(responses::size(&store, &own, "resp_1", NOW).await.unwrap(), Some(9));
        assert_eq!(responses::size(&store, &own, "resp_1", later(1)).await.unwrap(), None);
        assert_eq!(responses::size(&store, &other, "resp_1", NOW).await.unwrap(), None);
        assert_eq!(responses::find(&store, &other, "resp_1", NOW).await.unwrap(), None, "of another workspace");
        assert_eq!(ids_of_items(&store, &own, &["fc_1", "rs_1", "unknown"]).await, ["resp_1"]);
        assert_eq!(ids_of_items(&store, &other, &["fc_1"]).await, [""; 0]);
        assert_eq!(ids_of_items(&store, &own, &[]).await, [""; 0]);

        assert!(!delete(&store, &other, "resp_1").await);
        assert!(delete(&store, &own, "resp_1").await);
        assert!(!delete(&store, &own, "resp_1").await);
        assert_eq!(responses::find(&store, &own, "resp_1", NOW).await.unwrap(), None);
        assert_eq!(ids_of_items(&store, &own, &["fc_1"]).await, [""; 0]);
        assert_eq!(responses::totals(&store, None, 10).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn a_chain_is_read_from_its_oldest_response_and_ends_where_one_is_missing() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await.id;
        insert(&store, &new(&workspace, "resp_1"), ROOM).await;
        insert(&store, &NewResponse { previous: Some("resp_1".to_owned()), ..new(&workspace, "resp_2") }, ROOM).await;
        insert(&store, &NewResponse { previous: Some("resp_2".to_owned()), ..new(&workspace, "resp_3") }, ROOM).await;
        // Another branch of the same conversation.
        insert(&store, &NewResponse { previous: Some("resp_1".to_owned()), ..new(&workspace, "resp_4") }, ROOM).await;
        let chain = async |id: &str| {
            let links = responses::chain(&store, &workspace, id, NOW).await.unwrap();
            links.into_iter().map(|link| (link.id, link.previous, link.bytes)).collect::<Vec<_>>()
        };
        let link = |id: &str, previous: Option<&str>| (id.to_owned(), previous.map(str::to_owned), 9);
        let whole = [link("resp_3", Some("resp_2")), link("resp_2", Some("resp_1")), link("resp_1", None)];
        assert_eq!(chain("resp_3").await, whole);
        assert_eq!(chain("resp_4").await, [link("resp_4", Some("resp_1")), link("resp_1", None)]);
        let content = responses::chain_content(&store, &workspace, "resp_3", NOW).await.unwrap();
        assert_eq!(content.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["resp_1", "resp_2", "resp_3"]);

        delete(&store, &workspace, "resp_2").await;
        assert_eq!(chain("resp_3").await, [link("resp_3", Some("resp_2"))]);
        assert_eq!(chain("resp_2").await, []);
    })
    .await;
}

#[tokio::test]
async fn stored_responses_have_bounds_and_deleting_makes_room() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await.id;
        let (room, other) =
            (MaxBytes { workspace: 18, organization: 20, total: 27 }, people::workspace(&store).await.id);
        assert_eq!(insert(&store, &new(&workspace, "resp_1"), room).await, Insert::Done);
        assert_eq!(insert(&store, &new(&workspace, "resp_2"), room).await, Insert::Done);
        assert_eq!(insert(&store, &new(&workspace, "resp_3"), room).await, Insert::Full);
        assert_eq!(insert(&store, &new(&other, "resp_1"), room).await, Insert::Done);
        assert_eq!(insert(&store, &new(&other, "resp_2"), room).await, Insert::StoreFull);
        let found = workspaces::by_id(&store, &workspace).await.unwrap().unwrap();
        let sibling = Workspace { id: WorkspaceId::new(NOW, 700), ..found };
        let mut tx = store.begin().await.unwrap();
        workspaces::insert(&mut tx, &sibling).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(insert(&store, &new(&sibling.id, "resp_1"), room).await, Insert::Full, "of its organization");
        assert_eq!(responses::find(&store, &workspace, "resp_3", NOW).await.unwrap(), None);
        assert_eq!(responses::total_bytes(&store).await.unwrap(), 27);
        assert!(delete(&store, &workspace, "resp_1").await);
        assert_eq!(insert(&store, &new(&workspace, "resp_3"), room).await, Insert::Done);
    })
    .await;
}

#[tokio::test]
async fn old_responses_are_deleted_in_batches() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let mut tx = store.begin().await.unwrap();
        for number in 0..BATCH + 50 {
            let (id, items) = (format!("resp_{number}"), vec![format!("msg_{number}")]);
            let old = NewResponse { created_at: later(-1), items, ..new(&workspace.id, &id) };
            responses::insert(&mut tx, &old, ROOM).await.unwrap();
        }
        responses::insert(&mut tx, &new(&workspace.id, "resp_new"), ROOM).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(total(&store, &workspace).await.oldest, Some(later(-1)));

        assert_eq!(responses::clear(&store, &workspace.id, NOW).await.unwrap(), BATCH);
        assert_eq!(responses::clear(&store, &workspace.id, NOW).await.unwrap(), 50);
        assert_eq!(responses::clear(&store, &workspace.id, NOW).await.unwrap(), 0);
        assert_eq!(ids_of_items(&store, &workspace.id, &["msg_0", "msg_149"]).await, [""; 0]);
        let rest = total(&store, &workspace).await;
        assert_eq!((rest.bytes, rest.oldest, rest.retention), (9, Some(NOW), None));

        let mut tx = store.begin().await.unwrap();
        let retention = ResponseRetention::from_days(7).ok();
        let stored = Workspace { response_retention: retention, ..workspace.clone() };
        assert_eq!(workspaces::update(&mut tx, stored, NOW).await.unwrap().response_retention, retention);
        tx.commit().await.unwrap();
        assert_eq!(total(&store, &workspace).await.retention, retention);

        // The rows of a deleted workspace are left to the loop, which sees that nothing is to be kept.
        let mut tx = store.begin().await.unwrap();
        workspaces::delete(&mut tx, &workspace.id, NOW).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(total(&store, &workspace).await.retention, None);
        assert_eq!(responses::clear(&store, &workspace.id, Timestamp::from_millis(i64::MAX)).await.unwrap(), 1);
        assert_eq!(responses::totals(&store, None, 10).await.unwrap(), []);
    })
    .await;
}

async fn total(store: &Store, workspace: &Workspace) -> Total {
    let mut all = responses::totals(store, None, 10).await.unwrap();
    assert_eq!((all.len(), &all[0].workspace), (1, &workspace.id));
    all.remove(0)
}
