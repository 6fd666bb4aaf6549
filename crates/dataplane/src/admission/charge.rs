//! The cost of a call under the rate limits, and the debit that settles it.

use domain::limits::{Cost, PerMinute};
use domain::usage::Actor;
use domain::{Caller, KeyId, RequestId, WorkspaceId};
use std::sync::Arc;

/// The limits that apply to a call, and the tokens it is expected to use.
#[derive(Debug, Clone)]
pub(super) struct Charge {
    pub(super) request: RequestId,
    pub(super) caller: Arc<Caller>,
    pub(super) workspace_limits: PerMinute,
    /// `None` if the key has no limits of its own.
    pub(super) key_limits: Option<PerMinute>,
    /// 0 if the request was counted before.
    pub(super) requests: u64,
    pub(super) tokens: u64,
}

impl Charge {
    pub(super) fn new(caller: &Arc<Caller>, limits: PerMinute, request: RequestId, tokens: u64) -> Self {
        let key_limits = caller.key_limits.within(limits);
        Self { request, caller: Arc::clone(caller), workspace_limits: limits, key_limits, requests: 1, tokens }
    }

    /// The tokens of a request that was counted before.
    pub(super) fn of_counted(self) -> Self {
        Self { requests: 0, ..self }
    }

    pub(super) fn cost(&self) -> Cost {
        Cost { requests: self.requests, tokens: self.tokens }
    }

    pub(super) fn workspace(&self) -> &WorkspaceId {
        &self.caller.workspace
    }

    /// The key and its own limits, if it has any.
    pub(super) fn key(&self) -> Option<(&KeyId, PerMinute)> {
        match &self.caller.actor {
            Actor::Key(key) => self.key_limits.map(|limits| (key, limits)),
            Actor::User(_) => None,
        }
    }

    /// The limits of the workspace, then those of the key.
    pub(super) fn limits(&self) -> impl Iterator<Item = PerMinute> {
        std::iter::once(self.workspace_limits).chain(self.key().map(|(_, limits)| limits))
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
