//! Errors of files and batches, for the surfaces of both APIs.

use control::batches::BatchError;
use control::{CommandError, CommandErrorKind};
use http::StatusCode;
use store::StoreError;

/// The noun of a batch that does not exist.
const BATCH: &str = "batch";

/// A request about a file or a batch failed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct FailedBatchRequest(pub(crate) BatchError);

impl From<BatchError> for FailedBatchRequest {
    fn from(error: BatchError) -> Self {
        if let BatchError::Command(error) = &error
            && error.kind() == CommandErrorKind::Internal
        {
            tracing::error!(?error, "a request about files or batches failed");
        }
        Self(error)
    }
}

impl From<StoreError> for FailedBatchRequest {
    fn from(error: StoreError) -> Self {
        BatchError::from(error).into()
    }
}

impl FailedBatchRequest {
    pub(crate) fn status(&self) -> StatusCode {
        match &self.0 {
            BatchError::Missing { .. } => StatusCode::NOT_FOUND,
            BatchError::FileTooLarge { .. } | BatchError::TooManyLines { .. } | BatchError::Full(_) => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            BatchError::TooManyBatches { .. } | BatchError::TooManyQueued { .. } | BatchError::TooLargeQueue(_) => {
                StatusCode::TOO_MANY_REQUESTS
            }
            BatchError::Invalid { .. } | BatchError::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            BatchError::NotEnded => StatusCode::BAD_REQUEST,
            BatchError::NotCancellable { .. } | BatchError::KeyInUse => StatusCode::CONFLICT,
            BatchError::NotOwned => StatusCode::INTERNAL_SERVER_ERROR,
            BatchError::Command(error) => match error.kind() {
                CommandErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            },
        }
    }

    pub(crate) fn code(&self) -> &'static str {
        match &self.0 {
            BatchError::Missing { noun, .. } if *noun == BATCH => "batch_not_found",
            BatchError::Missing { .. } => "file_not_found",
            BatchError::FileTooLarge { .. } | BatchError::TooManyLines { .. } => "payload_too_large",
            BatchError::Full(_) => "storage_full",
            BatchError::TooManyBatches { .. } => "too_many_batches",
            BatchError::TooManyQueued { .. } | BatchError::TooLargeQueue(_) => "too_many_lines",
            BatchError::Invalid { .. } => "invalid_value",
            BatchError::KeyReused => "idempotency_key_reused",
            BatchError::KeyInUse => "idempotency_in_progress",
            BatchError::NotEnded => "batch_not_ended",
            BatchError::NotCancellable { .. } => "batch_not_cancellable",
            BatchError::NotOwned => "internal_error",
            BatchError::Command(CommandError::FilesUnavailable { .. }) => "files_unavailable",
            BatchError::Command(error) => match error.kind() {
                CommandErrorKind::Unavailable => "store_unavailable",
                _ => "internal_error",
            },
        }
    }

    /// The member of the request at fault, or an empty text.
    pub(crate) fn param(&self) -> &str {
        match &self.0 {
            BatchError::Missing { noun: "input file", .. } => "input_file_id",
            BatchError::FileTooLarge { .. } | BatchError::TooManyLines { .. } | BatchError::Full(_) => "file",
            BatchError::Invalid { param, .. } => param,
            _ => "",
        }
    }

    /// Trying again at once is pointless.
    pub(crate) fn is_final(&self) -> bool {
        use BatchError::{NotCancellable, TooLargeQueue, TooManyBatches, TooManyQueued};
        matches!(self.0, TooManyBatches { .. } | TooManyQueued { .. } | TooLargeQueue(_) | NotCancellable { .. })
    }

    /// The cause, for the log only.
    pub(crate) fn cause(&self) -> Option<String> {
        match &self.0 {
            BatchError::Command(CommandError::StoreUnavailable { cause }) => Some(format!("{cause:?}")),
            BatchError::Command(CommandError::Internal { cause }) => Some(format!("{cause:?}")),
            BatchError::Command(CommandError::FilesUnavailable { cause }) => Some(format!("{cause:?}")),
            _ => None,
        }
    }
}
