//! Budgets of a key on a real store, at fixed times.

use super::full_workspaces::FullWorkspaces;
use super::lease::LocalLease;
use super::quota::QuotaError;
use super::tests::{NOW, Node, wait_until};
use super::*;
use domain::budget::{Budget, BudgetPeriod, BudgetRaise, BudgetWindow, Budgets};
use domain::key::NewKey;
use domain::quota::{Account, LeaseRequest, TokenBound};
use domain::usage::{Actor, Tokens};
use domain::{ApiKey, NanoUsd, Price, Workspace};
use std::time::{Duration, Instant};
use store::api_keys;
use store::leases::LeaseState;

const DAY_MS: i64 = 86_400_000;
/// One token costs a nano-dollar.
const PRICE: Price = Price {
    input_per_1m: NanoUsd::from_nanos(1_000_000),
    cached_input_per_1m: NanoUsd::from_nanos(1_000_000),
    output_per_1m: NanoUsd::from_nanos(1_000_000),
};

fn budget(window: BudgetWindow, nanos: i64) -> Budget {
    Budget { window, usd: NanoUsd::from_nanos(nanos), soft: false, raise: None }
}

async fn save(node: &Node, budgets: &Budgets) -> ApiKey {
    let Actor::Key(id) = &node.caller.actor else { panic!("a key") };
    let workspace = Workspace::new(node.caller.workspace.clone(), node.caller.organization.clone(), "test", NOW);
    let text = NewKey::from_entropy(&[0; NewKey::ENTROPY]);
    let key = ApiKey { budgets: budgets.clone(), ..ApiKey::new(id.clone(), &workspace, "test", &text, NOW) };
    let mut tx = node.store.begin().await.unwrap();
    api_keys::insert_within(&mut tx, &key, 10).await.unwrap();
    tx.commit().await.unwrap();
    key
}

/// A call of this many tokens at most; the window of the budget that is spent, or the reserved amounts.
async fn reserve(
    node: &Node,
    budgets: &Budgets,
    price: Price,
    tokens: u64,
    now: Timestamp,
) -> Result<Option<Box<super::budget::BudgetReservations>>, BudgetWindow> {
    let bound = TokenBound { prompt: tokens, completion: 0, choices: 1 };
    let caller = Caller::clone(&node.caller).budgeted(budgets);
    let reserved = node.admission.quota.reserve_budgets(&caller, price.into(), &bound, now, None).await;
    reserved.map_err(|error| match error {
        QuotaError::Spent { of, .. } => match *of {
            LeasedAccount::Budget { period, .. } => period.window,
            LeasedAccount::Quota { .. } | LeasedAccount::EndUser { .. } | LeasedAccount::Spend { .. } => {
                panic!("not of the key")
            }
        },
        QuotaError::Unavailable { cause } => panic!("{cause}"),
    })
}

#[tokio::test]
async fn every_budget_of_a_key_holds_and_resets_with_its_window() {
    let node = Node::start(1_000).await;
    let soft = Budget { soft: true, ..budget(BudgetWindow::Day, 1) };
    let budgets = Budgets::new(vec![budget(BudgetWindow::Day, 100), budget(BudgetWindow::Total, 150), soft]).unwrap();
    save(&node, &budgets).await;
    let first = reserve(&node, &budgets, PRICE, 100, NOW).await.unwrap().unwrap();
    assert_eq!(reserve(&node, &budgets, PRICE, 1, NOW).await.err(), Some(BudgetWindow::Day));
    assert!(reserve(&node, &budgets, Price::default(), 1, NOW).await.unwrap().is_none(), "free models go on");
    let tomorrow = NOW.plus_millis(DAY_MS);
    assert_eq!(reserve(&node, &budgets, PRICE, 51, tomorrow).await.err(), Some(BudgetWindow::Total));
    let second = reserve(&node, &budgets, PRICE, 50, tomorrow).await.unwrap().unwrap();
    first.settle(Tokens { prompt: 60, completion: 0, cached: 0 }, Instant::now());
    let third = reserve(&node, &budgets, PRICE, 40, NOW).await.unwrap().unwrap();
    assert_eq!(reserve(&node, &budgets, PRICE, 1, NOW).await.err(), Some(BudgetWindow::Day));
    drop((second, third));
}

#[tokio::test]
async fn a_raise_that_ends_takes_back_what_was_not_spent_of_it() {
    let node = Node::start(1_000).await;
    let until = NOW.plus_millis(1_000);
    // Far from its cap, a lease is larger than a call needs.
    let raise = Some(BudgetRaise { usd: NanoUsd::parse("9").unwrap(), until });
    let budgets = Budgets::new(vec![Budget { raise, ..budget(BudgetWindow::Month, 100) }]).unwrap();
    save(&node, &budgets).await;
    let reserved = reserve(&node, &budgets, PRICE, 10, NOW).await.unwrap().unwrap();
    reserved.settle(Tokens { prompt: 10, completion: 0, cached: 0 }, Instant::now());
    assert_eq!(reserve(&node, &budgets, PRICE, 91, until).await.err(), Some(BudgetWindow::Month));
    assert!(reserve(&node, &budgets, PRICE, 90, until).await.is_ok());
}

#[tokio::test]
async fn the_leases_of_a_key_without_calls_end_when_the_store_has_its_events() {
    let node = Node::start(1_000).await;
    let budgets = Budgets::new(vec![budget(BudgetWindow::Total, 100)]).unwrap();
    let key = save(&node, &budgets).await;
    let reserved = reserve(&node, &budgets, PRICE, 30, NOW).await.unwrap().unwrap();
    reserved.settle(Tokens { prompt: 20, completion: 0, cached: 0 }, Instant::now());
    let renew = async || {
        let later = Instant::now() + Duration::from_secs(600);
        node.admission.quota.renew_at(domain::Month::of(NOW), later).await.unwrap();
        node.admission.quota.budget_leases().all().len()
    };
    assert_eq!(renew().await, 1, "20 are used, and the store does not know");
    let period = BudgetPeriod::of(BudgetWindow::Total, NOW);
    let run = domain::RunId::new(NOW, 3);
    let lease = store::budgets::BudgetLeaseKey { key: &key.id, period, run: run.as_str(), node: "node_1" };
    let returned = store::budgets::set_lease(&node.store, lease, 0, None, NOW).await.unwrap();
    assert_eq!(returned.granted, 0);
    // A task that returns what is free may still have it.
    wait_until("the lease has ended", async || renew().await == 0).await;
    assert!(reserve(&node, &budgets, PRICE, 100, NOW).await.is_ok(), "it can be leased again");
}

#[tokio::test]
async fn what_a_lost_request_did_not_return_is_returned_by_a_later_round() {
    let node = Node::start(1_000).await;
    let budgets = Budgets::new(vec![budget(BudgetWindow::Total, 100)]).unwrap();
    let key = save(&node, &budgets).await;
    let quota = &node.admission.quota;
    let reserved = async || store::budgets::spending(&node.store, &key, NOW).await.unwrap()[0].account.reserved;
    let running = reserve(&node, &budgets, PRICE, 30, NOW).await.unwrap().unwrap();
    let asked = quota.store_requests();
    quota.lose_requests(true);
    running.settle(Tokens { prompt: 20, completion: 0, cached: 0 }, Instant::now());
    wait_until("10 were not returned", async || quota.store_requests() > asked).await;
    quota.lose_requests(false);
    assert_eq!(reserved().await, 30);
    quota.renew_at(domain::Month::of(NOW), Instant::now()).await.unwrap();
    assert_eq!(reserved().await, 20);
    let asked = quota.store_requests();
    quota.renew_at(domain::Month::of(NOW), Instant::now()).await.unwrap();
    assert_eq!(quota.store_requests(), asked, "the store knows it now");
}

#[test]
fn a_grant_that_was_asked_for_under_another_cap_is_not_used() {
    let period = BudgetPeriod::of(BudgetWindow::Day, NOW);
    let lease = LocalLease::new(LeasedAccount::Budget { key: domain::KeyId::new(NOW, 1), period });
    let now = Instant::now();
    let granted =
        |granted| LeaseState { granted, written: 0, added: true, near_cap: false, account: Account::default() };
    let mut state = lease.state();
    state.follow_cap(1_000, NOW);
    let change = state.begin_change();
    state.granted(change, &granted(500), now + Duration::from_secs(60));
    assert!(state.take(1, now).0);
    let change = state.begin_change();
    state.follow_cap(10, NOW);
    state.granted(change, &granted(1_000), now + Duration::from_secs(60));
    assert!(!state.take(1, now).0, "the cap was lowered while the store was asked");
    let returned = state.release_free().unwrap();
    assert_eq!(returned.believed, 1, "the store still had 1,000");
}

#[tokio::test]
async fn a_call_may_be_retried_soon_if_running_calls_have_reserved_a_budget() {
    let node = Node::start(1_000).await;
    let budgets = Budgets::new(vec![budget(BudgetWindow::Day, 100)]).unwrap();
    save(&node, &budgets).await;
    let caller = Arc::new(Caller::clone(&node.caller).budgeted(&budgets));
    let rejected = async |tokens| {
        let bound = TokenBound { prompt: tokens, completion: 0, choices: 1 };
        let error = node.admission.quota.reserve_budgets(&caller, PRICE.into(), &bound, NOW, None).await.err().unwrap();
        let per_minute = PerMinute { requests: 60, tokens: 6_000 };
        let rate_limits = node.admission.rate_limiter.look(&caller, per_minute).await;
        rejection(&caller, error, NOW, rate_limits)
    };
    let running = reserve(&node, &budgets, PRICE, 90, NOW).await.unwrap().unwrap();
    let error = rejected(20).await;
    assert!(matches!(error, CallError::BudgetReserved { .. }), "{error}");
    assert!(error.to_string().contains("0.00000009 reserved by running calls; retry when"), "{error}");
    let error = rejected(101).await;
    assert!(matches!(error, CallError::BudgetExceeded { .. }), "more than the whole budget: {error}");
    drop(running);
}

#[tokio::test]
async fn a_budget_that_a_stopped_node_holds_is_not_expected_back_soon() {
    let node = Node::start(1_000).await;
    let budgets = Budgets::new(vec![budget(BudgetWindow::Total, 100)]).unwrap();
    let key = save(&node, &budgets).await;
    let mut tx = node.store.begin().await.unwrap();
    for (id, seen_at) in [("stopped", NOW), ("node_1", NOW.plus_millis(600_000))] {
        let seen = store::nodes::Node { id: id.into(), started_at: NOW, seen_at, catalogue_hash: String::new() };
        store::nodes::record(&mut tx, &seen).await.unwrap();
    }
    tx.commit().await.unwrap();
    let period = BudgetPeriod::of(BudgetWindow::Total, NOW);
    let lease = store::budgets::BudgetLeaseKey { key: &key.id, period, run: "run_gone", node: "stopped" };
    let ask = LeaseRequest { wanted: 90, least: 90, recent: 0, nodes: 2 };
    store::budgets::set_lease(&node.store, lease, 0, Some(&ask), NOW).await.unwrap();

    let caller = Caller::clone(&node.caller).budgeted(&budgets);
    let bound = TokenBound { prompt: 20, completion: 0, choices: 1 };
    let error = node.admission.quota.reserve_budgets(&caller, PRICE.into(), &bound, NOW, None).await.err().unwrap();
    assert_eq!(node.admission.quota.store_requests(), 1, "it does not ask again");
    let per_minute = PerMinute { requests: 60, tokens: 6_000 };
    let error = rejection(&caller, error, NOW, node.admission.rate_limiter.look(&caller, per_minute).await);
    assert!(matches!(error, CallError::BudgetExceeded { .. }) && !error.may_begin_later(), "{error}");
    assert!(error.to_string().contains("0.00000009 reserved by running calls and nodes that have stopped"), "{error}");
}

#[tokio::test]
async fn new_end_users_of_a_full_workspace_are_rejected_by_a_read() {
    let node = Node::start(1_000).await;
    let end_users = ["a", "b", "c"].map(|digit| EndUserId::parse(&format!("eu_{}", digit.repeat(32))).unwrap());
    let [ada, bob, eve] = &end_users;
    let (full, began) = (FullWorkspaces::new(1), Instant::now());
    let period = BudgetPeriod::of(BudgetWindow::Day, NOW);
    let ask = LeaseRequest { wanted: 5, least: 5, recent: 0, nodes: 1 };
    let workspace = &node.caller.workspace;
    let set = async |end_user: &EndUserId, seconds: u64| {
        let lease = store::budgets::EndUserLeaseKey { workspace, end_user, period, run: "run_a", node: "node_1" };
        let now = began + Duration::from_secs(seconds);
        full.set_lease(&node.store, lease, 0, Some(&ask), NOW, now).await.unwrap()
    };
    assert!(set(ada, 0).await.added);
    let nothing = set(bob, 0).await;
    assert!(!nothing.added);
    // While another transaction writes, only a read gets through.
    let mut busy = node.store.begin().await.unwrap();
    store::end_users::delete(&mut busy, workspace, bob, NOW).await.unwrap();
    for end_user in [bob, eve] {
        assert!(!tokio::time::timeout(Duration::from_secs(2), set(end_user, 9)).await.unwrap().added);
    }
    store::end_users::delete(&mut busy, workspace, ada, NOW).await.unwrap();
    busy.commit().await.unwrap();
    assert!(!set(eve, 9).await.added);
    assert!(set(eve, 10).await.added, "it is not full any more");
    assert!(set(eve, 11).await.added, "is known");

    let quota = &node.admission.quota;
    let account = LeasedAccount::EndUser { workspace: workspace.clone(), end_user: bob.clone(), period };
    let lease = quota.end_user_leases().get_or_insert(bob, |_| false, || LocalLease::new(account));
    let change = lease.state().begin_change();
    lease.state().granted(change, &nothing, began + Duration::from_secs(60));
    drop(lease);
    let mut busy = node.store.begin().await.unwrap();
    store::end_users::delete(&mut busy, workspace, bob, NOW).await.unwrap();
    let ended = quota.end_idle_budgets(Instant::now());
    tokio::time::timeout(Duration::from_secs(2), ended).await.expect("the store has nothing to delete");
    assert!(quota.end_user_leases().all().is_empty(), "the node forgets it, too");
}

#[tokio::test]
async fn only_tokens_of_a_quota_are_counted_as_overrun() {
    let node = Node::start(1_000).await;
    let budgets = Budgets::new(vec![budget(BudgetWindow::Total, 100)]).unwrap();
    save(&node, &budgets).await;
    let running = reserve(&node, &budgets, PRICE, 10, NOW).await.unwrap().unwrap();
    running.settle(Tokens { prompt: 25, completion: 0, cached: 0 }, Instant::now());
    assert_eq!(node.admission.quota.overrun_tokens(), 0, "nano-dollars do not count as tokens");
}
