//! Measured figures per round, and their targets.

/// How a figure is compared with its targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// The contender's value as a multiple of nginx's in the same round.
    Ratio,
    /// The contender's value minus nginx's in the same round.
    Added,
    /// The contender's value alone.
    Value,
    /// No target.
    None,
}

/// Definition of a figure and its two targets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FigureKind {
    pub(crate) label: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) judgement: Judgement,
    pub(crate) first: f64,
    pub(crate) goal: f64,
}

const fn kind(label: &'static str, unit: &'static str, judgement: Judgement, first: f64, goal: f64) -> FigureKind {
    FigureKind { label, unit, judgement, first, goal }
}

pub(crate) const UNARY: FigureKind = kind("unary, 1 KiB prompt", "µs CPU", Judgement::Ratio, 1.5, 1.25);
pub(crate) const UNARY_32K: FigureKind = kind("unary, 32 KiB prompt", "µs CPU", Judgement::Ratio, 1.7, 1.25);
pub(crate) const UNARY_256K: FigureKind = kind("unary, 256 KiB prompt", "µs CPU", Judgement::Ratio, 1.3, 1.0);
pub(crate) const THROUGHPUT: FigureKind = kind("unary calls, one core", "/s", Judgement::None, 0.0, 0.0);
pub(crate) const EMBEDDING: FigureKind = kind("embedding, 1 KiB input", "µs CPU", Judgement::None, 0.0, 0.0);
pub(crate) const SSE_PACED: FigureKind = kind("SSE event, 20 ms paced", "µs CPU", Judgement::Ratio, 1.25, 1.05);
pub(crate) const SSE_UNPACED: FigureKind = kind("SSE event, unpaced", "µs CPU", Judgement::Ratio, 1.25, 1.1);
pub(crate) const LATENCY_P50: FigureKind = kind("latency at 2,000/s, p50", "ms", Judgement::Added, 0.1, 0.05);
pub(crate) const LATENCY_P99: FigureKind = kind("latency at 2,000/s, p99", "ms", Judgement::Ratio, 2.0, 1.5);
pub(crate) const FIRST_TOKEN: FigureKind = kind("time to first token, p50", "ms", Judgement::Added, 1.0, 0.3);
pub(crate) const MEMORY_IDLE: FigureKind = kind("memory, idle", "MB", Judgement::Value, 40.0, 25.0);
pub(crate) const MEMORY_STREAMS: FigureKind = kind("memory, 2,000 streams", "MB", Judgement::Value, 120.0, 60.0);
// For these, both columns are Forebay: the baseline and the variant.
pub(crate) const REJECTED_401: FigureKind = kind("401 against a served call", "µs CPU", Judgement::Ratio, 1.0, 0.5);
pub(crate) const REJECTED_429: FigureKind = kind("429 against a served call", "µs CPU", Judgement::Ratio, 1.0, 0.5);
pub(crate) const KEYS_10_000: FigureKind = kind("10,000 keys against 10", "µs CPU", Judgement::Ratio, 1.15, 1.05);
pub(crate) const KEYS_1_000_000: FigureKind = kind("1,000,000 keys against 10", "µs CPU", Judgement::Ratio, 1.15, 1.05);
pub(crate) const KEYS_IN_TURN: FigureKind =
    kind("10,000 keys that all call against 10", "µs CPU", Judgement::Ratio, 1.2, 1.05);
pub(crate) const END_USERS_IN_TURN: FigureKind =
    kind("10,000 end users of a key against 10 keys", "µs CPU", Judgement::Ratio, 1.2, 1.05);
pub(crate) const CPU_IDLE: FigureKind = kind("CPU of an idle node", "% core", Judgement::Value, 0.3, 0.1);
pub(crate) const MESSAGES_EVENT: FigureKind =
    kind("Messages event against chat's", "µs CPU", Judgement::Ratio, 2.0, 1.5);
pub(crate) const RESPONSES_EVENT: FigureKind =
    kind("Responses event against chat's", "µs CPU", Judgement::Ratio, 2.0, 1.5);
pub(crate) const UPSTREAMS_8: FigureKind = kind("8 upstreams against 1", "µs CPU", Judgement::None, 0.0, 0.0);
pub(crate) const UPSTREAMS_8_LARGE: FigureKind =
    kind("8 upstreams against 1, 48 KiB prompt, 64 connections", "µs CPU", Judgement::Added, 10.0, 6.0);
pub(crate) const UPSTREAMS_64: FigureKind = kind("64 upstreams against 1", "µs CPU", Judgement::None, 0.0, 0.0);
pub(crate) const UPSTREAMS_256: FigureKind = kind("256 upstreams against 1", "µs CPU", Judgement::None, 0.0, 0.0);
pub(crate) const LIMITS_IN_REDIS: FigureKind =
    kind("limits in Redis against in memory", "µs CPU", Judgement::Ratio, 1.5, 1.25);
pub(crate) const MODELS_500: FigureKind = kind("500 models against 2", "µs CPU", Judgement::Ratio, 1.15, 1.05);
/// Each has its own series of metrics, of usage and of bills.
pub(crate) const MODELS_IN_TURN: FigureKind =
    kind("500 models that are all called against 2", "µs CPU", Judgement::Ratio, 1.2, 1.05);

/// Values of a figure, one pair per round.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) kind: FigureKind,
    /// Baseline (usually nginx) and contender.
    pub(crate) rounds: Vec<(f64, f64)>,
}

impl Figure {
    pub(crate) fn baseline(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.0))
    }

    pub(crate) fn contender(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.1))
    }

    /// Median of the ratios within each round.
    pub(crate) fn ratio(&self) -> f64 {
        median(self.rounds.iter().map(|(baseline, contender)| contender / baseline))
    }

    pub(crate) fn added(&self) -> f64 {
        median(self.rounds.iter().map(|(baseline, contender)| contender - baseline))
    }

    /// The number that is compared with the targets; `None` without targets.
    pub(crate) fn judged_value(&self) -> Option<f64> {
        match self.kind.judgement {
            Judgement::Ratio => Some(self.ratio()),
            Judgement::Added => Some(self.added()),
            Judgement::Value => Some(self.contender()),
            Judgement::None => None,
        }
    }
}

/// All figures in order of first measurement.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) all: Vec<Figure>,
    /// Notes below the table.
    pub(crate) notes: Vec<String>,
}

impl Figures {
    /// Adds the values of a round. They are printed at once, so that a run that ends early has measured something.
    pub(crate) fn add(&mut self, kind: FigureKind, baseline: f64, contender: f64) {
        eprintln!("  {}: {baseline:.3}, {contender:.3}", kind.label);
        match self.all.iter_mut().find(|figure| figure.kind.label == kind.label) {
            Some(figure) => figure.rounds.push((baseline, contender)),
            None => self.all.push(Figure { kind, rounds: vec![(baseline, contender)] }),
        }
    }

    /// Maximum number of rounds of any figure.
    pub(crate) fn rounds(&self) -> usize {
        self.all.iter().map(|figure| figure.rounds.len()).max().unwrap_or(0)
    }

    /// Adds a note unless it is already there.
    pub(crate) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count.is_multiple_of(2) => f64::midpoint(values[count / 2 - 1], values[count / 2]),
        count => values[count / 2],
    }
}
