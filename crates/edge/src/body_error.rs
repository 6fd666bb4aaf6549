//! Why a body could not be read.

use crate::memory_budget::NoMemoryError;
use http1::server::ReceiveError;
use std::time::Duration;

/// Why a body could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("the body exceeds {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("the body did not arrive within {} s", .limit.as_secs_f64())]
    TooSlow { limit: Duration },
    /// The client has nearly stopped sending.
    #[error("less than {least} bytes of the body arrived within {} s", .window.as_secs_f64())]
    Stalled { least: u64, window: Duration },
    /// Neither JSON nor a type that may contain JSON.
    #[error("unsupported Content-Type `{0}`; send application/json")]
    UnsupportedType(String),
    #[error("unsupported Content-Encoding `{0}`; send gzip or identity")]
    UnsupportedEncoding(String),
    #[error("the body is not valid gzip")]
    BadEncoding,
    #[error("the decompressed body has more than {ratio} times the size of the compressed one")]
    RatioTooHigh { ratio: u64 },
    #[error("the gzip body has more than {limit} members")]
    TooManyMembers { limit: u32 },
    /// The process has no memory left for bodies.
    #[error("the server is busy; retry")]
    ServerBusy,
    /// The organization has its share of the memory.
    #[error("the running calls of this organization use up its share of memory; retry when some have ended")]
    OrganizationBusy,
    /// The client stopped sending.
    #[error("the body ended early")]
    Incomplete,
}

impl From<NoMemoryError> for BodyError {
    fn from(error: NoMemoryError) -> Self {
        match error {
            NoMemoryError::Process => Self::ServerBusy,
            NoMemoryError::Organization => Self::OrganizationBusy,
        }
    }
}

impl From<ReceiveError> for BodyError {
    fn from(ReceiveError: ReceiveError) -> Self {
        Self::Incomplete
    }
}
