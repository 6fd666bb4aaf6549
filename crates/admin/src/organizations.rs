//! `forebay admin organizations …`

use super::context::{AdminContext, whole_list};
use super::output::Shown;
use super::workspaces::{parse_budget, parse_limit, parse_on_budget};
use control::organizations::{self, BoundChanges, Edit};
use domain::monthly_budget::BudgetChange;
use domain::workspace_edit::LimitChange;
use domain::{OnBudget, Organization, OrganizationId};

#[derive(Debug, clap::Subcommand)]
pub(super) enum OrganizationCommand {
    /// Create an organization.
    Create {
        #[arg(long)]
        name: String,
    },
    /// List all organizations.
    List,
    /// Show one organization.
    Show(OrganizationSelector),
    /// Change an organization.
    Set {
        #[command(flatten)]
        selector: OrganizationSelector,
        #[arg(long)]
        name: Option<String>,
        /// Most workspaces that its administrators may create, or `default`.
        #[arg(long, value_name = "N", value_parser = parse_limit)]
        max_workspaces: Option<LimitChange>,
        /// Most tokens that all its workspaces may use in a month, or `default` for no bound.
        #[arg(long, value_name = "N", value_parser = parse_limit)]
        monthly_tokens: Option<LimitChange>,
        /// Most bytes of stored responses and files of all its workspaces, or `default`.
        #[arg(long, value_name = "N", value_parser = parse_limit)]
        max_stored_bytes: Option<LimitChange>,
        /// Most requests that all its workspaces may make in a minute, or `default` for no bound.
        #[arg(long, value_name = "N", value_parser = parse_limit)]
        requests_per_minute: Option<LimitChange>,
        /// Most tokens that all its workspaces may use in a minute, or `default` for no bound.
        #[arg(long, value_name = "N", value_parser = parse_limit)]
        tokens_per_minute: Option<LimitChange>,
        /// Whether running endpoints are suspended when a monthly budget is spent: `continue` or `suspend`.
        #[arg(long, value_name = "ACTION", value_parser = parse_on_budget)]
        on_budget: Option<OnBudget>,
        /// Most USD that all its workspaces may cost in a month, or `none`.
        #[arg(long, value_name = "USD", value_parser = parse_budget)]
        monthly_usd: Option<BudgetChange>,
    },
    /// Delete an organization without workspaces.
    Delete(OrganizationSelector),
}

/// Selects an organization.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct OrganizationSelector {
    /// Id of the organization, `org_…`.
    #[arg(value_name = "ID", value_parser = OrganizationId::parse)]
    positional: Option<OrganizationId>,
    /// The id as an option.
    #[arg(long, visible_alias = "id", value_name = "ID", value_parser = OrganizationId::parse)]
    organization: Option<OrganizationId>,
}

impl OrganizationSelector {
    fn id(self) -> anyhow::Result<OrganizationId> {
        self.positional.or(self.organization).ok_or_else(|| anyhow::anyhow!("name an organization by its id"))
    }
}

impl Shown for Organization {
    const COLUMNS: &'static [&'static str] = &["id", "name", "maxWorkspaces", "monthlyTokens", "createdAt"];
}

pub(super) async fn run(context: &AdminContext<'_>, command: OrganizationCommand) -> anyhow::Result<String> {
    let store = context.store;
    match command {
        OrganizationCommand::Create { name } => context.show(&organizations::create(context.command(), &name).await?),
        OrganizationCommand::List => {
            let read = async |page: store::Page<'_>| organizations::list(store, page).await;
            context.show_list(&whole_list(read, |organization| organization.id.as_str()).await?)
        }
        OrganizationCommand::Show(selector) => context.show(&organizations::show(store, &selector.id()?).await?),
        OrganizationCommand::Set {
            selector,
            name,
            max_workspaces,
            monthly_tokens,
            max_stored_bytes,
            requests_per_minute,
            tokens_per_minute,
            on_budget,
            monthly_usd,
        } => {
            let bounds = BoundChanges {
                max_workspaces: max_workspaces.unwrap_or_default(),
                monthly_tokens: monthly_tokens.unwrap_or_default(),
                max_stored_bytes: max_stored_bytes.unwrap_or_default(),
                requests_per_minute: requests_per_minute.unwrap_or_default(),
                tokens_per_minute: tokens_per_minute.unwrap_or_default(),
                monthly_usd: monthly_usd.unwrap_or_default(),
            };
            let edit = Edit { name: name.as_deref(), on_budget, bounds, ..Edit::default() };
            context.show(&organizations::set(context.command(), &selector.id()?, edit).await?)
        }
        OrganizationCommand::Delete(selector) => {
            let id = selector.id()?;
            organizations::delete(context.command(), &id).await?;
            context.show_deleted(id.as_str())
        }
    }
}
