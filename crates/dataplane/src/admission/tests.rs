//! Admission on a real store, at fixed times.

use super::quota::{QuotaError, Reservation};
use super::*;
use crate::record::{CallRecord, Outcome};
use crate::request::chat;
use crate::usage_tap::{FailedAttempt, Sink, UsageTap};
use domain::limits::LimitStatus;
use domain::model::Model;
use domain::quota::{Account, TokenBound};
use domain::usage::{Actor, Certainty, Tokens};
use domain::{KeyId, ModelId, Month, Organization, OrganizationId, RunId, Workspace, WorkspaceId};
use fleet::{Pool, Route};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use store::{Store, organizations, workspaces};
use tempfile::TempDir;
use tokio::runtime::Handle;

pub(super) const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const CAP: u64 = 1_000;
const LONG: Duration = Duration::from_secs(20);

/// A store with one workspace, and the admission of one node.
pub(super) struct Node {
    pub(super) admission: Admission,
    pub(super) caller: Arc<Caller>,
    pub(super) store: Store,
    _folder: TempDir,
}

/// A call that was not counted before.
fn asked(request: RequestId) -> AskedCall {
    let (class, search_price) = (CallClass::default(), NanoUsd::ZERO);
    AskedCall { request, class, is_counted: false, now: NOW, search_price, end_user: None }
}

impl Node {
    pub(super) async fn start(cap: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:forebay.db", folder.path()).await.unwrap();
        store.migrate().await.unwrap();
        let organization = Organization::new(OrganizationId::new(NOW, 1), "Acme", NOW);
        let workspace = Workspace::new(WorkspaceId::new(NOW, 2), organization.id.clone(), "Research", NOW);
        let mut tx = store.begin().await.unwrap();
        organizations::insert(&mut tx, &organization).await.unwrap();
        workspaces::insert(&mut tx, &workspace).await.unwrap();
        tx.commit().await.unwrap();
        let run = RunId::new(NOW, 3);
        let (journal, _) = Journal::open(folder.path(), run.clone(), 1 << 20).unwrap();
        let nodes = Arc::new(AtomicU32::new(1));
        let quota = Quota::new(store.clone(), Handle::current(), run, "node_1", cap, nodes);
        let defaults =
            Limits { requests_per_minute: 60, tokens_per_minute: 6_000, monthly_tokens: cap, max_api_keys: 1 };
        let rate_limiter = RateLimiter::in_memory();
        let caller = Caller::new(organization.id, workspace.id, Actor::Key(KeyId::new(NOW, 4)));
        let (running, counting) = (RunningCalls::default(), RunningCounts::default());
        let averages = CompletionAverages::default();
        let admission = Admission { rate_limiter, quota, journal, defaults, running, counting, averages };
        Self { admission, caller: Arc::new(caller), store, _folder: folder }
    }

    async fn reserve(&self, tokens: u64, now: Timestamp) -> Result<Reservation, QuotaError> {
        let bound = TokenBound { prompt: tokens, completion: 0, choices: 1 };
        self.admission.quota.reserve(&self.caller, &bound, now).await
    }

    async fn account(&self, month: Month) -> Account {
        store::quota::account(&self.store, &self.caller.workspace, month, CAP).await.unwrap()
    }

    /// A chat with a limit of 500 tokens whose client disconnects while it waits.
    async fn call_and_disconnect(&self) {
        let body = r#"{"model":"a/b","max_tokens":500,"messages":[{"role":"user","content":"hi"}]}"#;
        let estimate = chat::parse(body.into()).unwrap().estimate;
        let (model, request) = (model(), RequestId::new(NOW, 5));
        let admitted = self.admission.admit(&self.caller, &model, &estimate, asked(request));
        let timed_out = tokio::time::timeout(Duration::from_millis(20), admitted).await;
        assert!(timed_out.is_err(), "the store is busy, so no call is admitted");
    }

    async fn rate_limits(&self) -> (LimitStatus, LimitStatus) {
        let per_minute = PerMinute { requests: 60, tokens: 6_000 };
        let rate_limits = self.admission.rate_limiter.look(&self.caller, per_minute).await;
        (rate_limits.requests, rate_limits.tokens)
    }
}

#[tokio::test]
async fn a_call_may_begin_later_if_running_calls_have_reserved_the_quota() {
    let node = Node::start(CAP).await;
    let running = node.reserve(950, NOW).await.unwrap();
    let rate_limits = node.admission.rate_limiter.look(&node.caller, PerMinute { requests: 60, tokens: 6_000 }).await;
    let rejected = async |tokens| {
        let error = node.reserve(tokens, NOW).await.err().unwrap();
        rejection(&node.caller, error, NOW, rate_limits)
    };
    let error = rejected(100).await;
    assert!(error.may_begin_later(), "{error}");
    assert!(error.to_string().contains("950 reserved by running calls"), "{error}");
    let error = rejected(CAP + 1).await;
    assert!(matches!(error, CallError::QuotaExceeded { .. }) && !error.may_begin_later(), "more than all: {error}");
    drop(running);
}

/// A sink that keeps nothing.
struct NoSink;

impl Sink for NoSink {
    fn settle(&self, _record: &CallRecord) {}
    fn mark(&self, _record: &CallRecord) {}
}

/// What happens to a call after it was admitted.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The request is written to a replica, with a prompt of this many tokens.
    Written(u64),
    Ended(FailedAttempt),
    /// An engine has counted this prompt and completion.
    Counted(u64, u64),
    /// The client has not read for this many seconds, since the stream began.
    Unread(u64),
}

/// The tokens of [`Step::Unread`], at the pace of a model of which nothing is known.
fn written_unread(seconds: u64) -> u64 {
    (20 * seconds).min(500)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    use FailedAttempt::{ClientsEnd, Failed, NotTaken, Rejected};
    let end = prop::sample::select(vec![NotTaken, Rejected, Failed, ClientsEnd]);
    let step = prop_oneof![
        (1..100_u64).prop_map(Step::Written),
        end.prop_map(Step::Ended),
        (1..100_u64, 0..900_u64).prop_map(|(prompt, completion)| Step::Counted(prompt, completion)),
        (1..100_u64).prop_map(Step::Unread),
    ];
    prop::collection::vec(step, 0..5)
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop::sample::select(vec![
        Outcome::Served,
        Outcome::Rejected { status: 502, code: "bad_gateway" },
        Outcome::Interrupted { code: "bad_gateway" },
        Outcome::ClientGone,
    ])
}

/// The least that a call which was expected to use `expected` tokens has used. A count covers what came before it.
fn least_used(steps: &[Step], expected: u64) -> u64 {
    let (mut least, mut written, mut counted) = (0, None, None);
    for step in steps {
        match *step {
            Step::Written(prompt) => written = Some(prompt),
            Step::Ended(FailedAttempt::NotTaken) => written = None,
            Step::Ended(FailedAttempt::Rejected) => least = least.max(written.take().unwrap_or(0)),
            Step::Ended(FailedAttempt::Failed) => least = least.max(written.take().map_or(0, |_| expected)),
            Step::Ended(FailedAttempt::ClientsEnd) => {}
            Step::Counted(prompt, completion) => counted = Some((prompt, completion)),
            Step::Unread(seconds) => {
                counted = counted.map(|(prompt, completion)| (prompt, completion.max(written_unread(seconds))));
            }
        }
    }
    let unfinished = if written.is_some() { expected } else { 0 };
    counted.map(|(prompt, completion)| prompt + completion).unwrap_or(least.max(unfinished))
}

#[test]
fn no_way_to_end_a_call_gives_back_more_than_what_was_not_used() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let node = runtime.block_on(Node::start(1_000_000_000));
    let body = r#"{"model":"a/b","max_tokens":500,"messages":[{"role":"user","content":"hi"}]}"#;
    let estimate = chat::parse(body.into()).unwrap().estimate;
    let per_minute = PerMinute { requests: 60, tokens: 6_000 };
    let (model, number) = (model(), AtomicU32::new(0));
    let expected = estimate.expected(model.context_length, per_minute.tokens, None).0;
    let tokens_left = |of: &Node| runtime.block_on(of.rate_limits()).1.remaining;
    proptest!(ProptestConfig::with_cases(300), |(steps in steps(), outcome in outcomes())| {
        // Full buckets, and nothing learned, for each case.
        let (rate_limiter, averages) = (RateLimiter::in_memory(), CompletionAverages::default());
        let admission = Admission { rate_limiter, averages, ..node.admission.clone() };
        let folder = tempfile::tempdir().unwrap();
        let own = Node { admission, caller: Arc::clone(&node.caller), store: node.store.clone(), _folder: folder };
        let request = RequestId::new(NOW, number.fetch_add(1, Ordering::Relaxed).into());
        let start = Instant::now();
        let permit = own.admission.admit(&own.caller, &model, &estimate, asked(request.clone()));
        let permit = runtime.block_on(permit).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut tap = UsageTap::open(Arc::new(NoSink), request, "chat", NOW);
        tap.keep(permit.generating(1, 500, true));
        let route = Arc::new(Route { model: Arc::new(model.clone()), pool: Pool::new(Vec::new()) });
        tap.note(|record| record.model = Some(route));
        for step in &steps {
            match *step {
                Step::Written(prompt) => tap.prompt_was_sent(prompt),
                Step::Ended(end) => tap.attempt_ended(end),
                Step::Counted(prompt, completion) => tap.note(|record| {
                    record.tokens = Tokens { prompt, completion, cached: 0 };
                    record.certainty = Certainty::Exact;
                }),
                Step::Unread(seconds) => tap.went_on_unread(Duration::from_secs(seconds), 0),
            }
        }
        tap.settle(outcome);
        let taken = per_minute.tokens - tokens_left(&own);
        let refilled = (start.elapsed().as_millis() * u128::from(per_minute.tokens) / 60_000) as u64 + 1;
        prop_assert!(taken + refilled >= least_used(&steps, expected), "{taken} taken, {refilled} refilled");
    });
}

#[tokio::test]
async fn the_pace_of_a_model_is_learned_from_the_time_of_its_engine() {
    let node = Node::start(1_000_000_000).await;
    let body = r#"{"model":"a/b","max_tokens":500,"messages":[{"role":"user","content":"hi"}]}"#;
    let estimate = chat::parse(body.into()).unwrap().estimate;
    let route = Arc::new(Route { model: Arc::new(model()), pool: Pool::new(Vec::new()) });
    let (before, long) = (Instant::now(), Duration::from_secs(1));
    type End<'a> = &'a dyn Fn(&mut UsageTap);
    let ends: [(&str, End<'_>, u64); 4] = [
        ("the engine has not ended", &|_: &mut UsageTap| {}, 20),
        ("the client was behind", &|tap: &mut UsageTap| tap.engine_ended(long), 20),
        (
            "the client has delayed the beginning",
            &|tap: &mut UsageTap| {
                tap.kept_alive_from(before);
                tap.first_byte();
                tap.engine_ended(Duration::ZERO);
            },
            20,
        ),
        ("the time of the engine", &|tap: &mut UsageTap| tap.engine_ended(Duration::ZERO), 21),
    ];
    for (number, (what, end, expected)) in (0..).zip(ends) {
        let request = RequestId::new(NOW, number);
        let permit = node.admission.admit(&node.caller, &route.model, &estimate, asked(request.clone())).await.unwrap();
        let mut tap = UsageTap::open(Arc::new(NoSink), request, "chat", NOW);
        tap.keep(permit.generating(1, 500, true));
        tap.note(|record| {
            record.model = Some(Arc::clone(&route));
            record.tokens = Tokens { prompt: 10, completion: 400, cached: 0 };
            record.certainty = Certainty::Exact;
        });
        end(&mut tap);
        tap.settle(Outcome::Served);
        assert_eq!(route.pool.pace().tokens_within(Duration::from_secs(1)), expected, "{what}");
    }
}

fn model() -> Model {
    Model::plain(ModelId::parse("a/b").unwrap())
}

fn is_spent(outcome: &Result<Reservation, QuotaError>) -> bool {
    matches!(outcome, Err(QuotaError::Spent { .. }))
}

pub(super) async fn wait_until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition().await {
        assert!(Instant::now() < deadline, "timed out: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_client_that_disconnects_during_the_quota_check_has_taken_nothing() {
    let node = Node::start(CAP).await;
    let busy = node.store.begin().await.unwrap();
    node.call_and_disconnect().await;
    let (requests, tokens) = node.rate_limits().await;
    assert_eq!((requests.remaining, tokens.remaining), (60, 6_000));
    drop(busy);
    wait_until("all can be reserved", async || node.reserve(CAP, NOW).await.is_ok()).await;
}

#[tokio::test]
async fn clients_that_disconnect_do_not_queue_for_the_store() {
    let node = Node::start(CAP).await;
    let busy = node.store.begin().await.unwrap();
    for _ in 0..50 {
        node.call_and_disconnect().await;
    }
    let waiting = node.admission.quota.waiting(&node.caller.workspace, Month::of(NOW));
    assert!(waiting < 1_000, "{waiting} tokens are waiting, though at most one request to the store is running");
    drop(busy);
}

#[tokio::test]
async fn calls_that_wait_for_the_store_share_its_rejection() {
    let node = Node::start(CAP).await;
    let busy = node.store.begin().await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let (quota, caller) = (node.admission.quota.clone(), Arc::clone(&node.caller));
        let bound = TokenBound { prompt: CAP + 1, completion: 0, choices: 1 };
        calls.spawn(async move { quota.reserve(&caller, &bound, NOW).await });
    }
    let waiting = || node.admission.quota.waiting(&node.caller.workspace, Month::of(NOW));
    wait_until("all wait", async || waiting() == 50 * (CAP + 1)).await;
    drop(busy);
    assert!(calls.join_all().await.iter().all(is_spent));
    assert_eq!(node.admission.quota.store_requests(), 1);
    assert!(node.reserve(CAP, NOW).await.is_ok(), "a smaller call asks again");
}

#[tokio::test]
async fn a_new_month_opens_a_new_account_and_running_calls_settle_in_the_old_one() {
    let node = Node::start(CAP).await;
    let month = Month::of(NOW);
    let last_moment = Timestamp::from_millis(month.end().millis() - 1);
    let running = node.reserve(900, last_moment).await.unwrap();
    assert!(is_spent(&node.reserve(900, last_moment).await));
    let next = node.reserve(900, month.end()).await.unwrap();
    assert!(is_spent(&node.reserve(900, month.end()).await));
    running.settle(10, Instant::now());
    assert!(
        is_spent(&node.reserve(900, month.end()).await),
        "tokens returned to the old month do not count for the new one"
    );
    assert!(node.reserve(900, last_moment).await.is_ok());
    next.settle(0, Instant::now());
    assert!(node.reserve(900, month.end()).await.is_ok());
}

#[tokio::test]
async fn a_clock_that_jumps_and_returns_keeps_the_reservations_of_running_calls() {
    let node = Node::start(CAP).await;
    let month = Month::of(NOW);
    let running = node.reserve(900, NOW).await.unwrap();
    let far = month.next().next().next();
    for wrong_month in [far, month.previous().previous().previous()] {
        node.admission.quota.renew_at(wrong_month, Instant::now() + LONG * 30).await.unwrap();
        assert_eq!(node.account(month).await.reserved, 900);
        assert!(is_spent(&node.reserve(900, NOW).await), "the call of 900 tokens is still running");
    }
    running.settle(0, Instant::now());
    node.admission.quota.renew_at(far, Instant::now() + LONG * 30).await.unwrap();
    assert_eq!(node.account(month).await.reserved, 0, "the lease of a past month without calls is dropped");
}

#[tokio::test]
async fn a_workspace_keeps_its_lease_while_the_store_is_unavailable() {
    let node = Node::start(CAP * CAP * CAP).await;
    node.reserve(400, NOW).await.unwrap().settle(0, Instant::now());
    node.store.close().await;
    assert!(node.admission.quota.renew_at(Month::of(NOW), Instant::now() + LONG * 30).await.is_err());
    assert!(node.reserve(400, NOW).await.is_ok(), "leased tokens can be spent after any idle time");
}

#[tokio::test]
async fn a_node_that_shuts_down_changes_no_lease() {
    let node = Node::start(CAP).await;
    let running = node.reserve(900, NOW).await.unwrap();
    node.admission.quota.close().await;
    store::leases::end_run(&node.store, RunId::new(NOW, 3).as_str()).await.unwrap();
    running.settle(10, Instant::now());
    node.admission.quota.apply_change(&store::Change::Everything);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(node.account(Month::of(NOW)).await.reserved, 0);
    assert!(matches!(node.reserve(50, NOW).await, Ok(_) | Err(QuotaError::Unavailable { .. })));
    assert_eq!(node.account(Month::of(NOW)).await.reserved, 0);
}

#[tokio::test]
async fn any_number_of_generated_tokens_is_charged_at_once() {
    let node = Node::start(CAP * CAP).await;
    let body = r#"{"model":"a/b","max_tokens":100,"messages":[{"role":"user","content":"hi"}]}"#;
    let estimate = chat::parse(body.into()).unwrap().estimate;
    let admitted = node.admission.admit(&node.caller, &model(), &estimate, asked(RequestId::new(NOW, 5))).await;
    let mut permit = admitted.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(permit.progress(100), 101, "this many were charged at first");
    assert_eq!(permit.progress(101), 100 + 256 + 1);
    for absurd in [u64::from(u32::MAX), 1 << 40] {
        assert!(permit.progress(absurd) > absurd);
        assert_eq!(node.rate_limits().await.1.remaining, 0);
    }
    permit.settle(
        UsedTokens { billed: Tokens { prompt: 111, completion: 0, cached: 0 }, ..UsedTokens::default() },
        Instant::now(),
    );
    let (_, settled) = node.rate_limits().await;
    assert!(settled.remaining >= 6_000 - 111, "{settled:?}");
}

/// A call with a limit of 128,000 tokens, to a model that has room for them.
async fn agents_call(node: &Node) -> Box<Permit> {
    let body = r#"{"model":"a/b","max_tokens":128000,"messages":[{"role":"user","content":"hi"}]}"#;
    let estimate = chat::parse(body.into()).unwrap().estimate;
    let model = Model { context_length: 200_000, ..model() };
    let admitted = node.admission.admit(&node.caller, &model, &estimate, asked(RequestId::new(NOW, 5))).await;
    admitted.unwrap_or_else(|error| panic!("{error}"))
}

fn used(completion: u64) -> UsedTokens {
    let billed = Tokens { prompt: 0, completion, cached: 0 };
    UsedTokens { billed, whole_completion: Some(completion), ..UsedTokens::default() }
}

#[tokio::test]
async fn a_huge_token_limit_is_charged_as_what_the_model_usually_writes() {
    let node = Node::start(CAP * CAP * CAP).await;
    let running = agents_call(&node).await;
    let left = node.rate_limits().await.1.remaining;
    assert!(left >= 4_900, "1,024 of 6,000 for the first call: {left}");
    running.settle(used(300), Instant::now());

    let mut many = Vec::new();
    for _ in 0..10 {
        many.push(agents_call(&node).await);
    }
    let left = node.rate_limits().await.1.remaining;
    assert!(left >= 6_000 - 300 - 10 * 320, "about 300 each, and most is left to others: {left}");
    let reserved = node.account(Month::of(NOW)).await;
    assert!(reserved.reserved >= 10 * 128_000, "the monthly reservation is still the upper bound: {reserved:?}");
}

#[tokio::test]
async fn a_call_that_writes_more_than_usual_is_charged_while_it_does_and_remembered() {
    let node = Node::start(CAP * CAP * CAP).await;
    agents_call(&node).await.settle(used(300), Instant::now());
    let mut running = agents_call(&node).await;
    assert!(node.rate_limits().await.1.remaining > 5_000);
    running.progress(4_000);
    let left = node.rate_limits().await.1.remaining;
    assert!(left < 4_000, "later calls see it: {left}");
    running.settle(used(4_000), Instant::now());
    let expected = node.admission.averages.of(&node.caller.workspace, &model().id).tokens().unwrap();
    assert!((700..800).contains(&expected), "300 and an eighth of the difference: {expected}");
}
