use control::series::{ChartLine, LineName, Report, SeriesValue};
use domain::Timestamp;
use domain::usage::Actor;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// One metric over a span: lines whose values belong to `starts`, one by one.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Series)]
pub(crate) struct SeriesView {
    metric: &'static str,
    /// `calls`, `errors`, `tokens`, `seconds`, `starts` or `fraction`.
    unit: &'static str,
    /// The beginning of the first point.
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    /// The end of the last point.
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    step_seconds: i64,
    /// Points before this are null: what they are made of is not kept for longer.
    #[schema(value_type = String, format = DateTime)]
    kept_from: Timestamp,
    /// When each point begins.
    #[schema(value_type = Vec<String>)]
    starts: Vec<Timestamp>,
    /// Those with the most on them first; without groups exactly one.
    #[schema(value_type = Vec<SeriesLine>)]
    data: Vec<Value>,
}

/// What a line is about, its value at each point, and in the whole span.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what a line is written as")]
struct SeriesLine {
    /// Where grouped by model; null for calls that named none of ours.
    #[schema(required = false)]
    model: Option<String>,
    /// Where grouped by key: the key's id, or null where a person called.
    #[schema(required = false)]
    key: Option<String>,
    /// Where grouped by key: the person's id, or null where a key called.
    #[schema(required = false)]
    user: Option<String>,
    /// Where grouped by endpoint: its name.
    #[schema(required = false, nullable = false)]
    endpoint: Option<String>,
    /// Where grouped by code.
    #[schema(required = false, nullable = false)]
    code: Option<String>,
    /// True for the line of all groups that are too many to be shown one by one.
    #[schema(required = false, nullable = false)]
    others: Option<bool>,
    values: SeriesValues,
    total: SeriesTotal,
}

/// The members that the metric has; null at points of which nothing is known.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what a line is written as")]
struct SeriesValues {
    /// Calls, errors or starts.
    #[schema(required = false, nullable = false)]
    count: Option<Vec<Option<f64>>>,
    /// Tokens.
    #[schema(required = false, nullable = false)]
    prompt: Option<Vec<Option<f64>>>,
    #[schema(required = false, nullable = false)]
    completion: Option<Vec<Option<f64>>>,
    /// A part of `prompt`.
    #[schema(required = false, nullable = false)]
    cached: Option<Vec<Option<f64>>>,
    /// Percentiles in seconds, within 2 % of the true ones.
    #[schema(required = false, nullable = false)]
    p50: Option<Vec<Option<f64>>>,
    #[schema(required = false, nullable = false)]
    p95: Option<Vec<Option<f64>>>,
    #[schema(required = false, nullable = false)]
    p99: Option<Vec<Option<f64>>>,
    #[schema(required = false, nullable = false)]
    mean: Option<Vec<Option<f64>>>,
    #[schema(required = false, nullable = false)]
    max: Option<Vec<Option<f64>>>,
    /// Of `gpu_busy`: the part of the time that GPUs were held in which they were measured.
    #[schema(required = false, nullable = false)]
    measured: Option<Vec<Option<f64>>>,
}

/// The same members for the whole span.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what a line is written as")]
struct SeriesTotal {
    #[schema(required = false)]
    count: Option<f64>,
    #[schema(required = false)]
    prompt: Option<f64>,
    #[schema(required = false)]
    completion: Option<f64>,
    #[schema(required = false)]
    cached: Option<f64>,
    #[schema(required = false)]
    p50: Option<f64>,
    #[schema(required = false)]
    p95: Option<f64>,
    #[schema(required = false)]
    p99: Option<f64>,
    #[schema(required = false)]
    mean: Option<f64>,
    #[schema(required = false)]
    max: Option<f64>,
    #[schema(required = false)]
    measured: Option<f64>,
}

impl From<Report> for SeriesView {
    fn from(report: Report) -> Self {
        let span = report.points.span();
        Self {
            metric: report.metric.as_str(),
            unit: report.metric.unit().as_str(),
            from: span.from,
            to: span.to,
            step_seconds: report.points.step.seconds(),
            kept_from: report.kept_from,
            starts: report.points.starts().collect(),
            data: report.lines.into_iter().map(line).collect(),
        }
    }
}

fn line(line: ChartLine) -> Value {
    let mut members = Map::new();
    match line.name {
        LineName::All => {}
        LineName::Model(model) => drop(members.insert("model".into(), json!(model))),
        LineName::Actor(Actor::Key(key)) => members.extend([("key".into(), json!(key)), ("user".into(), Value::Null)]),
        LineName::Actor(Actor::User(user)) => {
            members.extend([("key".into(), Value::Null), ("user".into(), json!(user))])
        }
        LineName::Endpoint(endpoint) => drop(members.insert("endpoint".into(), json!(endpoint))),
        LineName::Code(code) => drop(members.insert("code".into(), json!(code))),
        LineName::Others => drop(members.insert("others".into(), json!(true))),
    }
    let values: Map<String, Value> = line
        .values
        .into_iter()
        .map(|(name, values)| (name.to_owned(), values.into_iter().map(number).collect()))
        .collect();
    let total: Map<String, Value> =
        line.total.into_iter().map(|(name, value)| (name.to_owned(), number(value))).collect();
    members.extend([("values".into(), Value::Object(values)), ("total".into(), Value::Object(total))]);
    Value::Object(members)
}

fn number(number: Option<SeriesValue>) -> Value {
    match number {
        None => Value::Null,
        Some(SeriesValue::Whole(count)) => json!(count),
        Some(SeriesValue::Part(value)) => json!(value),
    }
}
