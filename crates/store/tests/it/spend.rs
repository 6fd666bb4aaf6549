use crate::databases::on_both;
use crate::people;
use domain::budget::ReservedIn;
use domain::quota::{AccountOwner, LeaseRequest};
use domain::{Month, MonthlyBudget, NanoUsd, Organization, Timestamp, UsageEvent, Workspace, WorkspaceId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::quota::LeaseState;
use store::spend::{self, SpendLeaseKey};
use store::usage::UsageWriter;
use store::{Store, budgets, organizations, quota, workspaces};
use tokio::task::JoinSet;

const LATER: Timestamp = Timestamp::from_millis(i64::MAX / 2);

fn usd(nanos: i64) -> MonthlyBudget {
    MonthlyBudget { operator: Some(NanoUsd::from_nanos(nanos)), administrators: None }
}

fn month() -> Month {
    Month::of(people::NOW)
}

async fn bound(store: &Store, workspace: &Workspace, own: MonthlyBudget, shared: MonthlyBudget) {
    let mut tx = store.begin().await.unwrap();
    let organization = organizations::lock(&mut tx, &workspace.organization).await.unwrap();
    let bounded = Organization { monthly_usd: shared, ..organization };
    organizations::update(&mut tx, &bounded, people::NOW).await.unwrap();
    let current = workspaces::lock(&mut tx, &workspace.id).await.unwrap();
    workspaces::update(&mut tx, Workspace { monthly_usd: own, ..current }, people::NOW).await.unwrap();
    spend::bound(&mut tx, &workspace.id, people::NOW).await.unwrap();
    tx.commit().await.unwrap();
}

async fn ask(store: &Store, workspace: &Workspace, run: &str, believed: u64, wanted: u64) -> LeaseState {
    let key = SpendLeaseKey { workspace: &workspace.id, month: month(), run, node: "node_1" };
    let ask = LeaseRequest { wanted, least: wanted, recent: 0, nodes: 3 };
    spend::set_lease(store, key, believed, Some(&ask), LATER).await.unwrap()
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
        bound(&store, &first, usd(40_000_000), usd(60_000_000)).await;
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
        bound(&store, &workspace, usd(100), MonthlyBudget::NONE).await;
        assert!(spend::is_bounded(&store, &workspace.id).await.unwrap());
        assert!(ask(&store, &workspace, "run_a", 0, 50).await.added);
        write(&store, "run_a", &[event(2, ReservedIn::default().with_workspace())]).await;
        let account = async || spend::tightest_account(&store, &workspace.id, month()).await.unwrap().unwrap();
        assert_eq!((account().await.used, account().await.reserved), (60, 20));
        let mut tx = store.begin().await.unwrap();
        let cost = NanoUsd::from_nanos(15);
        spend::set_gpu_cost(&mut tx, &workspace.id, &workspace.organization, month(), cost).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!((account().await.used, account().await.left()), (75, 5));
        assert!(!ask(&store, &workspace, "run_b", 0, 6).await.added);
        assert!(ask(&store, &workspace, "run_b", 0, 5).await.added);
        let bounded = spend::bounded(&store).await.unwrap();
        assert_eq!(bounded, [(workspace.id.clone(), workspace.organization.clone())]);
        bound(&store, &workspace, MonthlyBudget::NONE, MonthlyBudget::NONE).await;
        assert!(!spend::is_bounded(&store, &workspace.id).await.unwrap());
    })
    .await;
}
