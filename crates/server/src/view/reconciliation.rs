use control::reconciliation::{Line, Report, Sum};
use domain::Timestamp;
use domain::reconciliation::{Difference, Side};
use serde::Serialize;
use utoipa::ToSchema;

/// Tokens billed against tokens that the engines counted, by replica and hour.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Reconciliation)]
pub(crate) struct ReconciliationView {
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    /// Newest hours first.
    data: Vec<HourView>,
    /// All hours of each replica in which its engine was read.
    replicas: Vec<ReplicaSumView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ReconciliationHour)]
struct HourView {
    /// A replica's id, or the name of a model server.
    replica: String,
    model: String,
    /// Its first moment. A call belongs to the hour in which it ended.
    #[schema(value_type = String, format = DateTime)]
    hour: Timestamp,
    billed: TokensView,
    /// Null when the engine was not read in that hour.
    counted: Option<TokensView>,
    /// When the engine was last read in that hour. What it made afterwards is billed and not counted.
    #[schema(value_type = Option<String>, format = DateTime)]
    read_until: Option<Timestamp>,
    /// What was billed less what was counted; null when nothing was.
    difference: Option<DifferenceView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ReconciliationSum)]
struct ReplicaSumView {
    replica: String,
    model: String,
    billed: TokensView,
    counted: TokensView,
    difference: DifferenceView,
    /// Billed in hours in which the engine was not read.
    unread: TokensView,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ReconciledTokens)]
struct TokensView {
    /// Without what was cached, where the engine does not count that.
    prompt_tokens: u64,
    completion_tokens: u64,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ReconciledDifference)]
struct DifferenceView {
    prompt_tokens: i64,
    completion_tokens: i64,
}

impl From<Side> for TokensView {
    fn from(side: Side) -> Self {
        Self { prompt_tokens: side.prompt, completion_tokens: side.completion }
    }
}

impl From<Difference> for DifferenceView {
    fn from(difference: Difference) -> Self {
        Self { prompt_tokens: difference.prompt, completion_tokens: difference.completion }
    }
}

impl From<Line> for HourView {
    fn from(line: Line) -> Self {
        Self {
            replica: line.replica,
            model: line.model,
            hour: line.hour,
            billed: line.billed.into(),
            counted: line.counted.map(TokensView::from),
            read_until: line.read_until,
            difference: line.difference.map(DifferenceView::from),
        }
    }
}

impl From<Sum> for ReplicaSumView {
    fn from(sum: Sum) -> Self {
        Self {
            billed: sum.billed.into(),
            counted: sum.counted.into(),
            difference: sum.difference().into(),
            unread: sum.unread.into(),
            replica: sum.replica,
            model: sum.model,
        }
    }
}

impl From<Report> for ReconciliationView {
    fn from(report: Report) -> Self {
        Self {
            from: report.span.from,
            to: report.span.to,
            data: report.lines.into_iter().map(HourView::from).collect(),
            replicas: report.replicas.into_iter().map(ReplicaSumView::from).collect(),
        }
    }
}
