use super::*;
use crate::ids::KeyId;
use crate::time::Timestamp;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::time::Duration;

const BOUNDS: QueueBounds = QueueBounds { of_workspace: 1_000, shared: 10_000 };
const MAX_COST: u64 = 1_000;

fn workspace(number: usize) -> WorkspaceId {
    WorkspaceId::new(Timestamp::from_millis(1), number as u128)
}

fn key(number: usize) -> Actor {
    Actor::Key(KeyId::new(Timestamp::from_millis(1), number as u128))
}

fn call(class: CallClass, owner: usize, weight: u16) -> Newcomer {
    let weight = QueueWeight::new(weight.into()).unwrap();
    Newcomer { class, workspace: workspace(owner), weight, actor: key(0), tokens: 10, since: Instant::now() }
}

/// Tickets are payloads, so that the first call can be served.
type Served = (usize, u64);

fn join(queue: &mut FairQueue<Served>, tickets: &mut HashMap<u64, Ticket>, newcomer: Newcomer, owner: usize) {
    let number = queue.count + 1;
    let ticket = queue.join(newcomer, (owner, number)).unwrap();
    tickets.insert(number, ticket);
}

#[derive(Debug, Clone)]
enum Step {
    Join { class: CallClass, owner: usize, key: usize, tokens: u64 },
    Serve { tokens: u64 },
    Leave { which: usize },
    End { which: usize, tokens: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize, 0..5_usize, 0..3_usize, 0..MAX_COST).prop_map(|(class, owner, key, tokens)| Step::Join {
            class: CallClass::ALL[class],
            owner,
            key,
            tokens,
        }),
        3 => (0..MAX_COST).prop_map(|tokens| Step::Serve { tokens }),
        1 => any::<usize>().prop_map(|which| Step::Leave { which }),
        2 => (any::<usize>(), 0..MAX_COST).prop_map(|(which, tokens)| Step::End { which, tokens }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A list of all calls knows what waits, and that the queue never stops while something does.
    #[test]
    fn every_call_is_served_once_the_first_class_first_and_each_key_in_order(steps in prop::collection::vec(step(), 1..200)) {
        let mut queue: FairQueue<u64> = FairQueue::new(BOUNDS);
        let mut waiting: Vec<(Ticket, u64)> = Vec::new();
        let mut running = VecDeque::new();
        for step in steps {
            match step {
                Step::Join { class, owner, key: of, tokens } => {
                    let newcomer = Newcomer { actor: key(of), tokens, ..call(class, owner, 1 + owner as u16) };
                    let number = queue.count + 1;
                    waiting.push((queue.join(newcomer, number).unwrap(), tokens));
                }
                Step::Serve { tokens } => {
                    let first = queue.first().copied();
                    prop_assert_eq!(first.is_none(), waiting.is_empty(), "something waits, so something is served");
                    let Some(number) = first else { continue };
                    let index = waiting.iter().position(|(ticket, _)| ticket.number == number).unwrap();
                    let (ticket, _) = waiting.remove(index);
                    prop_assert!(queue.is_first(&ticket));
                    prop_assert!(waiting.iter().all(|(other, _)| other.class >= ticket.class));
                    let earlier = waiting.iter().any(|(other, _)| {
                        (other.class, &other.workspace, &other.actor) == (ticket.class, &ticket.workspace, &ticket.actor)
                            && other.number < ticket.number
                    });
                    prop_assert!(!earlier, "in order of arrival");
                    running.push_back(queue.serve(&ticket, tokens));
                }
                Step::Leave { which } if !waiting.is_empty() => {
                    let (ticket, _) = waiting.remove(which % waiting.len());
                    queue.leave(&ticket);
                    queue.leave(&ticket);
                }
                Step::End { which, tokens } if !running.is_empty() => {
                    let charge = running.remove(which % running.len()).unwrap();
                    queue.end(&charge, tokens);
                }
                Step::Leave { .. } | Step::End { .. } => {}
            }
            for class in CallClass::ALL {
                let own: Vec<u64> =
                    waiting.iter().filter(|(ticket, _)| ticket.class == class).map(|(_, tokens)| *tokens).collect();
                prop_assert_eq!((queue.calls(class), queue.tokens(class)), (own.len(), own.iter().sum()));
            }
            prop_assert_eq!(queue.waiting().iter().map(|one| one.calls).sum::<usize>(), waiting.len());
            for (ticket, _) in &waiting {
                prop_assert!(queue.ahead(ticket) < waiting.len());
            }
        }
        waiting.iter().for_each(|(ticket, _)| queue.leave(ticket));
        running.iter().for_each(|charge| queue.end(charge, 1));
        // The debts of the last busy time are forgotten with the next one.
        for class in CallClass::ALL {
            let ticket = queue.join(call(class, 9, 1), 0).unwrap();
            queue.leave(&ticket);
        }
        prop_assert!(queue.is_forgotten(), "{queue:?}");
    }

    /// Backlogged workspaces get tokens by their weights. They differ by no more than a call of each, and by what running
    /// calls of each cost beyond what was expected.
    #[test]
    fn shares_stay_within_bounds_while_all_wait(
        weights in prop::collection::vec(1..8_u16, 2..6),
        slots in 1..6_usize,
        costs in prop::collection::vec((1..MAX_COST, 1..MAX_COST, any::<usize>()), 50..300),
    ) {
        let mut queue = FairQueue::new(BOUNDS);
        let mut tickets = HashMap::new();
        let mut got = vec![0_u64; weights.len()];
        let mut running = Vec::new();
        for (owner, weight) in weights.iter().enumerate() {
            join(&mut queue, &mut tickets, call(CallClass::Interactive, owner, *weight), owner);
        }
        for (expected, actual, which) in costs {
            if running.len() == slots {
                let (charge, actual) = running.swap_remove(which % slots);
                queue.end(&charge, actual);
            }
            let (owner, number) = *queue.first().unwrap();
            join(&mut queue, &mut tickets, call(CallClass::Interactive, owner, weights[owner]), owner);
            running.push((queue.serve(&tickets.remove(&number).unwrap(), expected), actual));
            got[owner] += actual;
            let bound = MAX_COST as f64 * (slots + 1) as f64;
            for (one, of_one) in got.iter().enumerate() {
                for (other, of_other) in got.iter().enumerate() {
                    let (one, other) = (f64::from(weights[one]), f64::from(weights[other]));
                    let difference = *of_one as f64 / one - *of_other as f64 / other;
                    prop_assert!(difference <= bound / one + bound / other, "{got:?} {weights:?}");
                }
            }
        }
    }

    /// However many calls of others wait, and however long they have been served, a newcomer is served after at most one
    /// call of each and a call of each that was being served.
    #[test]
    fn no_workspace_starves(
        others in 1..30_usize,
        before in 0..200_usize,
        costs in prop::collection::vec(1..MAX_COST, 300),
    ) {
        let mut queue = FairQueue::new(BOUNDS);
        let mut tickets = HashMap::new();
        for owner in 0..others {
            join(&mut queue, &mut tickets, call(CallClass::Flex, owner, 1), owner);
        }
        let mut costs = costs.into_iter();
        let mut serve = |queue: &mut FairQueue<Served>, tickets: &mut HashMap<u64, Ticket>| {
            let (owner, number) = *queue.first().unwrap();
            join(queue, tickets, call(CallClass::Flex, owner, 1), owner);
            let cost = costs.next().unwrap();
            let charge = queue.serve(&tickets.remove(&number).unwrap(), cost);
            queue.end(&charge, cost);
            owner
        };
        for _ in 0..before {
            serve(&mut queue, &mut tickets);
        }
        join(&mut queue, &mut tickets, call(CallClass::Flex, 99, 1), 99);
        let served = (0..=others).map(|_| serve(&mut queue, &mut tickets)).position(|owner| owner == 99);
        prop_assert!(served.is_some(), "not among the next {} calls", others + 1);
    }
}

/// Serves this many calls of workspaces that always have one waiting, and returns whose they were.
fn serve(queue: &mut FairQueue<Served>, tickets: &mut HashMap<u64, Ticket>, count: usize, cost: u64) -> Vec<usize> {
    let served = (0..count).map(|_| {
        let (owner, number) = *queue.first().unwrap();
        join(queue, tickets, call(CallClass::Interactive, owner, 1), owner);
        let charge = queue.serve(&tickets.remove(&number).unwrap(), cost);
        queue.end(&charge, cost);
        owner
    });
    served.collect()
}

#[test]
fn an_idle_workspace_gains_no_credit() {
    let (mut queue, mut tickets) = (FairQueue::new(BOUNDS), HashMap::new());
    join(&mut queue, &mut tickets, call(CallClass::Interactive, 1, 1), 1);
    serve(&mut queue, &mut tickets, 100, 500);
    join(&mut queue, &mut tickets, call(CallClass::Interactive, 2, 1), 2);
    let served = serve(&mut queue, &mut tickets, 20, 500);
    assert_eq!(served.iter().filter(|owner| **owner == 2).count(), 10, "{served:?}");
}

#[test]
fn a_call_that_cost_more_than_expected_is_paid_later_and_a_refund_gives_no_credit_for_idle_time() {
    let (mut queue, mut tickets) = (FairQueue::new(BOUNDS), HashMap::new());
    for owner in [1, 2] {
        join(&mut queue, &mut tickets, call(CallClass::Interactive, owner, 1), owner);
    }
    let (owner, number) = *queue.first().unwrap();
    join(&mut queue, &mut tickets, call(CallClass::Interactive, owner, 1), owner);
    let charge = queue.serve(&tickets.remove(&number).unwrap(), 10);
    queue.end(&charge, 1_000);
    assert_eq!(serve(&mut queue, &mut tickets, 10, 100), [2; 10], "{owner}");

    let (mut queue, mut tickets) = (FairQueue::new(BOUNDS), HashMap::new());
    for owner in [1, 2] {
        join(&mut queue, &mut tickets, call(CallClass::Interactive, owner, 1), owner);
    }
    let (owner, number) = *queue.first().unwrap();
    let charge = queue.serve(&tickets.remove(&number).unwrap(), 1_000);
    assert_eq!(owner, 1);
    serve(&mut queue, &mut tickets, 50, 100);
    join(&mut queue, &mut tickets, call(CallClass::Interactive, 1, 1), 1);
    queue.end(&charge, 0);
    let served = serve(&mut queue, &mut tickets, 10, 100);
    assert_eq!(served.iter().filter(|owner| **owner == 1).count(), 5, "{served:?}");
}

#[test]
fn what_waits_has_the_age_of_its_oldest_call() {
    let mut queue = FairQueue::new(BOUNDS);
    let start = Instant::now();
    let mut join = |key_number, seconds| {
        let since = start + Duration::from_secs(seconds);
        queue.join(Newcomer { actor: key(key_number), since, ..call(CallClass::Flex, 1, 1) }, ()).unwrap()
    };
    let tickets = [join(1, 5), join(0, 7), join(1, 9)];
    let mut ages = Vec::new();
    for ticket in &tickets {
        ages.extend(queue.waiting().iter().map(|waiting| waiting.since.duration_since(start).as_secs()));
        queue.leave(ticket);
    }
    assert_eq!(ages, [5, 7, 9]);
    assert_eq!(queue.waiting(), []);
}

#[test]
fn the_keys_of_a_workspace_share_its_turn() {
    let mut queue = FairQueue::new(BOUNDS);
    let mut tickets = Vec::new();
    for number in 0..20_usize {
        let actor = key(usize::from(number >= 15));
        let newcomer = Newcomer { actor, ..call(CallClass::Interactive, 1, 1) };
        tickets.push(queue.join(newcomer, number).unwrap());
    }
    assert_eq!(queue.ahead(&tickets[19]), 8);
    let served: Vec<usize> = (0..10)
        .map(|_| {
            let number = *queue.first().unwrap();
            queue.serve(&tickets[number], 100);
            number
        })
        .collect();
    assert_eq!(served, [0, 15, 1, 16, 2, 17, 3, 18, 4, 19]);
}

#[test]
fn those_who_came_first_do_not_keep_out_others() {
    let mut queue = FairQueue::new(QueueBounds { of_workspace: 6, shared: 10 });
    let mut accepted =
        |owner: usize| (0..20).take_while(|_| queue.join(call(CallClass::Batch, owner, 1), ()).is_ok()).count();
    assert_eq!([1, 2, 3, 4].map(&mut accepted), [6, 5, 3, 2]);
    assert_eq!((5..30).map(&mut accepted).min(), Some(1), "everyone has room for a call");
    let full = queue.join(call(CallClass::Batch, 1, 1), ()).unwrap_err();
    assert_eq!(full, QueueFullError { waiting: 6 });
    assert!(queue.join(call(CallClass::Flex, 1, 1), ()).is_ok(), "each class has its own bound");
}
