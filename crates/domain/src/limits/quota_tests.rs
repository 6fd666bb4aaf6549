//! Property test of the cap under every order of events: a model of the store and three nodes, against a plain sum.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

#[test]
fn a_workspace_gets_no_more_than_its_organization_has_left() {
    let account = |cap, used, reserved| Account { cap, used, reserved, ..Account::default() };
    let own = account(1_000_000, 0, 0);
    let ask = LeaseRequest { wanted: 500, least: 100, recent: 0, nodes: 1 };
    for (shared, workspaces, expected) in [
        (None, 1, Ok((125_000, false))),
        (Some(account(8_000_000, 0, 0)), 1, Ok((125_000, false))),
        (Some(account(8_000_000, 0, 0)), 20, Ok((50_000, false))),
        (Some(account(10_000, 0, 9_700)), 1, Ok((300, true))),
        (Some(account(10_000, 9_000, 950)), 1, Err(50)),
    ] {
        let shared = shared.map(|shared| Account { owner: AccountOwner::Organization, ..shared });
        let granted = grant_within(&own, shared.as_ref().map(|shared| (shared, workspaces)), &ask);
        let granted = granted.map(|granted| (granted.tokens, granted.near_cap)).map_err(|spent| {
            assert_eq!(spent.owner, AccountOwner::Organization);
            spent.left()
        });
        assert_eq!(granted, expected);
    }
    let spent = grant_within(&account(10, 10, 0), Some((&account(10, 0, 0), 1)), &ask).unwrap_err();
    assert_eq!(spent.owner, AccountOwner::Workspace);
}

/// Calls that have ended are used, whether the store has their events or not: a client that calls again at the cap is rejected
/// until the account resets, not for a moment.
#[test]
fn what_ended_calls_have_used_of_a_lease_does_not_come_back() {
    let mut book = LeaseBook::default();
    book.set_granted(100);
    assert!(book.reserve(60) && book.reserve(40));
    book.settle(60, 50);
    let stored = Account { cap: 1_000, used: 920, reserved: 80, ..Account::default() };
    let account = stored.after(book.unwritten(20));
    assert_eq!((account.used, account.reserved), (950, 50));
    assert!(!stored.is_spent_for(60) && account.is_spent_for(60) && !account.is_spent_for(50));
    assert_eq!(stored.after(500).used, 1_000, "no more than is leased");
    assert_eq!(book.unwritten(60), 0, "events of a run that the node does not remember");
}

#[test]
fn what_lost_nodes_hold_is_not_expected_back() {
    let account = Account { cap: 100, used: 20, reserved: 80, lost: 50, ..Account::default() };
    assert!(!account.is_spent_for(80) && !account.is_gone_for(30) && account.is_gone_for(31));
}

#[test]
fn the_size_of_a_lease_follows_the_remaining_quota_and_recent_usage() {
    let request = |wanted, recent| LeaseRequest { wanted, least: 1, recent, nodes: 2 };
    let account = |cap, used, reserved| Account { cap, used, reserved, ..Account::default() };
    for (account, request, tokens, near_cap) in [
        (account(50_000_000, 0, 0), request(500, 0), 1_000_000, false),
        (account(16_000_000, 0, 0), request(500, 0), 1_000_000, false),
        (account(1_600_000, 0, 0), request(500, 0), 100_000, false),
        (account(1_600_000, 0, 0), request(500, 300_000), 100_000, false),
        (account(80_000_000, 0, 0), request(500, 300_000), 1_000_000, false),
        (account(80_000_000, 0, 0), request(500, 2_000_000), 4_000_000, false),
        (account(80_000_000, 0, 0), request(500, 9_000_000), 5_000_000, false),
        (account(200_000, 0, 0), request(500, 0), 12_500, false),
        (account(159_999, 0, 0), request(500, 0), 500, true),
        (account(160_000, 159_000, 600), request(500, 0), 400, true),
    ] {
        assert_eq!(grant(&account, &request), Some(Grant { tokens, near_cap }), "{account:?}");
    }
    assert_eq!(grant(&account(1_000, 600, 400), &request(500, 0)), None);
}

#[test]
fn an_overrun_is_not_taken_from_the_next_call() {
    let mut book = LeaseBook::default();
    book.set_granted(100);
    assert!(book.reserve(100));
    assert_eq!(book.settle(100, 150), 50);
    assert_eq!((book.granted(), book.free()), (150, 0), "the lease grows to the real usage");
    book.set_granted(book.granted() + 60);
    assert!(book.reserve(60), "the next grant is free");
}

#[test]
fn a_call_is_clamped_to_the_remaining_quota() {
    let bound = TokenBound { prompt: 100, completion: 1_000, choices: 2 };
    assert_eq!((bound.total(), bound.least()), (2_100, 102));
    assert_eq!(bound.clamped(1_101).completion, 500);
    assert_eq!(bound.clamped(100).completion, 0);
    let embedding = TokenBound { prompt: 100, completion: 0, choices: 1 };
    assert_eq!((embedding.total(), embedding.least()), (100, 100));
}

/// Events that may happen in any order.
#[derive(Debug, Clone)]
enum Step {
    /// A call on a node, with its upper bound.
    Call {
        node: usize,
        most: u64,
    },
    /// The oldest call of a node ends, having used a part of its bound.
    End {
        node: usize,
        percent: u64,
    },
    /// The node's events reach the store.
    Write {
        node: usize,
    },
    /// The node returns free tokens; the response may be lost.
    Return {
        node: usize,
        notified: bool,
    },
    /// The node dies and comes back: its events are replayed, its calls are gone.
    Crash {
        node: usize,
    },
    Cap {
        cap: u64,
    },
}

/// Tokens, or nano-dollars of which calls need a thousand times as many.
fn units() -> impl Strategy<Value = (AccountUnit, u64)> {
    prop::sample::select(vec![(AccountUnit::Tokens, 1), (AccountUnit::NanoUsd, 1_000)])
}

fn step() -> impl Strategy<Value = Step> {
    let node = 0..3_usize;
    prop_oneof![
        5 => (node.clone(), 1..3_000_u64).prop_map(|(node, most)| Step::Call { node, most }),
        5 => (node.clone(), 0..=100_u64).prop_map(|(node, percent)| Step::End { node, percent }),
        3 => node.clone().prop_map(|node| Step::Write { node }),
        2 => (node.clone(), any::<bool>()).prop_map(|(node, notified)| Step::Return { node, notified }),
        1 => node.prop_map(|node| Step::Crash { node }),
        1 => (0..40_000_u64).prop_map(|cap| Step::Cap { cap }),
    ]
}

#[derive(Default)]
struct Node {
    run: u32,
    book: LeaseBook,
    calls: Vec<u64>,
    /// Events in the journal that the store does not have yet.
    journal: Vec<u64>,
}

/// The store's rows.
#[derive(Default)]
struct Rows {
    unit: AccountUnit,
    cap: u64,
    used: u64,
    leases: HashMap<(usize, u32), Lease>,
}

impl Rows {
    fn account(&self) -> Account {
        let reserved = self.leases.values().map(Lease::reserved).sum();
        Account { unit: self.unit, cap: self.cap, used: self.used, reserved, ..Account::default() }
    }

    /// Sets a lease to what the node believes it has, and adds what is granted.
    fn set(&mut self, id: (usize, u32), believed: u64, request: Option<&LeaseRequest>) -> (u64, bool) {
        let lease = self.leases.entry(id).or_default();
        lease.granted = believed;
        let granted = request.and_then(|request| grant(&self.account(), request));
        let tokens = granted.map_or(0, |grant| grant.tokens);
        self.leases.entry(id).or_default().granted += tokens;
        (tokens, granted.is_some())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_cap_holds_in_every_order_of_events(
        (unit, scale) in units(),
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let mut rows = Rows { unit, cap: 20_000 * scale, ..Rows::default() };
        let mut nodes: Vec<Node> = (0..3).map(|_| Node::default()).collect();
        // The reference: tokens promised to running calls, and tokens used.
        let (mut running, mut used) = (0_u64, 0_u64);
        let mut highest_cap = rows.cap;
        for step in steps {
            match step {
                Step::Call { node: index, most } => {
                    let (node, most) = (&mut nodes[index], most * scale);
                    if !node.book.reserve(most) {
                        let request = LeaseRequest { wanted: most, least: most, recent: 0, nodes: 3 };
                        let believed = node.book.granted();
                        let (tokens, _) = rows.set((index, node.run), believed, Some(&request));
                        node.book.set_granted(believed + tokens);
                        if !node.book.reserve(most) {
                            continue;
                        }
                    }
                    node.calls.push(most);
                    running += most;
                }
                Step::End { node, percent } if !nodes[node].calls.is_empty() => {
                    let node = &mut nodes[node];
                    let most = node.calls.remove(0);
                    let tokens = most * percent / 100;
                    prop_assert_eq!(node.book.settle(most, tokens), 0);
                    node.journal.push(tokens);
                    running -= most;
                    used += tokens;
                }
                Step::End { .. } => {}
                Step::Write { node: index } => {
                    let written: u64 = nodes[index].journal.drain(..).sum();
                    rows.used += written;
                    rows.leases.entry((index, nodes[index].run)).or_default().written += written;
                }
                Step::Return { node: index, notified } => {
                    let node = &mut nodes[index];
                    node.book.give_up_free();
                    if notified {
                        rows.set((index, node.run), node.book.granted(), None);
                    }
                }
                Step::Crash { node: index } => {
                    let node = &mut nodes[index];
                    running -= node.calls.iter().sum::<u64>();
                    // Its journal is replayed, then its lease ends, then it starts again.
                    rows.used += node.journal.drain(..).sum::<u64>();
                    rows.leases.remove(&(index, node.run));
                    *node = Node { run: node.run + 1, ..Node::default() };
                }
                Step::Cap { cap } => {
                    rows.cap = cap * scale;
                    highest_cap = highest_cap.max(rows.cap);
                }
            }
            let account = rows.account();
            prop_assert!(used + running <= account.used + account.reserved, "the store accounts for everything that may be used");
            prop_assert!(account.used + account.reserved <= highest_cap, "{:?} above {}", account, highest_cap);
            let waiting: u64 = nodes.iter().flat_map(|node| &node.journal).sum();
            prop_assert_eq!(account.used + waiting, used, "every event counts once");
        }
    }

    #[test]
    fn calls_that_go_on_until_the_first_refusal_use_nearly_all(
        (unit, scale) in units(),
        most in 1..2_000_u64,
        cap in 50_000..2_000_000_u64,
    ) {
        let (most, cap) = (most * scale, cap * scale);
        let mut rows = Rows { unit, cap, ..Rows::default() };
        let mut books = [LeaseBook::default(); 3];
        for round in 0.. {
            let node = round % 3;
            if !books[node].reserve(most) {
                let request = LeaseRequest { wanted: most, least: most, recent: 0, nodes: 3 };
                let (tokens, granted) = rows.set((node, 0), books[node].granted(), Some(&request));
                if !granted {
                    break;
                }
                let believed = books[node].granted();
                books[node].set_granted(believed + tokens);
                prop_assert!(books[node].reserve(most));
            }
            prop_assert_eq!(books[node].settle(most, most), 0);
            rows.used += most;
            rows.leases.entry((node, 0)).or_default().written += most;
        }
        prop_assert!(rows.used <= cap);
        prop_assert!(rows.used * 100 >= cap * 90, "only {} of {}", rows.used, cap);
    }
}
