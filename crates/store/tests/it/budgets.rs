use crate::databases::on_both;
use crate::people;
use domain::budget::{Budget, BudgetPeriod, BudgetRaise, BudgetWindow, Budgets, ReservedIn};
use domain::quota::LeaseRequest;
use domain::usage::Actor;
use domain::{ApiKey, Caller, EndUser, EndUserId, NanoUsd, Timestamp, UsageEvent, Workspace};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::budgets::{self, BudgetLeaseKey, EndUserLeaseKey};
use store::leases::LeaseState;
use store::usage::UsageWriter;
use store::{Store, api_keys, end_users, leases};
use tokio::task::JoinSet;

/// A tenth of a dollar.
const CAP: u64 = 100_000_000;
const ALL: [BudgetWindow; 3] = BudgetWindow::ALL;

fn budget(window: BudgetWindow, nanos: u64) -> Budget {
    Budget { window, usd: NanoUsd::from_nanos(nanos.cast_signed()), soft: false, raise: None }
}

async fn key(store: &Store, workspace: &Workspace, budgets: &[Budget]) -> ApiKey {
    let key = ApiKey { budgets: Budgets::new(budgets.to_vec()).unwrap(), ..people::new_key(workspace) };
    let mut tx = store.begin().await.unwrap();
    api_keys::insert_within(&mut tx, &key, 10).await.unwrap();
    tx.commit().await.unwrap();
    key
}

async fn edit(store: &Store, key: &ApiKey, budgets: &[Budget]) {
    let edited = ApiKey { budgets: Budgets::new(budgets.to_vec()).unwrap(), ..key.clone() };
    let mut tx = store.begin().await.unwrap();
    api_keys::edit_locked(&mut tx, key, edited, people::NOW).await.unwrap();
    tx.commit().await.unwrap();
}

fn lease<'a>(key: &'a ApiKey, window: BudgetWindow, run: &'a str) -> BudgetLeaseKey<'a> {
    BudgetLeaseKey { key: &key.id, period: BudgetPeriod::of(window, people::NOW), run, node: "node_1" }
}

async fn ask(store: &Store, lease: BudgetLeaseKey<'_>, believed: u64, wanted: u64, now: Timestamp) -> LeaseState {
    let ask = LeaseRequest { wanted, least: wanted, recent: 0, nodes: 3 };
    budgets::set_lease(store, lease, believed, Some(&ask), now).await.unwrap()
}

/// A call of the key that cost this much.
fn event(key: &ApiKey, workspace: &Workspace, number: i64, nanos: u64, reserved: &[BudgetWindow]) -> UsageEvent {
    let caller = Caller::new(workspace.organization.clone(), workspace.id.clone(), Actor::Key(key.id.clone()));
    UsageEvent {
        caller: Arc::new(caller),
        cost: NanoUsd::from_nanos(nanos.cast_signed()),
        end_user: None,
        reserved_in: reserved.iter().fold(ReservedIn::default(), |all, window| all.with(*window)),
        ..crate::usage_events::event(workspace, number)
    }
}

async fn write(store: &Store, run: &str, events: &[UsageEvent]) {
    let mut tx = store.begin().await.unwrap();
    let inserted = UsageWriter::default().write(&mut tx, events).await.unwrap();
    budgets::count(&mut tx, run, &inserted).await.unwrap();
    tx.commit().await.unwrap();
}

/// Used and reserved of each budget.
async fn spent(store: &Store, key: &ApiKey) -> Vec<(u64, u64)> {
    let spending = budgets::spending(store, key, people::NOW).await.unwrap();
    spending.iter().map(|one| (one.account.used, one.account.reserved)).collect()
}

#[tokio::test]
async fn concurrent_requests_never_get_more_than_the_budget() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let key = Arc::new(key(&store, &workspace, &[budget(BudgetWindow::Day, CAP)]).await);
        write(&store, "run_0", &[event(&key, &workspace, 1, 10_000_000, &[])]).await;
        let granted = Arc::new(AtomicU64::new(0));
        let mut runs = JoinSet::new();
        for run in 0..8 {
            let (store, key, granted) = (store.clone(), Arc::clone(&key), Arc::clone(&granted));
            runs.spawn(async move {
                let (run, mut believed) = (format!("run_{run}"), 0);
                loop {
                    let leased =
                        ask(&store, lease(&key, BudgetWindow::Day, &run), believed, 4_000_000, people::NOW).await;
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
        assert_eq!(granted.load(Ordering::Relaxed), 88_000_000, "22 times 4,000,000 of what was left");
        assert_eq!(spent(&store, &key).await, [(10_000_000, 88_000_000)]);
    })
    .await;
}

#[tokio::test]
async fn the_cost_of_an_event_moves_from_reserved_to_used_once_where_it_was_reserved() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let all = ALL.map(|window| budget(window, CAP));
        let key = key(&store, &workspace, &all).await;
        for window in ALL {
            ask(&store, lease(&key, window, "run_a"), 0, 50, people::NOW).await;
        }
        let events = [
            event(&key, &workspace, 0, 30, &ALL),
            event(&key, &workspace, 2, 7, &[BudgetWindow::Month]),
            event(&key, &workspace, 4, 5, &[]),
            event(&key, &workspace, -40 * 86_400_000, 2, &ALL),
        ];
        write(&store, "run_a", &events).await;
        write(&store, "run_a", &events).await;
        assert_eq!(spent(&store, &key).await, [(42, 20), (42, 13), (44, 18)]);

        let [day, month, total] = ALL.map(|window| lease(&key, window, "run_a"));
        assert!(!budgets::end_if_settled(&store, day).await.unwrap(), "20 may still be used");
        budgets::set_lease(&store, day, 30, None, people::NOW).await.unwrap();
        assert!(budgets::end_if_settled(&store, day).await.unwrap());
        assert_eq!(spent(&store, &key).await[0], (42, 0));
        leases::end_run(&store, "run_a").await.unwrap();
        assert_eq!(spent(&store, &key).await, [(42, 0), (42, 0), (44, 0)], "what was not used comes back");
        for lease in [month, total] {
            assert!(!budgets::end_if_settled(&store, lease).await.unwrap());
        }
    })
    .await;
}

#[tokio::test]
async fn the_costs_of_many_leases_are_written_to_those_of_the_run_only() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let mut events = Vec::new();
        let mut keys = Vec::new();
        for number in 0..9 {
            let key = key(&store, &workspace, &ALL.map(|window| budget(window, CAP))).await;
            for (run, window) in ["run_a", "run_b"].into_iter().flat_map(|run| ALL.map(|window| (run, window))) {
                ask(&store, lease(&key, window, run), 0, 50, people::NOW).await;
            }
            events.push(event(&key, &workspace, number, 7, &ALL));
            keys.push(key);
        }
        write(&store, "run_a", &events).await;
        for key in &keys {
            assert_eq!(spent(&store, key).await, [(7, 93); 3]);
            assert!(!budgets::end_if_settled(&store, lease(key, BudgetWindow::Day, "run_b")).await.unwrap());
        }
    })
    .await;
}

#[tokio::test]
async fn the_budget_of_the_moment_applies() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let until = people::later(1_000);
        let raise = Some(BudgetRaise { usd: NanoUsd::from_nanos(90), until });
        let key = key(&store, &workspace, &[Budget { raise, ..budget(BudgetWindow::Total, 50) }]).await;
        let added = async |believed, wanted, now| {
            ask(&store, lease(&key, BudgetWindow::Total, "run_a"), believed, wanted, now).await.added
        };
        assert!(!added(0, 91, people::NOW).await);
        assert!(added(0, 90, people::NOW).await);
        assert!(!added(0, 51, until).await, "the raise is over");
        edit(&store, &key, &[budget(BudgetWindow::Total, 60)]).await;
        assert!(added(0, 60, until).await);
        edit(&store, &key, &[budget(BudgetWindow::Day, 1)]).await;
        assert!(added(60, 1_000_000, until).await, "a budget that was removed has no end");
        let found = api_keys::by_id(&store, &key.id).await.unwrap().unwrap();
        assert_eq!(found.budgets.all(), [budget(BudgetWindow::Day, 1)]);
    })
    .await;
}

fn three() -> [EndUserId; 3] {
    ["a", "b", "c"].map(|digit| EndUserId::parse(&format!("eu_{}", digit.repeat(32))).unwrap())
}

fn lease_of<'a>(workspace: &'a Workspace, end_user: &'a EndUserId) -> EndUserLeaseKey<'a> {
    let period = BudgetPeriod::of(BudgetWindow::Day, people::NOW);
    EndUserLeaseKey { workspace: &workspace.id, end_user, period, run: "run_a", node: "node_1" }
}

#[tokio::test]
async fn a_workspace_that_has_its_end_users_grants_nothing_to_a_new_one() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let added = async |end_user: &EndUserId| {
            let ask = LeaseRequest { wanted: 5, least: 5, recent: 0, nodes: 3 };
            let set =
                budgets::set_end_user_lease(&store, lease_of(&workspace, end_user), 0, Some(&ask), people::NOW, 2)
                    .await;
            set.unwrap().is_some_and(|state| state.added)
        };
        let [ada, bob, eve] = three();
        assert!(added(&ada).await && added(&bob).await);
        assert!(!added(&eve).await);
        assert!(!budgets::end_end_user_lease(&store, lease_of(&workspace, &eve)).await.unwrap(), "it has no lease");
        assert!(added(&ada).await, "is known");
        assert_eq!(end_users::by_id(&store, &workspace.id, &eve).await.unwrap(), None);
        let mut tx = store.begin().await.unwrap();
        assert!(end_users::delete(&mut tx, &workspace.id, &bob, people::NOW).await.unwrap());
        tx.commit().await.unwrap();
        assert!(added(&eve).await);
    })
    .await;
}

#[tokio::test]
async fn usage_of_end_users_past_the_most_counts_in_the_other_sums_only() {
    on_both(async |_, store| {
        let (workspace, other) = (people::workspace(&store).await, people::workspace(&store).await);
        let total = [budget(BudgetWindow::Total, CAP)];
        let (first, second) = (key(&store, &workspace, &total).await, key(&store, &other, &total).await);
        let [ada, bob, eve] = three();
        let call = |key: &ApiKey, workspace: &Workspace, number: i64, end_user: &EndUserId| {
            let end_user = Some(Arc::new(EndUser { id: end_user.clone(), text: None }));
            UsageEvent { end_user, ..event(key, workspace, number, 10, &[]) }
        };
        let mut writer = UsageWriter::new(2);
        for events in [
            vec![call(&first, &workspace, 1, &eve), call(&first, &workspace, 2, &bob), call(&second, &other, 3, &eve)],
            vec![
                call(&first, &workspace, 4, &eve),
                call(&first, &workspace, 5, &ada),
                call(&first, &workspace, 6, &bob),
            ],
            vec![event(&first, &workspace, 7, 10, &[])],
        ] {
            let mut tx = store.begin().await.unwrap();
            writer.write(&mut tx, &events).await.unwrap();
            tx.commit().await.unwrap();
        }
        let limits = Budgets::new(total.to_vec()).unwrap();
        let used = async |workspace: &Workspace, end_user: &EndUserId| {
            let spending = budgets::end_user_spending(&store, &workspace.id, end_user, &limits, people::NOW).await;
            spending.unwrap()[0].account.used
        };
        assert_eq!((used(&workspace, &bob).await, used(&workspace, &eve).await), (20, 20));
        assert_eq!((used(&workspace, &ada).await, used(&other, &eve).await), (0, 10));
        assert_eq!(end_users::by_id(&store, &workspace.id, &ada).await.unwrap(), None);
        assert_eq!((spent(&store, &first).await, spent(&store, &second).await), (vec![(60, 0)], vec![(10, 0)]));
    })
    .await;
}
