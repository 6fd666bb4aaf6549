//! `forebay admin keys …`

use super::budgets::BudgetArgs;
use super::context::{AdminContext, whole_list};
use super::output::Shown;
use anyhow::bail;
use control::keys::{self, DisabledKeys, KeyChange, KeyEdit, KeyRequest};
use domain::budget::Budgets;
use domain::endpoint::labels::Labels;
use domain::key_limits::ModelLimit;
use domain::key_restrictions::{self, RestrictionError};
use domain::{ApiKey, KeyId, KeyLimits, KeyRestrictions, OrganizationId, Timestamp, UserId, WorkspaceId};
use std::collections::BTreeMap;
use store::key_list::{CreatedBy, KeyFilter, KeysOf, ListedKey};
use view::{KeySpendingView, KeyView, OrganizationKeyView};

#[derive(Debug, clap::Subcommand)]
pub(super) enum KeyCommand {
    /// Create a key. Its text is printed once.
    Create(Box<NewKeyArgs>),
    /// Change a key. Settings that are not named stay.
    Edit(Box<EditKeyArgs>),
    /// Show a key with what was spent of its budgets.
    Show(KeySelector),
    /// List the keys of a workspace or an organization.
    List(ListArgs),
    /// Revoke a key permanently.
    Revoke(KeySelector),
    /// Revoke all keys that a user, or users who were removed, created in an organization. Prints the revoked keys.
    RevokeAll(RevokeAllArgs),
    /// Disable a key until it is enabled again.
    Disable(KeySelector),
    /// Enable a disabled key.
    Enable(KeySelector),
    /// Set the expiry of a key to now.
    Expire(KeySelector),
}

#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    #[arg(long, value_name = "ID", value_parser = WorkspaceId::parse, required_unless_present = "organization",
        conflicts_with_all = ["organization", "created_by", "removed_members"])]
    workspace: Option<WorkspaceId>,
    /// Organization whose keys are listed, of all workspaces.
    #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
    organization: Option<OrganizationId>,
    #[command(flatten)]
    creator: CreatorArgs,
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("creator").args(["created_by", "removed_members"]).required(true))]
pub(super) struct RevokeAllArgs {
    #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
    organization: OrganizationId,
    #[command(flatten)]
    creator: CreatorArgs,
}

/// Selects keys by their creator.
#[derive(Debug, clap::Args)]
pub(super) struct CreatorArgs {
    /// Only keys that this user created.
    #[arg(long, value_name = "ID", value_parser = UserId::parse, conflicts_with = "removed_members")]
    created_by: Option<UserId>,
    /// Only keys of users who have no access to the organization any more.
    #[arg(long)]
    removed_members: bool,
}

impl CreatorArgs {
    fn selected(&self) -> CreatedBy<'_> {
        match &self.created_by {
            Some(user) => CreatedBy::User(user),
            None if self.removed_members => CreatedBy::RemovedMembers,
            None => CreatedBy::Anyone,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct NewKeyArgs {
    #[arg(long, value_name = "ID", value_parser = WorkspaceId::parse)]
    workspace: WorkspaceId,
    #[arg(long)]
    name: String,
    /// Expiry, such as 2030-01-31T12:00:00Z; default: never.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    expires_at: Option<Timestamp>,
    /// Requests per minute; default: only the workspace's limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests_per_minute: Option<u64>,
    /// Tokens per minute; default: only the workspace's limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    tokens_per_minute: Option<u64>,
    #[command(flatten)]
    model_limits: ModelLimitArgs,
    /// Take the names of the people behind the key from its calls.
    #[arg(long)]
    trusts_end_user: bool,
    #[command(flatten)]
    restrictions: RestrictionArgs,
    #[command(flatten)]
    budgets: BudgetArgs,
}

/// The limits by model. Each may be given more than once.
#[derive(Debug, clap::Args)]
pub(super) struct ModelLimitArgs {
    /// Requests per minute of a model, or of those with a prefix, such as 'acme/*=60'.
    #[arg(long, value_name = "MODEL=N", value_parser = model_limit)]
    model_requests_per_minute: Vec<(String, u64)>,
    /// Tokens per minute of a model, or of those with a prefix, such as 'acme/*=20000'.
    #[arg(long, value_name = "MODEL=N", value_parser = model_limit)]
    model_tokens_per_minute: Vec<(String, u64)>,
}

fn model_limit(text: &str) -> Result<(String, u64), &'static str> {
    let (model, limit) = text.rsplit_once('=').ok_or("a limit of a model is written as MODEL=N")?;
    Ok((model.to_owned(), limit.parse().map_err(|_| "the limit of a model is a whole number")?))
}

impl ModelLimitArgs {
    /// The limits of a key that has `existing` ones; `None` if no flag was given. A limit replaces that of its model.
    fn change(&self, existing: &KeyLimits) -> Result<Option<KeyLimits>, RestrictionError> {
        if self.model_requests_per_minute.is_empty() && self.model_tokens_per_minute.is_empty() {
            return Ok(None);
        }
        let existing = existing.per_model().iter();
        let mut all: BTreeMap<String, (Option<u64>, Option<u64>)> =
            existing.map(|one| (one.model.to_string(), (one.requests_per_minute, one.tokens_per_minute))).collect();
        for (model, requests) in &self.model_requests_per_minute {
            all.entry(model.clone()).or_default().0 = Some(*requests);
        }
        for (model, tokens) in &self.model_tokens_per_minute {
            all.entry(model.clone()).or_default().1 = Some(*tokens);
        }
        let read = |(model, (requests, tokens)): (String, _)| ModelLimit::new(&model, requests, tokens);
        KeyLimits::new(all.into_iter().map(read).collect::<Result<_, _>>()?).map(Some)
    }
}

/// What the key may do, and its labels. Each may be given more than once.
#[derive(Debug, clap::Args)]
pub(super) struct RestrictionArgs {
    /// inference, endpoints:read or endpoints:write; default: all.
    #[arg(long, value_name = "PERMISSION")]
    permission: Vec<String>,
    /// Id or alias of a model that the key may call, or the beginning of one with a * at its end; default: all.
    #[arg(long, value_name = "MODEL")]
    allow_model: Vec<String>,
    /// Address or range that the key may be used from, such as 10.0.0.0/8; default: all.
    #[arg(long, value_name = "ADDRESS")]
    allow_ip: Vec<String>,
    /// Label to group usage by.
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
}

fn label(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("a label is written as NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn given(texts: &[String]) -> Option<&[String]> {
    (!texts.is_empty()).then_some(texts)
}

impl RestrictionArgs {
    fn read(&self) -> Result<(KeyRestrictions, Labels), RestrictionError> {
        let restrictions = KeyRestrictions {
            permissions: given(&self.permission).map(key_restrictions::permissions).transpose()?,
            allowed_models: given(&self.allow_model).map(key_restrictions::allowed_models).transpose()?,
            allowed_ips: given(&self.allow_ip).map(key_restrictions::allowed_ips).transpose()?,
        };
        Ok((restrictions, key_restrictions::key_labels(self.label.iter().cloned().collect())?))
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct EditKeyArgs {
    #[command(flatten)]
    selector: KeySelector,
    /// New name.
    #[arg(long, value_name = "NAME")]
    rename: Option<String>,
    /// New expiry, such as 2030-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    expires_at: Option<Timestamp>,
    /// Requests per minute.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests_per_minute: Option<u64>,
    /// Tokens per minute.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    tokens_per_minute: Option<u64>,
    #[command(flatten)]
    model_limits: ModelLimitArgs,
    /// Whether the names of the people behind the key are taken from its calls.
    #[arg(long, value_name = "BOOL")]
    trusts_end_user: Option<bool>,
    #[command(flatten)]
    restrictions: RestrictionArgs,
    #[command(flatten)]
    budgets: BudgetArgs,
    /// Settings to remove, separated by commas.
    #[arg(long, value_name = "SETTINGS", value_delimiter = ',')]
    remove: Vec<RemovedSetting>,
}

/// A setting of a key that can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum RemovedSetting {
    ExpiresAt,
    RequestsPerMinute,
    TokensPerMinute,
    Limits,
    Permissions,
    AllowedModels,
    AllowedIps,
    Labels,
    Budgets,
}

/// Selects a key by its id, or by its name in a workspace.
#[derive(Debug, clap::Args)]
pub(super) struct KeySelector {
    /// Id of the key, `key_…`.
    #[arg(value_name = "ID", value_parser = KeyId::parse, required_unless_present_any = ["key", "name"])]
    positional: Option<KeyId>,
    /// The id as an option.
    #[arg(long, visible_alias = "id", value_name = "ID", value_parser = KeyId::parse, conflicts_with = "positional")]
    key: Option<KeyId>,
    /// Name of the key, if it is unique among the active keys of the workspace.
    #[arg(long, requires = "workspace", conflicts_with_all = ["positional", "key"])]
    name: Option<String>,
    /// Workspace of the key; optional with an id.
    #[arg(long, value_name = "ID", value_parser = WorkspaceId::parse)]
    workspace: Option<WorkspaceId>,
}

impl KeySelector {
    async fn find(self, context: &AdminContext<'_>) -> anyhow::Result<ApiKey> {
        if let (Some(name), Some(workspace)) = (&self.name, &self.workspace) {
            return find_by_name(context, workspace, name).await;
        }
        let Some(id) = self.positional.or(self.key) else {
            bail!("name a key by its id, or by --name and --workspace")
        };
        let key = keys::show(context.store, &id).await?;
        match &self.workspace {
            Some(workspace) if *workspace != key.workspace => bail!("there is no key `{id}` in `{workspace}`"),
            Some(_) | None => Ok(key),
        }
    }
}

/// Names need not be unique, and revoked keys keep theirs, so keys that are not revoked take precedence.
async fn find_by_name(context: &AdminContext<'_>, workspace: &WorkspaceId, name: &str) -> anyhow::Result<ApiKey> {
    let mut named = list(context, workspace).await?;
    named.retain(|key| key.name == name);
    if named.iter().any(|key| key.revoked_at.is_none()) {
        named.retain(|key| key.revoked_at.is_none());
    }
    match <[ApiKey; 1]>::try_from(named) {
        Ok([key]) => Ok(key),
        Err(none) if none.is_empty() => bail!("there is no key named `{name}` in `{workspace}`"),
        Err(many) => bail!("{} keys of `{workspace}` are named `{name}`; use the id", many.len()),
    }
}

async fn list(context: &AdminContext<'_>, workspace: &WorkspaceId) -> anyhow::Result<Vec<ApiKey>> {
    let found = list_of(context, KeyFilter::all(KeysOf::Workspace(workspace))).await?;
    Ok(found.into_iter().map(|one| one.key).collect())
}

async fn list_of_organization(
    context: &AdminContext<'_>,
    organization: &OrganizationId,
    created_by: CreatedBy<'_>,
) -> anyhow::Result<Vec<ListedKey>> {
    control::organizations::show(context.store, organization).await?;
    list_of(context, KeyFilter { created_by, ..KeyFilter::all(KeysOf::Organization(organization)) }).await
}

async fn list_of(context: &AdminContext<'_>, filter: KeyFilter<'_>) -> anyhow::Result<Vec<ListedKey>> {
    let read = async |page: store::Page<'_>| keys::list(context.store, filter, page).await;
    Ok(whole_list(read, |one| one.key.id.as_str()).await?)
}

async fn show_list(context: &AdminContext<'_>, args: ListArgs) -> anyhow::Result<String> {
    let now = context.now;
    if let Some(organization) = &args.organization {
        let found = list_of_organization(context, organization, args.creator.selected()).await?;
        return context.show_list(&found.into_iter().map(|one| OrganizationKeyView::new(one, now)).collect::<Vec<_>>());
    }
    let Some(workspace) = &args.workspace else { bail!("name a workspace or an organization") };
    control::workspaces::show(context.store, workspace).await?;
    let found = list(context, workspace).await?;
    context.show_list(&found.into_iter().map(|key| KeyView::new(key, now)).collect::<Vec<_>>())
}

async fn revoke_all(context: &AdminContext<'_>, args: RevokeAllArgs) -> anyhow::Result<String> {
    let found = list_of_organization(context, &args.organization, args.creator.selected()).await?;
    let unrevoked = found.into_iter().filter(|one| one.key.revoked_at.is_none()).map(|one| one.key.id).collect();
    let revoked = keys::revoke_many(context.command(), &args.organization, unrevoked, DisabledKeys::Revoke).await?;
    context.show_list(&revoked.into_iter().map(|key| KeyView::new(key, context.now)).collect::<Vec<_>>())
}

impl Shown for KeyView {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "name",
        "prefix",
        "state",
        "createdAt",
        "expiresAt",
        "lastUsedAt",
        "requestsPerMinute",
        "tokensPerMinute",
        "limits",
        "permissions",
        "allowedModels",
        "allowedIps",
        "budgets",
        "key",
    ];
}

impl Shown for KeySpendingView {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "name",
        "prefix",
        "state",
        "createdAt",
        "expiresAt",
        "lastUsedAt",
        "requestsPerMinute",
        "tokensPerMinute",
        "limits",
        "permissions",
        "allowedModels",
        "allowedIps",
        "spending",
    ];
}

impl Shown for OrganizationKeyView {
    const COLUMNS: &'static [&'static str] =
        &["id", "name", "prefix", "state", "workspaceId", "createdAt", "creator", "expiresAt", "lastUsedAt"];
}

pub(super) async fn run(context: &AdminContext<'_>, command: KeyCommand) -> anyhow::Result<String> {
    let (selector, change) = match command {
        KeyCommand::Create(flags) => return create(context, &flags).await,
        KeyCommand::Edit(args) => return edit(context, *args).await,
        KeyCommand::Show(selector) => return show(context, selector).await,
        KeyCommand::List(args) => return show_list(context, args).await,
        KeyCommand::RevokeAll(args) => return revoke_all(context, args).await,
        KeyCommand::Revoke(selector) => (selector, KeyChange::Revoke),
        KeyCommand::Disable(selector) => (selector, KeyChange::Disable),
        KeyCommand::Enable(selector) => (selector, KeyChange::Enable),
        KeyCommand::Expire(selector) => (selector, KeyChange::Expire),
    };
    let key = selector.find(context).await?;
    let changed = keys::change(context.command(), &key.workspace, &key.id, change).await?;
    context.show(&KeyView::new(changed, context.now))
}

async fn show(context: &AdminContext<'_>, selector: KeySelector) -> anyhow::Result<String> {
    let key = selector.find(context).await?;
    let spending = keys::spending(context.store, &key, context.now).await?;
    context.show(&KeySpendingView::new(key, &spending, context.now))
}

async fn edit(context: &AdminContext<'_>, args: EditKeyArgs) -> anyhow::Result<String> {
    let (restrictions, labels) = args.restrictions.read()?;
    let KeyRestrictions { permissions, allowed_models, allowed_ips } = restrictions;
    let key = args.selector.find(context).await?;
    let is_without = args.remove.contains(&RemovedSetting::Budgets);
    let before = if is_without { Budgets::none() } else { key.budgets.clone() };
    let budgets = args.budgets.change(&before, context.now)?;
    let is_unlimited = args.remove.contains(&RemovedSetting::Limits);
    let limits_before = if is_unlimited { KeyLimits::none() } else { key.limits.clone() };
    let limits = args.model_limits.change(&limits_before)?;
    let change = KeyEdit {
        name: args.rename.as_deref(),
        expires_at: changed(&args.remove, RemovedSetting::ExpiresAt, args.expires_at),
        requests_per_minute: changed(&args.remove, RemovedSetting::RequestsPerMinute, args.requests_per_minute),
        tokens_per_minute: changed(&args.remove, RemovedSetting::TokensPerMinute, args.tokens_per_minute),
        limits: limits.or(is_unlimited.then_some(limits_before)),
        trusts_end_user: args.trusts_end_user,
        permissions: changed(&args.remove, RemovedSetting::Permissions, permissions),
        allowed_models: changed(&args.remove, RemovedSetting::AllowedModels, allowed_models),
        allowed_ips: changed(&args.remove, RemovedSetting::AllowedIps, allowed_ips),
        labels: changed(&args.remove, RemovedSetting::Labels, Some(labels).filter(|labels| !labels.is_empty()))
            .map(Option::unwrap_or_default),
        budgets: budgets.or(is_without.then_some(before)),
    };
    let edited = keys::edit(context.command(), &key.workspace, &key.id, change).await?;
    context.show(&KeyView::new(edited, context.now))
}

/// The change of a setting: a new value, `Some(None)` if it is removed, `None` if it stays.
pub(super) fn changed<S: Copy + PartialEq, T>(removed: &[S], setting: S, value: Option<T>) -> Option<Option<T>> {
    match value {
        None if removed.contains(&setting) => Some(None),
        None => None,
        Some(value) => Some(Some(value)),
    }
}

async fn create(context: &AdminContext<'_>, flags: &NewKeyArgs) -> anyhow::Result<String> {
    let (restrictions, labels) = flags.restrictions.read()?;
    let request = KeyRequest {
        name: &flags.name,
        expires_at: flags.expires_at,
        requests_per_minute: flags.requests_per_minute,
        tokens_per_minute: flags.tokens_per_minute,
        limits: flags.model_limits.change(&KeyLimits::none())?.unwrap_or_default(),
        trusts_end_user: flags.trusts_end_user,
        restrictions,
        labels,
        budgets: flags.budgets.change(&Budgets::none(), context.now)?.unwrap_or_default(),
    };
    let created = keys::create(context.command(), &flags.workspace, request, context.defaults).await?;
    context.show(&KeyView::once(created, context.now))
}
