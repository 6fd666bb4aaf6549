//! Why nothing was done to an endpoint, in the codes of `/v1/endpoints`.

use domain::allotment::Exceeded;
use domain::endpoint::{EndpointName, Fault, Generation};
use domain::{GpuType, ModelId};
use serde::Serialize;
use store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("There is no endpoint `{endpoint}`.")]
    EndpointNotFound { endpoint: String },
    /// It exists, in another workspace of the organization.
    #[error("The endpoint `{endpoint}` belongs to another workspace.")]
    OtherWorkspace { endpoint: String },
    #[error("There is no model `{model}`.")]
    ModelNotFound { model: ModelId },
    #[error("Another endpoint of the organization is called {name}.")]
    NameInUse { name: EndpointName },
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
    #[error("The engine of the flavor `{flavor}` does not tell its KV-cache utilization.")]
    MetricNotSupported { flavor: String },
    /// A value that does not go with those the endpoint has.
    #[error("{0}")]
    Unfit(Fault),
    #[error("{}", .0.sentence())]
    AllotmentExceeded(Exceeding),
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
    #[error("Something went wrong inside.")]
    Internal {
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What was asked for, and the numbers that stand against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exceeding {
    /// `Creating`, `Resuming` or `Scaling`.
    pub doing: &'static str,
    pub name: EndpointName,
    pub gpu_type: GpuType,
    pub numbers: Exceeded,
}

/// The members of `extensions` but for the link, which the surface knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Extensions<'a> {
    pub code: &'static str,
    pub gpu_type: &'a GpuType,
    pub allotment: u64,
    pub committed: u64,
    pub projected: u64,
    pub need: u64,
    pub remediation: &'a str,
}

impl Exceeding {
    fn sentence(&self) -> String {
        let Self { doing, name, gpu_type, numbers } = self;
        format!("{doing} {name} needs {} more {gpu_type} GPUs than the organization's allotment.", numbers.need)
    }

    /// All seven; `remediation` is a link to the explanation of allotments.
    pub const fn extensions<'a>(&'a self, remediation: &'a str) -> Extensions<'a> {
        let Exceeded { allotment, committed, projected, need } = self.numbers;
        let code = "GPU_ALLOTMENT_EXCEEDED";
        Extensions { code, gpu_type: &self.gpu_type, allotment, committed, projected, need, remediation }
    }
}

/// What a refusal asks of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Missing,
    /// For a key as if it were none; for a session, another workspace has to be chosen.
    OtherWorkspace,
    Conflict,
    Invalid,
    Unavailable,
    Internal,
}

impl Refusal {
    pub const fn kind(&self) -> Kind {
        match self {
            Self::EndpointNotFound { .. } | Self::ModelNotFound { .. } => Kind::Missing,
            Self::OtherWorkspace { .. } => Kind::OtherWorkspace,
            Self::NameInUse { .. }
            | Self::Modified { .. }
            | Self::Deleting
            | Self::IdempotencyInProgress
            | Self::AllotmentExceeded(_) => Kind::Conflict,
            Self::IdempotencyKeyReused
            | Self::FlavorNotOffered { .. }
            | Self::MetricNotSupported { .. }
            | Self::Unfit(_) => Kind::Invalid,
            Self::AllotmentUnavailable { .. } | Self::DatabaseUnavailable { .. } => Kind::Unavailable,
            Self::Internal { .. } => Kind::Internal,
        }
    }

    pub const fn code(&self) -> &'static str {
        match self {
            Self::EndpointNotFound { .. } => "ENDPOINT_NOT_FOUND",
            Self::OtherWorkspace { .. } => "WRONG_WORKSPACE",
            Self::ModelNotFound { .. } => "MODEL_NOT_FOUND",
            Self::NameInUse { .. } => "ENDPOINT_NAME_IN_USE",
            Self::Modified { .. } => "ENDPOINT_MODIFIED",
            Self::Deleting => "ENDPOINT_DELETING",
            Self::IdempotencyInProgress => "IDEMPOTENCY_IN_PROGRESS",
            Self::IdempotencyKeyReused => "IDEMPOTENCY_KEY_REUSED",
            Self::FlavorNotOffered { .. } => "FLAVOR_NOT_OFFERED",
            Self::MetricNotSupported { .. } => "METRIC_NOT_SUPPORTED",
            Self::Unfit(fault) => fault.code.as_str(),
            Self::AllotmentExceeded(_) => "GPU_ALLOTMENT_EXCEEDED",
            Self::AllotmentUnavailable { .. } => "GPU_ALLOTMENT_UNAVAILABLE",
            Self::DatabaseUnavailable { .. } => "DATABASE_UNAVAILABLE",
            Self::Internal { .. } => "INTERNAL",
        }
    }

    /// The same, where an allotment had to be checked: a store that is away could not check it.
    pub(super) fn while_checking_the_allotment(self) -> Self {
        match self {
            Self::DatabaseUnavailable { cause } => Self::AllotmentUnavailable { cause },
            other => other,
        }
    }

    /// Whether doing it all again may succeed.
    pub(super) fn is_contention(&self) -> bool {
        match self {
            Self::DatabaseUnavailable { cause } | Self::AllotmentUnavailable { cause } => cause.is_contention(),
            _ => false,
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::IdempotencyInProgress => Self::IdempotencyInProgress,
            cause if cause.is_unavailable() => Self::DatabaseUnavailable { cause },
            cause => Self::Internal { cause: Box::new(cause) },
        }
    }
}

impl From<crate::CommandError> for Refusal {
    fn from(refusal: crate::CommandError) -> Self {
        match refusal {
            crate::CommandError::StoreUnavailable { cause } => Self::DatabaseUnavailable { cause },
            other => Self::Internal { cause: Box::new(other) },
        }
    }
}
