use crate::databases::on_both;
use crate::people::{self, NOW};
use domain::Organization;
use domain::user::Role;
use std::time::Duration;
use store::{Conflict, Listing, Page, StoreError, organizations, users, workspaces};

#[tokio::test]
async fn an_organization_is_renamed_and_listed() {
    on_both(async |_, store| {
        let organization = people::organization(&store).await;
        let mut tx = store.begin().await.unwrap();
        let renamed = Organization { name: "Umbrella".into(), ..organization.clone() };
        organizations::update(&mut tx, &renamed, NOW).await.unwrap();
        tx.commit().await.unwrap();
        let listed = organizations::list(&store, Page::default()).await.unwrap();
        assert_eq!(listed.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["Umbrella"]);
        assert_eq!(organizations::by_id(&store, &organization.id).await.unwrap().as_ref(), listed.first());
    })
    .await;
}

#[tokio::test]
async fn organizations_are_found_and_read_by_their_ids() {
    on_both(async |_, store| {
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(people::workspace(&store).await.organization);
        }
        ids.sort_unstable();
        let all = Listing::from(Page::default());
        assert_eq!(organizations::found_ids(&store, all, 10).await.unwrap(), ids);
        assert_eq!(organizations::found_ids(&store, all, 2).await.unwrap(), ids[..2]);
        let one = Listing { search: ids[1].as_str(), ..all };
        assert_eq!(organizations::found_ids(&store, one, 10).await.unwrap(), ids[1..2]);

        let deleted = people::new_organization().id;
        let mut counted = organizations::counted_by_ids(&store, &[&ids[..], &[deleted]].concat()).await.unwrap();
        counted.sort_unstable_by(|one, other| one.organization.id.cmp(&other.organization.id));
        assert!(counted.iter().map(|one| (&one.organization.id, one.workspaces)).eq(ids.iter().map(|id| (id, 1))));
    })
    .await;
}

#[tokio::test]
async fn an_organization_is_deleted_only_after_its_workspaces() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let organization = organizations::by_id(&store, &workspace.organization).await.unwrap().unwrap();
        let user = people::user(&store, "ada@example.com", &organization, Role::Member).await;

        let mut tx = store.begin().await.unwrap();
        let rejected = organizations::delete(&mut tx, &organization.id, NOW).await;
        assert!(matches!(rejected, Err(StoreError::Conflict(Conflict::OrganizationNotEmpty { workspaces: 1 }))));
        workspaces::delete(&mut tx, &workspace.id, NOW).await.unwrap();
        organizations::delete(&mut tx, &organization.id, NOW).await.unwrap();
        tx.commit().await.unwrap();

        let user = users::by_id(&store, &user.id).await.unwrap().unwrap();
        assert_eq!(user.memberships, []);
        let mut tx = store.begin().await.unwrap();
        let orphan = workspaces::insert(&mut tx, &people::new_workspace(&organization)).await;
        assert!(matches!(orphan, Err(StoreError::Missing { noun: "organization", .. })));
    })
    .await;
}

#[tokio::test]
async fn an_empty_store_is_claimed_by_one_transaction_and_the_others_wait() {
    on_both(async |database, store| {
        let elsewhere = database.open().await;
        assert!(organizations::store_is_empty(&store).await.unwrap());
        let mut first = store.begin().await.unwrap();
        assert!(organizations::claim_empty_store(&mut first).await.unwrap());
        let second = async {
            let mut second = elsewhere.begin().await.unwrap();
            organizations::claim_empty_store(&mut second).await.unwrap()
        };
        let winner = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            organizations::insert(&mut first, &people::new_organization()).await.unwrap();
            first.commit().await.unwrap();
        };
        let (second_claims, ()) = tokio::join!(second, winner);
        assert!(!second_claims);
        assert!(!organizations::store_is_empty(&store).await.unwrap());
    })
    .await;
}
