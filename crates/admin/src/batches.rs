//! `forebay admin batches …`

use super::context::AdminContext;
use super::output::Shown;
use anyhow::Context as _;
use domain::{Batch, BatchId, WorkspaceId};
use serde::Serialize;
use store::batches;
use view::BatchView;

#[derive(Debug, clap::Subcommand)]
pub(super) enum BatchCommand {
    /// List the newest batches.
    List(BatchFilter),
    /// Show a batch.
    Show(BatchSelector),
    /// Cancel a batch. Lines that have ended keep their results.
    Cancel(BatchSelector),
}

#[derive(Debug, clap::Args)]
pub(super) struct BatchFilter {
    /// Only those of this workspace.
    #[arg(long, value_name = "ID")]
    workspace: Option<String>,
    /// At most this many.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
}

/// Selects a batch.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct BatchSelector {
    /// Id of the batch.
    #[arg(value_name = "ID")]
    positional: Option<String>,
    /// The id as an option.
    #[arg(long, visible_alias = "id", value_name = "ID")]
    batch: Option<String>,
}

/// A batch with its workspace and its cost.
#[derive(Serialize)]
struct OperatorBatchView {
    #[serde(flatten)]
    batch: BatchView,
    workspace_id: String,
    created_by: String,
    cost_usd: String,
}

impl From<Batch> for OperatorBatchView {
    fn from(batch: Batch) -> Self {
        Self {
            workspace_id: batch.workspace.to_string(),
            created_by: batch.actor.as_str().to_owned(),
            cost_usd: batch.cost.to_string(),
            batch: batch.into(),
        }
    }
}

impl Shown for OperatorBatchView {
    const COLUMNS: &'static [&'static str] =
        &["id", "workspace_id", "endpoint", "model", "status", "request_counts", "cost_usd"];
}

impl BatchSelector {
    fn id(self) -> anyhow::Result<BatchId> {
        Ok(BatchId::parse(&self.positional.or(self.batch).unwrap_or_default())?)
    }
}

pub(super) async fn run(context: &AdminContext<'_>, command: BatchCommand) -> anyhow::Result<String> {
    match command {
        BatchCommand::List(BatchFilter { workspace, limit }) => {
            let workspace = workspace.map(|id| WorkspaceId::parse(&id)).transpose()?;
            let found = batches::list_all(context.store, workspace.as_ref(), limit).await?;
            context.show_list(&found.into_iter().map(OperatorBatchView::from).collect::<Vec<_>>())
        }
        BatchCommand::Show(selector) => {
            let id = selector.id()?;
            let found = batches::find_any(context.store, &id).await?;
            context.show(&OperatorBatchView::from(found.with_context(|| format!("there is no batch `{id}`"))?))
        }
        BatchCommand::Cancel(selector) => {
            let id = selector.id()?;
            let batch = control::batches::cancel(context.command(), &id).await?;
            context.show(&OperatorBatchView::from(batch))
        }
    }
}
