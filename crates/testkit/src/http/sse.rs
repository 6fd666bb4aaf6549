//! Server-sent events, one at a time.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use memchr::memmem;
use tokio::task::JoinSet;

/// One event without its blank line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub raw: String,
}

impl Event {
    /// The payload of the first `data:` line.
    pub fn data(&self) -> Option<&str> {
        let lines = self.raw.lines();
        lines.filter_map(|line| line.strip_prefix("data:")).map(|data| data.strip_prefix(' ').unwrap_or(data)).next()
    }

    /// The payload as JSON; null if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        self.data().and_then(|data| serde_json::from_str(data).ok()).unwrap_or(serde_json::Value::Null)
    }

    pub fn is_done(&self) -> bool {
        self.data() == Some("[DONE]")
    }
}

/// All events of a body; a rest without its blank line counts as the last one.
pub fn events_of(body: &[u8]) -> Vec<Event> {
    let mut rest = body;
    let mut events = Vec::new();
    while let Some((event, used)) = first_event(rest) {
        events.push(event);
        rest = &rest[used..];
    }
    if !rest.is_empty() {
        events.push(Event { raw: String::from_utf8_lossy(rest).into_owned() });
    }
    events
}

fn first_event(bytes: &[u8]) -> Option<(Event, usize)> {
    let plain = memmem::find(bytes, b"\n\n").map(|at| (at, at + 2));
    let with_returns = memmem::find(bytes, b"\r\n\r\n").map(|at| (at, at + 4));
    let (length, used) = [plain, with_returns].into_iter().flatten().min()?;
    Some((Event { raw: String::from_utf8_lossy(&bytes[..length]).into_owned() }, used))
}

/// An open response; dropping it closes the connection.
pub struct Stream {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Incoming,
    buffer: BytesMut,
    /// Drives the connection, and ends it when dropped.
    _connection: JoinSet<()>,
}

impl Stream {
    pub(super) fn new(response: http::Response<Incoming>, connection: JoinSet<()>) -> Self {
        let (parts, body) = response.into_parts();
        let buffer = BytesMut::new();
        Self { status: parts.status, headers: parts.headers, body, buffer, _connection: connection }
    }

    /// The next event; `None` at a clean end; an error if the connection was lost.
    pub async fn try_next_event(&mut self) -> Result<Option<Event>, hyper::Error> {
        loop {
            if let Some((event, used)) = first_event(&self.buffer) {
                let _ = self.buffer.split_to(used);
                return Ok(Some(event));
            }
            match self.next_bytes().await? {
                Some(bytes) => self.buffer.extend_from_slice(&bytes),
                None if self.buffer.is_empty() => return Ok(None),
                None => {
                    let rest = self.buffer.split();
                    return Ok(Some(Event { raw: String::from_utf8_lossy(&rest).into_owned() }));
                }
            }
        }
    }

    /// The next event; `None` at the end, clean or not.
    pub async fn next_event(&mut self) -> Option<Event> {
        self.try_next_event().await.unwrap_or(None)
    }

    /// The next bytes as they arrive.
    pub async fn next_bytes(&mut self) -> Result<Option<Bytes>, hyper::Error> {
        loop {
            match self.body.frame().await.transpose()? {
                Some(frame) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
                None => return Ok(None),
            }
        }
    }

    /// Reads to the end: the events, and whether the end was clean.
    pub async fn rest(mut self) -> (Vec<Event>, bool) {
        let mut events = Vec::new();
        loop {
            match self.try_next_event().await {
                Ok(Some(event)) => events.push(event),
                Ok(None) => return (events, true),
                Err(_) => return (events, false),
            }
        }
    }
}
