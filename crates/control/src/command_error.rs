//! Errors of commands.

use crate::catalogue_error::CatalogueError;
use bucket::BucketError;
use domain::attempts::Lockout;
use domain::ids::IdError;
use domain::response_retention::ResponseRetentionError;
use domain::span::SpanError;
use domain::user::EmailError;
use domain::workspace::NameError;
use domain::workspace_edit::OperatorOnlyError;
use domain::{ModelRef, Timestamp};
use store::{Conflict, StoreError};

/// Why a command failed. `Display` is safe to show to clients; `source()` is for the log.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    BadName(#[from] NameError),
    #[error(transparent)]
    BadEmail(#[from] EmailError),
    #[error(transparent)]
    BadRetention(#[from] ResponseRetentionError),
    #[error("responses are encrypted where they are stored; the operator must first set FOREBAY_CONTENT_KEY")]
    ContentKeyMissing,
    #[error(
        "the log is sealed with a content key that this node does not have; set the same FOREBAY_CONTENT_KEY on all nodes"
    )]
    LogSealed,
    #[error("{why}")]
    BadValue { field: &'static str, why: &'static str },
    #[error("there is no {noun} `{id}`")]
    Missing { noun: &'static str, id: String },
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// With the current target, if there is one.
    #[error("the alias was changed by someone else; load it again")]
    AliasChanged { current: Option<ModelRef> },
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    #[error("e-mail address or password is wrong")]
    BadCredentials,
    #[error("no account has this e-mail address; ask for an invitation")]
    NoAccount,
    #[error("too many attempts; try again in {} s", wait.retry_after_secs(*now))]
    TooManyAttempts { wait: Lockout, now: Timestamp },
    #[error("the session has no organization selected")]
    NoOrganizationContext,
    #[error("the session has no workspace selected")]
    NoWorkspaceContext,
    #[error("you are not a member of this workspace")]
    NotAMember,
    #[error(transparent)]
    OperatorOnly(#[from] OperatorOnlyError),
    /// Too many passwords are being checked.
    #[error("the server is busy; retry")]
    Busy,
    #[error("the node `{node}` has not responded")]
    NodeUnresponsive { node: String },
    #[error("the store cannot be reached right now")]
    StoreUnavailable {
        #[source]
        cause: StoreError,
    },
    /// The bucket of files failed; without a cause, none is configured any more.
    #[error("the storage of files cannot be reached right now")]
    FilesUnavailable {
        #[source]
        cause: Option<BucketError>,
    },
    #[error("internal error")]
    Internal {
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The class of an error, which decides how a surface reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandErrorKind {
    /// The input is invalid.
    Invalid,
    /// The record does not exist.
    Missing,
    /// The record is in a state that does not allow the command.
    Conflict,
    /// The credentials are wrong.
    Unauthenticated,
    /// The caller may not do this.
    Forbidden,
    /// Too many attempts; the error carries the wait.
    TooMany,
    /// Temporarily unavailable; retry later.
    Unavailable,
    /// A bug or an unexpected failure.
    Internal,
}

impl CommandError {
    /// The class of the error.
    pub const fn kind(&self) -> CommandErrorKind {
        match self {
            Self::BadName(_) | Self::BadEmail(_) | Self::BadRetention(_) | Self::BadValue { .. } => {
                CommandErrorKind::Invalid
            }
            Self::Missing { .. } => CommandErrorKind::Missing,
            Self::Conflict(_)
            | Self::AliasChanged { .. }
            | Self::Catalogue(_)
            | Self::ContentKeyMissing
            | Self::LogSealed => CommandErrorKind::Conflict,
            Self::BadCredentials => CommandErrorKind::Unauthenticated,
            Self::TooManyAttempts { .. } => CommandErrorKind::TooMany,
            Self::NoAccount
            | Self::NoOrganizationContext
            | Self::NoWorkspaceContext
            | Self::NotAMember
            | Self::OperatorOnly(_) => CommandErrorKind::Forbidden,
            Self::Busy
            | Self::NodeUnresponsive { .. }
            | Self::StoreUnavailable { .. }
            | Self::FilesUnavailable { .. } => CommandErrorKind::Unavailable,
            Self::Internal { .. } => CommandErrorKind::Internal,
        }
    }

    /// The stable code of the error in API responses.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadName(_) | Self::BadEmail(_) | Self::BadRetention(_) | Self::BadValue { .. } => "invalid_value",
            Self::ContentKeyMissing | Self::LogSealed => "content_key_missing",
            Self::Missing { .. } => "not_found",
            Self::Conflict(conflict) => match conflict {
                Conflict::KeyLimitReached { .. } => "key_limit_reached",
                Conflict::WorkspaceLimitReached { .. } => "workspace_limit_reached",
                Conflict::LastWorkspace => "last_workspace",
                Conflict::KeyDisabled => "key_disabled",
                Conflict::KeyRevoked => "key_revoked",
                Conflict::KeyExpired => "key_expired",
                Conflict::VersionConflict { .. } => "version_conflict",
                Conflict::EmailTaken => "email_taken",
                Conflict::OrganizationNotEmpty { .. } => "organization_not_empty",
                Conflict::WorkspaceInUse { .. } | Conflict::WorkspaceHasEndpoints { .. } => "workspace_in_use",
                Conflict::LastAdmin => "last_admin",
            },
            Self::AliasChanged { .. } => "version_conflict",
            Self::Catalogue(error) => error.code(),
            Self::BadCredentials => "bad_credentials",
            Self::NoAccount => "no_account",
            Self::TooManyAttempts { .. } => "too_many_attempts",
            Self::NoOrganizationContext => "no_organization_context",
            Self::NoWorkspaceContext => "no_workspace_context",
            Self::NotAMember => "not_a_member",
            Self::OperatorOnly(_) => "operator_only",
            Self::Busy => "server_busy",
            Self::NodeUnresponsive { .. } => "node_unresponsive",
            Self::StoreUnavailable { .. } => "store_unavailable",
            Self::FilesUnavailable { .. } => "files_unavailable",
            Self::Internal { .. } => "internal_error",
        }
    }

    /// The field of the request that is invalid.
    pub const fn field(&self) -> Option<&'static str> {
        match self {
            Self::BadName(_) => Some("name"),
            Self::BadEmail(_) => Some("email"),
            Self::BadRetention(_) | Self::ContentKeyMissing => Some("responseRetentionDays"),
            Self::BadValue { field, .. } => Some(field),
            Self::OperatorOnly(limit) => Some(limit.field),
            _ => None,
        }
    }

    pub(crate) fn missing(noun: &'static str, id: &str) -> Self {
        Self::Missing { noun, id: id.to_owned() }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing { noun, id } => Self::Missing { noun, id },
            StoreError::Conflict(conflict) => Self::Conflict(conflict),
            cause @ StoreError::Unavailable(_) => Self::StoreUnavailable { cause },
            cause => Self::Internal { cause: Box::new(cause) },
        }
    }
}

impl From<SpanError> for CommandError {
    fn from(_: SpanError) -> Self {
        Self::BadValue { field: "to", why: "`to` is before `from`" }
    }
}

/// A malformed id is treated as the id of a missing record.
impl From<IdError> for CommandError {
    fn from(bad: IdError) -> Self {
        let noun = match bad.prefix {
            "org_" => "organization",
            "ws_" => "workspace",
            "usr_" => "user",
            "key_" => "key",
            "ses_" => "session",
            "inv_" => "invitation",
            "ep_" => "endpoint",
            "dl_" => "download",
            _ => "record",
        };
        Self::Missing { noun, id: bad.text }
    }
}
