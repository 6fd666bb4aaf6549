use crate::command;
use crate::databases::on_both;
use control::users::{self, Edit, NewUser};
use control::{members, organizations, passwords, workspaces};
use domain::user::Role;
use domain::workspace::OwnLimits;
use store::Page;

#[tokio::test]
async fn a_user_is_created_in_workspaces_of_the_organization_or_not_at_all() {
    on_both(async |_, store| {
        let organization = organizations::create(command(&store), "Acme").await.unwrap().id;
        let other = organizations::create(command(&store), "Other").await.unwrap().id;
        let create = async |organization| {
            workspaces::create(command(&store), organization, "Lab", OwnLimits::default()).await.unwrap()
        };
        let (own, theirs) = (create(&organization).await, create(&other).await.id);
        let (both, inside) = ([own.id.clone(), theirs], [own.id.clone()]);
        let new = NewUser {
            email: "ada@example.com",
            password: Some("a password"),
            organization: &organization,
            role: Role::Member,
            workspaces: &both,
            operator: false,
        };
        assert_eq!(users::create(command(&store), new).await.unwrap_err().code(), "not_found");
        let created = users::create(command(&store), NewUser { workspaces: &inside, ..new }).await.unwrap();
        let found = members::list_of_workspace(&store, &own, Page::default()).await.unwrap();
        assert_eq!(found.iter().map(|one| &one.user).collect::<Vec<_>>(), [&created.user.id]);
        let many = vec![own.id.clone(); 101];
        let rejected = users::create(command(&store), NewUser { workspaces: &many, ..new }).await.unwrap_err();
        assert_eq!((rejected.code(), rejected.field()), ("invalid_value", Some("workspaceIds")));
    })
    .await;
}

#[tokio::test]
async fn a_user_gets_a_password_a_role_and_a_new_password() {
    on_both(async |_, store| {
        let organization = organizations::create(command(&store), "Acme").await.unwrap().id;
        let new = NewUser {
            email: "Ada@Example.com",
            password: None,
            organization: &organization,
            role: Role::Member,
            workspaces: &[],
            operator: false,
        };
        let created = users::create(command(&store), new).await.unwrap();
        let generated = created.generated_password.unwrap();
        let taken = users::create(command(&store), new).await.unwrap_err();
        assert_eq!(taken.code(), "email_taken");
        let weak = users::create(command(&store), NewUser { password: Some("short"), ..new }).await.unwrap_err();
        assert_eq!((weak.code(), weak.field()), ("invalid_value", Some("password")));

        let id = created.user.id;
        let edit = Edit { role: Some((&organization, Role::Admin)), operator: Some(true), email_proven: None };
        let changed = users::set(command(&store), &id, edit).await.unwrap();
        assert_eq!((changed.operator, changed.memberships[0].role), (true, Role::Admin));

        users::reset_password(command(&store), &id, Some("correct horse")).await.unwrap();
        let stored = store::users::credentials(&store, &changed.email).await.unwrap().pop().unwrap().password_hash;
        assert!(passwords::verify("correct horse", stored.as_deref()).await.unwrap());
        assert!(!passwords::verify(&generated, stored.as_deref()).await.unwrap());

        users::delete(command(&store), &id).await.unwrap();
        assert_eq!(users::show(&store, &id).await.unwrap_err().code(), "not_found");
    })
    .await;
}
