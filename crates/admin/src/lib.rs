//! `forebay admin <noun> <verb>`: the operator's commands, on the store directly and beside a running server.
//!
//! This module defines the arguments and the output. The commands themselves are in the crate `control`; `cli` opens the
//! store and sets the exit code. Each noun is a file, its verbs are the variants of an enum.

mod allotments;
mod batches;
mod budgets;
mod context;
mod end_users;
mod keys;
mod models;
mod nodes;
mod organizations;
mod output;
mod prices;
#[cfg(test)]
mod tests;
mod usage;
mod users;
mod workspaces;

use config::Config;
use context::AdminContext;
use node::{doctor, upstream_keys};
use std::io::Write;
use std::path::PathBuf;
use store::Store;

/// Works on the store: organizations, workspaces, users, keys, end users, allotments, models, prices, usage, batches and nodes.
#[derive(Debug, clap::Args)]
pub struct AdminArgs {
    #[command(subcommand)]
    command: AdminCommand,
    /// Print records as JSON, as `/api` does.
    #[arg(long, global = true)]
    json: bool,
    /// Configuration file; without it, all settings have their defaults.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Data directory, which contains the store if it is SQLite.
    #[arg(long, global = true, value_name = "DIR", default_value = "data")]
    pub data_dir: PathBuf,
}

#[derive(Debug, clap::Subcommand)]
enum AdminCommand {
    /// Organizations: they hold workspaces, members and GPU allotments.
    #[command(subcommand)]
    Organizations(organizations::OrganizationCommand),
    /// Workspaces: they hold keys, limits, quotas and usage.
    #[command(subcommand)]
    Workspaces(workspaces::WorkspaceCommand),
    /// Users of the console.
    #[command(subcommand)]
    Users(users::UserCommand),
    /// API keys of a workspace.
    #[command(subcommand)]
    Keys(keys::KeyCommand),
    /// The people behind the keys of a workspace.
    #[command(subcommand)]
    EndUsers(end_users::EndUserCommand),
    /// GPUs that organizations may commit.
    #[command(subcommand)]
    Allotments(allotments::AllotmentCommand),
    /// The catalogue of the store: move it from and to a configuration file.
    #[command(subcommand)]
    Models(models::ModelCommand),
    /// Price history of models.
    #[command(subcommand)]
    Prices(prices::PriceCommand),
    /// Usage, costs and invoices.
    #[command(subcommand)]
    Usage(usage::UsageCommand),
    /// Batches of calls.
    #[command(subcommand)]
    Batches(batches::BatchCommand),
    /// Nodes that serve from this store.
    #[command(subcommand)]
    Nodes(nodes::NodeCommand),
    /// Check everything that a node needs, and report problems with their remedies.
    Doctor,
}

impl AdminArgs {
    /// Whether the command is `doctor`, which runs without an open store.
    pub fn is_doctor(&self) -> bool {
        matches!(self.command, AdminCommand::Doctor)
    }
}

/// Runs the doctor and prints its report. Fails if there is a problem.
pub async fn examine(args: &AdminArgs) -> anyhow::Result<()> {
    let report = doctor::examine(args.config.as_deref(), &args.data_dir).await;
    let text = if args.json { output::record_as_json(&report)? } else { report.to_text() };
    std::io::stdout().write_all(text.as_bytes())?;
    anyhow::ensure!(report.status < doctor::Level::Problem, "this node cannot serve until the problems are fixed");
    Ok(())
}

/// Runs a command and prints its result. A failed command has changed nothing.
pub async fn run(args: AdminArgs, config: &Config, store: &Store) -> anyhow::Result<()> {
    let text = execute(args, config, store).await?;
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

async fn execute(args: AdminArgs, config: &Config, store: &Store) -> anyhow::Result<String> {
    let context = AdminContext::new(store, &config.workspace_defaults, args.json).await?;
    match args.command {
        AdminCommand::Organizations(command) => organizations::run(&context, command).await,
        AdminCommand::Workspaces(command) => workspaces::run(&context, config.content_keys.as_ref(), command).await,
        AdminCommand::Users(command) => users::run(&context, command).await,
        AdminCommand::Keys(command) => keys::run(&context, command).await,
        AdminCommand::EndUsers(command) => end_users::run(&context, command).await,
        AdminCommand::Allotments(command) => allotments::run(&context, &config.allotment_defaults, command).await,
        AdminCommand::Models(command) => {
            let keys = upstream_keys::read(config, &args.data_dir, store.engine())?;
            models::run(&context, config, keys.as_ref(), command).await
        }
        AdminCommand::Prices(command) => prices::run(&context, command).await,
        AdminCommand::Usage(command) => usage::run(&context, command).await,
        AdminCommand::Batches(command) => batches::run(&context, command).await,
        AdminCommand::Nodes(command) => nodes::run(&context, command).await,
        AdminCommand::Doctor => anyhow::bail!("the doctor runs without a store"),
    }
}
