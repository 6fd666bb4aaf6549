//! Requests to the API server, each with a timeout, and a circuit breaker while it does not respond.
//!
//! Rounds of the reconciler make requests one after another. During an outage only one of them may wait for its timeout;
//! the others fail at once until the pause is over, so that replicas elsewhere are not delayed by the cluster.

use kube::Error;
use parking_lot::Mutex;
use std::future::Future;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(10);
/// How long no request is made after one without a response.
const OUTAGE_PAUSE: Duration = Duration::from_secs(5);
const NOT_FOUND: u16 = 404;

#[derive(Debug, thiserror::Error)]
pub(in crate::drivers::kubernetes) enum RequestError {
    #[error("{}", describe(.0))]
    Error(Error),
    #[error("no response within {0:?}")]
    Timeout(Duration),
    #[error("the API server did not respond a moment ago")]
    Outage,
}

impl RequestError {
    pub(in crate::drivers::kubernetes) fn is_not_found(&self) -> bool {
        matches!(self, Self::Error(Error::Api(status)) if status.code == NOT_FOUND)
    }

    /// Whether the server was not reached at all.
    const fn is_unreachable(&self) -> bool {
        matches!(self, Self::Timeout(_) | Self::Error(Error::Service(_) | Error::HyperError(_)))
    }
}

#[derive(Default)]
pub(in crate::drivers::kubernetes) struct Requests {
    outage_until: Mutex<Option<Instant>>,
}

impl Requests {
    /// Makes a request, unless the server did not respond a moment ago.
    pub(in crate::drivers::kubernetes) async fn send<T>(
        &self,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, RequestError> {
        let response = self.send_to_kubelet(TIMEOUT, request).await;
        if response.as_ref().is_err_and(RequestError::is_unreachable) {
            *self.outage_until.lock() = Some(Instant::now() + OUTAGE_PAUSE);
        }
        response
    }

    /// Makes a request that the server forwards to a kubelet: a timeout does not mean that the server is unreachable.
    pub(in crate::drivers::kubernetes) async fn send_to_kubelet<T>(
        &self,
        timeout: Duration,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, RequestError> {
        if self.in_outage() {
            return Err(RequestError::Outage);
        }
        within(timeout, request).await
    }

    pub(in crate::drivers::kubernetes) fn in_outage(&self) -> bool {
        self.outage_until.lock().is_some_and(|until| Instant::now() < until)
    }
}

/// Bounds the time of a request.
pub(in crate::drivers::kubernetes) async fn within<T>(
    timeout: Duration,
    request: impl Future<Output = Result<T, Error>>,
) -> Result<T, RequestError> {
    match tokio::time::timeout(timeout, request).await {
        Ok(response) => response.map_err(RequestError::Error),
        Err(_elapsed) => Err(RequestError::Timeout(timeout)),
    }
}

/// The server's message if it sent one, else the error with its causes.
pub(in crate::drivers::kubernetes) fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(Error::Api(status)) = error.downcast_ref::<Error>() {
        return status.message.clone();
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        text = format!("{text}: {deeper}");
        cause = deeper.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};

    fn refused() -> Error {
        Error::Service("connection refused".into())
    }

    #[tokio::test]
    async fn after_a_request_without_a_response_the_next_ones_fail_at_once() {
        let requests = Requests::default();
        assert!(requests.send(ready(Ok(1))).await.is_ok());
        assert!(requests.send(ready(Err::<(), _>(refused()))).await.is_err());
        // This one would wait for its timeout.
        assert!(matches!(requests.send(pending::<Result<(), Error>>()).await, Err(RequestError::Outage)));
        let kubelet = requests.send_to_kubelet(OUTAGE_PAUSE, pending::<Result<(), Error>>()).await;
        assert!(matches!(kubelet, Err(RequestError::Outage)));
    }

    #[tokio::test]
    async fn error_responses_and_silent_kubelets_are_not_an_outage() {
        let requests = Requests::default();
        let missing = Error::Api(Box::new(kube::core::Status { code: NOT_FOUND, ..kube::core::Status::default() }));
        assert!(requests.send(ready(Err::<(), _>(missing))).await.is_err_and(|error| error.is_not_found()));
        let timeout = Duration::from_millis(1);
        let silent = requests.send_to_kubelet(timeout, pending::<Result<(), Error>>()).await;
        assert!(matches!(silent, Err(RequestError::Timeout(_))));
        assert!(!requests.in_outage());
    }
}
