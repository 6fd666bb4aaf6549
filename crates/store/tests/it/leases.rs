//! Leases of nodes that have stopped.

use crate::databases::on_both;
use crate::people::{self, NOW, later};
use domain::budget::{Budget, BudgetPeriod, BudgetWindow, Budgets};
use domain::end_user::EndUserSettings;
use domain::quota::{Account, AccountOwner, LeaseRequest};
use domain::workspace::OwnLimits;
use domain::{ApiKey, EndUserId, Month, MonthlyBudget, NanoUsd, Organization, Timestamp, Workspace, WorkspaceId};
use store::budgets::{self, BudgetLeaseKey, EndUserLeaseKey};
use store::nodes::{self, Node};
use store::quota::{self, LeaseKey};
use store::spend::{self, SpendLeaseKey};
use store::{Store, api_keys, organizations, workspaces};

const CAP: u64 = 100;

async fn heartbeat(store: &Store, id: &str, seen_at: Timestamp) {
    let node = Node { id: id.into(), started_at: NOW, seen_at, catalogue_hash: String::new() };
    let mut tx = store.begin().await.unwrap();
    nodes::record(&mut tx, &node).await.unwrap();
    tx.commit().await.unwrap();
}

/// Two workspaces of one organization, which both may use [`CAP`], and so may the key of the first.
async fn bounded(store: &Store) -> (Workspace, ApiKey, Workspace) {
    let usd = NanoUsd::from_unsigned(CAP);
    let monthly_usd = MonthlyBudget { operator: Some(usd), administrators: None };
    let budget = Budget { window: BudgetWindow::Total, usd, soft: false, raise: None };
    let budgets = Budgets::new(vec![budget]).unwrap();
    let organization = Organization { monthly_tokens: Some(CAP), monthly_usd, ..people::new_organization() };
    let first = people::new_workspace(&organization);
    let second = Workspace { id: WorkspaceId::new(NOW, 701), ..first.clone() };
    let key = ApiKey { budgets: budgets.clone(), ..people::new_key(&first) };
    let mut tx = store.begin().await.unwrap();
    organizations::insert(&mut tx, &organization).await.unwrap();
    workspaces::insert(&mut tx, &first).await.unwrap();
    workspaces::insert(&mut tx, &second).await.unwrap();
    api_keys::insert_within(&mut tx, &key, 10).await.unwrap();
    let end_users = EndUserSettings { budgets, ..EndUserSettings::default() };
    let own = OwnLimits { monthly_tokens: Some(CAP), ..first.own };
    let first = workspaces::update(&mut tx, Workspace { own, monthly_usd, end_users, ..first }, NOW).await.unwrap();
    tx.commit().await.unwrap();
    (first, key, second)
}

/// The accounts of the quota and of the monthly budget after a node has asked for `wanted` in its only run.
async fn ask(store: &Store, workspace: &Workspace, node: &str, wanted: u64) -> Vec<Account> {
    let (workspace, month, ask) = (&workspace.id, Month::of(NOW), request(wanted));
    let quota = LeaseKey { workspace, month, run: node, node };
    let spent = SpendLeaseKey { workspace, month, run: node, node };
    vec![
        quota::set_lease(store, quota, 0, Some(&ask), 5_000, NOW).await.unwrap().account,
        spend::set_lease(store, spent, 0, Some(&ask)).await.unwrap().account,
    ]
}

/// The same of the budgets of the key and of an end user, after those of the workspace.
async fn ask_all(store: &Store, workspace: &Workspace, key: &ApiKey, node: &str, wanted: u64) -> Vec<Account> {
    let (period, ask) = (BudgetPeriod::of(BudgetWindow::Total, NOW), request(wanted));
    let end_user = EndUserId::parse(&format!("eu_{}", "a".repeat(32))).unwrap();
    let of_key = BudgetLeaseKey { key: &key.id, period, run: node, node };
    let of_user = EndUserLeaseKey { workspace: &workspace.id, end_user: &end_user, period, run: node, node };
    let of_user = budgets::set_end_user_lease(store, of_user, 0, Some(&ask), NOW, 10).await.unwrap().unwrap();
    let mut accounts = self::ask(store, workspace, node, wanted).await;
    accounts.extend([budgets::set_lease(store, of_key, 0, Some(&ask), NOW).await.unwrap().account, of_user.account]);
    accounts
}

fn request(wanted: u64) -> LeaseRequest {
    LeaseRequest { wanted, least: wanted, recent: 0, nodes: 2 }
}

#[tokio::test]
async fn what_a_node_without_a_heartbeat_holds_is_reserved_and_lost() {
    on_both(async |_, store| {
        let (first, key, second) = bounded(&store).await;
        heartbeat(&store, "stopped", NOW).await;
        ask_all(&store, &first, &key, "stopped", 60).await;
        for (stopped_at, now, lost) in [(0, 300_000, 0), (0, 300_001, 60), (200_000, 300_001, 0)] {
            heartbeat(&store, "stopped", later(stopped_at)).await;
            heartbeat(&store, "running", later(now)).await;
            let own = ask_all(&store, &first, &key, "running", 50).await;
            let shared = ask(&store, &second, "running", 50).await;
            assert!(shared.iter().all(|account| account.owner == AccountOwner::Organization), "{shared:?}");
            for account in own.iter().chain(&shared) {
                assert_eq!((account.left(), account.reserved, account.lost), (40, 60, lost), "{account:?}");
            }
        }
    })
    .await;
}
