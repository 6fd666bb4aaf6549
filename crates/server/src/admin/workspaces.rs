//! `forebay admin workspaces …`

use super::desk::{Desk, whole_list};
use super::output::Shown;
use control::workspaces;
use domain::workspace::{Limits, OwnLimits};
use domain::{OrganizationId, Workspace, WorkspaceId};
use serde::Serialize;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Verb {
    /// Create a workspace in an organization.
    Create {
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: OrganizationId,
        #[arg(long)]
        name: String,
        #[command(flatten)]
        limits: LimitFlags,
    },
    /// List the workspaces of one organization, or of all.
    List {
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: Option<OrganizationId>,
    },
    /// Show one workspace with the limits in force.
    Show(Choice),
    /// Change a workspace's name or limits.
    Set {
        #[command(flatten)]
        choice: Choice,
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        limits: LimitFlags,
        /// Refuse unless this is still the version.
        #[arg(long)]
        version: Option<u64>,
    },
    /// Delete a workspace that has no active keys.
    Delete(Choice),
}

/// Which workspace.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Choice {
    /// The workspace's id, `ws_…`.
    #[arg(value_name = "ID", value_parser = WorkspaceId::parse)]
    positional: Option<WorkspaceId>,
    /// The same as a flag.
    #[arg(long, visible_alias = "id", value_name = "ID", value_parser = WorkspaceId::parse)]
    workspace: Option<WorkspaceId>,
}

impl Choice {
    fn id(self) -> anyhow::Result<WorkspaceId> {
        self.positional.or(self.workspace).ok_or_else(|| anyhow::anyhow!("no workspace is named"))
    }
}

/// A workspace's own limits: a number, or `default` to follow the configuration.
#[derive(Debug, clap::Args)]
pub(super) struct LimitFlags {
    /// Calls per minute, or `default`.
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    requests_per_minute: Option<Limit>,
    /// Tokens per minute, or `default`.
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    tokens_per_minute: Option<Limit>,
    /// Tokens per calendar month, or `default`.
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    monthly_tokens: Option<Limit>,
    /// Active and disabled keys at once, or `default`.
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    max_api_keys: Option<Limit>,
}

#[derive(Debug, Clone, Copy)]
enum Limit {
    Own(u64),
    Default,
}

fn parse_limit(text: &str) -> Result<Limit, &'static str> {
    if text == "default" {
        return Ok(Limit::Default);
    }
    text.parse().map(Limit::Own).map_err(|_| "neither a whole number nor `default`")
}

impl LimitFlags {
    /// What is not said stays.
    fn over(&self, current: OwnLimits) -> OwnLimits {
        let pick = |flag: Option<Limit>, current: Option<u64>| match flag {
            Some(Limit::Own(limit)) => Some(limit),
            Some(Limit::Default) => None,
            None => current,
        };
        OwnLimits {
            requests_per_minute: pick(self.requests_per_minute, current.requests_per_minute),
            tokens_per_minute: pick(self.tokens_per_minute, current.tokens_per_minute),
            monthly_tokens: pick(self.monthly_tokens, current.monthly_tokens),
            max_api_keys: pick(self.max_api_keys, current.max_api_keys),
        }
    }
}

/// As `/api/workspaces/{id}` shows it: the limits are those in force.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: WorkspaceId,
    organization_id: OrganizationId,
    name: String,
    requests_per_minute: u64,
    tokens_per_minute: u64,
    monthly_tokens: u64,
    max_api_keys: u64,
    version: u64,
}

impl Shown for View {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "organizationId",
        "name",
        "requestsPerMinute",
        "tokensPerMinute",
        "monthlyTokens",
        "maxApiKeys",
        "version",
    ];
}

impl View {
    fn new(workspace: Workspace, defaults: &Limits) -> Self {
        let limits = workspace.own.over(defaults);
        Self {
            id: workspace.id,
            organization_id: workspace.organization,
            name: workspace.name,
            requests_per_minute: limits.requests_per_minute,
            tokens_per_minute: limits.tokens_per_minute,
            monthly_tokens: limits.monthly_tokens,
            max_api_keys: limits.max_api_keys,
            version: workspace.version,
        }
    }
}

pub(super) async fn run(desk: &Desk<'_>, verb: Verb) -> anyhow::Result<String> {
    let Desk { store, author, now, .. } = desk;
    let view = |workspace| View::new(workspace, desk.defaults);
    match verb {
        Verb::Create { organization, name, limits } => {
            let own = limits.over(OwnLimits::default());
            desk.show(&view(workspaces::create(store, author, &organization, &name, own, *now).await?))
        }
        Verb::List { organization } => {
            let read = async |page: store::Page<'_>| match &organization {
                Some(organization) => workspaces::list(store, organization, page).await,
                None => workspaces::list_all(store, page).await,
            };
            let found = whole_list(read, |workspace| workspace.id.as_str()).await?;
            desk.show_list(&found.into_iter().map(view).collect::<Vec<_>>())
        }
        Verb::Show(choice) => desk.show(&view(workspaces::show(store, &choice.id()?).await?)),
        Verb::Set { choice, name, limits, version } => {
            let current = workspaces::show(store, &choice.id()?).await?;
            let version = Some(version.unwrap_or(current.version));
            let edit = workspaces::Edit { name: name.as_deref(), own: Some(limits.over(current.own)), version };
            desk.show(&view(workspaces::set(store, author, &current.id, edit, *now).await?))
        }
        Verb::Delete(choice) => {
            let id = choice.id()?;
            workspaces::delete(store, author, &id, *now).await?;
            desk.show_deleted(id.as_str())
        }
    }
}
