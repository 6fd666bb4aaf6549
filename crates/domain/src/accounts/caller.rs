//! The caller of a request: every request belongs to exactly one workspace.

use crate::alias::{AliasName, AliasTable};
use crate::budget::{Budgets, ReservedIn};
use crate::cache_salt::{CacheSalt, SaltSecret};
use crate::end_user::{EndUser, EndUserPolicy};
use crate::ids::{KeyId, OrganizationId, UserId, WorkspaceId};
use crate::key_limits::KeyLimits;
use crate::key_restrictions::{KeyRestrictions, ModelPattern, Permission};
use crate::limits::OwnPerMinute;
use crate::model_ref::ModelRef;
use crate::queue_weight::QueueWeight;
use crate::response_retention::ResponseRetention;
use crate::workspace::StoredLimits;
use std::sync::{Arc, OnceLock};

/// The workspace, the actor and the limits of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub actor: Actor,
    /// The workspace's stored limits; unset ones follow the defaults.
    pub workspace_limits: StoredLimits,
    /// The weight of the workspace where calls wait.
    pub weight: QueueWeight,
    /// The key's own limits, which apply in addition to the workspace's.
    pub key_limits: OwnPerMinute,
    /// The key's limits by model; `None` if it has none.
    pub model_limits: Option<Arc<KeyLimits>>,
    /// How the people behind the key are limited; `None` if it does not name them.
    pub end_users: Option<Arc<EndUserPolicy>>,
    /// What all workspaces of the organization may use together.
    pub organization_limits: OwnPerMinute,
    /// What the key may do; `None` if that is everything.
    pub restrictions: Option<Arc<KeyRestrictions>>,
    /// The budgets of the key; `None` if it has none.
    pub budgets: Option<Arc<Budgets>>,
    /// Whether its workspace or organization has a monthly budget.
    pub has_monthly_budget: bool,
    /// The aliases of the workspace; `None` if it has none.
    pub aliases: Option<Arc<AliasTable<ModelRef>>>,
    /// How long the workspace's responses are stored; `None` if they are not.
    pub response_retention: Option<ResponseRetention>,
    /// Derived at the first call that needs it; callers are cached with their keys.
    pub cache_salt: OnceLock<CacheSalt>,
}

impl Caller {
    /// A caller without limits of its own.
    pub fn new(organization: OrganizationId, workspace: WorkspaceId, actor: Actor) -> Self {
        let (workspace_limits, key_limits) = (StoredLimits::default(), OwnPerMinute::default());
        Self {
            organization,
            workspace,
            actor,
            workspace_limits,
            weight: QueueWeight::default(),
            key_limits,
            model_limits: None,
            end_users: None,
            organization_limits: OwnPerMinute::default(),
            restrictions: None,
            budgets: None,
            has_monthly_budget: false,
            aliases: None,
            response_retention: None,
            cache_salt: OnceLock::new(),
        }
    }

    /// The same caller with the aliases of its workspace.
    #[must_use]
    pub fn with_aliases(self, aliases: Vec<(AliasName, ModelRef)>) -> Self {
        let aliases = (!aliases.is_empty()).then(|| Arc::new(aliases.into_iter().collect()));
        Self { aliases, ..self }
    }

    /// The same caller with the restrictions of its key.
    #[must_use]
    pub fn restricted(self, restrictions: &KeyRestrictions) -> Self {
        let restrictions = (*restrictions != KeyRestrictions::default()).then(|| Arc::new(restrictions.clone()));
        Self { restrictions, ..self }
    }

    /// The same caller with the limits of its key by model.
    #[must_use]
    pub fn limited(self, limits: &KeyLimits) -> Self {
        let model_limits = (!limits.per_model().is_empty()).then(|| Arc::new(limits.clone()));
        Self { model_limits, ..self }
    }

    /// The same caller with the budgets of its key.
    #[must_use]
    pub fn budgeted(self, budgets: &Budgets) -> Self {
        let budgets = (!budgets.all().is_empty()).then(|| Arc::new(budgets.clone()));
        Self { budgets, ..self }
    }

    /// The budgets in which a call reserves what it may cost.
    pub fn reserved_in(&self, end_user: Option<&EndUser>) -> ReservedIn {
        let of_key = self.budgets.as_ref().map(|budgets| budgets.windows()).unwrap_or_default();
        let of_both = if self.has_monthly_budget { of_key.with_workspace() } else { of_key };
        match self.end_users.as_ref().zip(end_user) {
            Some((policy, end_user)) => of_both.with_end_user(policy.budgets(&end_user.id).windows()),
            None => of_both,
        }
    }

    pub fn has(&self, permission: Permission) -> bool {
        self.restrictions.as_ref().is_none_or(|own| own.permits(permission))
    }

    /// The models that the caller may call; `None` if that is all.
    pub fn allowed_models(&self) -> Option<&[ModelPattern]> {
        self.restrictions.as_ref()?.allowed_models.as_deref()
    }

    /// The salt of the workspace at engines that it shares with others.
    pub fn cache_salt(&self, secret: &SaltSecret) -> &str {
        self.cache_salt.get_or_init(|| secret.salt(&self.workspace)).as_str()
    }
}

/// The key that made a call, or the signed-in user in the Playground.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    Key(KeyId),
    User(UserId),
}

impl Actor {
    /// Parses an id; its prefix decides the variant.
    pub fn parse(text: &str) -> Option<Self> {
        KeyId::parse(text).map(Self::Key).or_else(|_| UserId::parse(text).map(Self::User)).ok()
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Key(key) => key.as_str(),
            Self::User(user) => user.as_str(),
        }
    }
}
