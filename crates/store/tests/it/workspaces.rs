use crate::databases::on_both;
use crate::people::{self, NOW};
use domain::Workspace;
use domain::user::Role;
use domain::workspace::OwnLimits;
use store::{Conflict, Page, StoreError, api_keys, organizations, workspaces};

#[tokio::test]
async fn a_stale_version_is_rejected_with_the_current_workspace() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let own = OwnLimits { max_api_keys: Some(3), ..OwnLimits::default() };
        let mut tx = store.begin().await.unwrap();
        let lowered = OwnLimits { monthly_tokens: Some(0), ..OwnLimits::default() };
        let edited = Workspace { name: "Labs".into(), own, lowered, ..workspace.clone() };
        let changed = workspaces::update(&mut tx, edited.clone(), NOW).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!((changed.version, changed.name.as_str()), (2, "Labs"));
        assert_eq!((changed.own, changed.lowered), (own, lowered));
        assert_eq!(workspaces::by_id(&store, &workspace.id).await.unwrap().as_ref(), Some(&changed));

        let mut tx = store.begin().await.unwrap();
        match workspaces::update(&mut tx, edited, NOW).await {
            Err(StoreError::Conflict(Conflict::VersionConflict { current })) => assert_eq!(*current, changed),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test]
async fn a_workspace_is_deleted_only_after_its_active_keys() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let key = people::key(&store, &workspace).await;
        let mut tx = store.begin().await.unwrap();
        let rejected = workspaces::delete(&mut tx, &workspace.id, NOW).await;
        assert!(matches!(rejected, Err(StoreError::Conflict(Conflict::WorkspaceInUse { active_keys: 1 }))));
        api_keys::revoke(&mut tx, &workspace.id, &key.id, NOW).await.unwrap();
        workspaces::delete(&mut tx, &workspace.id, NOW).await.unwrap();
        tx.commit().await.unwrap();
        assert!(api_keys::by_segment(&store, key.segment, NOW).await.unwrap().is_none());
        assert!(workspaces::by_id(&store, &workspace.id).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn members_are_listed_with_the_workspaces_they_joined() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let organization = organizations::by_id(&store, &workspace.organization).await.unwrap().unwrap();
        let user = people::user(&store, "ada@example.com", &organization, Role::Member).await;
        let mut tx = store.begin().await.unwrap();
        for _ in 0..2 {
            workspaces::add_member(&mut tx, &workspace.id, &user.id, NOW).await.unwrap();
        }
        tx.commit().await.unwrap();
        let joined = workspaces::list_joined(&store, &organization.id, &user.id, Page::default()).await.unwrap();
        assert_eq!(joined, std::slice::from_ref(&workspace));
        assert_eq!(workspaces::list(&store, &organization.id, Page::default()).await.unwrap(), joined);
        assert_eq!(workspaces::list_all(&store, Page::default()).await.unwrap(), joined);

        let mut tx = store.begin().await.unwrap();
        workspaces::remove_member(&mut tx, &workspace.id, &user.id, NOW).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(workspaces::list_joined(&store, &organization.id, &user.id, Page::default()).await.unwrap(), []);
    })
    .await;
}
