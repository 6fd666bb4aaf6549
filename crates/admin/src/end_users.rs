//! `forebay admin end-users …`

use super::budgets::BudgetArgs;
use super::context::{AdminContext, whole_list};
use super::keys::changed;
use super::output::Shown;
use control::end_users::{self, EndUserEdit};
use control::workspaces::{self, Authority, Edit};
use domain::budget::Budgets;
use domain::end_user::EndUserSettings;
use domain::{EndUserId, WorkspaceId};
use view::{EndUserSettingsView, EndUserSpendingView, EndUserView};

#[derive(Debug, clap::Subcommand)]
pub(super) enum EndUserCommand {
    /// List the people whom calls with trusted keys have named.
    List {
        #[arg(long, value_name = "ID", value_parser = WorkspaceId::parse)]
        workspace: WorkspaceId,
        /// Only those whose name has this part.
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
    },
    /// Show an end user with what was spent of the budgets that apply.
    Show(EndUserSelector),
    /// Change the limits and budgets of an end user. Settings that are not named stay.
    Edit {
        #[command(flatten)]
        selector: EndUserSelector,
        #[command(flatten)]
        limits: EndUserLimitArgs,
    },
    /// Change what applies to the end users of a workspace without limits and budgets of their own.
    Defaults {
        #[arg(long, value_name = "ID", value_parser = WorkspaceId::parse)]
        workspace: WorkspaceId,
        /// Whether their names are kept. When it is turned off, those that were kept are deleted.
        #[arg(long, value_name = "BOOL")]
        keep_text: Option<bool>,
        #[command(flatten)]
        limits: EndUserLimitArgs,
    },
    /// Forget an end user: the name, the limits, and whose calls they were. The usage of the workspace stays.
    Delete(EndUserSelector),
}

#[derive(Debug, clap::Args)]
pub(super) struct EndUserSelector {
    /// Id of the end user, `eu_…`.
    #[arg(value_name = "ID", value_parser = parse_id)]
    id: EndUserId,
    #[arg(long, value_name = "ID", value_parser = WorkspaceId::parse)]
    workspace: WorkspaceId,
}

fn parse_id(text: &str) -> Result<EndUserId, &'static str> {
    EndUserId::parse(text).ok_or("the id of an end user is eu_ and 32 hexadecimal digits")
}

/// Limits and budgets of one end user, or of each.
#[derive(Debug, clap::Args)]
pub(super) struct EndUserLimitArgs {
    /// Requests per minute.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests_per_minute: Option<u64>,
    /// Tokens per minute.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    tokens_per_minute: Option<u64>,
    #[command(flatten)]
    budgets: BudgetArgs,
    /// Settings to remove, separated by commas. An end user without a setting follows the workspace.
    #[arg(long, value_name = "SETTINGS", value_delimiter = ',')]
    remove: Vec<RemovedLimit>,
}

/// A setting that can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum RemovedLimit {
    RequestsPerMinute,
    TokensPerMinute,
    Budgets,
}

impl EndUserLimitArgs {
    /// The change of limits and budgets, of which `current` apply.
    fn edit(&self, context: &AdminContext<'_>, current: &Budgets) -> anyhow::Result<EndUserEdit> {
        let is_without = self.remove.contains(&RemovedLimit::Budgets);
        let none = Budgets::none();
        let budgets = self.budgets.change(if is_without { &none } else { current }, context.now)?;
        Ok(EndUserEdit {
            requests_per_minute: changed(&self.remove, RemovedLimit::RequestsPerMinute, self.requests_per_minute),
            tokens_per_minute: changed(&self.remove, RemovedLimit::TokensPerMinute, self.tokens_per_minute),
            budgets: changed(&self.remove, RemovedLimit::Budgets, budgets),
        })
    }
}

impl Shown for EndUserView {
    const COLUMNS: &'static [&'static str] =
        &["id", "name", "firstSeenAt", "lastSeenAt", "requestsPerMinute", "tokensPerMinute", "budgets"];
}

impl Shown for EndUserSpendingView {
    const COLUMNS: &'static [&'static str] =
        &["id", "name", "firstSeenAt", "lastSeenAt", "requestsPerMinute", "tokensPerMinute", "spending"];
}

impl Shown for EndUserSettingsView {
    const COLUMNS: &'static [&'static str] = &["keepText", "requestsPerMinute", "tokensPerMinute", "budgets"];
}

pub(super) async fn run(context: &AdminContext<'_>, command: EndUserCommand) -> anyhow::Result<String> {
    match command {
        EndUserCommand::List { workspace, search } => list(context, &workspace, search.as_deref()).await,
        EndUserCommand::Show(selector) => show(context, &selector).await,
        EndUserCommand::Edit { selector, limits } => {
            let workspace = workspaces::show(context.store, &selector.workspace).await?;
            let (found, _) = end_users::show(context.store, &workspace, &selector.id, context.now).await?;
            let current = found.own.budgets.as_ref().unwrap_or(&workspace.end_users.budgets);
            let edit = limits.edit(context, current)?;
            end_users::edit(context.command(), &workspace.id, &selector.id, edit).await?;
            show(context, &selector).await
        }
        EndUserCommand::Defaults { workspace, keep_text, limits } => {
            set_defaults(context, &workspace, keep_text, &limits).await
        }
        EndUserCommand::Delete(EndUserSelector { id, workspace }) => {
            end_users::delete(context.command(), &workspace, &id).await?;
            context.show_deleted(id.as_str())
        }
    }
}

async fn list(context: &AdminContext<'_>, workspace: &WorkspaceId, search: Option<&str>) -> anyhow::Result<String> {
    workspaces::show(context.store, workspace).await?;
    let read = async |page: store::Page<'_>| end_users::list(context.store, workspace, search, page).await;
    let found = whole_list(read, |one| one.id.as_str()).await?;
    context.show_list(&found.into_iter().map(EndUserView::from).collect::<Vec<_>>())
}

async fn show(
    context: &AdminContext<'_>,
    EndUserSelector { id, workspace }: &EndUserSelector,
) -> anyhow::Result<String> {
    let workspace = workspaces::show(context.store, workspace).await?;
    let (found, spending) = end_users::show(context.store, &workspace, id, context.now).await?;
    context.show(&EndUserSpendingView::new(found, &spending))
}

async fn set_defaults(
    context: &AdminContext<'_>,
    id: &WorkspaceId,
    keep_text: Option<bool>,
    limits: &EndUserLimitArgs,
) -> anyhow::Result<String> {
    let workspace = workspaces::show(context.store, id).await?;
    let (current, edit) = (&workspace.end_users, limits.edit(context, &workspace.end_users.budgets)?);
    let settings = EndUserSettings {
        keep_text: keep_text.unwrap_or(current.keep_text),
        requests_per_minute: edit.requests_per_minute.unwrap_or(current.requests_per_minute),
        tokens_per_minute: edit.tokens_per_minute.unwrap_or(current.tokens_per_minute),
        budgets: edit.budgets.map_or_else(|| current.budgets.clone(), Option::unwrap_or_default),
    };
    let edit = Edit { end_users: Some(&settings), version: Some(workspace.version), ..Edit::default() };
    let edited = workspaces::set(context.command(), id, edit, Authority::Operator, context.defaults).await?;
    context.show(&EndUserSettingsView::from(&edited.end_users))
}
