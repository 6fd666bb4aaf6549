//! Runs the lines of batches on a thread of its own, of a lower priority than those that serve clients.
//!
//! ```text
//! open batches ─ claim lines ─ call ─┬─ a result ─── written with its usage event
//!       │                            └─ a failure that may pass ─ the line waits and is claimed again
//!       └─ validate, end waiting lines, finalize: jobs that one node does at a time
//! ```
//!
//! A line is claimed until [`LEASE_MILLIS`] from now, which is renewed as long as this node lives. Other nodes take the lines of
//! one that died. How many lines of a batch run here follows the room that interactive calls leave ([`window`]).

mod window;
mod writing;

use crate::surface::Surface;
use crate::surface::line_call::{LineCall, LineResponse};
use anyhow::Context;
use control::CommandError;
use control::access;
use control::batches::{BatchError, BatchStorage, Claim, FinishedLine, LineWriter, MayCall, RunnableLine, Validation};
use domain::batches::{AfterAttempt, Batch, BatchProblem, BatchStatus, LineOutcome, after_attempt};
use domain::usage::Actor;
use domain::{BatchId, Caller, RunId, WorkspaceId};
use node::clock;
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use store::batches::OpenBatch;
use store::{Store, aliases, users};
use telemetry::access_log::AccessLog;
use telemetry::metrics::CoreCalls;
use telemetry::{LineRecorder, SettledLine};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};
use window::Window;
use writing::Write;

/// Lines of a node that died are taken by others after this time.
const LEASE_MILLIS: i64 = 15_000;
const RENEW_PERIOD: Duration = Duration::from_secs(5);
/// How soon the batches of other nodes are seen, and lines that waited run again.
const IDLE_PERIOD: Duration = Duration::from_secs(2);
const BUSY_PERIOD: Duration = Duration::from_millis(500);
/// The most lines that a node runs at the same time.
const MAX_RUNNING: usize = 256;
/// Lines that are claimed at once.
const MAX_CLAIMED: usize = 64;
/// No lines are claimed while those that run have more bytes.
const MAX_RUNNING_BYTES: usize = 64 << 20;
/// Validations and the like that a node does at the same time; of one workspace it does one.
const MAX_JOBS: usize = 4;
/// How long what the creator of a batch may do is remembered.
const CALLER_TTL: Duration = Duration::from_secs(2);
const SWEEP_PERIOD: Duration = Duration::from_secs(15);

/// The parts that a runner is made of.
pub(crate) struct RunnerParts {
    pub(crate) surface: Surface,
    pub(crate) storage: BatchStorage,
    pub(crate) run: RunId,
    pub(crate) background: Handle,
    pub(crate) log: Arc<AccessLog>,
    pub(crate) calls: CoreCalls,
}

/// The thread that runs lines.
pub(crate) struct BatchRunner {
    thread: std::thread::JoinHandle<()>,
    stage: watch::Sender<Stage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Stage {
    Running,
    /// No further lines are claimed.
    Draining,
    /// Lines that still run are given up.
    Ended,
}

impl BatchRunner {
    pub(crate) fn start(parts: RunnerParts) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_start(background::lower_priority)
            .build()
            .context("cannot start a runtime")?;
        let stage = watch::Sender::new(Stage::Running);
        let stopping = stage.subscribe();
        let thread = std::thread::Builder::new().name("batches".into());
        let thread = thread.spawn(move || {
            background::lower_priority();
            runtime.block_on(Runner::new(parts, stopping).run());
        });
        Ok(Self { thread: thread.context("cannot start a thread")?, stage })
    }

    /// Claims no further lines.
    pub(crate) fn drain(&self) {
        self.stage.send_replace(Stage::Draining);
    }

    /// Gives up the lines that still run, and stores the results of those that have ended.
    pub(crate) async fn stop(self) {
        self.stage.send_replace(Stage::Ended);
        let joined = tokio::task::spawn_blocking(move || self.thread.join().is_err());
        if joined.await.unwrap_or(true) {
            tracing::error!("the thread that runs batches panicked");
        }
    }
}

struct Runner {
    surface: Arc<Surface>,
    storage: BatchStorage,
    run: RunId,
    background: Handle,
    log: Arc<AccessLog>,
    calls: Arc<CoreCalls>,
    stage: watch::Receiver<Stage>,
    active: HashMap<BatchId, Active>,
    lines: JoinSet<EndedAttempt>,
    /// Validations, and all that is done after the last line.
    jobs: JoinSet<BatchId>,
    busy: HashMap<BatchId, WorkspaceId>,
    /// The bodies of the lines that run.
    running_bytes: usize,
    results: mpsc::Sender<Write>,
    /// Lines that are claimed and whose result is not stored.
    unwritten: Arc<AtomicUsize>,
    is_failing: bool,
}

/// A batch whose lines run here.
struct Active {
    batch: Batch,
    caller: Option<Arc<Caller>>,
    caller_read: Instant,
    window: Window,
    running: usize,
    /// Lines are looked for again after this time: the last time, there were fewer than wanted.
    next_look: Instant,
    /// Set when the lines that run must end.
    end: watch::Sender<Option<LineOutcome>>,
}

/// One attempt at a line that has ended.
struct EndedAttempt {
    batch: BatchId,
    line: RunnableLine,
    /// Of its body.
    bytes: usize,
    end: AttemptEnd,
    settled: Option<SettledLine>,
}

enum AttemptEnd {
    Response(LineResponse),
    /// The batch was cancelled, or its window is over.
    Stopped(LineOutcome),
    /// This node stops.
    GivenUp,
}

impl Runner {
    fn new(parts: RunnerParts, stage: watch::Receiver<Stage>) -> Self {
        let RunnerParts { surface, storage, run, background, log, calls } = parts;
        let unwritten = Arc::<AtomicUsize>::default();
        let writer = LineWriter::new(&storage, run.clone());
        let results = writing::start(&background, writer, Arc::clone(&unwritten), storage.nudge());
        Self {
            surface: Arc::new(surface),
            storage,
            run,
            background,
            log,
            calls: Arc::new(calls),
            stage,
            active: HashMap::new(),
            lines: JoinSet::new(),
            jobs: JoinSet::new(),
            busy: HashMap::new(),
            running_bytes: 0,
            results,
            unwritten,
            is_failing: false,
        }
    }

    async fn run(mut self) {
        let nudge: Arc<Notify> = self.storage.nudge();
        let renewing =
            self.background.spawn(renew(self.storage.clone(), self.run.clone(), Arc::clone(&self.unwritten)));
        let mut sweep = tokio::time::interval(SWEEP_PERIOD);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut next_round = Instant::now();
        loop {
            let stage = *self.stage.borrow_and_update();
            if stage == Stage::Ended {
                break;
            }
            let may_claim = stage == Stage::Running;
            tokio::select! {
                () = tokio::time::sleep_until(next_round), if may_claim => {
                    self.round().await;
                    let period = if self.active.is_empty() && self.busy.is_empty() { IDLE_PERIOD } else { BUSY_PERIOD };
                    next_round = Instant::now() + period;
                }
                () = nudge.notified(), if may_claim => next_round = Instant::now(),
                Some(ended) = self.lines.join_next() => self.end_attempt(ended, may_claim).await,
                Some(job) = self.jobs.join_next() => {
                    if let Ok(batch) = job {
                        self.busy.remove(&batch);
                    }
                    next_round = Instant::now();
                }
                _ = sweep.tick() => self.surface.dataplane.sweep(),
                changed = self.stage.changed() => if changed.is_err() { break },
            }
        }
        self.jobs.abort_all();
        // Each notices that this node stops.
        while let Some(ended) = self.lines.join_next().await {
            self.end_attempt(ended, false).await;
        }
        let (storage, run) = (self.storage.clone(), self.run.clone());
        let results = self.results;
        let release = async move {
            let (stored, confirmed) = tokio::sync::oneshot::channel();
            if results.send(Write::Flush(stored)).await.is_ok() {
                let _ = confirmed.await;
            }
            storage.release(&run).await
        };
        let released = self.background.spawn(async move { tokio::time::timeout(RENEW_PERIOD, release).await }).await;
        renewing.abort();
        if !matches!(released, Ok(Ok(Ok(())))) {
            tracing::info!("the lines of this node are free once its leases have ended");
        }
    }

    /// Does work on the runtime that owns the store's connections.
    async fn on_store<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, BatchError>> + Send + 'static,
    ) -> Result<T, BatchError> {
        self.background
            .spawn(work)
            .await
            .unwrap_or_else(|error| Err(BatchError::Command(CommandError::Internal { cause: Box::new(error) })))
    }

    /// Looks at all batches that have work to do.
    async fn round(&mut self) {
        let storage = self.storage.clone();
        let found = self.on_store(async move { Ok(storage.open(clock::now()).await?) }).await;
        let open = match found {
            Ok(open) => open,
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    tracing::warn!(?error, "batches wait for the store");
                }
                return;
            }
        };
        self.is_failing = false;
        let ids: HashSet<&BatchId> = open.iter().map(|open| &open.batch.id).collect();
        self.active.retain(|id, active| active.running > 0 || ids.contains(id));
        for open in open {
            self.step(open).await;
        }
    }

    async fn step(&mut self, OpenBatch { batch, is_free }: OpenBatch) {
        let now = clock::now();
        if batch.status == BatchStatus::Validating {
            if is_free {
                let parts = self.jobs_parts();
                let is_late = batch.end_of_lines(now).is_some();
                self.begin_job(&batch.clone(), async move {
                    if is_late { give_up_validation(parts, batch).await } else { validate(parts, batch).await }
                });
            }
            return;
        }
        let active = self.active.entry(batch.id.clone()).or_insert_with(|| Active::new(batch.clone()));
        active.batch = batch.clone();
        let has_waiting = batch.counts.ended() < batch.counts.total;
        match batch.end_of_lines(now) {
            Some(outcome) => {
                active.end.send_replace(Some(outcome));
                if has_waiting {
                    let storage = self.storage.clone();
                    let ending = batch.clone();
                    self.begin_job(
                        &batch,
                        async move { Ok(storage.end_waiting(&ending, outcome, clock::now()).await?) },
                    );
                }
            }
            None if has_waiting => self.claim(&batch.id).await,
            None => {}
        }
        let is_read = batch.in_progress_at.is_some() || batch.status == BatchStatus::Cancelling;
        let is_running = self.active.get(&batch.id).is_some_and(|active| active.running > 0);
        if !has_waiting && is_read && !is_running && is_free {
            let (storage, claim) = (self.storage.clone(), self.owner());
            self.begin_job(&batch.clone(), async move { storage.finalize(&batch, &claim).await.map(drop) });
        }
    }

    fn owner(&self) -> Claim {
        Claim { run: self.run.clone(), now: clock::now }
    }

    fn jobs_parts(&self) -> JobParts {
        JobParts { surface: Arc::clone(&self.surface), storage: self.storage.clone(), owner: self.owner() }
    }

    /// Begins a job of a batch, unless one of its workspace runs, or too many do. The next round tries again.
    fn begin_job(&mut self, batch: &Batch, job: impl Future<Output = Result<(), BatchError>> + Send + 'static) {
        if self.busy.len() >= MAX_JOBS || self.busy.values().any(|workspace| *workspace == batch.workspace) {
            return;
        }
        let id = batch.id.clone();
        self.busy.insert(id.clone(), batch.workspace.clone());
        let job = async move {
            match job.await {
                Ok(()) => {}
                Err(BatchError::NotOwned) => tracing::debug!(batch.id = %id, "another node works on {id}"),
                Err(error) => {
                    tracing::warn!(batch.id = %id, ?error, "work on {id} failed; it is repeated");
                    // A failure is repeated with the next round.
                    tokio::time::sleep(IDLE_PERIOD).await;
                }
            }
            id
        };
        self.jobs.spawn_on(job, &self.background);
    }

    /// How many lines of a batch may run here. Batches share the lines of their workspace, and workspaces those of the node, of
    /// which none gets more than half, so that one that comes later finds room at once.
    fn share_of(&self, id: &BatchId) -> usize {
        let Some(active) = self.active.get(id) else { return 0 };
        let owners: HashSet<_> = self.active.values().map(|active| &active.batch.workspace).collect();
        let own = self.active.values().filter(|other| other.batch.workspace == active.batch.workspace);
        let (batches, running) = own.fold((0, 0), |(batches, running), own| (batches + 1, running + own.running));
        let of_owner = (MAX_RUNNING / owners.len().max(1)).clamp(window::LEAST, MAX_RUNNING / 2);
        let left = of_owner.saturating_sub(running) + active.running;
        (of_owner / batches).max(window::LEAST).min(left)
    }

    /// Claims lines of a batch and runs them.
    async fn claim(&mut self, id: &BatchId) {
        if self.running_bytes > MAX_RUNNING_BYTES {
            return;
        }
        let running: usize = self.active.values().map(|active| active.running).sum();
        let share = self.share_of(id);
        let Some(active) = self.active.get_mut(id) else { return };
        let room = active.window.size().min(share).saturating_sub(active.running);
        let limit = room.min(MAX_RUNNING.saturating_sub(running)).min(MAX_CLAIMED);
        // A few at a time, so that not every line is a transaction of its own.
        if limit == 0 || limit * 4 < active.window.size().min(share) || Instant::now() < active.next_look {
            return;
        }
        if active.caller.is_none() || active.caller_read.elapsed() > CALLER_TTL {
            let (surface, batch) = (Arc::clone(&self.surface), active.batch.clone());
            let found = self.on_store(async move { caller_of(&surface, &batch).await }).await;
            let Some(active) = self.active.get_mut(id) else { return };
            match found {
                Ok(caller) => (active.caller, active.caller_read) = (caller, Instant::now()),
                // The lines wait for the store.
                Err(_) => return,
            }
        }
        let (storage, run, batch, now) = (self.storage.clone(), self.run.clone(), id.clone(), clock::now());
        let wanted = u32::try_from(limit).unwrap_or(u32::MAX);
        let claim = async move { storage.claim(&batch, &run, (now, now.plus_millis(LEASE_MILLIS)), wanted).await };
        let lines = match self.on_store(claim).await {
            Ok(lines) => lines,
            Err(error) => return tracing::warn!(batch.id = %id, ?error, "lines of {id} cannot be taken"),
        };
        let Some(active) = self.active.get_mut(id) else { return };
        if lines.len() < limit {
            active.next_look = Instant::now() + BUSY_PERIOD;
        }
        active.running += lines.len();
        self.running_bytes += lines.iter().map(|line| line.body.len()).sum::<usize>();
        self.unwritten.fetch_add(lines.len(), Ordering::Relaxed);
        for line in lines {
            let attempt = attempt(
                (Arc::clone(&self.surface), Arc::clone(&self.log), Arc::clone(&self.calls)),
                (active.batch.clone(), active.caller.clone(), line),
                (active.end.subscribe(), self.stage.clone()),
            );
            self.lines.spawn(attempt);
        }
    }

    async fn end_attempt(&mut self, ended: Result<EndedAttempt, tokio::task::JoinError>, may_claim: bool) {
        let Ok(EndedAttempt { batch, line, bytes, end, settled }) = ended else {
            tracing::error!("a line of a batch panicked; it runs again when its lease has ended");
            self.unwritten.fetch_sub(1, Ordering::Relaxed);
            return;
        };
        self.running_bytes = self.running_bytes.saturating_sub(bytes);
        let write = decide(&batch, line, end, settled.as_ref());
        if let Some(active) = self.active.get_mut(&batch) {
            active.running = active.running.saturating_sub(1);
            let held = settled.as_ref().and_then(|settled| settled.held);
            active.window.ended(held, matches!(write, Some(Write::Defer { .. })), Instant::now());
        }
        match write {
            // The writer counts it off.
            Some(write) => drop(self.results.send(write).await),
            None => drop(self.unwritten.fetch_sub(1, Ordering::Relaxed)),
        }
        let goes_on = self.active.get(&batch).is_some_and(|active| active.end.borrow().is_none());
        if may_claim && goes_on {
            self.claim(&batch).await;
        }
    }
}

impl Active {
    fn new(batch: Batch) -> Self {
        let now = Instant::now();
        Self {
            batch,
            caller: None,
            caller_read: now,
            window: Window::default(),
            running: 0,
            next_look: now,
            end: watch::Sender::new(None),
        }
    }
}

/// What a job needs.
struct JobParts {
    surface: Arc<Surface>,
    storage: BatchStorage,
    owner: Claim,
}

/// Reads the input of a batch.
async fn validate(parts: JobParts, batch: Batch) -> Result<(), BatchError> {
    let JobParts { surface, storage, owner } = parts;
    let Some(caller) = caller_of(&surface, &batch).await? else {
        let message = "the key or the user that created the batch may no longer make calls".to_owned();
        let problem = BatchProblem { code: "invalid_api_key".to_owned(), line: None, message, param: None };
        return storage.fail(&batch, &owner, vec![problem]).await;
    };
    let may_call: MayCall =
        Arc::new(move |model| surface.dataplane.route(&caller, model).is_ok_and(|route| route.is_some()));
    storage.validate(&batch, &owner, Validation { may_call }).await
}

/// Ends a batch whose input was not read within its window.
async fn give_up_validation(parts: JobParts, batch: Batch) -> Result<(), BatchError> {
    let message = "the input file could not be read in time".to_owned();
    let problem = BatchProblem { code: "batch_expired".to_owned(), line: None, message, param: None };
    parts.storage.fail(&batch, &parts.owner, vec![problem]).await
}

/// The creator of a batch as a caller; `None` if it may no longer make calls.
async fn caller_of(surface: &Surface, batch: &Batch) -> Result<Option<Arc<Caller>>, BatchError> {
    match &batch.actor {
        Actor::Key(id) => {
            let found = surface.keys.caller_by_id(id, clock::now()).await;
            let found = found.map_err(|error| CommandError::Internal { cause: format!("{error:?}").into() })?;
            Ok(found.filter(|caller| caller.workspace == batch.workspace))
        }
        Actor::User(id) => {
            let store: &Store = &surface.context.store;
            let Some(user) = users::by_id(store, id).await? else { return Ok(None) };
            match access::workspace(store, &user, &batch.organization, &batch.workspace).await {
                Ok(workspace) => {
                    let aliases = aliases::list(store, &workspace.id).await?;
                    let actor = Actor::User(id.clone());
                    let caller = Caller {
                        workspace_limits: workspace.stored_limits(),
                        response_retention: workspace.response_retention,
                        has_monthly_budget: workspace.has_monthly_budget(),
                        weight: workspace.weight,
                        organization_limits: workspace.organization_per_minute,
                        ..Caller::new(workspace.organization, workspace.id, actor)
                    };
                    Ok(Some(Arc::new(caller.with_aliases(aliases))))
                }
                Err(error @ CommandError::StoreUnavailable { .. }) => Err(error.into()),
                Err(_no_longer_a_member) => Ok(None),
            }
        }
    }
}

/// Makes the call of a line, until it ends or must end.
async fn attempt(
    (surface, log, calls): (Arc<Surface>, Arc<AccessLog>, Arc<CoreCalls>),
    (batch, caller, mut line): (Batch, Option<Arc<Caller>>, RunnableLine),
    (mut ends, mut stage): (watch::Receiver<Option<LineOutcome>>, watch::Receiver<Stage>),
) -> EndedAttempt {
    let recorder = Arc::new(LineRecorder::new(log, calls, batch.id.clone()));
    let request = batch.id.request_of(line.number);
    let bytes = line.body.len();
    let call = LineCall { endpoint: batch.endpoint, caller, request, body: std::mem::take(&mut line.body).into() };
    let end = tokio::select! {
        response = surface.call_line(Arc::clone(&recorder), call) => AttemptEnd::Response(response),
        end = ends.wait_for(Option::is_some) => {
            AttemptEnd::Stopped(end.ok().and_then(|end| *end).unwrap_or(LineOutcome::Cancelled))
        }
        _ = stage.wait_for(|stage| *stage == Stage::Ended) => AttemptEnd::GivenUp,
    };
    // A call that was stopped has been dropped, and has settled with it.
    EndedAttempt { batch: batch.id, line, bytes, end, settled: recorder.settled() }
}

/// What is stored of an attempt; `None` if the line is given up.
fn decide(batch: &BatchId, line: RunnableLine, end: AttemptEnd, settled: Option<&SettledLine>) -> Option<Write> {
    let RunnableLine { number, custom_id, body: _, attempts } = line;
    let event = settled.and_then(|settled| settled.event.clone());
    let finished = FinishedLine {
        batch: batch.clone(),
        number,
        custom_id,
        outcome: LineOutcome::Succeeded,
        status: 0,
        body: None,
        reasoning_tokens: 0,
        event,
    };
    match end {
        AttemptEnd::GivenUp => None,
        AttemptEnd::Stopped(outcome) => Some(Write::End(Box::new(FinishedLine { outcome, ..finished }))),
        AttemptEnd::Response(LineResponse { status, body }) => {
            let code = settled.map_or("", |settled| &*settled.code);
            match after_attempt(status, code, attempts + 1) {
                AfterAttempt::Retry { after_millis } => {
                    let available_at = clock::now().plus_millis(i64::try_from(after_millis).unwrap_or(i64::MAX));
                    Some(Write::Defer { batch: batch.clone(), number, available_at, code: code.to_owned() })
                }
                AfterAttempt::Finish => {
                    let is_good = (200..300).contains(&status);
                    let outcome = if is_good { LineOutcome::Succeeded } else { LineOutcome::Failed };
                    let reasoning_tokens = if is_good { reasoning_tokens(&body) } else { 0 };
                    let body = Some(body);
                    Some(Write::End(Box::new(FinishedLine { outcome, status, body, reasoning_tokens, ..finished })))
                }
            }
        }
    }
}

/// The reasoning tokens that a response reports, in the words of any of the APIs.
fn reasoning_tokens(body: &[u8]) -> u64 {
    #[derive(Deserialize, Default)]
    struct Response {
        usage: Option<Usage>,
    }
    #[derive(Deserialize, Default)]
    struct Usage {
        #[serde(alias = "output_tokens_details")]
        completion_tokens_details: Option<Details>,
    }
    #[derive(Deserialize, Default)]
    struct Details {
        #[serde(alias = "thinking_tokens")]
        reasoning_tokens: Option<u64>,
    }
    let response: Response = serde_json::from_slice(body).unwrap_or_default();
    let details = response.usage.unwrap_or_default().completion_tokens_details.unwrap_or_default();
    details.reasoning_tokens.unwrap_or(0)
}

/// Keeps the lines of this run as long as there are any.
async fn renew(storage: BatchStorage, run: RunId, unwritten: Arc<AtomicUsize>) {
    loop {
        tokio::time::sleep(RENEW_PERIOD).await;
        if unwritten.load(Ordering::Relaxed) == 0 {
            continue;
        }
        if let Err(error) = storage.renew(&run, clock::now().plus_millis(LEASE_MILLIS)).await {
            tracing::debug!(%error, "the lines of this node cannot be kept");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_tokens_are_found_in_every_api() {
        for (body, tokens) in [
            (r#"{"usage":{"completion_tokens_details":{"reasoning_tokens":3}}}"#, 3),
            (r#"{"usage":{"output_tokens_details":{"reasoning_tokens":4}}}"#, 4),
            (r#"{"usage":{"output_tokens_details":{"thinking_tokens":5}}}"#, 5),
            (r#"{"usage":{"completion_tokens_details":null}}"#, 0),
            ("no json", 0),
        ] {
            assert_eq!(reasoning_tokens(body.as_bytes()), tokens, "{body}");
        }
    }
}
