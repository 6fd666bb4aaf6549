//! The bounds of files. What is in them is tried in `batches`.

use crate::batches::{change, clear, content, input_file};
use crate::databases::{on_both, on_both_empty};
use crate::outside::outside;
use crate::people::{self, NOW, entropy, later};
use domain::{FileId, Organization, OrganizationId, Workspace, WorkspaceId};
use sqlx::Executor;
use store::files::{self, FileBound, FullStorage};
use store::responses::{self, Insert, NewResponse};
use store::stored_bytes::MaxBytes;
use store::{Store, organizations, workspaces};

const MAX: MaxBytes = MaxBytes { workspace: 8_000, organization: 10_000, total: 14_000 };

/// Stores a file with one chunk, unless a bound is full.
async fn upload(store: &Store, workspace: &WorkspaceId, bytes: u64) -> Result<FileId, FullStorage> {
    write(store, workspace, bytes, Some(MAX)).await
}

async fn write(
    store: &Store,
    workspace: &WorkspaceId,
    bytes: u64,
    max: Option<MaxBytes>,
) -> Result<FileId, FullStorage> {
    let id = FileId::new(NOW, entropy());
    let new = input_file(&id, workspace);
    let mut tx = store.begin().await.unwrap();
    files::begin(&mut tx, new, None).await.unwrap();
    if let Some(full) = files::append(&mut tx, new, 0, &content("x"), bytes, (max, NOW)).await.unwrap() {
        return Err(full);
    }
    files::complete(&mut tx, &id, "a.jsonl", later(100)).await.unwrap();
    tx.commit().await.unwrap();
    Ok(id)
}

async fn upload_and_delete(store: &Store, workspace: &WorkspaceId, bytes: u64) {
    let id = upload(store, workspace, bytes).await.unwrap();
    assert!(change(store, async |tx| files::delete(tx, workspace, &id, NOW).await.unwrap()).await);
}

fn full(bound: FileBound, limit: u64) -> Result<FileId, FullStorage> {
    Err(FullStorage { bound, limit })
}

async fn store_response(store: &Store, workspace: &WorkspaceId, bytes: usize) -> Insert {
    let new = NewResponse {
        workspace: workspace.clone(),
        id: format!("resp_{bytes}"),
        previous: None,
        created_at: NOW,
        content_key: "k1".to_owned(),
        input: vec![0; bytes],
        response: Vec::new(),
        items: Vec::new(),
    };
    let mut tx = store.begin().await.unwrap();
    let inserted = responses::insert(&mut tx, &new, MAX).await.unwrap();
    if inserted == Insert::Done {
        tx.commit().await.unwrap();
    }
    inserted
}

/// Another workspace of the same organization.
async fn sibling(store: &Store, of: &Workspace) -> Workspace {
    let sibling = Workspace { id: WorkspaceId::new(NOW, entropy()), ..of.clone() };
    change(store, async |tx| workspaces::insert(tx, &sibling).await.unwrap()).await;
    sibling
}

async fn stored_bytes(store: &Store, organization: &OrganizationId) -> u64 {
    organizations::counted_by_id(store, organization).await.unwrap().unwrap().stored_bytes
}

#[tokio::test]
async fn workspaces_of_an_organization_share_its_bound_of_files_and_responses() {
    on_both(async |_, store| {
        let first = people::workspace(&store).await;
        let second = sibling(&store, &first).await.id;
        upload(&store, &first.id, 6_000).await.unwrap();
        assert_eq!(upload(&store, &first.id, 3_000).await, full(FileBound::Workspace, 8_000));
        assert_eq!(upload(&store, &second, 5_000).await, full(FileBound::Organization, 10_000));
        upload(&store, &second, 3_000).await.unwrap();
        assert_eq!(store_response(&store, &first.id, 1_001).await, Insert::Full);
        assert_eq!(store_response(&store, &first.id, 900).await, Insert::Done);
        assert_eq!(stored_bytes(&store, &first.organization).await, 9_900);
        assert_eq!(upload(&store, &second, 1).await, full(FileBound::Organization, 10_000), "a file counts for 1 KiB");

        change(&store, async |tx| {
            let current = organizations::lock(tx, &first.organization).await.unwrap();
            let edited = Organization { max_stored_bytes: Some(11_000), ..current };
            organizations::update(tx, &edited, NOW).await.unwrap();
        })
        .await;
        upload(&store, &second, 1).await.unwrap();
        let stranger = people::workspace(&store).await.id;
        assert_eq!(upload(&store, &stranger, 4_000).await, full(FileBound::Total, 14_000));
        upload(&store, &stranger, 3_900).await.unwrap();
        assert_eq!(files::total_bytes(&store).await.unwrap(), 13_924);
    })
    .await;
}

#[tokio::test]
async fn results_past_the_bound_of_their_organization_leave_others_their_room() {
    on_both(async |_, store| {
        let (busy, other) = (people::workspace(&store).await.id, people::workspace(&store).await.id);
        write(&store, &busy, 20_000, None).await.unwrap();
        assert_eq!(upload(&store, &other, 4_001).await, full(FileBound::Total, 14_000), "it counts for 10,000");
        upload(&store, &other, 4_000).await.unwrap();
        assert_eq!(files::total_bytes(&store).await.unwrap(), 24_000, "the operator sees all");
    })
    .await;
}

#[tokio::test]
async fn files_count_for_their_organization_until_their_chunks_are_removed() {
    on_both(async |_, store| {
        let first = people::workspace(&store).await;
        upload_and_delete(&store, &first.id, 5_000).await;
        upload_and_delete(&store, &first.id, 5_000).await;
        assert_eq!(upload(&store, &first.id, 5_000).await, full(FileBound::Organization, 10_000));
        assert_eq!(clear(&store, NOW).await, 2);
        assert_eq!(
            (stored_bytes(&store, &first.organization).await, files::total_bytes(&store).await.unwrap()),
            (0, 0)
        );

        let second = sibling(&store, &first).await.id;
        upload(&store, &second, 5_000).await.unwrap();
        change(&store, async |tx| workspaces::delete(tx, &second, NOW).await.unwrap()).await;
        assert_eq!(stored_bytes(&store, &first.organization).await, 5_000, "those of a deleted workspace, too");
        assert_eq!(upload(&store, &first.id, 6_000).await, full(FileBound::Organization, 10_000));
        assert_eq!(clear(&store, later(100)).await, 1);
        upload(&store, &first.id, 6_000).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn files_from_before_their_totals_are_counted() {
    on_both_empty(async |database| {
        let store = database.open().await;
        store.migrate().await.unwrap();
        let workspace = people::workspace(&store).await;
        upload(&store, &workspace.id, 3_000).await.unwrap();
        upload(&store, &workspace.id, 1).await.unwrap();
        let mut outside = outside(database).await;
        for back in ["DROP TABLE stored_file_totals", "DELETE FROM schema_version WHERE version = 35"] {
            outside.execute(back).await.unwrap();
        }
        store.migrate().await.unwrap();
        assert_eq!(files::total_bytes(&store).await.unwrap(), 4_024);
        assert_eq!(stored_bytes(&store, &workspace.organization).await, 4_024);
    })
    .await;
}
