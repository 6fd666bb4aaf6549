//! Errors of the store.

use domain::Workspace;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store did not respond, or not in time. Retrying may succeed.
    #[error("the store cannot be reached")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("there is no {noun} `{id}`")]
    Missing { noun: &'static str, id: String },
    #[error(transparent)]
    Conflict(#[from] Conflict),
    #[error("too many attempts")]
    TooManyAttempts { wait: domain::attempts::Lockout },
    #[error("another endpoint of the organization has this name")]
    EndpointNameTaken,
    /// The row was changed since it was read. Read it again and retry.
    #[error("the endpoint was changed by someone else")]
    EndpointStale,
    /// A newer leader has taken over.
    #[error("epoch {epoch} of the control plane is over")]
    NotLeader { epoch: u64 },
    #[error("another replica holds the GPU `{gpu}`")]
    GpuTaken { gpu: String },
    #[error("a request with the same key is still in progress")]
    IdempotencyInProgress,
    /// The response to COMMIT was lost: the transaction may be committed or not.
    #[error("the store's response was lost")]
    CommitUnknown(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the store has schema version {found}, this version of Forebay supports up to {known}")]
    SchemaTooNew { found: i64, known: i64 },
    /// The address itself is omitted, because it may contain a password.
    #[error("the store's address is invalid: {problem}")]
    BadAddress { problem: &'static str },
    #[error("the store has an invalid value in {place}")]
    Corrupt { place: String },
    /// The store rejected a statement that should have succeeded.
    #[error("the store failed")]
    Failed(#[source] sqlx::Error),
}

/// A record is in a state that does not allow the change, found where the row is written. `Display` is safe to show to
/// clients.
#[derive(Debug, thiserror::Error)]
pub enum Conflict {
    #[error("the workspace already has {limit} API keys, which is its limit")]
    KeyLimitReached { limit: u64 },
    #[error(
        "the organization has {existing} workspaces and deleted {deleted} this month; it may have {limit}, those together"
    )]
    WorkspaceLimitReached { limit: u64, existing: u64, deleted: u64 },
    #[error("only the operator may delete the last workspace of an organization")]
    LastWorkspace,
    #[error("the key is disabled; an administrator can enable it")]
    KeyDisabled,
    #[error("the key is revoked")]
    KeyRevoked,
    #[error("the key is expired")]
    KeyExpired,
    #[error("the workspace was changed by someone else since it was read")]
    VersionConflict { current: Box<Workspace> },
    #[error("another account has this e-mail address")]
    EmailTaken,
    #[error("the organization still has workspaces ({workspaces}); delete them first")]
    OrganizationNotEmpty { workspaces: u64 },
    #[error("the workspace still has active keys ({active_keys}); revoke them first")]
    WorkspaceInUse { active_keys: u64 },
    #[error("an organization needs at least one administrator")]
    LastAdmin,
    #[error("the workspace still has dedicated endpoints ({endpoints}); delete them first")]
    WorkspaceHasEndpoints { endpoints: u64 },
}

impl StoreError {
    /// Whether the store could not be reached, as opposed to having rejected the request.
    pub const fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    /// Whether the transaction was aborted by a serialization failure or deadlock: retrying it may succeed.
    pub fn is_contention(&self) -> bool {
        self.database_code().is_some_and(|code| ["40001", "40P01"].contains(&code.as_ref()))
    }

    /// Whether PostgreSQL's lock timeout expired.
    pub(crate) fn is_lock_timeout(&self) -> bool {
        self.database_code().is_some_and(|code| code == "55P03")
    }

    fn database_code(&self) -> Option<std::borrow::Cow<'_, str>> {
        let Self::Unavailable(cause) = self else { return None };
        cause.downcast_ref::<sqlx::Error>()?.as_database_error()?.code()
    }

    pub(crate) fn missing(noun: &'static str, id: impl Into<String>) -> Self {
        Self::Missing { noun, id: id.into() }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let is_unavailable = match &error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => true,
            sqlx::Error::Database(error) => error.code().is_some_and(|code| means_unavailable(&code)),
            _ => false,
        };
        if is_unavailable {
            return Self::Unavailable(Box::new(error));
        }
        match error {
            sqlx::Error::ColumnDecode { index, .. } => Self::Corrupt { place: index },
            other => Self::Failed(other),
        }
    }
}

/// Whether an error code of either database is transient.
///
/// PostgreSQL's codes have five characters, of which the first two are the class. SQLite's are decimal numbers, whose low
/// byte is the primary code.
fn means_unavailable(code: &str) -> bool {
    const SQLITE_TRANSIENT: [u32; 6] = [5, 6, 8, 10, 13, 14]; // busy, locked, read-only, I/O error, full, cannot open
    if code.len() == 5 {
        let class = &code[..2];
        // Connection, authorization, rollback by the server, resources, operator intervention, system error.
        return ["08", "28", "40", "53", "57", "58"].contains(&class) || ["25006", "3D000", "55P03"].contains(&code);
    }
    code.parse::<u32>().is_ok_and(|number| SQLITE_TRANSIENT.contains(&(number & 0xff)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_starting_stopping_or_busy_is_unavailable() {
        for transient in ["57P01", "57P03", "08006", "53300", "40P01", "55P03", "5", "261", "10", "14"] {
            assert!(means_unavailable(transient), "{transient}");
        }
        for permanent in ["23505", "42P01", "42601", "1", "19", "2067", "1555"] {
            assert!(!means_unavailable(permanent), "{permanent}");
        }
    }
}
