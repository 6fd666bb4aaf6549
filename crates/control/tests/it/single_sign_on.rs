use crate::databases::on_both;
use crate::invitations::new_workspace;
use crate::{DEFAULTS, LIFETIMES, NOW, command, session_command};
use control::invitations::{self, AcceptedBy, InvitationRequest};
use control::members::KeysOfMember;
use control::sessions::{self, ActiveSession, Origin};
use control::single_sign_on::{self, Identity, Mapping};
use control::{CommandError, bootstrap, members, organizations, sign_in, users};
use domain::user::Role;
use domain::{OrganizationId, UserId};
use store::Store;
use store::audit::{self, Filter};

fn mapping(organization: &OrganizationId) -> Mapping {
    Mapping {
        organization: Some(organization.clone()),
        admin_groups: vec!["platform".into()],
        member_groups: vec!["staff".into()],
    }
}

/// Signs in through the provider, which has verified the address.
async fn enter(store: &Store, email: &str, groups: &[&str], mapping: &Mapping) -> Result<ActiveSession, CommandError> {
    let identity = Identity {
        issuer: "https://login.example.com".into(),
        subject: format!("subject of {email}"),
        email: email.into(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
    };
    single_sign_on::enter(session_command(store, &Origin::default(), NOW), &identity, mapping).await
}

async fn with_password(store: &Store, email: &str, password: &str) -> Result<ActiveSession, CommandError> {
    sign_in::sign_in(session_command(store, &Origin::default(), NOW), email, password).await
}

/// An administrator of the organization invites the address and accepts the invitation.
async fn squat(store: &Store, organization: &OrganizationId, email: &str, role: Role) -> ActiveSession {
    let workspaces = match role {
        Role::Admin => Vec::new(),
        Role::Member => vec![new_workspace(store, organization).await],
    };
    let request = InvitationRequest { email, role, workspaces };
    let created = invitations::create(command(store), organization, request).await.unwrap();
    let by = AcceptedBy::Account { password: Some("attacker's password"), signed_in: None };
    invitations::accept(session_command(store, &Origin::default(), NOW), &created.token, by).await.unwrap()
}

async fn add_user(store: &Store, organization: &OrganizationId, email: &str, role: Role) -> UserId {
    let new = users::NewUser {
        email,
        password: Some("their password"),
        organization,
        role,
        workspaces: &[],
        operator: false,
    };
    users::create(command(store), new).await.unwrap().user.id
}

/// The actions in the audit log of the organization.
async fn actions(store: &Store, organization: &OrganizationId) -> Vec<String> {
    let filter = Filter { organization: Some(organization.clone()), ..Filter::default() };
    audit::list(store, &filter, 100).await.unwrap().into_iter().map(|one| one.entry.action).collect()
}

#[tokio::test]
async fn the_owner_of_an_address_takes_over_an_account_that_an_invitation_created() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let (home, mapping) = (&first.organization.id, mapping(&first.organization.id));
        let theirs = organizations::create(command(&store), "Attackers").await.unwrap().id;
        add_user(&store, &theirs, "mallory@example.com", Role::Admin).await;
        let squatted = squat(&store, &theirs, "ceo@example.com", Role::Admin).await;
        assert!(!squatted.user.email_proven);

        let owner = enter(&store, "CEO@example.com", &["platform"], &mapping).await.unwrap();
        assert_eq!(owner.user.id, squatted.user.id);
        assert_eq!(owner.user.role_in(home), Some(Role::Admin));
        let refused = with_password(&store, "ceo@example.com", "attacker's password").await.unwrap_err();
        assert_eq!(refused.code(), "bad_credentials");
        assert!(sessions::identify(&store, squatted.token, &LIFETIMES, NOW).await.unwrap().is_none());
        assert!(sessions::identify(&store, owner.token, &LIFETIMES, NOW).await.unwrap().is_some());
        let user = users::show(&store, &owner.user.id).await.unwrap();
        assert!(user.email_proven);
        assert_eq!((user.role_in(home), user.role_in(&theirs)), (Some(Role::Admin), None));
        assert!(actions(&store, home).await.contains(&"user.take-over".to_owned()));
        assert!(actions(&store, &theirs).await.contains(&"member.remove".to_owned()));

        // A later invitation joins the proven account, and a later sign-in takes nothing away.
        let workspaces = vec![new_workspace(&store, &theirs).await];
        let request = InvitationRequest { email: "ceo@example.com", role: Role::Member, workspaces };
        let invited = invitations::create(command(&store), &theirs, request).await.unwrap();
        let (origin, again) = (Origin::default(), enter(&store, "ceo@example.com", &["platform"], &mapping).await);
        let signed_in = again.unwrap();
        let by = AcceptedBy::Account { password: None, signed_in: Some(&signed_in) };
        let joined = invitations::accept(session_command(&store, &origin, NOW), &invited.token, by).await;
        let joined = joined.unwrap();
        enter(&store, "ceo@example.com", &["platform"], &mapping).await.unwrap();
        assert!(sessions::identify(&store, joined.token, &LIFETIMES, NOW).await.unwrap().is_some());
        assert_eq!(users::show(&store, &user.id).await.unwrap().role_in(&theirs), Some(Role::Member));
    })
    .await;
}

#[tokio::test]
async fn an_account_that_the_operator_created_keeps_its_password_and_memberships() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let mapping = mapping(&first.organization.id);
        let other = organizations::create(command(&store), "Other").await.unwrap().id;
        let bob = add_user(&store, &other, "bob@example.com", Role::Admin).await;
        let before = with_password(&store, "bob@example.com", "their password").await.unwrap();
        let entered = enter(&store, "bob@example.com", &["staff"], &mapping).await.unwrap();
        assert_eq!(entered.user.id, bob);
        assert!(sessions::identify(&store, before.token, &LIFETIMES, NOW).await.unwrap().is_some());
        with_password(&store, "bob@example.com", "their password").await.unwrap();
        assert_eq!(users::show(&store, &bob).await.unwrap().memberships.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn the_operator_vouches_for_an_address_by_a_flag_or_a_new_password() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let (home, mapping) = (&first.organization.id, mapping(&first.organization.id));
        let (one, two) = (
            squat(&store, home, "one@example.com", Role::Member).await.user.id,
            squat(&store, home, "two@example.com", Role::Member).await.user.id,
        );
        let edit = users::Edit { email_proven: Some(true), ..users::Edit::default() };
        assert!(users::set(command(&store), &one, edit).await.unwrap().email_proven);
        users::reset_password(command(&store), &two, Some("a new password")).await.unwrap();
        for (email, password) in [("one@example.com", "attacker's password"), ("two@example.com", "a new password")] {
            enter(&store, email, &["staff"], &mapping).await.unwrap();
            with_password(&store, email, password).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn the_last_administrator_stays_when_an_account_is_taken_over() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let mapping = mapping(&first.organization.id);
        let other = organizations::create(command(&store), "Other").await.unwrap().id;
        let eve = squat(&store, &other, "eve@example.com", Role::Admin).await.user.id;
        enter(&store, "eve@example.com", &["staff"], &mapping).await.unwrap();
        with_password(&store, "eve@example.com", "attacker's password").await.unwrap_err();
        let listed = members::list(&store, &other, store::Page::default()).await.unwrap();
        assert_eq!(listed.iter().map(|one| &one.user).collect::<Vec<_>>(), [&eve]);
        assert!(actions(&store, &other).await.contains(&"member.keep-last-admin".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn leaving_all_groups_at_the_provider_ends_the_membership() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let (home, mapping) = (&first.organization.id, mapping(&first.organization.id));
        let other = organizations::create(command(&store), "Other").await.unwrap().id;
        let ada = enter(&store, "ada@example.com", &["platform"], &mapping).await.unwrap();
        let joins = users::Edit { role: Some((&other, Role::Member)), ..users::Edit::default() };
        users::set(command(&store), &ada.user.id, joins).await.unwrap();

        let left = enter(&store, "ada@example.com", &["guests"], &mapping).await.unwrap();
        assert_eq!((left.user.role_in(home), left.session.organization.as_ref()), (None, Some(&other)));
        let before = sessions::identify(&store, ada.token, &LIFETIMES, NOW).await.unwrap().unwrap();
        assert_eq!(before.user.role_in(home), None, "in older sessions, too");
        assert!(actions(&store, home).await.contains(&"member.remove".to_owned()));
        let back = enter(&store, "ada@example.com", &["staff"], &mapping).await.unwrap();
        assert_eq!(back.user.role_in(home), Some(Role::Member));

        // Otherwise the organization would have no administrator.
        let ada = enter(&store, "ada@example.com", &["platform"], &mapping).await.unwrap().user.id;
        members::remove(command(&store), home, &first.user.id, KeysOfMember::Keep).await.unwrap();
        let last = enter(&store, "ada@example.com", &[], &mapping).await.unwrap();
        assert_eq!((&last.user.id, last.user.role_in(home)), (&ada, Some(Role::Admin)));
        assert!(actions(&store, home).await.contains(&"member.keep-last-admin".to_owned()));
    })
    .await;
}
