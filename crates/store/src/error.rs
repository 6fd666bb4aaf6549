//! What can go wrong with what is remembered.

use domain::Workspace;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store did not answer, or not in time; the same call may succeed later.
    #[error("the store cannot be reached")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("there is no {noun} `{id}`")]
    Missing { noun: &'static str, id: String },
    #[error("the workspace already has {limit} API keys")]
    KeyLimitReached { limit: u64 },
    #[error("the key is disabled")]
    KeyDisabled,
    #[error("the key is revoked")]
    KeyRevoked,
    #[error("the key is expired")]
    KeyExpired,
    #[error("the workspace was changed by someone else")]
    VersionConflict { current: Box<Workspace> },
    #[error("another account has this e-mail address")]
    EmailTaken,
    #[error("too many attempts")]
    TooManyAttempts { wait: domain::attempts::Lockout },
    #[error("the organization would be left without an administrator")]
    LastAdmin,
    #[error("the organization still has {workspaces} workspaces")]
    OrganizationNotEmpty { workspaces: u64 },
    #[error("the workspace still has {active_keys} active keys")]
    WorkspaceInUse { active_keys: u64 },
    #[error("the workspace still has {endpoints} endpoints")]
    WorkspaceHasEndpoints { endpoints: u64 },
    #[error("another endpoint of the organization has this name")]
    EndpointNameTaken,
    /// Someone wrote the row since it was read; reading it again is all it takes.
    #[error("the endpoint was changed by someone else")]
    EndpointStale,
    /// A newer leader has taken over.
    #[error("epoch {epoch} of the control plane is over")]
    NotLeader { epoch: u64 },
    #[error("another replica holds the GPU `{gpu}`")]
    GpuTaken { gpu: String },
    #[error("a request with the same key is still being answered")]
    IdempotencyInProgress,
    /// The last word to the store was not answered: what was asked for may have been done or not.
    #[error("the store's answer was lost")]
    Unsure(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the store has schema version {found}, this program knows versions up to {known}")]
    SchemaTooNew { found: i64, known: i64 },
    /// The address itself stays out: it may carry a password.
    #[error("the store's address is not usable: {problem}")]
    BadAddress { problem: &'static str },
    #[error("the store holds something unreadable in {place}")]
    Corrupt { place: String },
    /// The store answered, and refused a statement that it should have taken.
    #[error("the store failed")]
    Failed(#[source] sqlx::Error),
}

impl StoreError {
    /// Whether the store could not be asked, as opposed to having said no.
    pub const fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    /// Whether the store broke off because two transactions stood in each other's way: doing it all again may succeed.
    pub fn is_contention(&self) -> bool {
        self.database_code().is_some_and(|code| ["40001", "40P01"].contains(&code.as_ref()))
    }

    /// Whether PostgreSQL waited for a lock as long as it was told to.
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
        let away = match &error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => true,
            sqlx::Error::Database(refusal) => refusal.code().is_some_and(|code| means_away(&code)),
            _ => false,
        };
        if away {
            return Self::Unavailable(Box::new(error));
        }
        match error {
            sqlx::Error::ColumnDecode { index, .. } => Self::Corrupt { place: index },
            other => Self::Failed(other),
        }
    }
}

/// Whether an error code of either database means "not now" rather than "not so".
///
/// PostgreSQL's codes have five characters, their first two are the class; SQLite's are decimal numbers, the low byte
/// is the primary code.
fn means_away(code: &str) -> bool {
    const SQLITE_AWAY: [u32; 6] = [5, 6, 8, 10, 13, 14]; // busy, locked, read-only, I/O error, full, cannot open
    if code.len() == 5 {
        let class = &code[..2];
        // Connection, authorisation, rollback by the server, resources, operator's intervention, system error.
        return ["08", "28", "40", "53", "57", "58"].contains(&class) || ["25006", "3D000", "55P03"].contains(&code);
    }
    code.parse::<u32>().is_ok_and(|number| SQLITE_AWAY.contains(&(number & 0xff)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_starting_stopping_or_busy_is_away() {
        for away in ["57P01", "57P03", "08006", "53300", "40P01", "55P03", "5", "261", "10", "14"] {
            assert!(means_away(away), "{away}");
        }
        for there in ["23505", "42P01", "42601", "1", "19", "2067", "1555"] {
            assert!(!means_away(there), "{there}");
        }
    }
}
