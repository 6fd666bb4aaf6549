use crate::databases::on_both;
use crate::{DEFAULTS, NOW, command};
use control::workspaces::KeysOfWorkspace;
use control::workspaces::{self, Authority, Edit};
use control::{Author, Command, CommandError, bootstrap, organizations};
use domain::monthly_budget::BudgetChange;
use domain::workspace::OwnLimits;
use domain::workspace_edit::{LimitChange, LimitChanges};
use domain::{Month, MonthlyBudget, NanoUsd, Workspace, WorkspaceId};
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
        let refused = workspaces::delete(by_user, &first.workspace.id, KeysOfWorkspace::Keep).await.unwrap_err();
        assert_eq!(refused.code(), "workspace_in_use");
    })
    .await;
}

#[tokio::test]
async fn administrators_create_as_many_workspaces_as_the_operator_allows() {
    const DEFAULT_MAX: u64 = 3;
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let organization = &first.organization.id;
        let create = async |now| {
            let command = Command { now, ..command(&store) };
            workspaces::create_within(command, organization, "Labs", &DEFAULTS, DEFAULT_MAX).await
        };
        let second = create(NOW).await.unwrap().id;
        create(NOW).await.unwrap();
        let rejected = create(NOW).await.unwrap_err();
        assert_eq!(rejected.code(), "workspace_limit_reached");

        // A deleted workspace has used a monthly quota, so it counts until the month ends.
        workspaces::delete_other(command(&store), organization, &second, KeysOfWorkspace::Keep).await.unwrap();
        assert_eq!(create(NOW).await.unwrap_err().code(), "workspace_limit_reached");
        create(Month::of(NOW).end()).await.unwrap();

        // The operator is not bound, and bounds each organization as it likes; existing workspaces stay.
        workspaces::create(command(&store), organization, "Fourth", OwnLimits::default()).await.unwrap();
        let edit = |max_workspaces| {
            let bounds = organizations::BoundChanges { max_workspaces, ..Default::default() };
            organizations::Edit { bounds, ..Default::default() }
        };
        organizations::set(command(&store), organization, edit(LimitChange::Set(6))).await.unwrap();
        create(NOW).await.unwrap();
        let lowered = organizations::set(command(&store), organization, edit(LimitChange::Set(1))).await.unwrap();
        assert_eq!(lowered.max_workspaces, Some(1));
        assert_eq!(create(NOW).await.unwrap_err().code(), "workspace_limit_reached");
        assert_eq!(workspaces::list(&store, organization, Page::default()).await.unwrap().len(), 5);
        let default = organizations::set(command(&store), organization, edit(LimitChange::Follow)).await.unwrap();
        assert_eq!(default.max_workspaces, None);
    })
    .await;
}

#[tokio::test]
async fn concurrent_creations_stay_within_the_limit() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let mut creations = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (store, organization) = (store.clone(), first.organization.id.clone());
            creations.spawn(async move {
                workspaces::create_within(command(&store), &organization, "Labs", &DEFAULTS, 4).await.is_ok()
            });
        }
        assert_eq!(creations.join_all().await.into_iter().filter(|created| *created).count(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_new_workspace_has_no_more_than_the_operator_left_to_the_others() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let organization = &first.organization.id;
        let create = async || workspaces::create_within(command(&store), organization, "Labs", &DEFAULTS, 20).await;
        let lower = async |id: &WorkspaceId| {
            let limits = LimitChanges { monthly_tokens: LimitChange::Set(7), ..LimitChanges::default() };
            let edit = Edit { limits, ..Edit::default() };
            workspaces::set(command(&store), id, edit, Authority::Operator, &DEFAULTS).await.unwrap();
        };
        assert_eq!(create().await.unwrap().own, OwnLimits::default());
        for workspace in workspaces::list(&store, organization, Page::default()).await.unwrap() {
            lower(&workspace.id).await;
        }
        let lowered = OwnLimits { monthly_tokens: Some(7), ..OwnLimits::default() };
        assert_eq!(create().await.unwrap().own, lowered);

        let give = async |id: &WorkspaceId, usd| {
            let edit = Edit { monthly_usd: BudgetChange::Set(Some(NanoUsd::from_nanos(usd))), ..Edit::default() };
            workspaces::set(command(&store), id, edit, Authority::Operator, &DEFAULTS).await.unwrap();
        };
        let mut existing = workspaces::list(&store, organization, Page::default()).await.unwrap();
        let last = existing.pop().unwrap();
        for (workspace, usd) in existing.iter().zip(1..) {
            give(&workspace.id, usd).await;
        }
        let unbounded = create().await.unwrap();
        assert_eq!(unbounded.monthly_usd, MonthlyBudget::NONE, "one has no budget");
        for id in [&last.id, &unbounded.id] {
            give(id, 50).await;
        }
        let bounded = create().await.unwrap().id;
        let stored = workspaces::show(&store, &bounded).await.unwrap().monthly_usd;
        assert_eq!((stored.operator, stored.administrators), (Some(NanoUsd::from_nanos(50)), None));

        // One is always left from which the limits are known.
        let empty = organizations::create(command(&store), "Empty").await.unwrap().id;
        let only = workspaces::create_within(command(&store), &empty, "Only", &DEFAULTS, 20).await.unwrap();
        let rejected =
            workspaces::delete_other(command(&store), &empty, &only.id, KeysOfWorkspace::Keep).await.unwrap_err();
        assert_eq!(rejected.code(), "last_workspace");
        workspaces::delete(command(&store), &only.id, KeysOfWorkspace::Keep).await.unwrap();
    })
    .await;
}
