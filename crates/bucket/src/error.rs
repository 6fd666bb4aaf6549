//! Errors of requests to a bucket.

use http1::client::{CollectError, ExchangeError};
use std::convert::Infallible;
use std::io;
use std::time::Duration;

/// The most characters of an error code that are shown.
const MAX_CODE: usize = 64;
/// The code of S3 for an object that does not exist. A bucket that does not exist has the same status.
const NO_SUCH_KEY: &str = "NoSuchKey";

/// Why a request failed. `Display` is for the operator: it has no content and no credentials.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    #[error("{}", outbound::in_words(.0))]
    Connection(#[source] io::Error),
    #[error("no response within {0:?}")]
    Timeout(Duration),
    /// With the code of the error, which may be empty.
    #[error("the bucket responded with {status} {code}")]
    Status { status: u16, code: String },
    #[error("there is no such object")]
    Missing,
    #[error("{0}")]
    Malformed(&'static str),
}

impl BucketError {
    pub(crate) const TOO_LARGE: Self = Self::Malformed("a response of the bucket is too large");

    /// The error of a response, whose body is XML with a `Code`.
    pub(crate) fn of_status(status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
        let code = code.map_or("", |(code, _)| code);
        if status == 404 && code == NO_SUCH_KEY {
            return Self::Missing;
        }
        let code = code.chars().filter(char::is_ascii_alphanumeric).take(MAX_CODE).collect();
        Self::Status { status, code }
    }

    /// Whether the same request may succeed later.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Timeout(_) => true,
            // S3 has a 400 for a body that did not arrive in time.
            Self::Status { status, code } => matches!(status, 408 | 429 | 500..) || code == "RequestTimeout",
            Self::Missing | Self::Malformed(_) => false,
        }
    }
}

impl From<CollectError<Infallible>> for BucketError {
    fn from(error: CollectError<Infallible>) -> Self {
        match error {
            CollectError::Exchange(ExchangeError::Connection(error)) => Self::Connection(error),
            CollectError::Exchange(ExchangeError::Stalled(limit)) => Self::Timeout(limit),
            CollectError::TooLarge(_) => Self::TOO_LARGE,
            CollectError::NoMemory(never) => match never {},
        }
    }
}
