//! The shape of every background loop.

use crate::{Backoff, ticks};
use parking_lot::Mutex;
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long a loop rests after a round before it obeys a nudge, in lengths of the round, and at most.
const REST_FACTOR: u32 = 4;
const MAX_REST: Duration = Duration::from_millis(200);

/// A loop: a name for logs, a period, and optionally a nudge and a backoff.
///
/// Rounds never overlap. The next one starts a period after the last one has ended, or at once when nudged; a nudge
/// during a round is not lost. After a round, a nudge has to wait for some times the length of the round: clients cause
/// nudges, and must not keep the node busy with rounds. A failed round is logged and retried after the backoff, or after the period without one.
///
/// ```ignore
/// let heartbeat = tasks.every("heartbeat", Duration::from_secs(5));
/// tasks.spawn(heartbeat.run(async move || node.beat(&store).await));
/// ```
#[derive(Debug)]
pub struct Loop {
    name: &'static str,
    period: Option<Duration>,
    nudge: Option<Arc<Notify>>,
    backoff: Option<Backoff>,
    status: Arc<Mutex<LoopStatus>>,
}

/// When a loop that was not nudged starts its next round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// After its period.
    Usual,
    /// After this time, because there was nothing to do.
    Idle(Duration),
}

/// The rounds of a loop so far and how the last one ended.
#[derive(Debug, Clone, Default)]
pub struct LoopStatus {
    pub name: &'static str,
    pub rounds: u64,
    /// Failed rounds since the last one that succeeded.
    pub failures: u64,
    /// The error of the last round; `None` if it succeeded or none has ended yet.
    pub last_error: Option<String>,
    pub last_ended: Option<Instant>,
}

impl Loop {
    /// A round now, and one every `period` after the end of the last.
    pub fn every(name: &'static str, period: Duration) -> Self {
        Self { period: Some(period), ..Self::without_period(name) }
    }

    /// A round now, and one after every nudge.
    pub fn on_nudge(name: &'static str, nudge: Arc<Notify>) -> Self {
        Self::without_period(name).nudged_by(nudge)
    }

    fn without_period(name: &'static str) -> Self {
        let status = Arc::new(Mutex::new(LoopStatus { name, ..LoopStatus::default() }));
        Self { name, period: None, nudge: None, backoff: None, status }
    }

    /// Also runs a round when `nudge` is notified.
    #[must_use]
    pub fn nudged_by(self, nudge: Arc<Notify>) -> Self {
        Self { nudge: Some(nudge), ..self }
    }

    /// Waits for this backoff after a failed round, instead of the period.
    #[must_use]
    pub fn backing_off(self, backoff: Backoff) -> Self {
        Self { backoff: Some(backoff), ..self }
    }

    /// The status of the loop, which stays readable while it runs.
    pub(crate) fn status(&self) -> Arc<Mutex<LoopStatus>> {
        Arc::clone(&self.status)
    }

    /// Runs rounds until the task is aborted. Move the state of the loop into `round`, so that the future is `Send`.
    pub async fn run<E: Display>(self, mut round: impl AsyncFnMut() -> Result<(), E>) {
        self.run_paced(async move || round().await.map(|()| Pace::Usual)).await;
    }

    /// [`Loop::run`] with rounds that say when the next one is needed.
    pub async fn run_paced<E: Display>(mut self, mut round: impl AsyncFnMut() -> Result<Pace, E>) {
        loop {
            let began = Instant::now();
            let delay = match round().await {
                Ok(pace) => match pace {
                    Pace::Usual => self.succeeded(),
                    Pace::Idle(period) => self.succeeded().map(|usual| usual.max(period)),
                },
                Err(error) => self.failed(&error),
            };
            self.wait(delay, rest_after(began.elapsed())).await;
        }
    }

    /// [`Loop::run`] with rounds that cannot fail.
    pub async fn repeat(self, mut round: impl AsyncFnMut()) {
        self.run(async move || {
            round().await;
            Ok::<(), std::convert::Infallible>(())
        })
        .await;
    }

    fn succeeded(&mut self) -> Option<Duration> {
        let mut status = self.status.lock();
        if status.failures > 0 {
            tracing::info!(task = self.name, failures = status.failures, "{} works again", self.name);
        }
        status.rounds += 1;
        status.failures = 0;
        status.last_error = None;
        status.last_ended = Some(Instant::now());
        if let Some(backoff) = &mut self.backoff {
            backoff.reset();
        }
        self.period
    }

    fn failed(&mut self, error: &dyn Display) -> Option<Duration> {
        let delay = self.backoff.as_mut().map(Backoff::next_delay).or(self.period);
        let mut status = self.status.lock();
        status.rounds += 1;
        status.failures += 1;
        status.last_error = Some(error.to_string());
        status.last_ended = Some(Instant::now());
        // Only the first failure of a series is a warning: an outage must not fill the log.
        if status.failures == 1 {
            tracing::warn!(task = self.name, %error, "{} failed and is retried", self.name);
        } else {
            tracing::debug!(task = self.name, %error, failures = status.failures, "{} still fails", self.name);
        }
        delay
    }

    /// Waits for the delay, or for a nudge after the rest; without either, until the task is aborted.
    async fn wait(&self, delay: Option<Duration>, rest: Duration) {
        let elapsed = async {
            match delay {
                Some(delay) => ticks::sleep(delay).await,
                None => std::future::pending().await,
            }
        };
        let nudged = async {
            match &self.nudge {
                Some(nudge) => {
                    tokio::time::sleep(rest).await;
                    nudge.notified().await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = elapsed => {}
            () = nudged => {}
        }
    }
}

/// The rest after a round of this length.
fn rest_after(round: Duration) -> Duration {
    (round * REST_FACTOR).min(MAX_REST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_rests_for_some_lengths_of_its_round() {
        for (round, rest) in [(0, 0), (5, 20), (50, 200), (1_000, 200)] {
            assert_eq!(rest_after(Duration::from_millis(round)), Duration::from_millis(rest));
        }
    }
}
