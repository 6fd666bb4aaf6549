//! What was measured, round by round, and what it is held against.

/// How a figure is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// The contender's value as a multiple of nginx's in the same round.
    Ratio,
    /// The contender's value less nginx's in the same round.
    Added,
    /// The contender's value alone.
    Value,
    /// Shown only.
    Not,
}

/// What a figure is, and its two targets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) label: &'static str,
    pub(super) unit: &'static str,
    pub(super) judged: Judged,
    pub(super) first: f64,
    pub(super) goal: f64,
}

const fn kind(label: &'static str, unit: &'static str, judged: Judged, first: f64, goal: f64) -> Kind {
    Kind { label, unit, judged, first, goal }
}

pub(super) const UNARY: Kind = kind("unary, 1 KiB prompt", "µs CPU", Judged::Ratio, 1.5, 1.2);
pub(super) const UNARY_32K: Kind = kind("unary, 32 KiB prompt", "µs CPU", Judged::Ratio, 1.7, 1.3);
pub(super) const UNARY_256K: Kind = kind("unary, 256 KiB prompt", "µs CPU", Judged::Ratio, 1.3, 1.0);
pub(super) const THROUGHPUT: Kind = kind("unary calls, one core", "/s", Judged::Not, 0.0, 0.0);
pub(super) const EMBEDDING: Kind = kind("embedding, 1 KiB input", "µs CPU", Judged::Not, 0.0, 0.0);
pub(super) const SSE_PACED: Kind = kind("SSE event, 20 ms paced", "µs CPU", Judged::Ratio, 1.25, 1.0);
pub(super) const SSE_UNPACED: Kind = kind("SSE event, unpaced", "µs CPU", Judged::Not, 0.0, 0.0);
pub(super) const LATENCY_P50: Kind = kind("latency at 2,000/s, p50", "ms", Judged::Added, 0.1, 0.05);
pub(super) const LATENCY_P99: Kind = kind("latency at 2,000/s, p99", "ms", Judged::Not, 0.0, 0.0);
pub(super) const FIRST_TOKEN: Kind = kind("time to first token, p50", "ms", Judged::Added, 1.0, 0.3);
pub(super) const MEMORY_IDLE: Kind = kind("memory, idle", "MB", Judged::Value, 40.0, 25.0);
pub(super) const MEMORY_STREAMS: Kind = kind("memory, 2,000 streams", "MB", Judged::Value, 120.0, 60.0);
// The columns of these hold Forebay twice: what is compared with, and what is measured.
pub(super) const REFUSED_401: Kind = kind("401 against a served call", "µs CPU", Judged::Ratio, 1.0, 0.5);
pub(super) const REFUSED_429: Kind = kind("429 against a served call", "µs CPU", Judged::Ratio, 1.0, 0.5);
pub(super) const KEYS_10_000: Kind = kind("10,000 keys against 10", "µs CPU", Judged::Ratio, 1.15, 1.05);
pub(super) const KEYS_1_000_000: Kind = kind("1,000,000 keys against 10", "µs CPU", Judged::Ratio, 1.15, 1.05);
pub(super) const KEYS_IN_TURN: Kind = kind("10,000 keys that all call against 10", "µs CPU", Judged::Ratio, 1.15, 1.05);
pub(super) const MODELS_500: Kind = kind("500 models against 2", "µs CPU", Judged::Ratio, 1.15, 1.05);

/// One figure's values, a pair for each round.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) kind: Kind,
    /// nginx (or what else it is compared with), contender.
    pub(super) rounds: Vec<(f64, f64)>,
}

impl Figure {
    pub(super) fn floor(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.0))
    }

    pub(super) fn contender(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.1))
    }

    /// The median over the rounds of the ratios within each.
    pub(super) fn ratio(&self) -> f64 {
        median(self.rounds.iter().map(|(floor, contender)| contender / floor))
    }

    pub(super) fn added(&self) -> f64 {
        median(self.rounds.iter().map(|(floor, contender)| contender - floor))
    }

    /// The number that the targets are about; `None` when there are none.
    pub(super) fn judged_value(&self) -> Option<f64> {
        match self.kind.judged {
            Judged::Ratio => Some(self.ratio()),
            Judged::Added => Some(self.added()),
            Judged::Value => Some(self.contender()),
            Judged::Not => None,
        }
    }
}

/// All figures in the order in which they first came.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) all: Vec<Figure>,
    /// Sentences below the table.
    pub(super) notes: Vec<String>,
}

impl Figures {
    pub(super) fn add(&mut self, kind: Kind, floor: f64, contender: f64) {
        match self.all.iter_mut().find(|figure| figure.kind.label == kind.label) {
            Some(figure) => figure.rounds.push((floor, contender)),
            None => self.all.push(Figure { kind, rounds: vec![(floor, contender)] }),
        }
    }

    /// How often the most measured figure was.
    pub(super) fn rounds(&self) -> usize {
        self.all.iter().map(|figure| figure.rounds.len()).max().unwrap_or(0)
    }

    /// A sentence, once.
    pub(super) fn note(&mut self, note: String) {
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
