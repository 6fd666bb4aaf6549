//! Calls to other services, with the machine's own certificates, a timeout, a size limit, and no redirects.

use crate::{Address, Connector};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http1::client::{OnceError, send_once};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_RESPONSE_BYTES: usize = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    #[error("the address is invalid")]
    Address,
    #[error("no response within {0:?}")]
    Timeout(Duration),
    #[error("the service is unreachable")]
    Connect(#[source] std::io::Error),
    #[error("the exchange failed")]
    Exchange(#[from] OnceError),
}

/// Sends a request to the host that its URI names, on a connection of its own.
pub async fn call(connector: Connector, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, OutboundError> {
    let address = Address::parse(&request.uri().to_string()).map_err(|_| OutboundError::Address)?;
    call_at(&address, TIMEOUT, &connector, request).await
}

/// Sends a request on a connection of its own. Connects to `address`, whatever host the URI names.
pub async fn call_at(
    address: &Address,
    timeout: Duration,
    connector: &Connector,
    request: Request<Vec<u8>>,
) -> Result<Response<Vec<u8>>, OutboundError> {
    let response = tokio::time::timeout(timeout, exchange(address, connector, request)).await;
    response.unwrap_or(Err(OutboundError::Timeout(timeout)))
}

async fn exchange(
    address: &Address,
    connector: &Connector,
    request: Request<Vec<u8>>,
) -> Result<Response<Vec<u8>>, OutboundError> {
    let host = HeaderValue::from_str(&address.authority).map_err(|_| OutboundError::Address)?;
    let mut request = request.map(Bytes::from);
    request.headers_mut().insert(header::HOST, host);
    let stream = connector.connect(address).await.map_err(OutboundError::Connect)?;
    let mut received = send_once(stream, &request).await.map_err(OnceError::from)?;
    let mut response = Response::new(received.body(MAX_RESPONSE_BYTES).await?.to_vec());
    *response.status_mut() = received.status;
    *response.headers_mut() = received.headers;
    Ok(response)
}

/// Why a connection failed, in words for people: `the connection was refused`.
pub fn in_words(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    let text = error.to_string();
    match error.kind() {
        ErrorKind::ConnectionRefused => "the connection was refused".to_owned(),
        ErrorKind::TimedOut => "it does not respond in time".to_owned(),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => "there is no route to it".to_owned(),
        _ if text.contains("lookup address") => "its name cannot be resolved".to_owned(),
        _ => text.split(" (os error").next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;
    use std::io::{Error, ErrorKind};

    #[test]
    fn failed_connections_are_described_without_the_numbers_of_the_system() {
        assert_eq!(in_words(&Error::from_raw_os_error(111)), "the connection was refused");
        assert_eq!(in_words(&Error::from_raw_os_error(104)), "Connection reset by peer");
        let lookup = Error::other("failed to lookup address information: Name or service not known");
        assert_eq!(in_words(&lookup), "its name cannot be resolved");
        assert_eq!(in_words(&Error::new(ErrorKind::TimedOut, "x")), "it does not respond in time");
    }
}
