//! `forebay admin usage …`

use super::desk::Desk;
use super::output::{self, Shown};
use control::usage::{self, Rebuilt};
use domain::{Grouping, Timestamp, WorkspaceId};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Verb {
    /// Show what a workspace used and what it costs.
    Show(Question),
    /// Add up all usage events again and correct sums that differ.
    Rebuild,
}

#[derive(Debug, clap::Args)]
pub(super) struct Question {
    #[arg(long, value_name = "ID", value_parser = WorkspaceId::parse)]
    workspace: WorkspaceId,
    /// From this moment on, such as 2026-01-01T00:00:00Z; default: the start of the month.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    from: Option<Timestamp>,
    /// Up to and without this moment; default: now.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    to: Option<Timestamp>,
    /// None or more of model, key and day, with commas between.
    #[arg(long, value_name = "GROUPS", value_parser = Grouping::parse, default_value = "")]
    group_by: Grouping,
    /// Print comma-separated values.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

impl Shown for Rebuilt {
    const COLUMNS: &'static [&'static str] = &["workspaces", "hours", "days", "rowsCorrected"];
}

pub(super) async fn run(desk: &Desk<'_>, verb: Verb) -> anyhow::Result<String> {
    match verb {
        Verb::Show(question) => show(desk, &question).await,
        Verb::Rebuild => desk.show(&usage::rebuild(desk.store, &desk.author, desk.now).await?),
    }
}

async fn show(desk: &Desk<'_>, question: &Question) -> anyhow::Result<String> {
    let Question { workspace, from, to, group_by, csv } = question;
    let report = usage::report(desk.store, workspace, *from, *to, group_by, desk.now).await?;
    if desk.json {
        return output::record_as_json(&report);
    }
    if *csv {
        return Ok(report.to_csv());
    }
    let header = report.header().into_iter().map(str::to_owned).collect();
    let mut rows: Vec<Vec<String>> = [header].into_iter().chain(report.rows()).collect();
    if !group_by.dimensions().is_empty() {
        let mut total = report.total_row();
        "total".clone_into(&mut total[0]);
        rows.push(total);
    }
    Ok(output::table(rows))
}
