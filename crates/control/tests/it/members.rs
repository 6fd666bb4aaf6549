use crate::databases::on_both;
use crate::{DEFAULTS, NOW, command};
use control::members::KeysOfMember;
use control::{bootstrap, members, users};
use domain::user::Role;
use store::Page;

#[tokio::test]
async fn the_last_administrator_cannot_be_removed() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let (organization, admin) = (first.organization.id, first.user.id);
        let new = users::NewUser {
            email: "bob@example.com",
            password: None,
            organization: &organization,
            role: Role::Member,
            workspaces: &[],
            operator: false,
        };
        let bob = users::create(command(&store), new).await.unwrap().user.id;
        let demoted = members::set_role(command(&store), &organization, &admin, Role::Member).await;
        assert_eq!(demoted.unwrap_err().code(), "last_admin");
        let removed = members::remove(command(&store), &organization, &admin, KeysOfMember::Keep).await;
        assert_eq!(removed.unwrap_err().code(), "last_admin");

        members::set_role(command(&store), &organization, &bob, Role::Admin).await.unwrap();
        members::set_role(command(&store), &organization, &admin, Role::Member).await.unwrap();
        let list = members::list(&store, &organization, Page::default()).await.unwrap();
        let roles: Vec<_> = list.iter().map(|member| (member.user == bob, member.role)).collect();
        assert!(roles.contains(&(true, Role::Admin)) && roles.contains(&(false, Role::Member)), "{roles:?}");
        let joined = list.iter().find(|member| member.user == admin).unwrap();
        assert_eq!(joined.workspaces, std::slice::from_ref(&first.workspace.id));
        members::remove(command(&store), &organization, &admin, KeysOfMember::Keep).await.unwrap();
        let again = members::remove(command(&store), &organization, &admin, KeysOfMember::Keep).await;
        assert_eq!(again.unwrap_err().code(), "not_found");
    })
    .await;
}
