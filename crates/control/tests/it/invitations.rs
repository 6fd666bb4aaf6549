use crate::databases::on_both;
use crate::{DEFAULTS, NOW, command, session_command};
use control::invitations::{self, AcceptedBy, InvitationRequest};
use control::sessions::{self, ActiveSession, Origin};
use control::{CommandError, bootstrap, organizations, sign_in, users, workspaces};
use domain::invitation::LIFETIME_MILLIS;
use domain::user::Role;
use domain::{OrganizationId, Timestamp, WorkspaceId};
use store::Store;

pub(crate) async fn new_workspace(store: &Store, organization: &OrganizationId) -> WorkspaceId {
    workspaces::create_for_others(command(store), organization, "Work").await.unwrap().id
}

/// Invites a member to workspaces, or to a new one.
async fn invite(
    store: &Store,
    organization: &OrganizationId,
    email: &str,
    workspaces: Vec<WorkspaceId>,
) -> Result<String, CommandError> {
    let workspaces = if workspaces.is_empty() { vec![new_workspace(store, organization).await] } else { workspaces };
    let request = InvitationRequest { email, role: Role::Member, workspaces };
    invitations::create(command(store), organization, request).await.map(|created| created.token)
}

async fn accept(
    store: &Store,
    token: &str,
    password: Option<&str>,
    now: Timestamp,
) -> Result<ActiveSession, CommandError> {
    let origin = Origin::default();
    let by = AcceptedBy::Account { password, signed_in: None };
    invitations::accept(session_command(store, &origin, now), token, by).await
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

/// SPEC 2.1: "A user belongs to one or more workspaces".
#[tokio::test]
async fn a_member_is_invited_to_at_least_one_workspace() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let request = |role| InvitationRequest { email: "eve@example.com", role, workspaces: vec![] };
        let member = invitations::create(command(&store), &first.organization.id, request(Role::Member)).await;
        let refused = member.err().unwrap();
        assert_eq!((refused.code(), refused.field()), ("invalid_value", Some("workspaceIds")));
        invitations::create(command(&store), &first.organization.id, request(Role::Admin)).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_existing_user_joins_with_their_password_and_keeps_a_higher_role() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let other = organizations::create(command(&store), "Other").await.unwrap();
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

/// An administrator of any organization can accept an invitation for any address. The owner of the address, who cannot
/// know that password, still joins another organization, and neither account can use the other.
#[tokio::test]
async fn an_account_that_another_user_prepared_does_not_keep_the_owner_out() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let attackers = organizations::create(command(&store), "Attackers").await.unwrap().id;
        let squat = invite(&store, &attackers, "eve@example.com", vec![]).await.unwrap();
        let squatter = accept(&store, &squat, Some("attacker's password"), NOW).await.unwrap().user;

        let link = invite(&store, &first.organization.id, "eve@example.com", vec![]).await.unwrap();
        let preview = invitations::preview(&store, &link, NOW).await.unwrap();
        assert_eq!((preview.account_exists, preview.account_proven), (true, false));
        assert_eq!(accept(&store, &link, Some("eve's password"), NOW).await.unwrap_err().code(), "bad_credentials");
        let beside = async |link: &str, password| {
            let by = AcceptedBy::NewAccount { password: Some(password) };
            invitations::accept(session_command(&store, &Origin::default(), NOW), link, by).await
        };
        let eve = beside(&link, "eve's password").await.unwrap().user;
        assert_ne!(eve.id, squatter.id);
        let nowhere = Origin::default();
        let enter = async |password| {
            let signed = sign_in::sign_in(session_command(&store, &nowhere, NOW), "eve@example.com", password).await;
            signed.map(|signed| signed.user)
        };
        let (one, other) = (enter("eve's password").await.unwrap(), enter("attacker's password").await.unwrap());
        assert_eq!((&one.id, one.email.as_str(), one.memberships.len()), (&eve.id, "eve@example.com", 1));
        assert_eq!((&other.id, other.email.as_str(), other.memberships.len()), (&squatter.id, "eve@example.com", 1));
        assert_eq!(users::show_by_email(&store, "eve@example.com").await.unwrap_err().field(), Some("email"));

        // The password of the other account is not the current one.
        let command_now = session_command(&store, &nowhere, NOW);
        let signed = sign_in::sign_in(command_now, "eve@example.com", "eve's password").await.unwrap();
        let change = async |current| sessions::change_password(command_now, &signed, current, "eve's password").await;
        assert_eq!(change("attacker's password").await.unwrap_err().field(), Some("currentPassword"));
        change("eve's password").await.unwrap();

        // One organization cannot use up the accounts of an address.
        let again = invite(&store, &attackers, "eve@example.com", vec![]).await.unwrap();
        assert_eq!(beside(&again, "another password").await.unwrap_err().code(), "email_taken");

        // The operator vouches for one of them, which then has the address for itself; a proven account is never doubled.
        let edit = users::Edit { email_proven: Some(true), ..users::Edit::default() };
        users::set(command(&store), &eve.id, edit).await.unwrap();
        assert_eq!(users::show_by_email(&store, "eve@example.com").await.unwrap().id, eve.id);
        let refused = users::set(command(&store), &squatter.id, edit).await.unwrap_err();
        assert_eq!(refused.code(), "email_taken");
        assert_eq!(enter("attacker's password").await.unwrap().id, squatter.id);
        let third = organizations::create(command(&store), "Third").await.unwrap().id;
        let link = invite(&store, &third, "eve@example.com", vec![]).await.unwrap();
        assert!(invitations::preview(&store, &link, NOW).await.unwrap().account_proven);
        assert_eq!(beside(&link, "a third password").await.unwrap_err().code(), "email_taken");
        assert_eq!(accept(&store, &link, Some("eve's password"), NOW).await.unwrap().user.id, eve.id);
    })
    .await;
}

#[tokio::test]
async fn the_operator_creates_an_account_for_an_address_that_another_user_took() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let link = invite(&store, &first.organization.id, "eve@example.com", vec![]).await.unwrap();
        let squatter = accept(&store, &link, Some("attacker's password"), NOW).await.unwrap().user;
        let new = users::NewUser {
            email: "eve@example.com",
            password: Some("eve's password"),
            organization: &first.organization.id,
            role: Role::Member,
            workspaces: &[],
            operator: false,
        };
        let eve = users::create(command(&store), new).await.unwrap().user;
        assert_eq!(users::show_by_email(&store, "eve@example.com").await.unwrap().id, eve.id);
        assert_eq!(users::show(&store, &squatter.id).await.unwrap().email.as_str(), "eve@example.com");
        assert_eq!(users::create(command(&store), new).await.unwrap_err().code(), "email_taken");
    })
    .await;
}

/// A session that ended while its request was on the way, for example because the owner of the address took over the
/// account, accepts nothing.
#[tokio::test]
async fn a_session_that_has_ended_accepts_no_invitation() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let other = organizations::create(command(&store), "Other").await.unwrap().id;
        let origin = Origin::default();
        let signed = sign_in::sign_in(session_command(&store, &origin, NOW), "admin@localhost", &first.password).await;
        let signed = signed.unwrap();
        let token = invite(&store, &other, "admin@localhost", vec![]).await.unwrap();
        let accept = async || {
            let by = AcceptedBy::Account { password: None, signed_in: Some(&signed) };
            invitations::accept(session_command(&store, &origin, NOW), &token, by).await
        };
        sessions::sign_out(session_command(&store, &origin, NOW), &signed).await.unwrap();
        assert_eq!(accept().await.unwrap_err().code(), "bad_credentials");
        assert_eq!(users::show(&store, &first.user.id).await.unwrap().role_in(&other), None);
    })
    .await;
}
