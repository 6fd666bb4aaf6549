//! The client of the hub.
//!
//! Requests go to the configured hub only. A file may be redirected to storage: on the hub's own host, or by https to a
//! public name. The token is sent to the hub and nowhere else. Connections by https take the proxy of the environment.

use crate::proxy::ProxyRules;
use crate::reference::HubReference;
use crate::repository::Repository;
use bytes::Bytes;
use http::uri::Scheme;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http1::client::{OnceResponse, send_once};
use outbound::{Address, Connector, Stream};
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::timeout;

/// The variables that the tools of the hub read, too.
pub const HUB_VARIABLE: &str = "HF_ENDPOINT";
pub const TOKEN_VARIABLE: &str = "HF_TOKEN";
pub const DEFAULT_HUB: &str = "https://huggingface.co";

const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const DESCRIPTION_TIMEOUT: Duration = Duration::from_secs(30);
/// A download without a byte for this long is interrupted and resumed.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_DESCRIPTION_BYTES: usize = 8 << 20;
const MAX_REDIRECTS: usize = 5;
const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("forebay/", env!("CARGO_PKG_VERSION")));

/// The hub cannot be used. `Display` is for the operator.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    #[error("the hub has no such model, revision or file")]
    NotFound,
    #[error(
        "the hub requires authorization: the model does not exist, or its conditions have to be accepted on the hub and \
         HF_TOKEN be set for Forebay"
    )]
    Unauthorized,
    /// Worth another attempt.
    #[error("{0}")]
    Unavailable(String),
    #[error("{0}")]
    Unexpected(String),
}

pub struct Hub {
    connector: Connector,
    proxy: ProxyRules,
    /// Without a trailing slash.
    url: String,
    token: Option<HeaderValue>,
}

/// The content of a file.
pub struct FileBody {
    response: OnceResponse<Stream>,
    /// Where it begins; 0 if the server does not resume.
    pub starts_at: u64,
}

impl Hub {
    pub fn new(connector: Connector, proxy: ProxyRules, url: String, token: Option<&str>) -> Self {
        let bearer = |token: &str| HeaderValue::from_str(&format!("Bearer {token}")).ok();
        Self { connector, proxy, url, token: token.and_then(bearer) }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// What a repository has.
    pub async fn describe(&self, reference: &HubReference) -> Result<Repository, HubError> {
        let HubReference { repository, revision, .. } = reference;
        let mut response = self.get(&format!("/api/models/{repository}/revision/{revision}?blobs=true"), 0).await?;
        let body = timeout(DESCRIPTION_TIMEOUT, response.body(MAX_DESCRIPTION_BYTES)).await;
        let body = body.map_err(|_| HubError::Unavailable("the hub does not respond".to_owned()))?;
        let body = body.map_err(|error| HubError::Unavailable(format!("the hub's description: {error}")))?;
        let description = serde_json::from_slice(&body).ok();
        let unexpected = || HubError::Unexpected("the hub's description of the model cannot be read".to_owned());
        description.as_ref().and_then(Repository::read).ok_or_else(unexpected)
    }

    /// The content of a file from this byte on.
    pub async fn open(&self, repository: &str, commit: &str, file: &str, from: u64) -> Result<FileBody, HubError> {
        let response = self.get(&format!("/{repository}/resolve/{commit}/{file}"), from).await?;
        let starts_at = match response.status {
            StatusCode::PARTIAL_CONTENT => from,
            _ => 0,
        };
        let range = response.headers.get(header::CONTENT_RANGE).and_then(|value| value.to_str().ok());
        if starts_at > 0 && !range.is_some_and(|range| range.starts_with(&format!("bytes {from}-"))) {
            return Err(HubError::Unexpected("the storage sent another part of the file than requested".to_owned()));
        }
        Ok(FileBody { response, starts_at })
    }

    /// A response with a body, after redirects.
    async fn get(&self, target: &str, from: u64) -> Result<OnceResponse<Stream>, HubError> {
        let unusable = |_| HubError::Unexpected("the address cannot be used in a request".to_owned());
        let hub: Uri = self.url.parse().map_err(unusable)?;
        let mut uri: Uri = format!("{}{target}", self.url).parse().map_err(unusable)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = timeout(HEAD_TIMEOUT, self.send(&hub, &uri, from)).await;
            let response = response.map_err(|_| HubError::Unavailable("the hub does not respond".to_owned()))??;
            let status = response.status;
            if !status.is_redirection() {
                return check(status).map(|()| response);
            }
            let location = response.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
            let next = location.and_then(|location| redirected(&hub, &uri, location));
            uri = next.ok_or_else(|| {
                HubError::Unexpected("the hub redirects to an address that is not allowed".to_owned())
            })?;
        }
        Err(HubError::Unexpected("the hub redirects too often".to_owned()))
    }

    async fn send(&self, hub: &Uri, uri: &Uri, from: u64) -> Result<OnceResponse<Stream>, HubError> {
        let unusable = || HubError::Unexpected("the address cannot be used in a request".to_owned());
        let address = Address::parse(&uri.to_string()).map_err(|_| unusable())?;
        let host = HeaderValue::from_str(&address.authority).map_err(|_| unusable())?;
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = uri.clone();
        let headers = request.headers_mut();
        headers.insert(header::HOST, host);
        headers.insert(header::USER_AGENT, USER_AGENT);
        if from > 0 {
            let range = HeaderValue::from_str(&format!("bytes={from}-")).map_err(|_| unusable())?;
            headers.insert(header::RANGE, range);
        }
        let is_hub = (hub.scheme(), hub.authority()) == (uri.scheme(), uri.authority());
        if let Some(token) = self.token.as_ref().filter(|_| is_hub) {
            headers.insert(header::AUTHORIZATION, token.clone());
        }
        let lost = |error: std::io::Error| {
            HubError::Unavailable(format!("{} is unreachable: {}", address.host, outbound::in_words(&error)))
        };
        let stream = match self.proxy.of(&address).map_err(|error| HubError::Unexpected(error.to_string()))? {
            Some(proxy) => self.connector.connect_through(proxy, &address).await,
            None => self.connector.connect(&address).await,
        };
        let stream = stream.map_err(lost)?;
        send_once(stream, &request).await.map_err(lost)
    }
}

impl FileBody {
    /// The next bytes; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, HubError> {
        let data = timeout(STALL_TIMEOUT, self.response.data()).await;
        let data = data.map_err(|_| HubError::Unavailable("the download stalled".to_owned()))?;
        data.map_err(|error| HubError::Unavailable(format!("the download was interrupted: {error}")))
    }
}

fn check(status: StatusCode) -> Result<(), HubError> {
    match status {
        status if status.is_success() => Ok(()),
        StatusCode::NOT_FOUND => Err(HubError::NotFound),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(HubError::Unauthorized),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
            Err(HubError::Unavailable(format!("the hub responds with {status}")))
        }
        status if status.is_server_error() => Err(HubError::Unavailable(format!("the hub responds with {status}"))),
        status => Err(HubError::Unexpected(format!("the hub responds with {status}"))),
    }
}

/// The address that a redirect leads to; `None` if it is not allowed.
fn redirected(hub: &Uri, current: &Uri, location: &str) -> Option<Uri> {
    if location.starts_with('/') && !location.starts_with("//") {
        let (scheme, authority) = (current.scheme()?, current.authority()?);
        return format!("{scheme}://{authority}{location}").parse().ok();
    }
    let next: Uri = location.parse().ok()?;
    let has_credentials = next.authority()?.as_str().contains('@');
    let is_at_hub = next.host() == hub.host() && next.scheme() == hub.scheme();
    let is_public = next.scheme() == Some(&Scheme::HTTPS) && next.host().is_some_and(is_public_name);
    (!has_credentials && (is_at_hub || is_public)).then_some(next)
}

/// Whether a host is a name with a domain, and not an address or a name of this network.
fn is_public_name(host: &str) -> bool {
    const LOCAL: [&str; 5] = ["local", "localhost", "internal", "lan", "home"];
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
    let last = host.rsplit_once('.').map(|(_, last)| last);
    !is_address
        && last.is_some_and(|last| !LOCAL.contains(&last) && last.bytes().any(|byte| byte.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn the_hub_is_asked_through_the_proxy() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = ProxyRules::read(Some(&format!("http://{}", listener.local_addr().unwrap())), None);
        let hub = Hub::new(Connector::default(), proxy, "https://hub.example".to_owned(), None);
        let reference = HubReference { repository: "acme/tiny".to_owned(), revision: "main".to_owned(), file: None };
        let rejected = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").await.unwrap();
            String::from_utf8(head).unwrap()
        };
        let (described, head) = tokio::join!(hub.describe(&reference), rejected);
        assert!(head.starts_with("CONNECT hub.example:443 HTTP/1.1\r\n"), "{head}");
        let error = described.err().unwrap().to_string();
        assert_eq!(error, "hub.example is unreachable: the proxy responds with 403");
    }

    #[test]
    fn redirects_lead_to_the_hub_or_to_public_storage() {
        let at = |text: &str| text.parse::<Uri>().unwrap();
        let hub = at("https://huggingface.co");
        let current = at("https://huggingface.co/a/b/resolve/main/c");
        for (location, expected) in [
            ("/api/resolve-cache/x?y=1", Some("https://huggingface.co/api/resolve-cache/x?y=1")),
            ("https://cdn-lfs.hf.co/x?Signature=a~b", Some("https://cdn-lfs.hf.co/x?Signature=a~b")),
            ("http://cdn-lfs.hf.co/x", None),
            ("https://127.0.0.1/x", None),
            ("https://[::1]/x", None),
            ("https://169.254.169.254/latest", None),
            ("https://2130706433/x", None),
            ("https://localhost/x", None),
            ("https://metadata.google.internal/x", None),
            ("https://user@cdn.hf.co/x", None),
            ("//cdn.hf.co/x", None),
            ("file:///etc/passwd", None),
            ("x", None),
        ] {
            assert_eq!(redirected(&hub, &current, location), expected.map(at), "{location}");
        }
        let mirror = at("http://127.0.0.1:9000");
        let stored = at("http://127.0.0.1:9001/x");
        assert_eq!(redirected(&mirror, &mirror, "http://127.0.0.1:9001/x"), Some(stored));
        assert_eq!(redirected(&mirror, &mirror, "http://127.0.0.2/x"), None);
    }
}
