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

mod attempt;
mod held;
mod jobs;
mod shares;
mod window;
mod writing;

use crate::surface::Surface;
use anyhow::Context;
use attempt::{EndedAttempt, attempt};
use control::CommandError;
use control::batches::{BatchError, BatchStorage, Claim, LineWriter, RunnableLine};
use domain::batches::{Batch, BatchStatus, LineOutcome};
use domain::{BatchId, Caller, OrganizationId, RunId, WorkspaceId};
use held::HeldLines;
use jobs::{JobParts, caller_of, give_up_validation, validate};
use node::clock;
use shares::{Sharer, share_of};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use store::batches::OpenBatch;
use telemetry::access_log::AccessLog;
use telemetry::metrics::CoreCalls;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
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
/// Validations and the like that a node does at the same time; of one organization it does half of them, and of one workspace one.
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
    attempts: JoinSet<EndedAttempt>,
    /// The line of each attempt.
    lines: HashMap<Id, RunningLine>,
    /// Validations, and all that is done after the last line.
    jobs: JoinSet<()>,
    /// Whose batch each job is about.
    busy: HashMap<Id, (OrganizationId, WorkspaceId)>,
    results: mpsc::Sender<Write>,
    held: HeldLines,
    is_failing: bool,
}

/// A line that runs here.
struct RunningLine {
    batch: BatchId,
    /// Without its body.
    line: RunnableLine,
    /// The size of its body.
    bytes: usize,
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

impl Runner {
    fn new(parts: RunnerParts, stage: watch::Receiver<Stage>) -> Self {
        let RunnerParts { surface, storage, run, background, log, calls } = parts;
        let held = HeldLines::default();
        let writer = LineWriter::new(&storage, run.clone());
        let results = writing::start(&background, writer, held.clone(), storage.nudge());
        Self {
            surface: Arc::new(surface),
            storage,
            run,
            background,
            log,
            calls: Arc::new(calls),
            stage,
            active: HashMap::new(),
            attempts: JoinSet::new(),
            lines: HashMap::new(),
            jobs: JoinSet::new(),
            busy: HashMap::new(),
            results,
            held,
            is_failing: false,
        }
    }

    async fn run(mut self) {
        let nudge: Arc<Notify> = self.storage.nudge();
        let renewing = self.background.spawn(self.held.clone().renew(self.storage.clone(), self.run.clone()));
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
                Some(ended) = self.attempts.join_next_with_id() => self.end_attempt(ended, may_claim).await,
                Some(job) = self.jobs.join_next_with_id() => {
                    self.busy.remove(&job.map_or_else(|error| error.id(), |(id, ())| id));
                    next_round = Instant::now();
                }
                _ = sweep.tick() => self.surface.dataplane.sweep(),
                changed = self.stage.changed() => if changed.is_err() { break },
            }
        }
        self.jobs.abort_all();
        // Each notices that this node stops.
        while let Some(ended) = self.attempts.join_next_with_id().await {
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

    /// Begins a job of a batch, unless one of its workspace runs, or too many of its organization or of all do. The next round
    /// tries again.
    fn begin_job(&mut self, batch: &Batch, job: impl Future<Output = Result<(), BatchError>> + Send + 'static) {
        let of_organization =
            self.busy.values().filter(|(organization, _)| *organization == batch.organization).count();
        let is_busy = self.busy.values().any(|(_, workspace)| *workspace == batch.workspace);
        if is_busy || of_organization >= MAX_JOBS / 2 || self.busy.len() >= MAX_JOBS {
            return;
        }
        let id = batch.id.clone();
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
        };
        let spawned = self.jobs.spawn_on(job, &self.background);
        self.busy.insert(spawned.id(), (batch.organization.clone(), batch.workspace.clone()));
    }

    /// How many lines of a batch may run here; see [`share_of`].
    fn share_of(&self, id: &BatchId) -> usize {
        let all: Vec<_> = self.active.values().map(Active::sharer).collect();
        self.active.get(id).map_or(0, |active| share_of(&active.sharer(), &all))
    }

    /// Claims lines of a batch and runs them.
    async fn claim(&mut self, id: &BatchId) {
        let now = Instant::now();
        let Some(active) = self.active.get(id) else { return };
        if now < active.next_look || active.window.is_paused(now) {
            return;
        }
        if self.lines.values().map(|line| line.bytes).sum::<usize>() > MAX_RUNNING_BYTES {
            return;
        }
        let running: usize = self.active.values().map(|active| active.running).sum();
        let share = active.window.size().min(self.share_of(id));
        let room = share.saturating_sub(active.running);
        let limit = room.min(MAX_RUNNING.saturating_sub(running)).min(MAX_CLAIMED);
        // A few at a time, so that not every line is a transaction of its own.
        if limit == 0 || limit * 4 < share {
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
        self.held.add(id, lines.iter().map(|line| line.number));
        for line in lines {
            let bytes = line.body.len();
            let bodiless = RunnableLine { body: Vec::new(), custom_id: line.custom_id.clone(), ..line };
            let spawned = self.attempts.spawn(attempt(
                (Arc::clone(&self.surface), Arc::clone(&self.log), Arc::clone(&self.calls)),
                (active.batch.clone(), active.caller.clone(), line),
                (active.end.subscribe(), self.stage.clone()),
            ));
            self.lines.insert(spawned.id(), RunningLine { batch: id.clone(), line: bodiless, bytes });
        }
    }

    async fn end_attempt(&mut self, ended: Result<(Id, EndedAttempt), JoinError>, may_claim: bool) {
        let task = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let Some(RunningLine { batch, line, bytes: _ }) = self.lines.remove(&task) else { return };
        // A batch is active while its lines run.
        let Some(active) = self.active.get_mut(&batch) else { return };
        let number = line.number;
        let ended = match ended {
            Ok((_, ended)) => ended,
            Err(_panicked) => {
                tracing::error!(batch.id = %batch, "line {number} of {batch} panicked");
                EndedAttempt::panicked(&active.batch, line).await
            }
        };
        let (held, write) = (ended.held(), ended.into_write(&batch));
        active.running = active.running.saturating_sub(1);
        active.window.ended(held, matches!(write, Some(Write::Defer(_))), Instant::now());
        let is_sent = match write {
            // The writer removes it from the lines that are held.
            Some(write) => self.results.send(write).await.is_ok(),
            None => false,
        };
        if !is_sent {
            self.held.remove(&batch, number);
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

    fn sharer(&self) -> Sharer<'_> {
        let Batch { organization, workspace, .. } = &self.batch;
        Sharer { organization, workspace, running: self.running }
    }
}
