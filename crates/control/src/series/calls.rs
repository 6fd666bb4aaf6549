//! Metrics of calls, from the rows of the series.

use super::lines::{Accumulate, ChartLine, LineName, LineSums, SeriesValue};
use super::{Frame, SeriesQuery};
use crate::command_error::CommandError;
use domain::WorkspaceId;
use domain::model_ref::endpoint_part;
use domain::series::{Division, Level, Metric, Tally, Timing};
use domain::usage::{Actor, CLIENT_GONE};
use store::Store;
use store::series::{self, MAX_ROWS, Measure};

/// Codes of calls above a rate limit or the monthly quota.
const RATE_LIMIT_CODES: [&str; 3] = ["rate_limit_exceeded", "quota_exceeded", "budget_exceeded"];
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

impl Accumulate for Tally {
    fn add(&mut self, other: &Self) {
        self.merge(other);
    }

    fn weight(&self) -> u64 {
        let counts = [self.requests, self.errors, self.prompt_tokens, self.completion_tokens, self.busy_micros];
        let timings = [Timing::Ttft, Timing::TimePerOutputToken, Timing::Latency, Timing::Hold, Timing::Queue];
        let timed = timings.map(|timing| self.timing(timing).count());
        counts.into_iter().chain(timed).fold(0, u64::saturating_add)
    }
}

pub(super) async fn lines(
    store: &Store,
    workspace: Option<&WorkspaceId>,
    query: &SeriesQuery,
    frame: &Frame,
) -> Result<Vec<ChartLine>, CommandError> {
    let model = query.model();
    let is_by = |division| query.division == Some(division);
    let selection = series::Selection {
        workspace,
        resolution: frame.points.step.resolution(),
        level: Level::with(
            model.is_some() || is_by(Division::Model) || is_by(Division::Endpoint),
            query.actor.is_some() || is_by(Division::Key),
            query.surface,
        ),
        span: frame.points.span(),
        model: model.as_deref(),
        actor: query.actor.as_ref().map(Actor::as_str),
    };
    let mut sums = LineSums::new(frame.points.count(), query.division);
    if is_counted_by_code(query.metric) {
        let found = series::read_codes(store, selection).await?;
        bounded(found.len())?;
        for count in found {
            let is_selected =
                query.code.as_ref().is_none_or(|code| *code == count.code) && counts(query.metric, &count.code);
            let name = name(query.division, &count.model, &count.actor, Some(&count.code));
            if let (true, Some(name), Some(index)) = (is_selected, name, frame.points.index(count.starts_at)) {
                let mut tally = Tally::default();
                tally.add_rejected(count.calls);
                sums.add(name, index, &tally);
            }
        }
    } else {
        let found = series::read(store, selection, measure(query.metric)).await?;
        bounded(found.len())?;
        for point in found {
            let name = name(query.division, &point.model, &point.actor, None);
            if let (Some(name), Some(index)) = (name, frame.points.index(point.starts_at)) {
                sums.add(name, index, &point.tally);
            }
        }
    }
    let line =
        |(name, tallies, total): (LineName, Vec<Tally>, Tally)| chart_line(query.metric, name, &tallies, &total, frame);
    Ok(sums.finish().into_iter().map(line).collect())
}

/// Whether a metric counts calls by their codes. A disconnected client is not a failure, so errors need the codes, too.
const fn is_counted_by_code(metric: Metric) -> bool {
    matches!(metric, Metric::Errors | Metric::Cancelled | Metric::RateLimitHits)
}

/// Whether such a metric counts calls with this code.
fn counts(metric: Metric, code: &str) -> bool {
    match metric {
        Metric::RateLimitHits => RATE_LIMIT_CODES.contains(&code),
        Metric::Cancelled => code == CLIENT_GONE,
        _ => code != CLIENT_GONE,
    }
}

/// Rejects queries that read too many rows.
pub(super) fn bounded(rows: usize) -> Result<(), CommandError> {
    if rows <= MAX_ROWS {
        return Ok(());
    }
    Err(CommandError::BadValue { field: "step", why: "too much data: choose a longer step or a shorter span" })
}

const fn measure(metric: Metric) -> Measure {
    match (timing(metric), metric) {
        (Some(timing), _) => Measure::Timing(timing),
        (None, Metric::Tokens) => Measure::Tokens,
        (None, Metric::InFlight) => Measure::Busy,
        (None, _) => Measure::Requests,
    }
}

const fn timing(metric: Metric) -> Option<Timing> {
    match metric {
        Metric::Ttft => Some(Timing::Ttft),
        Metric::TimePerOutputToken => Some(Timing::TimePerOutputToken),
        Metric::Latency => Some(Timing::Latency),
        Metric::Hold => Some(Timing::Hold),
        Metric::Queue => Some(Timing::Queue),
        _ => None,
    }
}

/// The line that a row belongs to; `None` if the chart does not show it.
fn name(division: Option<Division>, model: &str, actor: &str, code: Option<&str>) -> Option<LineName> {
    match division {
        None => Some(LineName::All),
        Some(Division::Model) => Some(LineName::Model((!model.is_empty()).then(|| model.to_owned()))),
        Some(Division::Key) => Actor::parse(actor).map(LineName::Actor),
        Some(Division::Endpoint) => endpoint_part(model).map(|name| LineName::Endpoint(name.to_owned())),
        // No metric of calls is divided by replica.
        Some(Division::Replica) => None,
        Some(Division::Code) => code.map(|code| LineName::Code(code.to_owned())),
    }
}

fn chart_line(metric: Metric, name: LineName, tallies: &[Tally], total: &Tally, frame: &Frame) -> ChartLine {
    let mut line = ChartLine { name, values: Vec::new(), total: Vec::new() };
    let mut put = |name: &'static str, figure: &dyn Fn(&Tally) -> Option<SeriesValue>| {
        line.values.push((name, frame.each(|index| figure(&tallies[index]))));
        line.total.push((name, figure(total)));
    };
    let whole = |count: u64| Some(SeriesValue::Whole(count));
    match metric {
        Metric::Requests => put("count", &|tally| whole(tally.requests)),
        Metric::Errors | Metric::Cancelled | Metric::RateLimitHits => put("count", &|tally| whole(tally.errors)),
        Metric::Tokens => {
            put("prompt", &|tally| whole(tally.prompt_tokens));
            put("completion", &|tally| whole(tally.completion_tokens));
            put("cached", &|tally| whole(tally.cached_tokens));
        }
        Metric::InFlight => {
            in_flight(&mut line, tallies, total, frame);
        }
        _ => {
            let timing = timing(metric).unwrap_or(Timing::Latency);
            for (name, quantile) in QUANTILES {
                put(name, &|tally| tally.timing(timing).quantile(quantile).map(SeriesValue::part));
            }
            put("mean", &|tally| tally.timing(timing).mean().map(SeriesValue::part));
            put("count", &|tally| whole(tally.timing(timing).count()));
        }
    }
    line
}

/// Average number of concurrent calls: their total running time divided by the elapsed time.
fn in_flight(line: &mut ChartLine, tallies: &[Tally], total: &Tally, frame: &Frame) {
    let mean = |tally: &Tally, millis: u64| {
        #[expect(clippy::cast_precision_loss, reason = "a mean needs no more digits")]
        let (busy, passed) = (tally.busy_micros as f64, millis as f64 * 1_000.0);
        (millis > 0).then(|| SeriesValue::part(busy / passed))
    };
    let starts: Vec<_> = frame.points.starts().collect();
    let passed = |index: usize| frame.passed_millis(starts[index]);
    line.values.push(("mean", frame.each(|index| mean(&tallies[index], passed(index)))));
    line.total.push(("mean", mean(total, (0..starts.len()).map(passed).sum())));
}
