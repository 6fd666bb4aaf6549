use control::bill_check::{BillCheckReport, ReplicaHour, ReplicaTotal};
use domain::Timestamp;
use domain::bill_check::{Difference, TokenCounts};
use serde::Serialize;
use utoipa::ToSchema;

/// Tokens billed against tokens that the engines counted, by replica and hour.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Reconciliation)]
pub struct BillCheckView {
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
    /// The start of the hour. A call belongs to the hour in which it ended.
    #[schema(value_type = String, format = DateTime)]
    hour: Timestamp,
    billed: TokensView,
    /// Null if the engine was not read in that hour.
    counted: Option<TokensView>,
    /// When the engine was last read in that hour. Later tokens are billed but not counted.
    #[schema(value_type = Option<String>, format = DateTime)]
    read_until: Option<Timestamp>,
    /// Billed minus counted; null if nothing was counted.
    difference: Option<DifferenceView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ReconciliationSum)]
struct ReplicaSumView {
    replica: String,
    model: String,
    /// The nodes that ran the engine; empty for a model server that all nodes share, and for an organization.
    nodes: Vec<String>,
    billed: TokensView,
    counted: TokensView,
    difference: DifferenceView,
    /// Whether clearly more was billed than counted: by 1,000 tokens and by a fiftieth.
    overbilled: bool,
    /// Billed in hours in which the engine was not read.
    unread: TokensView,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ReconciledTokens)]
struct TokensView {
    /// Without cached tokens, if the engine does not count them.
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

impl From<TokenCounts> for TokensView {
    fn from(tokens: TokenCounts) -> Self {
        Self { prompt_tokens: tokens.prompt, completion_tokens: tokens.completion }
    }
}

impl From<Difference> for DifferenceView {
    fn from(difference: Difference) -> Self {
        Self { prompt_tokens: difference.prompt, completion_tokens: difference.completion }
    }
}

impl From<ReplicaHour> for HourView {
    fn from(hour: ReplicaHour) -> Self {
        Self {
            replica: hour.replica,
            model: hour.model,
            hour: hour.hour,
            billed: hour.billed.into(),
            counted: hour.counted.map(TokensView::from),
            read_until: hour.read_until,
            difference: hour.difference.map(DifferenceView::from),
        }
    }
}

impl From<ReplicaTotal> for ReplicaSumView {
    fn from(total: ReplicaTotal) -> Self {
        Self {
            billed: total.billed.into(),
            counted: total.counted.into(),
            difference: total.difference().into(),
            overbilled: total.is_overbilled(),
            unread: total.unread.into(),
            nodes: total.nodes,
            replica: total.replica,
            model: total.model,
        }
    }
}

impl From<BillCheckReport> for BillCheckView {
    fn from(report: BillCheckReport) -> Self {
        Self {
            from: report.span.from,
            to: report.span.to,
            data: report.hours.into_iter().map(HourView::from).collect(),
            replicas: report.replicas.into_iter().map(ReplicaSumView::from).collect(),
        }
    }
}
