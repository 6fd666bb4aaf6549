//! Errors of commands and queries on endpoints, with the codes of `/v1/endpoints`.

use domain::allotment::AllotmentError;
use domain::endpoint::{EndpointName, FieldError, Generation};
use domain::quota::{Account, AccountOwner};
use domain::{GpuType, ModelId, NanoUsd};
use store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    #[error("There is no endpoint `{endpoint}`.")]
    EndpointNotFound { endpoint: String },
    /// It exists in another workspace of the organization.
    #[error("The endpoint `{endpoint}` belongs to another workspace.")]
    OtherWorkspace { endpoint: String },
    #[error("There is no model `{model}`.")]
    ModelNotFound { model: ModelId },
    #[error("Another endpoint of the organization is called {name}.")]
    NameInUse { name: EndpointName },
    #[error("The workspace has {limit} endpoints, the most that it may have; delete one first.")]
    LimitReached { limit: u64 },
    #[error("The endpoint was changed since it was read; it is at generation {current} now.", current = .current.0)]
    Modified { current: Generation },
    #[error("The endpoint is being deleted.")]
    Deleting,
    #[error("A request with the same Idempotency-Key is still being answered.")]
    IdempotencyInProgress,
    #[error("The Idempotency-Key was used for another request.")]
    IdempotencyKeyReused,
    #[error("The model {model} is not offered in the flavor `{flavor}`.")]
    FlavorNotOffered { model: ModelId, flavor: String },
    #[error("The engine of the flavor `{flavor}` does not report its KV-cache utilization.")]
    MetricNotSupported { flavor: String },
    /// A value that conflicts with the stored ones.
    #[error("{0}")]
    Conflicting(FieldError),
    #[error("{}", .0.sentence())]
    AllotmentExceeded(AllotmentExceeded),
    #[error("{}", budget_sentence(.doing, .name, .budget))]
    BudgetExceeded { doing: &'static str, name: EndpointName, budget: Account },
    #[error("The GPU allotment could not be checked right now. Nothing was changed; try again.")]
    AllotmentUnavailable {
        #[source]
        cause: StoreError,
    },
    #[error("The database cannot be reached right now.")]
    DatabaseUnavailable {
        #[source]
        cause: StoreError,
    },
    #[error("Internal error.")]
    Internal {
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}

fn budget_sentence(doing: &str, name: &EndpointName, budget: &Account) -> String {
    let usd = NanoUsd::from_unsigned;
    let whose = match budget.owner {
        AccountOwner::Workspace => "workspace",
        AccountOwner::Organization => "organization",
    };
    let (cap, used) = (usd(budget.cap), usd(budget.used));
    format!("{doing} {name} commits GPUs, and the monthly budget of the {whose} is spent: {used} of {cap} USD.")
}

/// A command that exceeds the GPU allotment, with its numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllotmentExceeded {
    /// `Creating`, `Resuming` or `Scaling`.
    pub doing: &'static str,
    pub name: EndpointName,
    pub gpu_type: GpuType,
    pub numbers: AllotmentError,
}

impl AllotmentExceeded {
    fn sentence(&self) -> String {
        let Self { doing, name, gpu_type, numbers } = self;
        format!("{doing} {name} needs {} more {gpu_type} GPUs than the organization's allotment.", numbers.need)
    }
}

/// The class of an error, which decides the HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointErrorKind {
    Missing,
    /// For an API key the same as `Missing`; a session has to switch to the other workspace.
    OtherWorkspace,
    Conflict,
    Invalid,
    Unavailable,
    Internal,
}

impl EndpointError {
    pub const fn kind(&self) -> EndpointErrorKind {
        match self {
            Self::EndpointNotFound { .. } | Self::ModelNotFound { .. } => EndpointErrorKind::Missing,
            Self::OtherWorkspace { .. } => EndpointErrorKind::OtherWorkspace,
            Self::NameInUse { .. }
            | Self::LimitReached { .. }
            | Self::Modified { .. }
            | Self::Deleting
            | Self::IdempotencyInProgress
            | Self::BudgetExceeded { .. }
            | Self::AllotmentExceeded(_) => EndpointErrorKind::Conflict,
            Self::IdempotencyKeyReused
            | Self::FlavorNotOffered { .. }
            | Self::MetricNotSupported { .. }
            | Self::Conflicting(_) => EndpointErrorKind::Invalid,
            Self::AllotmentUnavailable { .. } | Self::DatabaseUnavailable { .. } => EndpointErrorKind::Unavailable,
            Self::Internal { .. } => EndpointErrorKind::Internal,
        }
    }

    pub const fn code(&self) -> &'static str {
        match self {
            Self::EndpointNotFound { .. } => "ENDPOINT_NOT_FOUND",
            Self::OtherWorkspace { .. } => "WRONG_WORKSPACE",
            Self::ModelNotFound { .. } => "MODEL_NOT_FOUND",
            Self::NameInUse { .. } => "ENDPOINT_NAME_IN_USE",
            Self::LimitReached { .. } => "ENDPOINT_LIMIT_REACHED",
            Self::Modified { .. } => "ENDPOINT_MODIFIED",
            Self::Deleting => "ENDPOINT_DELETING",
            Self::IdempotencyInProgress => "IDEMPOTENCY_IN_PROGRESS",
            Self::IdempotencyKeyReused => "IDEMPOTENCY_KEY_REUSED",
            Self::FlavorNotOffered { .. } => "FLAVOR_NOT_OFFERED",
            Self::MetricNotSupported { .. } => "METRIC_NOT_SUPPORTED",
            Self::Conflicting(error) => error.code.as_str(),
            Self::AllotmentExceeded(_) => "GPU_ALLOTMENT_EXCEEDED",
            Self::BudgetExceeded { .. } => "BUDGET_EXCEEDED",
            Self::AllotmentUnavailable { .. } => "GPU_ALLOTMENT_UNAVAILABLE",
            Self::DatabaseUnavailable { .. } => "DATABASE_UNAVAILABLE",
            Self::Internal { .. } => "INTERNAL",
        }
    }

    /// Converts an unavailable store into an unavailable allotment check.
    pub(super) fn while_checking_allotment(self) -> Self {
        match self {
            Self::DatabaseUnavailable { cause } => Self::AllotmentUnavailable { cause },
            other => other,
        }
    }

    /// Whether the transaction was aborted by a concurrent one, so that a retry may succeed.
    pub(super) fn is_contention(&self) -> bool {
        match self {
            Self::DatabaseUnavailable { cause } | Self::AllotmentUnavailable { cause } => cause.is_contention(),
            _ => false,
        }
    }
}

impl From<StoreError> for EndpointError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::IdempotencyInProgress => Self::IdempotencyInProgress,
            cause if cause.is_unavailable() => Self::DatabaseUnavailable { cause },
            cause => Self::Internal { cause: Box::new(cause) },
        }
    }
}

impl From<crate::CommandError> for EndpointError {
    fn from(error: crate::CommandError) -> Self {
        match error {
            crate::CommandError::StoreUnavailable { cause } => Self::DatabaseUnavailable { cause },
            other => Self::Internal { cause: Box::new(other) },
        }
    }
}
