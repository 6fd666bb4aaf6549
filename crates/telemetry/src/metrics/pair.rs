//! The calls of one workspace to one model.

use super::families;
use super::histogram::{
    DURATION_BOUNDS, HOLD_BOUNDS, Histogram, TIME_PER_OUTPUT_TOKEN_BOUNDS, TIME_TO_FIRST_TOKEN_BOUNDS,
};
use super::page::{Page, Samples};
use super::sharded::Sharded;
use crate::access_log::status_of;
use arc_swap::ArcSwap;
use dataplane::record::{CallRecord, NotContinued};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The counters of a pair. A label is empty if the call was rejected before it was known.
pub(super) struct Pair {
    pub(super) workspace: Arc<str>,
    pub(super) model: Arc<str>,
    timings: Arc<ModelTimings>,
    /// Few, the most common one first.
    outcomes: ArcSwap<Vec<Arc<Outcome>>>,
    tokens: Sharded<Tokens>,
    /// Few calls have any, so all cores share the counters.
    failovers: Failovers,
}

/// Streams that lost their replica.
#[derive(Default)]
struct Failovers {
    continued: AtomicU64,
    /// By reason.
    not_continued: [AtomicU64; NotContinued::ALL.len()],
}

struct Outcome {
    route: &'static str,
    status: u16,
    code: &'static str,
    count: Sharded<AtomicU64>,
}

#[derive(Default)]
struct Tokens {
    prompt: AtomicU64,
    completion: AtomicU64,
    cached: AtomicU64,
}

/// The histograms of a model. They are not per workspace, which would be too many buckets.
pub(super) struct ModelTimings {
    duration: Histogram,
    time_to_first_token: Histogram,
    time_per_output_token: Histogram,
    hold: Histogram,
}

impl Pair {
    pub(super) fn new(cores: usize, workspace: Arc<str>, model: Arc<str>, timings: Arc<ModelTimings>) -> Self {
        Self {
            workspace,
            model,
            timings,
            outcomes: ArcSwap::default(),
            tokens: Sharded::new(cores),
            failovers: Failovers::default(),
        }
    }

    pub(super) fn count(&self, core: usize, record: &CallRecord) {
        self.count_outcome(core, record);
        if let Some(held) = record.held {
            self.timings.hold.observe(core, held);
        }
        if record.replica.is_some() {
            self.tokens.on(core).count(record);
            self.timings.observe(core, record);
        }
        self.failovers.count(record);
    }

    fn count_outcome(&self, core: usize, record: &CallRecord) {
        let (status, code) = status_of(record.outcome);
        let is_it = |outcome: &&Arc<Outcome>| outcome.is(record.route, status, code);
        if let Some(outcome) = self.outcomes.load().iter().find(is_it) {
            return outcome.count.add(core, 1);
        }
        // Two cores that add the same outcome at once end up with one counter.
        self.outcomes.rcu(|known| {
            let mut more = Vec::clone(known);
            if !more.iter().any(|outcome| outcome.is(record.route, status, code)) {
                let count = Sharded::new(self.tokens.cores());
                more.push(Arc::new(Outcome { route: record.route, status, code, count }));
            }
            more
        });
        if let Some(outcome) = self.outcomes.load().iter().find(is_it) {
            outcome.count.add(core, 1);
        }
    }

    pub(super) fn write_outcomes(&self, samples: &mut Samples<'_>) {
        for outcome in self.outcomes.load().iter() {
            let status = outcome.status.to_string();
            let labels = [outcome.route, &self.workspace, &self.model, &status, outcome.code];
            samples.whole(&labels, outcome.count.sum());
        }
    }

    /// Nothing for a model whose streams never lost a replica.
    pub(super) fn write_failovers(&self, samples: &mut Samples<'_>) {
        if self.failovers.each().any(|(_, count)| count > 0) {
            for (outcome, count) in self.failovers.each() {
                samples.whole(&[&self.workspace, &self.model, outcome], count);
            }
        }
    }

    pub(super) fn write_tokens(&self, samples: &mut Samples<'_>) {
        let sum = |of: fn(&Tokens) -> &AtomicU64| -> u64 {
            self.tokens.each().map(|core| of(core).load(Ordering::Relaxed)).sum()
        };
        for (kind, count) in [
            ("prompt", sum(|tokens| &tokens.prompt)),
            ("completion", sum(|tokens| &tokens.completion)),
            ("cached", sum(|tokens| &tokens.cached)),
        ] {
            samples.whole(&[&self.workspace, &self.model, kind], count);
        }
    }
}

impl Failovers {
    fn count(&self, record: &CallRecord) {
        let dataplane::record::Failovers { continued, not_continued } = record.failovers;
        if continued > 0 {
            self.continued.fetch_add(continued.into(), Ordering::Relaxed);
        }
        if let Some(reason) = not_continued {
            self.not_continued[reason as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let reasons = NotContinued::ALL.into_iter().map(NotContinued::as_str);
        let counters = std::iter::once(&self.continued).chain(&self.not_continued);
        std::iter::once("continued").chain(reasons).zip(counters.map(|counter| counter.load(Ordering::Relaxed)))
    }
}

impl Outcome {
    fn is(&self, route: &str, status: u16, code: &str) -> bool {
        self.status == status && self.code == code && self.route == route
    }
}

impl Tokens {
    fn count(&self, record: &CallRecord) {
        let tokens = record.tokens;
        for (counter, count) in
            [(&self.prompt, tokens.prompt), (&self.completion, tokens.completion), (&self.cached, tokens.cached)]
        {
            if count > 0 {
                counter.fetch_add(count, Ordering::Relaxed);
            }
        }
    }
}

impl ModelTimings {
    pub(super) fn new(cores: usize) -> Self {
        Self {
            duration: Histogram::new(cores, DURATION_BOUNDS),
            time_to_first_token: Histogram::new(cores, TIME_TO_FIRST_TOKEN_BOUNDS),
            time_per_output_token: Histogram::new(cores, TIME_PER_OUTPUT_TOKEN_BOUNDS),
            hold: Histogram::new(cores, HOLD_BOUNDS),
        }
    }

    fn observe(&self, core: usize, record: &CallRecord) {
        self.duration.observe(core, record.duration);
        let Some(first) = record.first_byte.filter(|_| record.streamed) else { return };
        self.time_to_first_token.observe(core, first);
        if let Some(each) = time_per_token(record.duration.saturating_sub(first), record.tokens.completion) {
            self.time_per_output_token.observe(core, each);
        }
    }

    pub(super) fn write_all(page: &mut Page, models: &[(&str, &Self)]) {
        for (family, of) in [
            (&families::DURATION, (|model| &model.duration) as fn(&Self) -> &Histogram),
            (&families::TIME_TO_FIRST_TOKEN, |model| &model.time_to_first_token),
            (&families::TIME_PER_OUTPUT_TOKEN, |model| &model.time_per_output_token),
            (&families::HOLD, |model| &model.hold),
        ] {
            let mut samples = page.family(family);
            for (name, model) in models {
                let seen = of(model).read();
                // Calls to most models are never held, and embeddings have no first token.
                if seen.counts.iter().any(|count| *count > 0) {
                    samples.histogram(&[name], &seen);
                }
            }
        }
    }
}

/// The time per token after the first; `None` if there is only one.
fn time_per_token(after_first: Duration, completion: u64) -> Option<Duration> {
    after_first.checked_div(u32::try_from(completion).ok()?.checked_sub(1)?)
}
