//! Objects in an S3-compatible bucket, for content that would make the database large.
//!
//! Objects are small enough to be held in memory, so a request is one `PUT`, `GET` or `DELETE` with the hash of its body in
//! the signature. All of them are idempotent: one that fails for a reason that may pass is repeated up to [`ATTEMPTS`] times.

mod error;
mod location;
mod request;
mod signature;
#[cfg(test)]
mod tests;

pub use error::BucketError;
pub use location::{BucketLocation, LocationError};

use bytes::Bytes;
use domain::Timestamp;
use http1::client::{Connection, Exchange, Pool};
use outbound::{Address, Connector, Stream};
use request::Method;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How often a request is sent, and the pauses in between.
const ATTEMPTS: usize = PAUSES.len() + 1;
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
/// The longest that a request may take, all attempts together: callers renew their claims less often than that.
pub const MAX_REQUEST: Duration = Duration::from_secs(32);
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
const _: () = assert!(
    ATTEMPT_TIMEOUT.as_millis() * ATTEMPTS as u128 + PAUSES[0].as_millis() + PAUSES[1].as_millis()
        <= MAX_REQUEST.as_millis()
);
/// The most bytes of a response that is not an object.
const MAX_STATUS_BYTES: usize = 64 << 10;

/// Who signs requests. `Debug` omits the secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct BucketCredentials {
    pub key_id: String,
    pub secret: String,
    pub session_token: Option<String>,
}

impl fmt::Debug for BucketCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BucketCredentials({})", self.key_id)
    }
}

/// A bucket, and who may use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketConfig {
    pub location: BucketLocation,
    pub credentials: BucketCredentials,
}

/// A client of one bucket. Cheap to clone.
#[derive(Clone)]
pub struct Bucket(Arc<Shared>);

struct Shared {
    config: BucketConfig,
    address: Address,
    connector: Connector,
    /// Connections are kept, since each object is one request.
    pool: Arc<Pool<(), Stream>>,
    now: fn() -> Timestamp,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.config.fmt(f)
    }
}

impl Bucket {
    pub fn new(config: BucketConfig, connector: Connector, now: fn() -> Timestamp) -> Self {
        let address = config.location.address.clone();
        Self(Arc::new(Shared { config, address, connector, pool: Arc::default(), now }))
    }

    /// Stores an object, or replaces it.
    pub async fn put(&self, name: &str, content: Bytes) -> Result<(), BucketError> {
        self.send(Method::Put, name, &content, MAX_STATUS_BYTES).await.map(drop)
    }

    /// The content of an object of at most `limit` bytes.
    pub async fn get(&self, name: &str, limit: usize) -> Result<Bytes, BucketError> {
        self.send(Method::Get, name, &Bytes::new(), limit).await
    }

    /// Deletes an object. Idempotent.
    pub async fn delete(&self, name: &str) -> Result<(), BucketError> {
        match self.send(Method::Delete, name, &Bytes::new(), MAX_STATUS_BYTES).await {
            Ok(_) | Err(BucketError::Missing) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Writes, reads and deletes an object, which proves that all of this is allowed.
    pub async fn check(&self) -> Result<(), BucketError> {
        let name = format!("check-{}-{}", (self.0.now)().millis(), std::process::id());
        let content = Bytes::from_static(b"forebay");
        self.put(&name, content.clone()).await?;
        let read = self.get(&name, content.len()).await;
        self.delete(&name).await?;
        if read? == content {
            Ok(())
        } else {
            Err(BucketError::Malformed("an object has other content than was stored"))
        }
    }

    /// Closes connections that have been idle for long. To be called periodically.
    pub fn sweep(&self) {
        self.0.pool.sweep();
    }

    /// Sends a request until it succeeds, fails for good, or has failed [`ATTEMPTS`] times.
    async fn send(&self, method: Method, name: &str, body: &Bytes, limit: usize) -> Result<Bytes, BucketError> {
        let mut pauses = PAUSES.iter();
        loop {
            let attempt = tokio::time::timeout(ATTEMPT_TIMEOUT, self.attempt(method, name, body, limit));
            let result = attempt.await.unwrap_or(Err(BucketError::Timeout(ATTEMPT_TIMEOUT)));
            match (result, pauses.next()) {
                (Err(error), Some(pause)) if error.may_pass() => tokio::time::sleep(*pause).await,
                (result, _) => return result,
            }
        }
    }

    async fn attempt(&self, method: Method, name: &str, body: &Bytes, limit: usize) -> Result<Bytes, BucketError> {
        let shared = &*self.0;
        let request = request::encode(&shared.config, &shared.address, (shared.now)(), method, name, body);
        let mut connection = match shared.pool.take(&()).await {
            Some(connection) => connection,
            None => {
                let stream = shared.connector.connect(&shared.address).await.map_err(BucketError::Connection)?;
                Connection::new(stream)
            }
        };
        let sent = connection.send(&request, || {}).await;
        let head = sent.map_err(|error| BucketError::Connection(error.into()))?;
        let is_success = head.status.is_success();
        let limit = if is_success { limit } else { MAX_STATUS_BYTES };
        let mut response = Exchange::new(connection, Arc::clone(&shared.pool), ());
        let content = response.collect(limit, ATTEMPT_TIMEOUT, |_| Ok::<_, Infallible>(())).await?;
        if is_success && content.len() <= limit {
            return Ok(content);
        }
        if is_success {
            return Err(BucketError::TOO_LARGE);
        }
        Err(BucketError::of_status(head.status.as_u16(), &content))
    }
}
