use control::series::{ChartLine, LineName, NamedValues, SeriesReport, SeriesValue};
use domain::Timestamp;
use domain::usage::Actor;
use serde::Serialize;
use utoipa::ToSchema;

/// One metric over a span of time: lines with one value for each of `starts`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Series)]
pub struct SeriesView {
    metric: &'static str,
    /// `calls`, `errors`, `tokens`, `seconds`, `starts`, `gpus`, `replicas` or `fraction`.
    unit: &'static str,
    /// The start of the first point.
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    /// The end of the last point.
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    step_seconds: i64,
    /// Points before this are null: their data is no longer stored.
    #[schema(value_type = String, format = DateTime)]
    kept_from: Timestamp,
    /// The start of each point.
    #[schema(value_type = Vec<String>)]
    starts: Vec<Timestamp>,
    /// The largest first; without groups exactly one.
    data: Vec<LineView>,
}

/// The group of a line, its value at each point, and in the whole span.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = SeriesLine)]
struct LineView {
    /// If grouped by model; null for calls that named an unknown model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, required = false)]
    model: Option<Option<String>>,
    /// If grouped by key: the key's id, or null if a user called.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, required = false)]
    key: Option<Option<String>>,
    /// If grouped by key: the user's id, or null if a key called.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, required = false)]
    user: Option<Option<String>>,
    /// If grouped by endpoint: its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    endpoint: Option<String>,
    /// If grouped by replica: its id, or its name if it is a model's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    replica: Option<String>,
    /// If grouped by code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    code: Option<String>,
    /// True for the sum of all groups that have no line of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    others: Option<bool>,
    values: ValuesView,
    total: TotalView,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum NumberView {
    Whole(u64),
    Part(f64),
}

impl From<SeriesValue> for NumberView {
    fn from(number: SeriesValue) -> Self {
        match number {
            SeriesValue::Whole(count) => Self::Whole(count),
            SeriesValue::Part(value) => Self::Part(value),
        }
    }
}

/// Two records with the same members: the values of all points, and of the whole span.
macro_rules! metrics {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// The members that the metric has; null at points without data.
        #[derive(Debug, Default, Serialize, ToSchema)]
        #[schema(as = SeriesValues)]
        struct ValuesView {
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                #[schema(value_type = Option<Vec<Option<f64>>>, required = false, nullable = false)]
                $name: Option<Vec<Option<NumberView>>>,
            )*
        }

        /// The same members for the whole span.
        #[derive(Debug, Default, Serialize, ToSchema)]
        #[schema(as = SeriesTotal)]
        struct TotalView {
            $(
                #[serde(skip_serializing_if = "Option::is_none")]
                #[schema(value_type = Option<f64>, required = false)]
                $name: Option<Option<NumberView>>,
            )*
        }

        impl From<NamedValues<Vec<Option<SeriesValue>>>> for ValuesView {
            fn from(named: NamedValues<Vec<Option<SeriesValue>>>) -> Self {
                let mut view = Self::default();
                for (name, values) in named {
                    let values = values.into_iter().map(|value| value.map(NumberView::from)).collect();
                    match name {
                        $(stringify!($name) => view.$name = Some(values),)*
                        _ => debug_assert!(false, "{name} is not a member"),
                    }
                }
                view
            }
        }

        impl From<NamedValues<Option<SeriesValue>>> for TotalView {
            fn from(named: NamedValues<Option<SeriesValue>>) -> Self {
                let mut view = Self::default();
                for (name, value) in named {
                    match name {
                        $(stringify!($name) => view.$name = Some(value.map(NumberView::from)),)*
                        _ => debug_assert!(false, "{name} is not a member"),
                    }
                }
                view
            }
        }
    };
}

metrics!(
    /// Calls, errors or starts.
    count,
    /// Tokens.
    prompt,
    completion,
    /// A part of `prompt`.
    cached,
    /// Percentiles in seconds, accurate to 2 %.
    p50,
    p95,
    p99,
    mean,
    max,
    /// With `gpu_busy`: the fraction of the time with GPUs held that was measured.
    measured,
    /// With `gpus`: how many were held, on average.
    held,
    /// With `gpus`: the busy part of those held, as far as it was measured.
    busy,
    /// With `replicas`: how many an endpoint should have, on average.
    desired,
    /// With `replicas`: how many were ready, on average.
    ready,
);

impl From<SeriesReport> for SeriesView {
    fn from(report: SeriesReport) -> Self {
        let span = report.points.span();
        Self {
            metric: report.metric.as_str(),
            unit: report.metric.unit().as_str(),
            from: span.from,
            to: span.to,
            step_seconds: report.points.step.seconds(),
            kept_from: report.kept_from,
            starts: report.points.starts().collect(),
            data: report.lines.into_iter().map(LineView::from).collect(),
        }
    }
}

impl From<ChartLine> for LineView {
    fn from(line: ChartLine) -> Self {
        let view = Self { values: line.values.into(), total: line.total.into(), ..Self::default() };
        match line.name {
            LineName::All => view,
            LineName::Model(model) => Self { model: Some(model), ..view },
            LineName::Actor(Actor::Key(key)) => Self { key: Some(Some(key.to_string())), user: Some(None), ..view },
            LineName::Actor(Actor::User(user)) => Self { key: Some(None), user: Some(Some(user.to_string())), ..view },
            LineName::Endpoint(endpoint) => Self { endpoint: Some(endpoint), ..view },
            LineName::Replica(replica) => Self { replica: Some(replica), ..view },
            LineName::Code(code) => Self { code: Some(code), ..view },
            LineName::Others => Self { others: Some(true), ..view },
        }
    }
}
