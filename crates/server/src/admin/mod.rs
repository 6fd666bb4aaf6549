//! `forebay admin <noun> <verb>`: the operator's commands, on the store directly and beside a running server.
//!
//! Here is the grammar and how results are shown. What a command does is in the crate `control`; opening the store and
//! the exit code are for `main`. Nouns are files, verbs are their variants.

mod allotments;
mod context;
mod keys;
mod nodes;
mod organizations;
mod output;
mod prices;
#[cfg(test)]
mod tests;
mod usage;
mod users;
mod workspaces;

use crate::config::Config;
use crate::doctor;
use context::AdminContext;
use std::io::Write;
use std::path::PathBuf;
use store::Store;

/// Works on the store: organizations, workspaces, users, keys, allotments, prices, usage and nodes.
#[derive(Debug, clap::Args)]
pub struct AdminArgs {
    #[command(subcommand)]
    noun: Noun,
    /// Print records as JSON, as `/api` does.
    #[arg(long, global = true)]
    json: bool,
    /// The configuration file; without it every setting has its default.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where the store lies when it is a file.
    #[arg(long, global = true, value_name = "DIR", default_value = "data")]
    pub data_dir: PathBuf,
}

#[derive(Debug, clap::Subcommand)]
enum Noun {
    /// Holders of workspaces, members and GPU allotments.
    #[command(subcommand)]
    Organizations(organizations::Verb),
    /// The scope of keys, limits, quota and bills.
    #[command(subcommand)]
    Workspaces(workspaces::Verb),
    /// People who sign in.
    #[command(subcommand)]
    Users(users::Verb),
    /// API keys of a workspace.
    #[command(subcommand)]
    Keys(keys::Verb),
    /// GPUs that organizations may commit.
    #[command(subcommand)]
    Allotments(allotments::Verb),
    /// What models cost, and since when.
    #[command(subcommand)]
    Prices(prices::Verb),
    /// What workspaces used.
    #[command(subcommand)]
    Usage(usage::Verb),
    /// Processes that serve from this store.
    #[command(subcommand)]
    Nodes(nodes::Verb),
    /// Look at everything that a node needs, and say what is wrong and what to do.
    Doctor,
}

impl AdminArgs {
    /// Whether the doctor is asked for, who does not take a store for granted.
    pub fn asks_for_doctor(&self) -> bool {
        matches!(self.noun, Noun::Doctor)
    }
}

/// Prints what the doctor found; an error where there is a problem.
pub async fn examine(args: &AdminArgs) -> anyhow::Result<()> {
    let report = doctor::examine(args.config.as_deref(), &args.data_dir).await;
    let text = if args.json { output::record_as_json(&report)? } else { report.to_text() };
    std::io::stdout().write_all(text.as_bytes())?;
    anyhow::ensure!(report.status < doctor::Level::Problem, "something must be mended before this node can serve");
    Ok(())
}

/// Does what is asked and prints the result; an error has changed nothing.
pub async fn run(args: AdminArgs, config: &Config, store: &Store) -> anyhow::Result<()> {
    let text = answer(args, config, store).await?;
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

async fn answer(args: AdminArgs, config: &Config, store: &Store) -> anyhow::Result<String> {
    let context = AdminContext::new(store, &config.workspace_defaults, args.json)?;
    match args.noun {
        Noun::Organizations(verb) => organizations::run(&context, verb).await,
        Noun::Workspaces(verb) => workspaces::run(&context, verb).await,
        Noun::Users(verb) => users::run(&context, verb).await,
        Noun::Keys(verb) => keys::run(&context, verb).await,
        Noun::Allotments(verb) => allotments::run(&context, &config.allotment_defaults, verb).await,
        Noun::Prices(verb) => prices::run(&context, verb).await,
        Noun::Usage(verb) => usage::run(&context, verb).await,
        Noun::Nodes(verb) => nodes::run(&context, verb).await,
        Noun::Doctor => anyhow::bail!("the doctor is asked without a store"),
    }
}
