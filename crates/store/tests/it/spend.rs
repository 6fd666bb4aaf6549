use crate::databases::on_both;
use crate::{fleets, people};
use domain::budget::ReservedIn;
use domain::quota::{AccountOwner, LeaseRequest};
use domain::{ModelId, Month, MonthlyBudget, NanoUsd, Organization, ReplicaId, UsageEvent, Workspace, WorkspaceId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::holds::{self, NewHold};
use store::leases::LeaseState;
use store::spend::{self, GpuCost, SpendLeaseKey};
use store::usage::UsageWriter;
use store::usage::recent::{self, MonthUse};
use store::{Store, budgets, organizations, quota, workspaces};
use tokio::task::JoinSet;

fn usd(nanos: i64) -> MonthlyBudget {
    MonthlyBudget { operator: Some(NanoUsd::from_nanos(nanos)), administrators: None }
}

fn month() -> Month {
    Month::of(people::NOW)
}

/// Sets both budgets of a workspace whose GPU-hours have cost this much.
async fn bound(store: &Store, workspace: &Workspace, own: MonthlyBudget, shared: MonthlyBudget, gpu_cost: NanoUsd) {
    let mut tx = store.begin().await.unwrap();
    let organization = organizations::lock(&mut tx, &workspace.organization).await.unwrap();
    let bounded = Organization { monthly_usd: shared, ..organization };
    organizations::update(&mut tx, &bounded, people::NOW).await.unwrap();
    let current = workspaces::lock(&mut tx, &workspace.id).await.unwrap();
    workspaces::update(&mut tx, Workspace { monthly_usd: own, ..current }, people::NOW).await.unwrap();
    spend::recount(&mut tx, workspace, gpu_cost, people::NOW).await.unwrap();
    tx.commit().await.unwrap();
}

async fn ask(store: &Store, workspace: &Workspace, run: &str, believed: u64, wanted: u64) -> LeaseState {
    let key = SpendLeaseKey { workspace: &workspace.id, month: month(), run, node: "node_1" };
    let ask = LeaseRequest { wanted, least: wanted, recent: 0, nodes: 3 };
    spend::set_lease(store, key, believed, Some(&ask)).await.unwrap()
}

async fn is_bounded(store: &Store, workspace: &WorkspaceId) -> bool {
    workspaces::by_id(store, workspace).await.unwrap().unwrap().has_monthly_budget()
}

async fn set_gpu_cost(store: &Store, workspace: &Workspace, nanos: i64) {
    let (id, organization) = (workspace.id.clone(), workspace.organization.clone());
    let cost = GpuCost { workspace: id, organization, cost: NanoUsd::from_nanos(nanos) };
    let mut tx = store.begin().await.unwrap();
    spend::set_gpu_costs(&mut tx, month(), &[cost]).await.unwrap();
    tx.commit().await.unwrap();
}

async fn write(store: &Store, run: &str, events: &[UsageEvent]) {
    let mut tx = store.begin().await.unwrap();
    let inserted = UsageWriter::default().write(&mut tx, events).await.unwrap();
    quota::count(&mut tx, run, &inserted).await.unwrap();
    budgets::count(&mut tx, run, &inserted).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn workspaces_never_get_more_than_their_organization_may_spend() {
    on_both(async |_, store| {
        let first = people::workspace(&store).await;
        let second = Workspace { id: WorkspaceId::new(people::NOW, 701), ..first.clone() };
        let mut tx = store.begin().await.unwrap();
        workspaces::insert(&mut tx, &second).await.unwrap();
        tx.commit().await.unwrap();
        bound(&store, &first, usd(40_000_000), usd(60_000_000), NanoUsd::ZERO).await;
        let granted = Arc::new(AtomicU64::new(0));
        let mut runs = JoinSet::new();
        for (number, workspace) in [&first, &second].into_iter().cycle().take(6).cloned().enumerate() {
            let (store, granted) = (store.clone(), Arc::clone(&granted));
            runs.spawn(async move {
                let (run, mut believed) = (format!("run_{number}"), 0);
                loop {
                    let leased = ask(&store, &workspace, &run, believed, 2_000_000).await;
                    if !leased.added {
                        return;
                    }
                    granted.fetch_add(leased.granted - believed, Ordering::Relaxed);
                    believed = leased.granted;
                }
            });
        }
        while let Some(ended) = runs.join_next().await {
            ended.unwrap();
        }
        assert_eq!(granted.load(Ordering::Relaxed), 60_000_000, "30 times 2,000,000, and not one more");
        let account = spend::tightest_account(&store, &second.id, month()).await.unwrap().unwrap();
        assert_eq!((account.owner, account.left()), (AccountOwner::Organization, 0));
    })
    .await;
}

#[tokio::test]
async fn calls_and_gpu_hours_spend_one_budget() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let event = |number, reserved_in| UsageEvent {
            cost: NanoUsd::from_nanos(30),
            reserved_in,
            ..crate::usage_events::event(&workspace, number)
        };
        write(&store, "run_a", &[event(1, ReservedIn::default())]).await;
        bound(&store, &workspace, usd(100), MonthlyBudget::NONE, NanoUsd::ZERO).await;
        assert!(is_bounded(&store, &workspace.id).await);
        assert!(ask(&store, &workspace, "run_a", 0, 50).await.added);
        write(&store, "run_a", &[event(2, ReservedIn::default().with_workspace())]).await;
        let account = async || spend::tightest_account(&store, &workspace.id, month()).await.unwrap().unwrap();
        assert_eq!((account().await.used, account().await.reserved), (60, 20));
        set_gpu_cost(&store, &workspace, 15).await;
        assert_eq!((account().await.used, account().await.left()), (75, 5));
        assert!(!ask(&store, &workspace, "run_b", 0, 6).await.added);
        assert!(ask(&store, &workspace, "run_b", 0, 5).await.added);
        bound(&store, &workspace, MonthlyBudget::NONE, usd(7), NanoUsd::ZERO).await;
        assert!(is_bounded(&store, &workspace.id).await, "by its organization");
        bound(&store, &workspace, MonthlyBudget::NONE, MonthlyBudget::NONE, NanoUsd::ZERO).await;
        assert!(!is_bounded(&store, &workspace.id).await);
        assert_eq!(spend::tightest_account(&store, &workspace.id, month()).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn the_month_of_an_organization_is_what_its_limits_compare() {
    on_both(async |_, store| {
        let first = people::workspace(&store).await;
        let second = Workspace { id: WorkspaceId::new(people::NOW, 702), ..first.clone() };
        let mut tx = store.begin().await.unwrap();
        workspaces::insert(&mut tx, &second).await.unwrap();
        tx.commit().await.unwrap();
        bound(&store, &first, MonthlyBudget::NONE, usd(145), NanoUsd::from_nanos(15)).await;
        let event = |workspace, number| UsageEvent {
            cost: NanoUsd::from_nanos(30),
            ..crate::usage_events::event(workspace, number)
        };
        let tokens = event(&first, 1).tokens.total();
        let dedicated = UsageEvent { model: ModelId::parse("dedicated/chat").unwrap(), ..event(&first, 3) };
        write(&store, "run_a", &[event(&first, 1), event(&second, 2), dedicated]).await;
        let mut tx = store.begin().await.unwrap();
        workspaces::delete(&mut tx, &second.id, people::NOW).await.unwrap();
        tx.commit().await.unwrap();
        assert!(ask(&store, &first, "run_a", 0, 50).await.added);
        let ids = [&first.organization];
        let found = recent::month_of_organizations(&store, &ids, month()).await.unwrap();
        let expected = MonthUse {
            tokens: 2 * tokens,
            reserved_tokens: 0,
            cost: NanoUsd::from_nanos(75),
            reserved_cost: NanoUsd::from_nanos(50),
        };
        assert_eq!(found[&first.organization], expected, "with the deleted workspace, without dedicated calls");
        let next = recent::month_of_organizations(&store, &ids, month().next()).await.unwrap();
        assert!(next.is_empty());
    })
    .await;
}

#[tokio::test]
async fn gpu_hours_of_a_workspace_without_calls_count_for_its_organization() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        bound(&store, &workspace, MonthlyBudget::NONE, usd(100), NanoUsd::from_nanos(60)).await;
        let account = async || spend::tightest_account(&store, &workspace.id, month()).await.unwrap().unwrap();
        let seen = account().await;
        assert_eq!((seen.owner, seen.used), (AccountOwner::Organization, 60), "at once, when the budget is set");
        set_gpu_cost(&store, &workspace, 90).await;
        assert_eq!(account().await.used, 90);
        assert!(!ask(&store, &workspace, "run_a", 0, 11).await.added);
        assert!(ask(&store, &workspace, "run_a", 0, 10).await.added);
    })
    .await;
}

#[tokio::test]
async fn a_spent_account_comes_before_one_of_which_more_is_only_reserved() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        bound(&store, &workspace, usd(50), usd(40), NanoUsd::from_nanos(10)).await;
        assert!(ask(&store, &workspace, "run_a", 0, 30).await.added);
        let account = async || spend::tightest_account(&store, &workspace.id, month()).await.unwrap().unwrap();
        let shared = account().await;
        assert_eq!((shared.owner, shared.left(), shared.is_spent_for(1)), (AccountOwner::Organization, 0, false));
        bound(&store, &workspace, usd(10), usd(40), NanoUsd::from_nanos(10)).await;
        let own = account().await;
        assert_eq!((own.owner, own.is_spent_for(1)), (AccountOwner::Workspace, true));
    })
    .await;
}

#[tokio::test]
async fn gpu_costs_are_written_of_bounded_workspaces_that_held_gpus() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let workspace = workspaces::by_id(&store, &endpoint.workspace).await.unwrap().unwrap();
        let costs = async || spend::gpu_costs(&store, month()).await.unwrap();
        let mut tx = fleets::fenced(&store).await;
        let hold = NewHold {
            replica: &ReplicaId::new(people::NOW, 1),
            endpoint: &endpoint,
            node: "n",
            gpus: &["gpu-a".to_owned()],
            price_per_gpu_hour: NanoUsd::from_nanos(5),
            started_at: people::NOW,
        };
        holds::open(&mut tx, hold).await.unwrap();
        tx.commit().await.unwrap();
        assert!(costs().await.is_empty(), "it has no budget");
        bound(&store, &workspace, usd(100), MonthlyBudget::NONE, NanoUsd::ZERO).await;
        set_gpu_cost(&store, &workspace, 20).await;
        let written = GpuCost {
            workspace: workspace.id.clone(),
            organization: workspace.organization.clone(),
            cost: NanoUsd::from_nanos(20),
        };
        assert_eq!(costs().await, [written]);
        assert!(spend::gpu_costs(&store, month().previous()).await.unwrap().is_empty(), "it held none then");
    })
    .await;
}
