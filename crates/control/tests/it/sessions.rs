use crate::databases::on_both;
use crate::{DEFAULTS, LIFETIMES, NOW, command, session_command};
use control::bootstrap::{self, FirstStart};
use control::members::KeysOfMember;
use control::sessions::{self, ActiveSession, Origin};
use control::{CommandError, CommandErrorKind, access, known_origins, sign_in, users};
use domain::session::SessionToken;
use domain::{OrganizationId, Timestamp, attempts};
use store::Store;
use store::audit::{self, Filter};
use tokio::task::JoinSet;

fn origin() -> Origin {
    from("192.0.2.7")
}

fn from(address: &str) -> Origin {
    Origin::new(address.into(), "a browser\r\nwith: a header", None)
}

fn later(millis: i64) -> Timestamp {
    NOW.plus_millis(millis)
}

async fn first(store: &Store) -> FirstStart {
    bootstrap::first_start(store, &DEFAULTS, NOW).await.unwrap().unwrap()
}

async fn enter(store: &Store, email: &str, password: &str, now: Timestamp) -> Result<ActiveSession, CommandError> {
    sign_in::sign_in(session_command(store, &origin(), now), email, password).await
}

async fn identify(store: &Store, token: &SessionToken, now: Timestamp) -> Option<ActiveSession> {
    sessions::identify(store, token.clone(), &LIFETIMES, now).await.unwrap()
}

#[tokio::test]
async fn a_session_starts_in_its_users_workspace_and_expires() {
    on_both(async |_, store| {
        let first = first(&store).await;
        let signed = enter(&store, "Admin@LocalHost", &first.password, NOW).await.unwrap();
        assert_eq!(signed.session.organization.as_ref(), Some(&first.organization.id));
        assert_eq!(signed.session.workspace.as_ref(), Some(&first.workspace.id));
        assert_eq!(signed.session.user_agent, "a browserwith: a header");
        // Each use moves the idle end, none the absolute one.
        for at in [9_000, 18_000, 24_999] {
            assert!(identify(&store, &signed.token, later(at)).await.is_some(), "{at}");
        }
        assert!(identify(&store, &signed.token, later(25_000)).await.is_none());

        let idle = enter(&store, "admin@localhost", &first.password, later(30_000)).await.unwrap();
        assert!(identify(&store, &idle.token, later(39_999)).await.is_some());
        assert!(identify(&store, &idle.token, later(49_999)).await.is_none());

        let out = enter(&store, "admin@localhost", &first.password, later(60_000)).await.unwrap();
        sessions::sign_out(session_command(&store, &origin(), later(60_001)), &out).await.unwrap();
        assert!(identify(&store, &out.token, later(60_002)).await.is_none());
        let filter = Filter { subject: Some(first.user.id.to_string()), ..Filter::default() };
        let log = audit::list(&store, &filter, 50).await.unwrap();
        assert_eq!((log[0].entry.action.as_str(), log[0].entry.address.as_deref()), ("session.end", Some("192.0.2.7")));
        assert!(!format!("{log:?}").contains(out.token.reveal()));
    })
    .await;
}

#[tokio::test]
async fn concurrent_password_guesses_are_limited_and_the_reported_wait_is_exact() {
    on_both(async |_, store| {
        let first = first(&store).await;
        for email in ["admin@localhost", "unknown@example.com"] {
            let mut guesses = JoinSet::new();
            for _ in 0..14 {
                let store = store.clone();
                guesses.spawn(async move { enter(&store, email, "wrong password", NOW).await.map(drop) });
            }
            let mut codes: Vec<_> = guesses.join_all().await.into_iter().map(|out| out.unwrap_err().code()).collect();
            codes.sort_unstable();
            assert_eq!(codes[..10], ["bad_credentials"; 10], "{email}");
            assert_eq!(codes[10..], ["too_many_attempts"; 4], "{email}");
        }
        let refused = enter(&store, "admin@localhost", &first.password, later(1)).await.unwrap_err();
        let CommandError::TooManyAttempts { wait, now } = refused else { panic!("{refused}") };
        assert_eq!((refused_kind(&store, &first).await, wait.retry_after_secs(now)), (CommandErrorKind::TooMany, 900));
        enter(&store, "admin@localhost", &first.password, wait.until).await.unwrap();
        // A successful sign-in resets the count.
        for _ in 0..9 {
            enter(&store, "admin@localhost", "wrong", wait.until).await.unwrap_err();
        }
        enter(&store, "admin@localhost", &first.password, wait.until).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn guesses_from_many_addresses_are_limited_but_not_at_addresses_that_signed_in_before() {
    on_both(async |_, store| {
        let first = first(&store).await;
        let enter = async |address: &str, password: &str| {
            sign_in::sign_in(session_command(&store, &from(address), NOW), "admin@localhost", password).await
        };
        let home = enter("192.0.2.7", &first.password).await.unwrap();
        known_origins::remember(session_command(&store, &from("192.0.2.7"), NOW), &home).await.unwrap();
        // A hundred wrong passwords were counted for the account.
        let mut tx = store.begin().await.unwrap();
        for _ in 0..attempts::PER_ACCOUNT.max {
            store::attempts::take(&mut tx, "account admin@localhost", &attempts::PER_ACCOUNT, NOW).await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(enter("198.51.100.1", &first.password).await.unwrap_err().code(), "too_many_attempts");
        enter("192.0.2.7", &first.password).await.unwrap();

        // A new password of the operator's makes all of them unknown: another user may have signed in.
        let password = users::reset_password(command(&store), &first.user.id, None).await;
        let password = password.unwrap().unwrap();
        assert_eq!(enter("192.0.2.7", &password).await.unwrap_err().code(), "too_many_attempts");
    })
    .await;
}

async fn refused_kind(store: &Store, first: &FirstStart) -> CommandErrorKind {
    enter(store, "admin@localhost", &first.password, later(1)).await.unwrap_err().kind()
}

#[tokio::test]
async fn a_changed_password_ends_the_other_sessions() {
    on_both(async |_, store| {
        let first = first(&store).await;
        let here = enter(&store, "admin@localhost", &first.password, NOW).await.unwrap();
        let there = enter(&store, "admin@localhost", &first.password, NOW).await.unwrap();
        assert_eq!(sessions::list(&store, &first.user, &LIFETIMES, NOW).await.unwrap().len(), 2);
        let change = async |current: &str, new: &str| {
            sessions::change_password(session_command(&store, &origin(), NOW), &here, current, new).await
        };
        let wrong = change("wrong", "another password").await.unwrap_err();
        assert_eq!((wrong.code(), wrong.field()), ("invalid_value", Some("currentPassword")));
        let weak = change(&first.password, "short").await.unwrap_err();
        assert_eq!((weak.code(), weak.field()), ("invalid_value", Some("newPassword")));
        change(&first.password, "another password").await.unwrap();
        assert!(identify(&store, &here.token, NOW).await.is_some());
        assert!(identify(&store, &there.token, NOW).await.is_none());
        enter(&store, "admin@localhost", &first.password, NOW).await.unwrap_err();
        enter(&store, "admin@localhost", "another password", NOW).await.unwrap();

        users::reset_password(command(&store), &first.user.id, None).await.unwrap();
        assert!(identify(&store, &here.token, NOW).await.is_none(), "a reset ends every session");
    })
    .await;
}

#[tokio::test]
async fn a_password_changes_a_few_times_an_hour() {
    on_both(async |_, store| {
        let mut password = first(&store).await.password;
        let here = enter(&store, "admin@localhost", &password, NOW).await.unwrap();
        let change = async |current: &str, new: &str, now| {
            sessions::change_password(session_command(&store, &origin(), now), &here, current, new).await
        };
        for number in 0..attempts::PASSWORD_CHANGES.max {
            change("wrong", "another password", NOW).await.unwrap_err();
            let new = format!("password {number}");
            change(&password, &new, NOW).await.unwrap();
            password = new;
        }
        let rejected = change(&password, "another password", later(3_599_000)).await.unwrap_err();
        let CommandError::TooManyAttempts { wait, now } = rejected else { panic!("{rejected}") };
        assert_eq!(wait.retry_after_secs(now), 1);
        // Counting wrong passwords of others does not forget it.
        enter(&store, "unknown@example.com", "wrong", later(3_599_000)).await.unwrap_err();
        change(&password, "another password", later(3_599_500)).await.unwrap_err();
        change(&password, "another password", wait.until).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_session_switches_only_to_workspaces_of_its_user() {
    on_both(async |_, store| {
        let first = first(&store).await;
        let other = control::organizations::create(command(&store), "Other").await.unwrap();
        let new = users::NewUser {
            email: "bob@example.com",
            password: Some("bob's password"),
            organization: &first.organization.id,
            role: domain::user::Role::Member,
            workspaces: &[],
            operator: false,
        };
        users::create(command(&store), new).await.unwrap();
        let bob = enter(&store, "bob@example.com", "bob's password", NOW).await.unwrap();
        assert_eq!((bob.session.organization.is_some(), &bob.session.workspace), (true, &None));
        let go = async |organization: Option<&OrganizationId>, workspace: Option<&domain::WorkspaceId>| {
            let (origin, organization, workspace) = (origin(), organization.cloned(), workspace.cloned());
            let moved =
                sessions::set_context(session_command(&store, &origin, NOW), bob.clone(), organization, workspace)
                    .await;
            moved.map_err(|refusal| refusal.code())
        };
        let (home, workspace) = (&first.organization.id, &first.workspace.id);
        assert_eq!(go(Some(&other.id), None).await.unwrap_err(), "not_found");
        assert_eq!(go(Some(home), Some(workspace)).await.unwrap_err(), "not_a_member");
        assert_eq!(go(None, Some(workspace)).await.unwrap_err(), "invalid_value");
        control::workspaces::add_member(command(&store), workspace, &bob.user.id).await.unwrap();
        go(Some(home), Some(workspace)).await.unwrap();
        let nowhere = go(None, None).await.unwrap();
        assert_eq!(access::organization(&nowhere).unwrap_err().code(), "no_organization_context");

        // An operator may access every organization; an ended membership is not a context any more.
        let operator = enter(&store, "admin@localhost", &first.password, NOW).await.unwrap();
        sessions::set_context(session_command(&store, &origin(), NOW), operator, Some(other.id), None).await.unwrap();
        go(Some(home), Some(workspace)).await.unwrap();
        control::members::remove(command(&store), home, &bob.user.id, KeysOfMember::Keep).await.unwrap();
        let stale = identify(&store, &bob.token, NOW).await.unwrap();
        assert_eq!(access::organization(&stale).unwrap_err().code(), "no_organization_context");
    })
    .await;
}
