//! Calls to other services, with the machine's own certificates, bounds on time and size, and no redirects.

use bytes::Bytes;
use fleet::{Address, Connector};
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_ANSWER: usize = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error("the address cannot be used")]
    Address,
    #[error("no answer came in time")]
    Time,
    #[error("it cannot be reached")]
    Connect(#[source] std::io::Error),
    #[error("the exchange broke")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

pub(crate) async fn call(connector: Connector, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, Failed> {
    tokio::time::timeout(TIMEOUT, exchange(connector, request)).await.unwrap_or(Err(Failed::Time))
}

async fn exchange(connector: Connector, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, Failed> {
    let address = Address::parse(&request.uri().to_string()).map_err(|_| Failed::Address)?;
    let stream = connector.connect(&address).await.map_err(Failed::Connect)?;
    let broken = |error: hyper::Error| Failed::Broken(Box::new(error));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let (mut head, body) = request.into_parts();
    let place = head.uri.path_and_query().cloned().unwrap_or_else(|| http::uri::PathAndQuery::from_static("/"));
    head.uri = place.into();
    head.headers.insert(header::HOST, HeaderValue::from_str(&address.authority).map_err(|_| Failed::Address)?);
    let request = Request::from_parts(head, Full::new(Bytes::from(body)));
    let answered = async move {
        let (head, body) = sender.send_request(request).await.map_err(broken)?.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await.map_err(Failed::Broken)?;
        Ok(Response::from_parts(head, body.to_bytes().to_vec()))
    };
    // The connection ends once nobody can send on it any more.
    let (answer, _) = tokio::join!(answered, connection);
    answer
}
