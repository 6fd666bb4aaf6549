//! Errors of stored responses.

use http::StatusCode;

#[derive(Debug, thiserror::Error)]
pub(crate) enum StoredResponseError {
    /// Unknown, expired, or of another workspace.
    #[error("no response is stored as `{id}`; send the whole conversation as `input`")]
    PreviousNotFound { id: String },
    /// Unknown, expired, or of another workspace.
    #[error("no response is stored as `{id}`")]
    NotFound { id: String },
    /// An item of a stored response, with the path of the reference.
    #[error(
        "no item is stored as `{id}`; send items instead of references to them (in the AI SDK: \
         `providerOptions.openai.store = false`)"
    )]
    ItemNotFound { id: String, param: String },
    /// Stored responses that a request refers to are too much for one request.
    #[error("{why}; send what matters of it as `input`")]
    ConversationTooLarge { why: String },
    #[error("stored responses cannot be read right now; try again")]
    Unavailable { cause: String },
}

impl StoredResponseError {
    pub(crate) const fn status(&self) -> StatusCode {
        match self {
            Self::PreviousNotFound { .. } | Self::NotFound { .. } | Self::ItemNotFound { .. } => StatusCode::NOT_FOUND,
            Self::ConversationTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::PreviousNotFound { .. } => "previous_response_not_found",
            Self::NotFound { .. } | Self::ItemNotFound { .. } => "response_not_found",
            Self::ConversationTooLarge { .. } => "payload_too_large",
            Self::Unavailable { .. } => "store_unavailable",
        }
    }

    /// The member of the request at fault, or an empty text.
    pub(crate) fn param(&self) -> &str {
        match self {
            Self::PreviousNotFound { .. } => "previous_response_id",
            Self::ItemNotFound { param, .. } => param,
            Self::NotFound { .. } | Self::ConversationTooLarge { .. } | Self::Unavailable { .. } => "",
        }
    }
}
