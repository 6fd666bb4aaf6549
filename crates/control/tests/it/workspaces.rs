use crate::databases::on_both;
use crate::{DEFAULTS, NOW, command};
use control::workspaces::{self, Authority, Edit};
use control::{Author, Command, CommandError, bootstrap};
use domain::workspace::OwnLimits;
use domain::workspace_edit::{LimitChange, LimitChanges};
use domain::{Workspace, WorkspaceId};
use serde_json::Value;
use store::audit::{self, Filter};
use store::{Conflict, Page, Store};

async fn set(store: &Store, id: &WorkspaceId, edit: Edit<'_>, authority: Authority) -> Result<Workspace, CommandError> {
    workspaces::set(command(store), id, edit, authority, &DEFAULTS).await
}

fn max_api_keys(limit: u64) -> LimitChanges {
    LimitChanges { max_api_keys: LimitChange::Set(limit), ..LimitChanges::default() }
}

#[tokio::test]
async fn an_administrator_lowers_a_limit_and_only_the_operator_raises_it() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let edit = |limit| Edit { limits: max_api_keys(limit), ..Edit::default() };
        let in_force = |workspace: Workspace| workspace.limits(&DEFAULTS).max_api_keys;
        let id = first.workspace.id;
        let refused = set(&store, &id, edit(3), Authority::Admin).await.unwrap_err();
        assert_eq!((refused.code(), refused.field()), ("operator_only", Some("maxApiKeys")));
        assert_eq!(in_force(set(&store, &id, edit(1), Authority::Admin).await.unwrap()), 1);
        assert_eq!(in_force(set(&store, &id, edit(9), Authority::Operator).await.unwrap()), 9);
        assert_eq!(in_force(set(&store, &id, edit(4), Authority::Admin).await.unwrap()), 4);
        assert_eq!(in_force(workspaces::show(&store, &id).await.unwrap()), 4);
        let stale = Edit { version: Some(1), ..edit(99) };
        let refused = set(&store, &id, stale, Authority::Admin).await.unwrap_err();
        assert_eq!(refused.code(), "version_conflict", "a stale edit is rejected before anything else");
    })
    .await;
}

#[tokio::test]
async fn an_edit_of_a_stale_version_is_rejected_and_one_without_a_version_is_not() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let id = first.workspace.id;
        let edit = Edit { name: Some("Labs"), version: Some(1), ..Edit::default() };
        assert_eq!(set(&store, &id, edit, Authority::Operator).await.unwrap().version, 2);
        match set(&store, &id, edit, Authority::Operator).await {
            Err(CommandError::Conflict(Conflict::VersionConflict { current })) => {
                assert_eq!((current.version, &*current.name), (2, "Labs"));
            }
            other => panic!("{other:?}"),
        }
        let edit = Edit { limits: max_api_keys(5), ..Edit::default() };
        let changed = set(&store, &id, edit, Authority::Operator).await.unwrap();
        assert_eq!((changed.version, changed.name.as_str()), (3, "Labs"));
        let filter = Filter { action: Some("workspace.set".into()), ..Filter::default() };
        let log = audit::list(&store, &filter, 20).await.unwrap();
        let change = |text: &Option<String>| {
            let value: Value = serde_json::from_str(text.as_deref().unwrap()).unwrap();
            (value["version"].as_u64().unwrap(), value["operatorLimits"]["maxApiKeys"].clone())
        };
        let changes: Vec<_> = log.iter().map(|one| (change(&one.entry.before), change(&one.entry.after))).collect();
        assert!(changes.contains(&((2, Value::Null), (3, 5.into()))), "{changes:?}");
        assert!(log.iter().all(|one| one.entry.actor == "forebay admin"));
    })
    .await;
}

#[tokio::test]
async fn the_creator_of_a_workspace_belongs_to_it() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let author = Author::User { id: first.user.id.clone(), address: String::new() };
        let by_user = Command { author: &author, ..command(&store) };
        let own = OwnLimits::default();
        workspaces::create(by_user, &first.organization.id, "Labs", own).await.unwrap();
        let joined = store::workspaces::list_joined(&store, &first.organization.id, &first.user.id, Page::default())
            .await
            .unwrap();
        let mut names: Vec<_> = joined.iter().map(|workspace| workspace.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["Default", "Labs"]);
        let refused = workspaces::delete(by_user, &first.workspace.id).await.unwrap_err();
        assert_eq!(refused.code(), "workspace_in_use");
    })
    .await;
}
