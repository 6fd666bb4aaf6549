//! Limits by the minute: what a call takes from them, and how it is given back.

use super::memory::Memory;
use super::shared::Shared;
use domain::limits::{Exceeded, PerMinute, RateLimitStatus};
use domain::usage::Actor;
use domain::{Caller, KeyId, RequestId, WorkspaceId};
use std::sync::Arc;
use std::time::Instant;

/// Where buckets are kept.
#[derive(Clone)]
pub enum Minutes {
    /// In this process, which is the only one.
    Memory(Arc<Memory>),
    /// In Redis, with all other nodes.
    Shared(Arc<Shared>),
}

/// What a call falls under, and what it takes.
#[derive(Debug, Clone)]
pub(super) struct Charge {
    pub request: RequestId,
    pub caller: Arc<Caller>,
    pub workspace_limits: PerMinute,
    /// Where the key has limits of its own.
    pub key_limits: Option<PerMinute>,
    pub tokens: u64,
}

impl Charge {
    pub(super) fn new(caller: &Arc<Caller>, limits: PerMinute, request: RequestId, tokens: u64) -> Self {
        let key_limits = caller.key_limits.within(limits);
        Self { request, caller: Arc::clone(caller), workspace_limits: limits, key_limits, tokens }
    }

    pub(super) fn workspace(&self) -> &WorkspaceId {
        &self.caller.workspace
    }

    /// The key and its limits, where it has any of its own.
    pub(super) fn key(&self) -> Option<(&KeyId, PerMinute)> {
        match &self.caller.actor {
            Actor::Key(key) => self.key_limits.map(|limits| (key, limits)),
            Actor::User(_) => None,
        }
    }
}

/// What was taken, and from where it must be given back.
#[derive(Debug)]
pub(super) struct Debit {
    pub(super) charge: Charge,
    from: From,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    Memory,
    /// This node's share, while the nodes cannot count together.
    Share(u32),
    Shared,
}

/// How a debit ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settlement {
    /// The call used so many tokens.
    Used(u64),
    /// The call was not let in after all: its request does not count either.
    Undone,
}

impl Debit {
    pub(super) fn new(charge: Charge, from: From) -> Self {
        Self { charge, from }
    }
}

impl Minutes {
    /// Takes one request and the tokens from every bucket, or nothing from any.
    pub(super) async fn take(&self, charge: Charge) -> Result<(Debit, RateLimitStatus), Exceeded> {
        match self {
            Self::Memory(memory) => {
                let standings = memory.take(&charge, 1)?;
                Ok((Debit::new(charge, From::Memory), standings))
            }
            // In a box: all calls would have to be large enough for it.
            Self::Shared(shared) => Box::pin(shared.take(charge)).await,
        }
    }

    /// A stream goes on beyond what it was expected to use.
    pub(super) fn take_more(&self, debit: &mut Debit, tokens: u64) {
        debit.charge.tokens = debit.charge.tokens.saturating_add(tokens);
        match (self, debit.from) {
            (Self::Memory(memory), _) => memory.give(&debit.charge, 1, 0, -signed(tokens), Instant::now()),
            (Self::Shared(shared), From::Share(nodes)) => {
                shared.local().give(&debit.charge, nodes, 0, -signed(tokens), Instant::now());
            }
            (Self::Shared(shared), From::Shared | From::Memory) => shared.take_more(&debit.charge),
        }
    }

    pub(super) fn settle(&self, debit: Debit, settlement: Settlement, now: Instant) {
        let (requests, used) = match settlement {
            Settlement::Used(tokens) => (0, tokens),
            Settlement::Undone => (1, 0),
        };
        let rest = signed(debit.charge.tokens).saturating_sub(signed(used));
        match (self, debit.from) {
            (Self::Memory(memory), _) => memory.give(&debit.charge, 1, requests, rest, now),
            (Self::Shared(shared), From::Share(nodes)) => {
                shared.local().give(&debit.charge, nodes, requests, rest, now);
            }
            (Self::Shared(shared), From::Shared | From::Memory) => shared.settle(debit.charge, settlement),
        }
    }

    /// What is left at this moment, without taking anything.
    pub async fn look(&self, workspace: &WorkspaceId, limits: PerMinute) -> RateLimitStatus {
        match self {
            Self::Memory(memory) => memory.look(workspace, limits, 1),
            Self::Shared(shared) => shared.look(workspace, limits).await,
        }
    }
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}
