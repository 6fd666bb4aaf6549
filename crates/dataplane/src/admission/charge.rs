//! The cost of a call under the rate limits, and the debit that settles it.

use domain::key_restrictions::ModelPattern;
use domain::limits::{Cost, PerMinute, Scope};
use domain::usage::Actor;
use domain::{Caller, EndUserId, KeyId, ModelId, OrganizationId, RequestId, WorkspaceId};

/// Whose counters are kept together: those of an organization if it has limits of its own, or else those of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Home {
    Organization(OrganizationId),
    Workspace(WorkspaceId),
}

impl Home {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Organization(id) => id.as_str(),
            Self::Workspace(id) => id.as_str(),
        }
    }
}

/// A counter beside that of the home.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum CounterId {
    Workspace(WorkspaceId),
    Key(KeyId),
    Model(KeyId, ModelPattern),
    EndUser(EndUserId),
}

/// Limits beside those of the home, and what counts against them.
#[derive(Debug, Clone)]
pub(super) struct CountedIn {
    pub(super) id: CounterId,
    pub(super) limits: PerMinute,
}

impl CountedIn {
    pub(super) fn scope(&self) -> Scope {
        match self.id {
            CounterId::Workspace(_) => Scope::Workspace,
            CounterId::Key(_) => Scope::Key,
            CounterId::Model(..) => Scope::Model,
            CounterId::EndUser(_) => Scope::EndUser,
        }
    }
}

/// What a call is counted by, beside its caller.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChargedCall<'a> {
    /// `None` for a call that has none.
    pub(crate) model: Option<&'a ModelId>,
    pub(crate) end_user: Option<&'a EndUserId>,
}

/// Names the owner of a limit, for the client.
pub(super) fn owner(caller: &Caller, of: ChargedCall<'_>, scope: Scope) -> String {
    let actor = match &caller.actor {
        Actor::Key(key) => format!("key {key}"),
        Actor::User(user) => format!("user {user}"),
    };
    match scope {
        Scope::Organization => format!("organization {}", caller.organization),
        Scope::Workspace => format!("workspace {}", caller.workspace),
        Scope::Key => actor,
        Scope::EndUser => of.end_user.map_or(actor, |end_user| format!("end user {end_user}")),
        Scope::Model => {
            let entry = caller.model_limits.as_ref().zip(of.model).and_then(|(all, model)| all.of_model(model));
            entry.map_or_else(|| actor.clone(), |entry| format!("{actor} for `{}`", entry.model))
        }
    }
}

/// The limits that apply to a call, and the tokens it is expected to use.
#[derive(Debug, Clone)]
pub(super) struct Charge {
    pub(super) request: RequestId,
    pub(super) home: Home,
    pub(super) home_limits: PerMinute,
    /// Empty for most calls, and without an allocation then.
    pub(super) others: Vec<CountedIn>,
    /// 0 if the request was counted before.
    pub(super) requests: u64,
    pub(super) tokens: u64,
}

impl Charge {
    /// One request and no tokens.
    pub(super) fn new(caller: &Caller, limits: PerMinute, of: ChargedCall<'_>, request: RequestId) -> Self {
        let mut others = Vec::new();
        let mut count = |id, limits| others.push(CountedIn { id, limits });
        let workspace = caller.workspace.clone();
        let (home, home_limits) = match caller.organization_limits.alone() {
            Some(shared) => {
                count(CounterId::Workspace(workspace), limits);
                (Home::Organization(caller.organization.clone()), shared)
            }
            None => (Home::Workspace(workspace), limits),
        };
        if let Actor::Key(key) = &caller.actor {
            if let Some(own) = caller.key_limits.within(limits) {
                count(CounterId::Key(key.clone()), own);
            }
            let of_model = caller.model_limits.as_ref().zip(of.model).and_then(|(all, model)| all.of_model(model));
            if let (Some(policy), Some(end_user)) = (&caller.end_users, of.end_user)
                && let Some(own) = policy.per_minute(end_user).within(limits)
            {
                count(CounterId::EndUser(end_user.clone()), own);
            }
            if let Some(limit) = of_model
                && let Some(own) = limit.per_minute().within(limits)
            {
                count(CounterId::Model(key.clone(), limit.model.clone()), own);
            }
        }
        Self { request, home, home_limits, others, requests: 1, tokens: 0 }
    }

    pub(super) fn with_tokens(self, tokens: u64) -> Self {
        Self { tokens, ..self }
    }

    /// The tokens of a request that was counted before.
    pub(super) fn of_counted(self) -> Self {
        Self { requests: 0, ..self }
    }

    pub(super) fn cost(&self) -> Cost {
        Cost { requests: self.requests, tokens: self.tokens }
    }

    pub(super) fn home_scope(&self) -> Scope {
        match self.home {
            Home::Organization(_) => Scope::Organization,
            Home::Workspace(_) => Scope::Workspace,
        }
    }

    /// The limits of the home, then all others.
    pub(super) fn limits(&self) -> impl Iterator<Item = (Scope, PerMinute)> {
        let others = self.others.iter().map(|one| (one.scope(), one.limits));
        std::iter::once((self.home_scope(), self.home_limits)).chain(others)
    }
}

/// A charge that was taken, and the buckets to which the unused part returns.
#[derive(Debug)]
pub(super) struct Debit {
    pub(super) charge: Charge,
    pub(super) source: DebitSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DebitSource {
    Memory,
    /// This node's share of the limits, while Redis is unreachable.
    Share,
    Redis,
}

/// How a debit ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settlement {
    /// The call used this many tokens.
    Used(u64),
    /// The call was rejected after all: its request does not count either.
    Undone,
}
