use crate::databases::on_both;
use crate::{DEFAULTS, NOW};
use control::members::KeysOfMember;
use control::{Author, bootstrap, members, users};
use domain::user::Role;
use store::Page;

#[tokio::test]
async fn the_last_administrator_cannot_be_removed() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let (author, organization, admin) = (Author::CommandLine, first.organization.id, first.user.id);
        let new = users::NewUser {
            email: "bob@example.com",
            password: None,
            organization: &organization,
            role: Role::Member,
            operator: false,
        };
        let bob = users::create(&store, &author, new, NOW).await.unwrap().user.id;
        let demoted = members::set_role(&store, &author, &organization, &admin, Role::Member, NOW).await;
        assert_eq!(demoted.unwrap_err().code(), "last_admin");
        let removed = members::remove(&store, &author, &organization, &admin, KeysOfMember::Keep, NOW).await;
        assert_eq!(removed.unwrap_err().code(), "last_admin");

        members::set_role(&store, &author, &organization, &bob, Role::Admin, NOW).await.unwrap();
        members::set_role(&store, &author, &organization, &admin, Role::Member, NOW).await.unwrap();
        let list = members::list(&store, &organization, Page::default()).await.unwrap();
        let roles: Vec<_> = list.iter().map(|member| (member.user == bob, member.role)).collect();
        assert!(roles.contains(&(true, Role::Admin)) && roles.contains(&(false, Role::Member)), "{roles:?}");
        let joined = list.iter().find(|member| member.user == admin).unwrap();
        assert_eq!(joined.workspaces, std::slice::from_ref(&first.workspace.id));
        members::remove(&store, &author, &organization, &admin, KeysOfMember::Keep, NOW).await.unwrap();
        let again = members::remove(&store, &author, &organization, &admin, KeysOfMember::Keep, NOW).await;
        assert_eq!(again.unwrap_err().code(), "not_found");
    })
    .await;
}
