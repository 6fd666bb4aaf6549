//! Metrics of calls, from the rows of series.

use super::figures::{Line, Name, Number, Sheet, Sum};
use super::{Frame, Question};
use crate::command_error::CommandError;
use domain::WorkspaceId;
use domain::model_ref::endpoint_part;
use domain::series::{Division, Level, Metric, Tally, Timing};
use domain::usage::Actor;
use store::Store;
use store::series::{self, MAX_ROWS, Wanted};

/// Codes of calls that came too fast, or after the month's quota.
const RATE_LIMIT_CODES: [&str; 2] = ["rate_limit_exceeded", "quota_exceeded"];
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

impl Sum for Tally {
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
    workspace: &WorkspaceId,
    question: &Question,
    frame: &Frame,
) -> Result<Vec<Line>, CommandError> {
    let model = question.model();
    let tells = |division| question.division == Some(division);
    let asked = series::Question {
        workspace,
        resolution: frame.points.step.resolution(),
        level: Level::that_tells(
            model.is_some() || tells(Division::Model) || tells(Division::Endpoint),
            question.actor.is_some() || tells(Division::Key),
        ),
        span: frame.points.span(),
        model: model.as_deref(),
        actor: question.actor.as_ref().map(Actor::as_str),
    };
    let mut sheet = Sheet::new(frame.points.count(), question.division);
    let asks_for_codes = tells(Division::Code) || question.code.is_some() || question.metric == Metric::RateLimitHits;
    if asks_for_codes {
        let found = series::read_codes(store, asked).await?;
        bounded(found.len())?;
        for coded in found {
            let is_meant = question.code.as_ref().is_none_or(|code| *code == coded.code)
                && (question.metric != Metric::RateLimitHits || RATE_LIMIT_CODES.contains(&coded.code.as_str()));
            let name = name(question.division, &coded.model, &coded.actor, Some(&coded.code));
            if let (true, Some(name), Some(index)) = (is_meant, name, frame.points.index(coded.starts_at)) {
                let mut tally = Tally::default();
                tally.refuse(coded.calls);
                sheet.add(name, index, &tally);
            }
        }
    } else {
        let found = series::read(store, asked, wanted(question.metric)).await?;
        bounded(found.len())?;
        for point in found {
            let name = name(question.division, &point.model, &point.actor, None);
            if let (Some(name), Some(index)) = (name, frame.points.index(point.starts_at)) {
                sheet.add(name, index, &point.tally);
            }
        }
    }
    let line =
        |(name, tallies, total): (Name, Vec<Tally>, Tally)| figures(question.metric, name, &tallies, &total, frame);
    Ok(sheet.finish().into_iter().map(line).collect())
}

/// Nobody looks at so much at once, and reading it would hold up others.
fn bounded(rows: usize) -> Result<(), CommandError> {
    if rows <= MAX_ROWS {
        return Ok(());
    }
    Err(CommandError::BadValue {
        field: "step",
        why: "that is too much to read at once: take longer steps or a shorter span",
    })
}

const fn wanted(metric: Metric) -> Wanted {
    match (timing(metric), metric) {
        (Some(timing), _) => Wanted::Timing(timing),
        (None, Metric::Errors) => Wanted::Errors,
        (None, Metric::Tokens) => Wanted::Tokens,
        (None, Metric::InFlight) => Wanted::Busy,
        (None, _) => Wanted::Requests,
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

/// The line that a row belongs to; none where the chart does not show it.
fn name(division: Option<Division>, model: &str, actor: &str, code: Option<&str>) -> Option<Name> {
    match division {
        None => Some(Name::All),
        Some(Division::Model) => Some(Name::Model((!model.is_empty()).then(|| model.to_owned()))),
        Some(Division::Key) => Actor::parse(actor).map(Name::Actor),
        Some(Division::Endpoint) => endpoint_part(model).map(|name| Name::Endpoint(name.to_owned())),
        Some(Division::Code) => code.map(|code| Name::Code(code.to_owned())),
    }
}

fn figures(metric: Metric, name: Name, tallies: &[Tally], total: &Tally, frame: &Frame) -> Line {
    let mut line = Line { name, values: Vec::new(), total: Vec::new() };
    let mut put = |name: &'static str, figure: &dyn Fn(&Tally) -> Option<Number>| {
        line.values.push((name, frame.each(|index| figure(&tallies[index]))));
        line.total.push((name, figure(total)));
    };
    let whole = |count: u64| Some(Number::Whole(count));
    match metric {
        Metric::Requests => put("count", &|tally| whole(tally.requests)),
        Metric::Errors | Metric::RateLimitHits => put("count", &|tally| whole(tally.errors)),
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
                put(name, &|tally| tally.timing(timing).quantile(quantile).map(Number::part));
            }
            put("mean", &|tally| tally.timing(timing).mean().map(Number::part));
            put("count", &|tally| whole(tally.timing(timing).count()));
        }
    }
    line
}

/// Calls under way on average: the time that they were, divided by the time that has passed.
fn in_flight(line: &mut Line, tallies: &[Tally], total: &Tally, frame: &Frame) {
    let mean = |tally: &Tally, millis: u64| {
        #[expect(clippy::cast_precision_loss, reason = "a mean needs no more digits")]
        let (busy, passed) = (tally.busy_micros as f64, millis as f64 * 1_000.0);
        (millis > 0).then(|| Number::part(busy / passed))
    };
    let starts: Vec<_> = frame.points.starts().collect();
    let passed = |index: usize| frame.passed_millis(starts[index]);
    line.values.push(("mean", frame.each(|index| mean(&tallies[index], passed(index)))));
    line.total.push(("mean", mean(total, (0..starts.len()).map(passed).sum())));
}
