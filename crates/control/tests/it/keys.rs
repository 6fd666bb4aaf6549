use crate::databases::on_both;
use crate::{DEFAULTS, NOW};
use control::keys::{self, KeyChange, KeyRequest};
use control::workspaces::Authority;
use control::{Author, CommandErrorKind, bootstrap, workspaces};
use domain::workspace_edit::{LimitChange, LimitChanges};
use store::Page;
use store::audit::{self, Filter};

const REQUEST: KeyRequest<'_> =
    KeyRequest { name: "ci", expires_at: None, requests_per_minute: None, tokens_per_minute: None };

#[tokio::test]
async fn the_limit_of_keys_is_the_workspaces_or_the_default() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let author = Author::User { id: first.user.id, address: "192.0.2.1".into() };
        let workspace = first.workspace.id;
        let created = keys::create(&store, &author, &workspace, REQUEST, &DEFAULTS, NOW).await.unwrap();
        assert_eq!(created.key.created_by.as_ref(), author.user());
        let rejected = keys::create(&store, &author, &workspace, REQUEST, &DEFAULTS, NOW).await.unwrap_err();
        assert_eq!((rejected.code(), rejected.kind()), ("key_limit_reached", CommandErrorKind::Conflict));

        let limits = LimitChanges { max_api_keys: LimitChange::Set(3), ..LimitChanges::default() };
        let edit = workspaces::Edit { limits, ..workspaces::Edit::default() };
        workspaces::set(&store, &author, &workspace, edit, Authority::Operator, &DEFAULTS, NOW).await.unwrap();
        keys::create(&store, &author, &workspace, REQUEST, &DEFAULTS, NOW).await.unwrap();
        assert_eq!(keys::list(&store, &workspace, Page::default()).await.unwrap().len(), 3);
    })
    .await;
}

#[tokio::test]
async fn every_state_change_of_a_key_is_in_the_audit_log() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let (author, workspace, key) = (Author::CommandLine, first.workspace.id, first.key.id);
        keys::change(&store, &author, &workspace, &key, KeyChange::Disable, NOW).await.unwrap();
        let rejected = keys::change(&store, &author, &workspace, &key, KeyChange::Revoke, NOW).await.unwrap_err();
        assert_eq!(rejected.code(), "key_disabled");
        keys::change(&store, &author, &workspace, &key, KeyChange::Enable, NOW).await.unwrap();
        keys::change(&store, &author, &workspace, &key, KeyChange::Expire, NOW).await.unwrap();
        keys::change(&store, &author, &workspace, &key, KeyChange::Revoke, NOW).await.unwrap();
        assert!(keys::show(&store, &key).await.unwrap().revoked_at.is_some());

        keys::change(&store, &author, &workspace, &key, KeyChange::Revoke, NOW).await.unwrap();

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
            let author = Author::CommandLine;
            let rejected =
                keys::create(&store, &author, &first.workspace.id, request, &DEFAULTS, NOW).await.unwrap_err();
            assert_eq!((rejected.code(), rejected.field()), ("invalid_value", Some(field)));
        }
    })
    .await;
}
