//! `forebay admin workspaces …`

use super::context::{AdminContext, whole_list};
use super::output::Shown;
use control::CommandError;
use control::workspaces::{self, Authority, Edit, KeysOfWorkspace};
use domain::money::AmountError;
use domain::monthly_budget::BudgetChange;
use domain::workspace::OwnLimits;
use domain::workspace_edit::{LimitChange, LimitChanges, RetentionChange};
use domain::{NanoUsd, OnBudget, OrganizationId, QueueWeight, WorkspaceId};
use store::ContentKeys;
use view::WorkspaceView;

#[derive(Debug, clap::Subcommand)]
pub(super) enum WorkspaceCommand {
    /// Create a workspace in an organization.
    Create {
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: OrganizationId,
        #[arg(long)]
        name: String,
        #[command(flatten)]
        limits: LimitArgs,
    },
    /// List the workspaces of one organization, or of all.
    List {
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: Option<OrganizationId>,
    },
    /// Show one workspace with its effective limits.
    Show(WorkspaceSelector),
    /// Change a workspace's name, its limits, or how long responses are stored.
    Set {
        #[command(flatten)]
        selector: WorkspaceSelector,
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        limits: LimitArgs,
        /// Most USD that serverless calls and GPU-hours may cost in a month, or `none`.
        #[arg(long, value_name = "USD", value_parser = parse_budget)]
        monthly_usd: Option<BudgetChange>,
        /// Whether running endpoints are suspended when the monthly budget is spent: `continue` or `suspend`.
        #[arg(long, value_name = "ACTION", value_parser = parse_on_budget)]
        on_budget: Option<OnBudget>,
        /// Days for which responses are stored, 1 to 30, or `off`. Needs `FOREBAY_CONTENT_KEY`.
        #[arg(long, value_name = "DAYS", value_parser = parse_retention)]
        response_retention_days: Option<RetentionArg>,
        /// How many times the tokens of a workspace of weight 1 it gets while calls of both wait, 1 to 1000.
        #[arg(long, value_name = "N", value_parser = parse_weight)]
        weight: Option<QueueWeight>,
        /// Fail unless this is the current version.
        #[arg(long)]
        version: Option<u64>,
    },
    /// Delete a workspace without active keys.
    Delete(WorkspaceSelector),
}

/// Selects a workspace.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct WorkspaceSelector {
    /// Id of the workspace, `ws_…`.
    #[arg(value_name = "ID", value_parser = WorkspaceId::parse)]
    positional: Option<WorkspaceId>,
    /// The id as an option.
    #[arg(long, visible_alias = "id", value_name = "ID", value_parser = WorkspaceId::parse)]
    workspace: Option<WorkspaceId>,
}

impl WorkspaceSelector {
    fn id(self) -> anyhow::Result<WorkspaceId> {
        self.positional.or(self.workspace).ok_or_else(|| anyhow::anyhow!("name a workspace by its id"))
    }
}

/// Limits of a workspace: a number, or `default` to follow the configuration.
#[derive(Debug, clap::Args)]
pub(super) struct LimitArgs {
    /// Requests per minute, or `default`.
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    requests_per_minute: Option<LimitChange>,
    /// Tokens per minute, or `default`.
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    tokens_per_minute: Option<LimitChange>,
    /// Tokens per calendar month, or `default`.
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    monthly_tokens: Option<LimitChange>,
    /// Maximum number of active and disabled keys, or `default`.
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    max_api_keys: Option<LimitChange>,
}

pub(super) fn parse_limit(text: &str) -> Result<LimitChange, &'static str> {
    if text == "default" {
        return Ok(LimitChange::Follow);
    }
    text.parse().map(LimitChange::Set).map_err(|_| "neither a whole number nor `default`")
}

pub(super) fn parse_budget(text: &str) -> Result<BudgetChange, AmountError> {
    if text == "none" {
        return Ok(BudgetChange::Set(None));
    }
    NanoUsd::parse(text).map(|usd| BudgetChange::Set(Some(usd)))
}

pub(super) fn parse_on_budget(text: &str) -> Result<OnBudget, &'static str> {
    OnBudget::parse(text).ok_or("neither `continue` nor `suspend`")
}

fn parse_weight(text: &str) -> Result<QueueWeight, &'static str> {
    let number = text.parse().ok().and_then(|number| QueueWeight::new(number).ok());
    number.ok_or("not a whole number from 1 to 1000")
}

/// How long responses are stored.
#[derive(Debug, Clone, Copy)]
pub(super) enum RetentionArg {
    Days(u64),
    Off,
}

fn parse_retention(text: &str) -> Result<RetentionArg, &'static str> {
    if text == "off" {
        return Ok(RetentionArg::Off);
    }
    text.parse().map(RetentionArg::Days).map_err(|_| "neither a number of days nor `off`")
}

impl RetentionArg {
    fn change(self, keys: Option<&ContentKeys>) -> Result<RetentionChange, CommandError> {
        match self {
            Self::Days(days) => workspaces::retention_change(Some(days), keys),
            Self::Off => workspaces::retention_change(None, keys),
        }
    }
}

impl LimitArgs {
    /// Limits that are not given stay unchanged.
    fn changes(&self) -> LimitChanges {
        LimitChanges {
            requests_per_minute: self.requests_per_minute.unwrap_or_default(),
            tokens_per_minute: self.tokens_per_minute.unwrap_or_default(),
            monthly_tokens: self.monthly_tokens.unwrap_or_default(),
            max_api_keys: self.max_api_keys.unwrap_or_default(),
        }
    }

    /// The limits of a new workspace.
    fn own(&self) -> OwnLimits {
        self.changes().map(|change| match change {
            LimitChange::Set(limit) => Some(limit),
            LimitChange::Follow | LimitChange::Keep => None,
        })
    }
}

impl Shown for WorkspaceView {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "organizationId",
        "name",
        "requestsPerMinute",
        "tokensPerMinute",
        "monthlyTokens",
        "maxApiKeys",
        "monthlyUsd",
        "responseRetentionDays",
        "weight",
        "version",
    ];
}

pub(super) async fn run(
    context: &AdminContext<'_>,
    keys: Option<&ContentKeys>,
    command: WorkspaceCommand,
) -> anyhow::Result<String> {
    let store = context.store;
    let view = |workspace| WorkspaceView::new(workspace, context.defaults);
    match command {
        WorkspaceCommand::Create { organization, name, limits } => {
            context.show(&view(workspaces::create(context.command(), &organization, &name, limits.own()).await?))
        }
        WorkspaceCommand::List { organization } => {
            let read = async |page: store::Page<'_>| match &organization {
                Some(organization) => workspaces::list(store, organization, page).await,
                None => workspaces::list_all(store, page).await,
            };
            let found = whole_list(read, |workspace| workspace.id.as_str()).await?;
            context.show_list(&found.into_iter().map(view).collect::<Vec<_>>())
        }
        WorkspaceCommand::Show(selector) => context.show(&view(workspaces::show(store, &selector.id()?).await?)),
        WorkspaceCommand::Set {
            selector,
            name,
            limits,
            monthly_usd,
            on_budget,
            response_retention_days,
            weight,
            version,
        } => {
            let retention = response_retention_days.map(|days| days.change(keys)).transpose()?;
            let edit = Edit {
                name: name.as_deref(),
                limits: limits.changes(),
                monthly_usd: monthly_usd.unwrap_or_default(),
                on_budget,
                end_users: None,
                response_retention: retention.unwrap_or_default(),
                weight,
                version,
            };
            let authority = Authority::Operator;
            context.show(&view(
                workspaces::set(context.command(), &selector.id()?, edit, authority, context.defaults).await?,
            ))
        }
        WorkspaceCommand::Delete(selector) => {
            let id = selector.id()?;
            workspaces::delete(context.command(), &id, KeysOfWorkspace::Keep).await?;
            context.show_deleted(id.as_str())
        }
    }
}
