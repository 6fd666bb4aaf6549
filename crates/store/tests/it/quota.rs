use crate::databases::on_both;
use crate::people;
use domain::quota::{Account, AccountOwner, LeaseRequest};
use domain::workspace::OwnLimits;
use domain::{Month, Organization, Timestamp, UsageEvent, Workspace, WorkspaceId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::leases::{self, LeaseState};
use store::quota::{self, LeaseKey};
use store::usage::UsageWriter;
use store::{Store, organizations, workspaces};
use tokio::task::JoinSet;

const CAP: u64 = 100_000;
const LATER: Timestamp = Timestamp::from_millis(i64::MAX / 2);

/// A workspace that follows the default cap.
async fn followers_workspace(store: &Store) -> Workspace {
    let workspace = people::workspace(store).await;
    let mut tx = store.begin().await.unwrap();
    let own = OwnLimits::default();
    let changed = workspaces::update(&mut tx, Workspace { own, ..workspace.clone() }, people::NOW).await.unwrap();
    tx.commit().await.unwrap();
    changed
}

fn lease_key<'a>(workspace: &'a Workspace, run: &'a str) -> LeaseKey<'a> {
    LeaseKey { workspace: &workspace.id, month: Month::of(people::NOW), run, node: "node_1" }
}

async fn ask(store: &Store, workspace: &Workspace, run: &str, believed: u64, wanted: u64) -> LeaseState {
    let ask = LeaseRequest { wanted, least: wanted, recent: 0, nodes: 3 };
    quota::set_lease(store, lease_key(workspace, run), believed, Some(&ask), CAP, LATER).await.unwrap()
}

async fn account(store: &Store, workspace: &Workspace) -> Account {
    quota::account(store, &workspace.id, Month::of(people::NOW), CAP).await.unwrap()
}

async fn write(store: &Store, run: &str, events: &[UsageEvent]) {
    let mut tx = store.begin().await.unwrap();
    let inserted = UsageWriter::default().write(&mut tx, events).await.unwrap();
    quota::count(&mut tx, run, &inserted).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn concurrent_requests_never_get_more_than_the_cap() {
    on_both(async |_, store| {
        let workspace = Arc::new(followers_workspace(&store).await);
        let granted = Arc::new(AtomicU64::new(0));
        let mut runs = JoinSet::new();
        for run in 0..8 {
            let (store, workspace, granted) = (store.clone(), Arc::clone(&workspace), Arc::clone(&granted));
            runs.spawn(async move {
                let (run, mut believed) = (format!("run_{run}"), 0);
                loop {
                    let leased = ask(&store, &workspace, &run, believed, 3_000).await;
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
        let account = account(&store, &workspace).await;
        assert_eq!(account, Account { cap: CAP, reserved: granted.load(Ordering::Relaxed), ..Account::default() });
        assert_eq!(account.reserved, 99_000, "33 times 3,000, and not one more");
    })
    .await;
}

#[tokio::test]
async fn all_workspaces_of_an_organization_never_get_more_than_its_bound() {
    on_both(async |_, store| {
        let first = followers_workspace(&store).await;
        let mut tx = store.begin().await.unwrap();
        let organization = organizations::lock(&mut tx, &first.organization).await.unwrap();
        let bounded = Organization { monthly_tokens: Some(60_000), ..organization };
        organizations::update(&mut tx, &bounded, people::NOW).await.unwrap();
        let mut own = vec![first.clone()];
        for number in 0..3 {
            let other = Workspace { id: WorkspaceId::new(people::NOW, 700 + number), ..first.clone() };
            workspaces::insert(&mut tx, &other).await.unwrap();
            own.push(other);
        }
        tx.commit().await.unwrap();
        let granted = Arc::new(AtomicU64::new(0));
        let mut runs = JoinSet::new();
        for (number, workspace) in own.iter().cycle().take(8).cloned().enumerate() {
            let (store, granted) = (store.clone(), Arc::clone(&granted));
            runs.spawn(async move {
                let (run, mut believed) = (format!("run_{number}"), 0);
                loop {
                    let leased = ask(&store, &workspace, &run, believed, 2_000).await;
                    if !leased.added {
                        return leased.account;
                    }
                    granted.fetch_add(leased.granted - believed, Ordering::Relaxed);
                    believed = leased.granted;
                }
            });
        }
        while let Some(spent) = runs.join_next().await {
            assert_eq!(spent.unwrap().owner, AccountOwner::Organization);
        }
        assert_eq!(granted.load(Ordering::Relaxed), 60_000, "30 times 2,000, and not one more");

        write(&store, "run_0", &[crate::usage_events::event(&first, 1)]).await;
        let mut tx = store.begin().await.unwrap();
        workspaces::delete(&mut tx, &own[1].id, people::NOW).await.unwrap();
        tx.commit().await.unwrap();
        let month = Month::of(people::NOW);
        let account = quota::organization_account(&store, &bounded, month).await.unwrap();
        assert_eq!((account.used, account.used + account.reserved), (15, 60_000), "also of a deleted workspace");
        assert!(!ask(&store, &own[2], "run_9", 0, 1).await.added);
    })
    .await;
}

#[tokio::test]
async fn events_turn_reserved_tokens_into_used_ones_and_count_once() {
    on_both(async |_, store| {
        let workspace = followers_workspace(&store).await;
        assert_eq!(ask(&store, &workspace, "run_a", 0, 40).await.granted, 40);
        let events: Vec<_> = (0..2).map(|number| crate::usage_events::event(&workspace, number)).collect();
        write(&store, "run_a", &events).await;
        write(&store, "run_a", &events).await;
        assert_eq!(
            account(&store, &workspace).await,
            Account { cap: CAP, used: 30, reserved: 10, ..Account::default() }
        );

        let returned = quota::set_lease(&store, lease_key(&workspace, "run_a"), 30, None, CAP, LATER).await.unwrap();
        assert_eq!((returned.granted, returned.account.reserved), (30, 0));
        write(&store, "run_gone", &[crate::usage_events::event(&workspace, 7)]).await;
        assert_eq!(account(&store, &workspace).await.used, 45, "events without a lease count, too");
    })
    .await;
}

#[tokio::test]
async fn leases_of_a_dead_run_stay_reserved_until_it_is_ended_or_its_node_forgotten() {
    on_both(async |_, store| {
        let workspace = followers_workspace(&store).await;
        ask(&store, &workspace, "run_a", 0, 60_000).await;
        ask(&store, &workspace, "run_b", 0, 30_000).await;
        assert!(!ask(&store, &workspace, "run_c", 0, 20_000).await.added);
        leases::end_run(&store, "run_a").await.unwrap();
        assert!(ask(&store, &workspace, "run_c", 0, 20_000).await.added);
        let mut tx = store.begin().await.unwrap();
        leases::forget_node(&mut tx, "node_1").await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(account(&store, &workspace).await.reserved, 0);
    })
    .await;
}

#[tokio::test]
async fn a_lease_whose_response_was_lost_is_set_again_and_not_added() {
    on_both(async |_, store| {
        let workspace = followers_workspace(&store).await;
        ask(&store, &workspace, "run_a", 0, 50_000).await;
        // The run did not receive the response and asks again.
        let again = ask(&store, &workspace, "run_a", 0, 50_000).await;
        assert_eq!((again.granted, again.account.reserved), (50_000, 50_000));
    })
    .await;
}

#[tokio::test]
async fn a_lowered_cap_grants_nothing_more_and_a_raised_one_does() {
    on_both(async |_, store| {
        let workspace = followers_workspace(&store).await;
        ask(&store, &workspace, "run_a", 0, 50_000).await;
        for (cap, added) in [(50_000, false), (60_000, true)] {
            let ask = LeaseRequest { wanted: 10_000, least: 10_000, recent: 0, nodes: 1 };
            let key = lease_key(&workspace, "run_a");
            let leased = quota::set_lease(&store, key, 50_000, Some(&ask), cap, LATER).await.unwrap();
            assert_eq!(leased.added, added, "{cap}");
        }
        let other_month = LeaseKey { month: Month::of(people::NOW).next(), ..lease_key(&workspace, "run_a") };
        let ask = LeaseRequest { wanted: 1, least: 1, recent: 0, nodes: 1 };
        assert!(quota::set_lease(&store, other_month, 0, Some(&ask), 10, LATER).await.unwrap().added);
    })
    .await;
}
