//! Requests to the API server, each with a bound, and a pause after one that nobody answered.
//!
//! Rounds of the reconciler wait for the answers one after another. While the server is away only one of them may take
//! its time; until the pause is over all others fail at once, so that nobody else's replicas wait for the cluster.

use kube::Error;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const ASK_TIME: Duration = Duration::from_secs(10);
/// How long a server that did not answer is left alone.
const AWAY: Duration = Duration::from_secs(5);
const NOT_FOUND: u16 = 404;

#[derive(Debug, thiserror::Error)]
pub(in crate::drivers::kubernetes) enum RequestError {
    #[error("{}", tell(.0))]
    Error(Error),
    #[error("no answer within {0:?}")]
    TooLate(Duration),
    #[error("the API server did not answer a moment ago")]
    Away,
}

impl RequestError {
    pub(in crate::drivers::kubernetes) fn is_not_found(&self) -> bool {
        matches!(self, Self::Error(Error::Api(status)) if status.code == NOT_FOUND)
    }

    /// Whether the server was not even reached.
    const fn is_silence(&self) -> bool {
        matches!(self, Self::TooLate(_) | Self::Error(Error::Service(_) | Error::HyperError(_)))
    }
}

#[derive(Default)]
pub(in crate::drivers::kubernetes) struct Requests {
    away_until: Mutex<Option<Instant>>,
}

impl Requests {
    /// Asks the server, unless it was away a moment ago.
    pub(in crate::drivers::kubernetes) async fn ask<T>(
        &self,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, RequestError> {
        let answer = self.ask_kubelet(ASK_TIME, asked).await;
        if answer.as_ref().is_err_and(RequestError::is_silence) {
            *self.away_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + AWAY);
        }
        answer
    }

    /// Asks for something that the server has to ask a node for: that the answer takes long says nothing about the server.
    pub(in crate::drivers::kubernetes) async fn ask_kubelet<T>(
        &self,
        patience: Duration,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, RequestError> {
        if self.is_away() {
            return Err(RequestError::Away);
        }
        within(patience, asked).await
    }

    pub(in crate::drivers::kubernetes) fn is_away(&self) -> bool {
        let until = *self.away_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }
}

/// A question that is not waited for longer than so.
pub(in crate::drivers::kubernetes) async fn within<T>(
    patience: Duration,
    asked: impl Future<Output = Result<T, Error>>,
) -> Result<T, RequestError> {
    match tokio::time::timeout(patience, asked).await {
        Ok(answer) => answer.map_err(RequestError::Error),
        Err(_elapsed) => Err(RequestError::TooLate(patience)),
    }
}

/// The server's own words, where it said something.
pub(in crate::drivers::kubernetes) fn tell(error: &Error) -> String {
    if let Error::Api(status) = error {
        return status.message.clone();
    }
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
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
    async fn after_one_question_that_nobody_answered_the_next_ones_fail_at_once() {
        let requests = Requests::default();
        assert!(requests.ask(ready(Ok(1))).await.is_ok());
        assert!(requests.ask(ready(Err::<(), _>(refused()))).await.is_err());
        // One that would be waited for.
        assert!(matches!(requests.ask(pending::<Result<(), Error>>()).await, Err(RequestError::Away)));
        assert!(matches!(requests.ask_kubelet(AWAY, pending::<Result<(), Error>>()).await, Err(RequestError::Away)));
    }

    #[tokio::test]
    async fn a_server_that_says_no_and_a_node_that_says_nothing_are_not_away() {
        let requests = Requests::default();
        let no = Error::Api(Box::new(kube::core::Status { code: NOT_FOUND, ..kube::core::Status::default() }));
        assert!(requests.ask(ready(Err::<(), _>(no))).await.is_err_and(|error| error.is_not_found()));
        let patience = Duration::from_millis(1);
        let silent = requests.ask_kubelet(patience, pending::<Result<(), Error>>()).await;
        assert!(matches!(silent, Err(RequestError::TooLate(_))));
        assert!(!requests.is_away());
    }
}
