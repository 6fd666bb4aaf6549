use crate::command;
use crate::databases::on_both;
use control::users::{self, Edit, NewUser};
use control::{organizations, passwords};
use domain::user::Role;

#[tokio::test]
async fn a_user_gets_a_password_a_role_and_a_new_password() {
    on_both(async |_, store| {
        let organization = organizations::create(command(&store), "Acme").await.unwrap().id;
        let new = NewUser {
            email: "Ada@Example.com",
            password: None,
            organization: &organization,
            role: Role::Member,
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
