use super::*;
use crate::breaker::Witness;
use crate::counted_allocations::allocations;
use crate::queue::QueuedCall;
use crate::routing::{EnginePressure, FingerprintBuilder};
use domain::CallClass::{Flex, Interactive};
use domain::caller::Actor;
use domain::capabilities::{Capability, Support};
use domain::fair_queue::Newcomer;
use domain::model::{EngineKind, Upstream};
use domain::{KeyId, QueueWeight, Timestamp, WorkspaceId};
use std::collections::BTreeSet;
use std::sync::Barrier;
use std::time::Duration;

fn pool(count: usize, max_in_flight: Option<u32>) -> Pool {
    let replica = |index: usize| {
        let upstream =
            Upstream { max_in_flight, ..Upstream::plain(format!("http://127.0.0.1:{}/v1", 9000 + index), "m") };
        Arc::new(Backend::new(&format!("r{index}"), upstream).unwrap())
    };
    Pool::new((0..count).map(replica).collect())
}

/// A prompt of this many KiB of one letter.
fn prompt(letter: u8, kibibytes: usize) -> Fingerprint {
    let mut builder = FingerprintBuilder::new(1, 0);
    builder.text(&vec![letter; kibibytes << 10]);
    builder.finish(None)
}

fn pick(pool: &Pool, letter: u8) -> Option<Slot> {
    pick_another(pool, letter, &[], Instant::now()).ok()
}

fn pick_another(pool: &Pool, letter: u8, tried: &[BackendId], now: Instant) -> Result<Slot, PickError> {
    let prompt = prompt(letter, 8);
    pool.pick(Interactive, || &prompt, tried, now)
}

#[test]
fn a_prompt_returns_to_its_replica_until_waiting_there_costs_more() {
    let pool = pool(4, None);
    let home = pick(&pool, b'a').unwrap().replica().id;
    for _ in 0..20 {
        let slot = pick(&pool, b'a').unwrap();
        assert_eq!((slot.replica().id, slot.cached_estimate()), (home, Some(2_048)));
    }
    let running = |_| {
        let mut slot = pick(&pool, b'a').unwrap();
        slot.first_event();
        slot
    };
    let held: Vec<Slot> = (0..40).map(running).collect();
    let elsewhere = held.iter().filter(|slot| slot.replica().id != home).count();
    assert!((1..10).contains(&elsewhere), "every running call counts a little: {elsewhere}");
    assert!(pool.replicas().iter().all(|replica| replica.prompt_load().queued_tokens() == 0));
    drop(held);
    assert!(pool.replicas().iter().all(|replica| replica.in_flight() == 0));
}

#[test]
fn a_long_prompt_weighs_more_than_many_short_ones() {
    let pool = pool(2, None);
    let long = prompt(b'x', 64);
    let long = pool.pick(Interactive, || &long, &[], Instant::now()).unwrap();
    let short: Vec<Slot> = (b'a'..b'f').map(|letter| pick(&pool, letter).unwrap()).collect();
    assert!(short.iter().all(|slot| slot.replica().id != long.replica().id));
}

#[test]
fn a_prompt_counts_as_in_flight_until_its_first_event_or_its_end() {
    let pool = pool(2, None);
    let in_flight = || pool.replicas().iter().map(|replica| replica.prompt_load().queued_tokens()).sum::<u64>();
    let mut slot = pick(&pool, b'a').unwrap();
    assert_eq!(in_flight(), 2_048);
    slot.first_event();
    slot.first_event();
    assert_eq!(in_flight(), 0);
    drop(slot);
    let dropped = pick(&pool, b'b').unwrap();
    assert_eq!(in_flight(), 2_048);
    drop(dropped);
    assert_eq!(in_flight(), 0);
}

/// The prompt is hashed before: `pick` gets its fingerprint, the same one for every replica.
#[test]
fn choosing_among_replicas_allocates_nothing() {
    let pool = pool(8, None);
    let known = prompt(b'a', 48);
    pool.replicas().iter().for_each(|replica| replica.prefixes(|prefixes| prefixes.place(&known)));
    let now = Instant::now();
    let pick = || pool.pick(Interactive, || &known, &[], now).unwrap();
    drop(pick());
    let (slots, allocated) = allocations(|| std::array::from_fn::<Slot, 16, _>(|_| pick()));
    assert_eq!(allocated, 0);
    assert!(slots.iter().all(|slot| slot.cached_estimate() == Some(12 << 10)));
}

#[test]
fn a_single_replica_skips_the_rule() {
    let pool = pool(1, None);
    let slot = pool.pick(Interactive, || panic!("the prompt is not read"), &[], Instant::now()).unwrap();
    slot.learn(1_000, Some(10));
    let replica = slot.replica();
    assert_eq!((slot.cached_estimate(), replica.prompt_load().queued_tokens()), (None, 0));
    assert!(replica.prefixes(|prefixes| prefixes.is_empty()));
}

#[test]
fn a_prompt_at_a_single_replica_is_counted_on_request() {
    let pool = pool(1, None);
    let mut slot = pool.pick(Interactive, || panic!("the prompt is not read"), &[], Instant::now()).unwrap();
    slot.count_prompt(70);
    slot.count_prompt(70);
    let load = pool.replicas()[0].prompt_load();
    assert_eq!((load.own_prefill_tokens(), load.prefilling()), (70, 1));
    slot.first_event();
    assert_eq!((load.own_prefill_tokens(), load.prefilling()), (0, 0));
}

#[test]
fn a_replica_that_went_down_has_lost_its_cache() {
    let pool = pool(2, None);
    let home = Arc::clone(pick(&pool, b'a').unwrap().replica());
    assert!(!home.prefixes(|prefixes| prefixes.is_empty()));
    home.unreachable();
    assert!(home.prefixes(|prefixes| prefixes.is_empty()));
}

#[test]
fn the_engines_counts_correct_the_estimates() {
    let pool = pool(2, None);
    for _ in 0..200 {
        pick(&pool, b'a').unwrap().learn(4_096, Some(4_000));
    }
    let slot = pick(&pool, b'a').unwrap();
    assert!(slot.cached_estimate().unwrap() > 3_900, "two bytes per token, not four");
    let (predicted, real) = slot.replica().prompt_load().cached_tokens();
    assert!(predicted > 0 && real == 200 * 4_000);
    let after = Pool::replacing(Some(&pool), pool.replicas().to_vec());
    assert!(pick(&after, b'a').unwrap().cached_estimate().unwrap() > 3_900, "a new pool keeps what was learned");
}

#[test]
fn a_replica_reports_cached_tokens_if_it_has_or_its_engine_is_known_to() {
    let replica = |engine| {
        let upstream = Upstream { engine, ..Upstream::plain("http://127.0.0.1:9000/v1".to_owned(), "m") };
        Arc::new(Backend::new("r", upstream).unwrap())
    };
    let probed = |support| {
        let mut capabilities = Capabilities::default();
        capabilities.set(Capability::CachedTokens, support);
        Arc::new(capabilities)
    };
    for engine in [EngineKind::Vllm, EngineKind::Sglang] {
        let replica = replica(Some(engine));
        assert!(replica.reports_cached(), "{engine:?}");
        replica.set_capabilities(probed(Support::No));
        assert!(!replica.reports_cached(), "{engine:?} without the option");
    }
    let other = replica(None);
    assert!(!other.reports_cached());
    other.set_capabilities(probed(Support::Yes));
    assert!(other.reports_cached());
    let pool = Pool::new(vec![replica(Some(EngineKind::LlamaServer))]);
    let slot = pool.pick(Interactive, || panic!("the prompt is not read"), &[], Instant::now()).unwrap();
    slot.learn(1_000, Some(0));
    assert!(!slot.replica().reports_cached());
    slot.learn(1_000, Some(10));
    assert!(slot.replica().reports_cached());
}

#[test]
fn the_cap_is_enforced_and_a_full_pool_rejects_calls() {
    let pool = pool(2, Some(3));
    let held: Vec<Slot> = (0..6).map(|_| pick(&pool, b'x').unwrap()).collect();
    assert!(pick(&pool, b'x').is_none());
    drop(held);
    assert!(pick(&pool, b'x').is_some());
}

#[test]
fn replicas_that_are_down_get_no_calls_and_lower_the_availability() {
    let pool = pool(2, None);
    assert_eq!(pool.availability(), Availability::Available);
    pool.replicas()[0].unreachable();
    assert_eq!(pool.availability(), Availability::Degraded);
    for letter in *b"abcd" {
        assert_eq!(&*pick(&pool, letter).unwrap().replica().name, "r1");
    }
    pool.replicas()[1].unreachable();
    assert_eq!(pool.availability(), Availability::Unavailable);
    assert!(pick(&pool, b'a').is_none());
}

#[test]
fn a_replica_that_keeps_failing_gets_no_calls_while_there_is_another() {
    let pool = pool(2, None);
    let now = Instant::now();
    for organization in 0..5 {
        pool.replicas()[0].failed(Witness(organization), now);
    }
    for letter in *b"abcd" {
        assert_eq!(&*pick_another(&pool, letter, &[], now).unwrap().replica().name, "r1");
    }
    let later = now + Duration::from_secs(2);
    let trial = pick_another(&pool, b'a', &[], later).unwrap();
    assert_eq!(&*trial.replica().name, "r0", "one call tests it");
    assert_eq!(&*pick_another(&pool, b'a', &[], later).unwrap().replica().name, "r1");
    for organization in 0..5 {
        pool.replicas()[1].failed(Witness(organization), later);
    }
    assert!(
        pick_another(&pool, b'a', &[trial.replica().id], later).is_ok(),
        "without a better one, a failing replica is used"
    );
}

#[test]
fn calls_that_choose_the_same_last_slot_all_find_one() {
    const CALLS: usize = 8;
    for _ in 0..100 {
        let (pool, barrier) = (pool(CALLS, Some(1)), Barrier::new(CALLS));
        let slots: Vec<Slot> = std::thread::scope(|scope| {
            let calls = [(); CALLS].map(|()| {
                scope.spawn(|| {
                    barrier.wait();
                    pick(&pool, b'x').expect("a slot for each call")
                })
            });
            calls.map(|call| call.join().unwrap()).into()
        });
        let replicas: BTreeSet<&str> = slots.iter().map(|slot| &*slot.replica().name).collect();
        assert_eq!(replicas.len(), CALLS);
    }
}

#[test]
fn a_trial_that_finds_no_room_leaves_it_to_the_next_call() {
    let pool = pool(2, Some(1));
    let now = Instant::now();
    let failing = &pool.replicas()[0];
    for organization in 0..5 {
        failing.failed(Witness(organization), now);
    }
    let later = now + Duration::from_secs(2);
    assert!(failing.breaker(|breaker| breaker.admits(later)), "the trial");
    let claim = pool.claim(Interactive, now);
    assert!(failing.enter(claim), "another call takes the last slot meanwhile");
    assert!(take(failing, claim, true).is_err());
    assert!(failing.breaker(|breaker| breaker.admits(later)), "another trial");
}

#[test]
fn a_side_request_leaves_no_trace_in_the_routing() {
    let pool = pool(2, None);
    let now = Instant::now();
    for organization in 0..5 {
        pool.replicas()[0].failed(Witness(organization), now);
    }
    let slot = pool.pick_for_side_request(|_| true).unwrap();
    assert_eq!((&*slot.replica().name, slot.cached_estimate()), ("r1", None));
    assert_eq!(slot.replica().in_flight(), 1);
    assert!(pool.replicas().iter().all(|replica| replica.prefixes(|prefixes| prefixes.is_empty())));
    let failing = pool.pick_for_side_request(|replica| &*replica.name == "r0").unwrap();
    let later = now + Duration::from_secs(2);
    let trial = pick_another(&pool, b'a', &[], later).unwrap();
    assert_eq!((&*failing.replica().name, &*trial.replica().name), ("r0", "r0"), "the trial is left to a call");
    assert!(pool.pick_for_side_request(|_| false).is_err());
}

#[test]
fn a_retry_uses_another_replica_or_fails() {
    let two = pool(2, None);
    let first = pick(&two, b'x').unwrap();
    let second = pick_another(&two, b'x', &[first.replica().id], Instant::now()).unwrap();
    assert_ne!(first.replica().name, second.replica().name);
    let one = pool(1, None);
    let only = pick(&one, b'x').unwrap();
    assert!(pick_another(&one, b'x', &[only.replica().id], Instant::now()).is_err());
}

#[test]
fn yielding_calls_take_half_of_a_replica_and_return_it() {
    let flex = |pool: &Pool| pool.pick(Flex, || panic!("the prompt is not read"), &[], Instant::now());
    let only = pool(1, Some(4));
    let replica = &only.replicas()[0];
    let taken = [flex(&only).unwrap(), flex(&only).unwrap()];
    assert!(flex(&only).is_err(), "their half");
    let interactive = [pick(&only, b'a').unwrap(), pick(&only, b'a').unwrap()];
    assert!(pick(&only, b'a').is_none(), "all of it");
    assert_eq!((replica.in_flight(), replica.yielding(), only.has_yielding_calls()), (4, 2, true));
    drop(taken);
    assert_eq!((replica.in_flight(), replica.yielding(), only.has_yielding_calls()), (2, 0, false));
    let more = [pick(&only, b'a').unwrap(), pick(&only, b'a').unwrap()];
    assert!(flex(&only).is_err(), "interactive calls have taken all");
    drop((interactive, more));
    replica.prompt_load().set_pressure(Some(EnginePressure { waiting: 1, kv_cache_milli: 0 }));
    assert!(flex(&only).is_err(), "the engine has a queue");
    assert!(pick(&only, b'a').is_some(), "which is the business of interactive calls");
    replica.prompt_load().set_pressure(None);
    assert!(flex(&only).is_ok());
    assert_eq!((replica.in_flight(), replica.yielding()), (0, 0));
}

#[test]
fn yielding_calls_take_more_of_a_replica_that_interactive_calls_have_left() {
    let pool = pool(1, Some(8));
    let start = Instant::now();
    let flex = |seconds| pool.pick(Flex, || panic!("not read"), &[], start + Duration::from_secs(seconds)).ok();
    let mut taken: Vec<Slot> = (0..4).map_while(|_| flex(0)).collect();
    assert!(taken.len() == 4 && flex(3).is_none());
    let interactive = pick_another(&pool, b'a', &[], start + Duration::from_secs(60)).unwrap();
    assert!(flex(70).is_none(), "it runs");
    drop(interactive);
    assert!(flex(62).is_none(), "another one may follow");
    taken.extend((0..4).map_while(|_| flex(70)));
    assert_eq!(taken.len(), 7);
    assert!(pick(&pool, b'a').is_some(), "a place is left for the next one");
}

#[tokio::test]
async fn a_call_that_ends_wakes_the_first_of_those_that_wait_and_only_if_one_sleeps() {
    let pool = pool(1, Some(1));
    let newcomer = Newcomer {
        class: Interactive,
        workspace: WorkspaceId::new(Timestamp::from_millis(1), 1),
        weight: QueueWeight::default(),
        actor: Actor::Key(KeyId::new(Timestamp::from_millis(1), 1)),
        tokens: 1,
        since: Instant::now(),
    };
    let first = pool.queue().join(newcomer.clone()).unwrap();
    let second = pool.queue().join(newcomer).unwrap();
    let is_woken = |queued: &QueuedCall| {
        let mut woken = std::pin::pin!(queued.woken());
        let waker = std::task::Waker::noop();
        woken.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_ready()
    };
    drop(pick(&pool, b'a').unwrap());
    assert!(!is_woken(&first), "it does not sleep");
    let running = pick(&pool, b'a').unwrap();
    pool.await_room();
    assert!(!is_woken(&first) && !is_woken(&second));
    drop(running);
    assert!(is_woken(&first) && !is_woken(&second));
    drop(first.serve(1));
    assert!(is_woken(&second), "there may be room for another one");
}
