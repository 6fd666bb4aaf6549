use crate::databases::on_both;
use crate::{DEFAULTS, NOW, command};
use control::keys::{self, DisabledKeys, KeyChange, KeyRequest};
use control::members::{self, KeysOfMember};
use control::workspaces::Authority;
use control::{Author, Command, CommandErrorKind, bootstrap, organizations, users, workspaces};
use domain::budget::Budgets;
use domain::endpoint::labels::Labels;
use domain::user::Role;
use domain::workspace::{Limits, OwnLimits};
use domain::workspace_edit::{LimitChange, LimitChanges};
use domain::{KeyId, KeyLimits, KeyRestrictions, KeyState, OrganizationId};
use std::collections::BTreeSet;
use store::audit::{self, Filter};
use store::key_list::{CreatedBy, KeyFilter, KeysOf};
use store::{Page, Store};

const REQUEST: KeyRequest<'_> = KeyRequest {
    name: "ci",
    expires_at: None,
    requests_per_minute: None,
    tokens_per_minute: None,
    limits: KeyLimits::none(),
    trusts_end_user: false,
    restrictions: KeyRestrictions { permissions: None, allowed_models: None, allowed_ips: None },
    labels: Labels::new(),
    budgets: Budgets::none(),
};

#[tokio::test]
async fn the_limit_of_keys_is_the_workspaces_or_the_default() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let author = Author::User { id: first.user.id, address: "192.0.2.1".into() };
        let by_user = Command { author: &author, ..command(&store) };
        let workspace = first.workspace.id;
        let created = keys::create(by_user, &workspace, REQUEST, &DEFAULTS).await.unwrap();
        assert_eq!(created.key.created_by.as_ref(), author.user());
        let rejected = keys::create(by_user, &workspace, REQUEST, &DEFAULTS).await.unwrap_err();
        assert_eq!((rejected.code(), rejected.kind()), ("key_limit_reached", CommandErrorKind::Conflict));

        let limits = LimitChanges { max_api_keys: LimitChange::Set(3), ..LimitChanges::default() };
        let edit = workspaces::Edit { limits, ..workspaces::Edit::default() };
        workspaces::set(by_user, &workspace, edit, Authority::Operator, &DEFAULTS).await.unwrap();
        keys::create(by_user, &workspace, REQUEST, &DEFAULTS).await.unwrap();
        assert_eq!(
            keys::list(&store, KeyFilter::all(KeysOf::Workspace(&workspace)), Page::default()).await.unwrap().len(),
            3
        );
    })
    .await;
}

#[tokio::test]
async fn every_state_change_of_a_key_is_in_the_audit_log() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let (workspace, key) = (first.workspace.id, first.key.id);
        keys::change(command(&store), &workspace, &key, KeyChange::Disable).await.unwrap();
        let rejected = keys::change(command(&store), &workspace, &key, KeyChange::Revoke).await.unwrap_err();
        assert_eq!(rejected.code(), "key_disabled");
        keys::change(command(&store), &workspace, &key, KeyChange::Enable).await.unwrap();
        keys::change(command(&store), &workspace, &key, KeyChange::Expire).await.unwrap();
        keys::change(command(&store), &workspace, &key, KeyChange::Revoke).await.unwrap();
        assert!(keys::show(&store, &key).await.unwrap().revoked_at.is_some());

        keys::change(command(&store), &workspace, &key, KeyChange::Revoke).await.unwrap();

        let filter = Filter { organization: Some(first.organization.id.clone()), ..Filter::default() };
        let log = audit::list(&store, &filter, 20).await.unwrap();
        for action in ["key.create", "key.disable", "key.enable", "key.expire", "key.revoke"] {
            let found: Vec<_> = log.iter().filter(|one| one.entry.action == action).collect();
            assert_eq!(found.len(), 1, "{action}");
            assert_ne!(found[0].entry.before, found[0].entry.after);
        }
        assert!(!format!("{log:?}").contains(&first.key_text.reveal()[16..]));
    })
    .await;
}

#[tokio::test]
async fn an_invalid_key_request_is_rejected() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        for (request, field) in [
            (KeyRequest { name: " ", ..REQUEST }, "name"),
            (KeyRequest { expires_at: Some(NOW), ..REQUEST }, "expiresAt"),
            (KeyRequest { requests_per_minute: Some(0), ..REQUEST }, "requestsPerMinute"),
            (KeyRequest { tokens_per_minute: Some(0), ..REQUEST }, "tokensPerMinute"),
        ] {
            let rejected = keys::create(command(&store), &first.workspace.id, request, &DEFAULTS).await.unwrap_err();
            assert_eq!((rejected.code(), rejected.field()), ("invalid_value", Some(field)));
        }
    })
    .await;
}

/// The ids of the selected keys that work.
async fn active(store: &Store, organization: &OrganizationId, created_by: CreatedBy<'_>) -> BTreeSet<KeyId> {
    let filter = KeyFilter { created_by, ..KeyFilter::all(KeysOf::Organization(organization)) };
    let found = keys::list(store, filter, Page::default()).await.unwrap();
    found.into_iter().filter(|one| one.key.state(NOW) == KeyState::Active).map(|one| one.key.id).collect()
}

#[tokio::test]
async fn keys_of_removed_members_are_listed_and_revoked_together() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let home = &first.organization.id;
        let other = organizations::create(command(&store), "Other").await.unwrap().id;
        let lab = workspaces::create(command(&store), home, "Lab", OwnLimits::default()).await.unwrap().id;
        let add = async |email: &str| {
            let (password, role) = (Some("a password"), Role::Member);
            let new = users::NewUser { email, password, organization: home, role, workspaces: &[], operator: false };
            users::create(command(&store), new).await.unwrap().user.id
        };
        let (ann, ben) = (add("ann@example.com").await, add("ben@example.com").await);
        let create = async |user, workspace| {
            let author = Author::User { id: domain::UserId::clone(user), address: String::new() };
            keys::create(Command { author: &author, ..command(&store) }, workspace, REQUEST, &DEFAULTS)
                .await
                .unwrap()
                .key
                .id
        };
        let of_ann = BTreeSet::from([create(&ann, &first.workspace.id).await, create(&ann, &lab).await]);
        let of_ben = create(&ben, &lab).await;
        assert_eq!(active(&store, home, CreatedBy::User(&ann)).await, of_ann, "in all workspaces");
        assert_eq!(active(&store, home, CreatedBy::RemovedMembers).await, BTreeSet::new());
        assert_eq!(active(&store, home, CreatedBy::Anyone).await.len(), 4);
        assert_eq!(active(&store, &other, CreatedBy::Anyone).await, BTreeSet::new());

        members::remove(command(&store), home, &ann, KeysOfMember::Keep).await.unwrap();
        assert_eq!(active(&store, home, CreatedBy::RemovedMembers).await, of_ann);
        let filter = KeyFilter { created_by: CreatedBy::User(&ann), ..KeyFilter::all(KeysOf::Organization(home)) };
        let listed = keys::list(&store, filter, Page::first(1)).await.unwrap();
        let creator = listed[0].creator.as_ref().unwrap();
        assert_eq!((creator.email.as_ref().unwrap().as_str(), creator.has_access), ("ann@example.com", false));
        users::delete(command(&store), &ann).await.unwrap();
        assert_eq!(active(&store, home, CreatedBy::RemovedMembers).await, of_ann, "the account is deleted, too");

        let foreign = keys::revoke_many(command(&store), &other, of_ann.clone(), DisabledKeys::Keep).await.unwrap_err();
        assert_eq!(foreign.code(), "not_found", "keys of another organization do not exist");
        let one = of_ann.first().unwrap();
        let workspace = keys::show(&store, one).await.unwrap().workspace;
        keys::change(command(&store), &workspace, one, KeyChange::Disable).await.unwrap();
        let kept = keys::revoke_many(command(&store), home, of_ann.clone(), DisabledKeys::Keep).await.unwrap();
        let states: Vec<KeyState> = kept.iter().map(|key| key.state(NOW)).collect();
        assert_eq!(states, [KeyState::Disabled, KeyState::Revoked], "revoking a disabled key is a conflict");
        for _ in 0..2 {
            let revoked = keys::revoke_many(command(&store), home, of_ann.clone(), DisabledKeys::Revoke).await.unwrap();
            assert!(revoked.iter().all(|key| key.state(NOW) == KeyState::Revoked), "unless that is asked for");
        }
        let filter = Filter { action: Some("key.revoke".to_owned()), ..Filter::default() };
        assert_eq!(audit::list(&store, &filter, 20).await.unwrap().len(), 2, "each key once");

        members::remove(command(&store), home, &ben, KeysOfMember::Revoke).await.unwrap();
        assert_eq!(keys::show(&store, &of_ben).await.unwrap().state(NOW), KeyState::Revoked);
    })
    .await;
}

#[tokio::test]
async fn the_labels_of_the_newest_keys_are_listed() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let workspace = first.workspace.id;
        let limits = Limits { max_api_keys: 1_000, ..DEFAULTS };
        for number in 0..60 {
            let own = (0..3).map(|index| (format!("own-{number}-{index}"), String::new()));
            let labels = own.chain([("team".to_owned(), format!("{number:02}"))]).collect();
            let later = Command { now: NOW.plus_millis(number), ..command(&store) };
            keys::create(later, &workspace, KeyRequest { labels, ..REQUEST }, &limits).await.unwrap();
        }
        let found = keys::labels(&store, &workspace).await.unwrap();
        assert_eq!((found.len(), found["team"].len()), (100, 50));
        assert_eq!((found["team"].first().unwrap().as_str(), found["team"].last().unwrap().as_str()), ("10", "59"));
        assert!(found.contains_key("own-59-0") && !found.contains_key("own-0-0"));
    })
    .await;
}
