use crate::databases::on_both;
use crate::people::{self, NOW};
use domain::user::{Email, Role};
use store::{Conflict, Page, StoreError, organizations, users, workspaces};

#[tokio::test]
async fn one_address_is_one_account() {
    on_both(async |_, store| {
        let organization = people::organization(&store).await;
        people::user(&store, "ada@example.com", &organization, Role::Admin).await;
        let mut tx = store.begin().await.unwrap();
        let again = people::new_user("Ada@Example.com", &organization, Role::Member);
        assert!(matches!(users::insert(&mut tx, &again, None).await, Err(StoreError::Conflict(Conflict::EmailTaken))));
    })
    .await;
}

#[tokio::test]
async fn a_user_is_changed_found_and_removed() {
    on_both(async |_, store| {
        let organization = people::organization(&store).await;
        let other = people::organization(&store).await;
        let ada = people::user(&store, "ada@example.com", &organization, Role::Member).await;
        let bob = people::user(&store, "bob@example.com", &organization, Role::Member).await;

        let mut tx = store.begin().await.unwrap();
        users::join(&mut tx, &ada.id, &people::membership(&organization, Role::Admin), NOW).await.unwrap();
        users::join(&mut tx, &ada.id, &people::membership(&other, Role::Member), NOW).await.unwrap();
        users::set_operator(&mut tx, &ada.id, true, NOW).await.unwrap();
        users::set_password(&mut tx, &ada.id, "new hash", NOW).await.unwrap();
        tx.commit().await.unwrap();

        let email = Email::parse("ada@example.com").unwrap();
        let found = users::by_email(&store, &email).await.unwrap().pop().unwrap();
        assert!(found.operator);
        assert_eq!(found.memberships.len(), 2);
        assert!(found.memberships.iter().any(|one| one.organization_id == organization.id && one.role == Role::Admin));
        let credentials = users::credentials(&store, &email).await.unwrap().pop().unwrap();
        assert_eq!((credentials.user, credentials.password_hash.as_deref()), (ada.id.clone(), Some("new hash")));

        let mut expected = [found, bob.clone()];
        expected.sort_by(|left, right| left.id.cmp(&right.id));
        assert_eq!(users::list(&store, Page::default()).await.unwrap(), expected);

        let mut tx = store.begin().await.unwrap();
        users::delete(&mut tx, &bob.id, NOW).await.unwrap();
        let again = users::delete(&mut tx, &bob.id, NOW).await;
        assert!(matches!(again, Err(StoreError::Missing { noun: "user", .. })));
        tx.commit().await.unwrap();
        assert!(users::by_id(&store, &bob.id).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn leaving_an_organization_means_leaving_its_workspaces() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let organization = organizations::by_id(&store, &workspace.organization).await.unwrap().unwrap();
        let ada = people::user(&store, "ada@example.com", &organization, Role::Member).await;
        let mut tx = store.begin().await.unwrap();
        workspaces::add_member(&mut tx, &workspace.id, &ada.id, NOW).await.unwrap();
        users::leave(&mut tx, &ada.id, &organization.id, NOW).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(users::by_id(&store, &ada.id).await.unwrap().unwrap().memberships, []);
        assert_eq!(workspaces::list_joined(&store, &organization.id, &ada.id, Page::default()).await.unwrap(), []);
    })
    .await;
}
