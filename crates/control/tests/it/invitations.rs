use crate::databases::on_both;
use crate::{DEFAULTS, NOW};
use control::invitations::{self, InvitationRequest};
use control::sessions::{ActiveSession, Origin};
use control::{Author, CommandError, bootstrap, organizations, users};
use domain::invitation::LIFETIME_MILLIS;
use domain::session::Lifetimes;
use domain::user::Role;
use domain::{OrganizationId, Timestamp, WorkspaceId};
use store::Store;

const LIFETIMES: Lifetimes = Lifetimes { idle_millis: 10_000, absolute_millis: 25_000 };

async fn invite(
    store: &Store,
    organization: &OrganizationId,
    email: &str,
    workspaces: Vec<WorkspaceId>,
) -> Result<String, CommandError> {
    let request = InvitationRequest { email, role: Role::Member, workspaces };
    invitations::create(store, &Author::CommandLine, organization, request, NOW).await.map(|created| created.token)
}

async fn accept(
    store: &Store,
    token: &str,
    password: Option<&str>,
    now: Timestamp,
) -> Result<ActiveSession, CommandError> {
    let origin = Origin::default();
    invitations::accept(store, token, password, None, &origin, &LIFETIMES, now).await
}

#[tokio::test]
async fn an_invitation_creates_one_account_and_expires() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let (organization, workspace) = (&first.organization.id, &first.workspace.id);
        let token = invite(&store, organization, "Eve@example.com", vec![workspace.clone()]).await.unwrap();
        let preview = invitations::preview(&store, &token, NOW).await.unwrap();
        assert_eq!((preview.organization.name.as_str(), preview.account_exists), ("Default", false));

        let end = NOW.plus_millis(LIFETIME_MILLIS);
        for (token, password, now, code) in [
            (token.as_str(), Some("good enough"), end, "not_found"),
            ("made up", Some("good enough"), NOW, "not_found"),
            (&token, None, NOW, "invalid_value"),
            (&token, Some("short"), NOW, "invalid_value"),
        ] {
            assert_eq!(accept(&store, token, password, now).await.unwrap_err().code(), code);
        }
        let eve = accept(&store, &token, Some("good enough"), NOW).await.unwrap();
        assert_eq!(eve.user.email.as_str(), "eve@example.com");
        assert_eq!(
            (eve.session.organization.as_ref(), eve.session.workspace.as_ref()),
            (Some(organization), Some(workspace))
        );
        assert_eq!(accept(&store, &token, Some("good enough"), NOW).await.unwrap_err().code(), "not_found");
        assert_eq!(invitations::preview(&store, &token, NOW).await.err().unwrap().code(), "not_found");
    })
    .await;
}

#[tokio::test]
async fn an_existing_user_joins_with_their_password_and_keeps_a_higher_role() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let other = organizations::create(&store, &Author::CommandLine, "Other", NOW).await.unwrap();
        let foreign = invite(&store, &other.id, "x@example.com", vec![first.workspace.id.clone()]).await;
        assert_eq!(foreign.unwrap_err().code(), "not_found", "workspaces of another organization do not exist");

        let token = invite(&store, &other.id, "admin@localhost", vec![]).await.unwrap();
        assert!(invitations::preview(&store, &token, NOW).await.unwrap().account_exists);
        let refused = accept(&store, &token, Some("a guess at it"), NOW).await.unwrap_err();
        assert_eq!(refused.code(), "bad_credentials");
        accept(&store, &token, Some(&first.password), NOW).await.unwrap();
        let user = users::show(&store, &first.user.id).await.unwrap();
        assert_eq!(user.role_in(&other.id), Some(Role::Member));

        let again = invite(&store, &first.organization.id, "admin@localhost", vec![]).await.unwrap();
        accept(&store, &again, Some(&first.password), NOW).await.unwrap();
        let user = users::show(&store, &first.user.id).await.unwrap();
        assert_eq!(user.role_in(&first.organization.id), Some(Role::Admin));
    })
    .await;
}
