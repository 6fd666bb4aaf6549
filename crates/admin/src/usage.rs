//! `forebay admin usage …`

use super::context::AdminContext;
use super::output::{self, Shown};
use control::usage::{self, Rebuilt, ReportQuery};
use control::{costs, gpu_costs, invoices, organizations, workspaces};
use domain::gpu_costs::Dimension;
use domain::usage::Actor;
use domain::{Grouping, KeyId, Month, OrganizationId, Span, Timestamp, WorkspaceId};
use serde::Serialize;
use store::holds::Owner;
use view::{CostsView, GpuCostsView, InvoiceView, UsageReportView, csv};

#[derive(Debug, clap::Subcommand)]
pub(super) enum UsageCommand {
    /// Show the usage and costs of a workspace.
    Show(UsageArgs),
    /// Show the costs of a workspace per day of a month, with a forecast.
    Costs(MonthArgs),
    /// Show the invoice of a workspace and month.
    Invoice(MonthArgs),
    /// Show GPU-hours and costs of dedicated endpoints, and how busy the GPUs were.
    GpuCosts(GpuCostArgs),
    /// Recompute the sums from all usage events and correct differences.
    Rebuild,
}

#[derive(Debug, clap::Args)]
pub(super) struct UsageArgs {
    #[arg(long, value_name = "ID", value_parser = WorkspaceId::parse)]
    workspace: WorkspaceId,
    /// Start, such as 2026-01-01T00:00:00Z; default: the start of the month.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    from: Option<Timestamp>,
    /// End (exclusive); default: now.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    to: Option<Timestamp>,
    /// Comma-separated list of model, key, day, surface or endUser and one label:<name> of keys.
    #[arg(long, value_name = "GROUPS", value_parser = Grouping::parse, default_value = "")]
    group_by: Grouping,
    /// Only calls with this key.
    #[arg(long, value_name = "ID", value_parser = KeyId::parse)]
    key: Option<KeyId>,
    /// Print CSV.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct MonthArgs {
    #[arg(long, value_name = "ID", value_parser = WorkspaceId::parse)]
    workspace: WorkspaceId,
    /// Month, such as 2026-11; default: the current month.
    #[arg(long, value_name = "MONTH", value_parser = Month::parse)]
    month: Option<Month>,
    /// Print CSV.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct GpuCostArgs {
    #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
    organization: OrganizationId,
    /// Start, such as 2026-01-01T00:00:00Z; default: the start of the month.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    from: Option<Timestamp>,
    /// End (exclusive); default: now.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    to: Option<Timestamp>,
    /// Comma-separated list of endpoint, gpuType, workspace and day.
    #[arg(long, value_name = "GROUPS", default_value = "")]
    group_by: String,
    /// Print CSV.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

impl Shown for Rebuilt {
    const COLUMNS: &'static [&'static str] = &["workspaces", "hours", "days", "rowsCorrected"];
}

pub(super) async fn run(context: &AdminContext<'_>, command: UsageCommand) -> anyhow::Result<String> {
    match command {
        UsageCommand::Show(UsageArgs { workspace, from, to, group_by, key, csv }) => {
            let query = ReportQuery { from, to, grouping: group_by, actor: key.map(Actor::Key) };
            let report = usage::report(context.store, &workspace, query, context.now).await?;
            let view = UsageReportView::from(report);
            print(context, csv, &view, view.table(), view.total_rows())
        }
        UsageCommand::Costs(args) => {
            let month = args.month.unwrap_or_else(|| Month::of(context.now));
            workspaces::show(context.store, &args.workspace).await?;
            let found = costs::month(context.store, &args.workspace, month, context.now).await?;
            let view = CostsView::new(&found, costs::budget(context.store, &args.workspace, month, context.now).await?);
            print(context, args.csv, &view, view.table(), view.total_rows())
        }
        UsageCommand::Invoice(args) => {
            let month = args.month.unwrap_or_else(|| Month::of(context.now));
            let workspace = workspaces::show(context.store, &args.workspace).await?;
            let view = InvoiceView::from(invoices::invoice(context.store, workspace, month, context.now).await?);
            print(context, args.csv, &view, view.table(), Vec::new())
        }
        UsageCommand::GpuCosts(args) => {
            organizations::show(context.store, &args.organization).await?;
            let span = Span::or_month_of(context.now, args.from, args.to)?;
            let (owner, by) = (Owner::Organization(&args.organization), Dimension::parse_all(&args.group_by)?);
            let view = GpuCostsView::from(gpu_costs::report(context.store, owner, None, span, &by, context.now).await?);
            print(context, args.csv, &view, view.table(), Vec::new())
        }
        UsageCommand::Rebuild => context.show(&usage::rebuild(context.command()).await?),
    }
}

/// Prints JSON, CSV, or a table with the totals below it.
fn print(
    context: &AdminContext<'_>,
    as_csv: bool,
    view: &impl Serialize,
    mut table: Vec<Vec<String>>,
    below: Vec<Vec<String>>,
) -> anyhow::Result<String> {
    if context.json {
        return output::record_as_json(view);
    }
    if as_csv {
        return Ok(csv::text(table));
    }
    table.extend(below);
    Ok(output::table(table))
}
