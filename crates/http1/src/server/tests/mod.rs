//! Connections over an in-memory stream, checked byte for byte.

mod bounds;
mod requests;
mod responses;
mod stopping;

use super::*;
use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// A response body of known length, in pieces, or without an end.
pub(super) enum TestBody {
    Whole(Option<Bytes>),
    Endless,
    Pieces(mpsc::Receiver<io::Result<Bytes>>),
}

impl<T: Into<Bytes>> From<T> for TestBody {
    fn from(bytes: T) -> Self {
        Self::Whole(Some(bytes.into()))
    }
}

impl Body for TestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Endless => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 4_096]))))),
            Self::Pieces(pieces) => pieces.poll_recv(cx).map(|piece| piece.map(|bytes| bytes.map(Frame::data))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Endless | Self::Pieces(_) => SizeHint::default(),
        }
    }
}

/// The client's end of a connection, and the task that serves the other end.
pub(super) struct Client {
    pub(super) stream: DuplexStream,
    server: JoinSet<Option<Cutoff>>,
    stop: watch::Sender<bool>,
}

impl Client {
    /// At most `room` bytes are in flight in each direction.
    pub(super) fn open<A, F>(room: usize, handler: A) -> Self
    where
        A: Fn(RequestHead, RequestBody) -> F + Send + Sync + 'static,
        F: Future<Output = Response<TestBody>> + Send + 'static,
    {
        Self::open_for(limits(), room, handler)
    }

    fn open_for<A, F>(limits: Limits, room: usize, handler: A) -> Self
    where
        A: Fn(RequestHead, RequestBody) -> F + Send + Sync + 'static,
        F: Future<Output = Response<TestBody>> + Send + 'static,
    {
        let (stream, theirs) = tokio::io::duplex(room);
        let (stop, stopping) = watch::channel(false);
        let mut server = JoinSet::new();
        server.spawn(async move { serve(theirs, limits, stopping, handler, rejection).await });
        Self { stream, server, stop }
    }

    async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads up to `end`; dates are removed.
    async fn until(&mut self, end: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(end) {
            text.push(char::from(self.stream.read_u8().await.unwrap_or_else(|_| panic!("no {end:?} in {text:?}"))));
        }
        without_dates(&text)
    }

    /// Waits for the server to end the connection.
    async fn cutoff(&mut self) -> Option<Cutoff> {
        self.server.join_next().await.unwrap().unwrap()
    }

    /// Reads until the connection is closed.
    pub(super) async fn all(mut self) -> String {
        let mut text = Vec::new();
        self.stream.read_to_end(&mut text).await.unwrap();
        self.server.join_next().await.unwrap().unwrap();
        without_dates(&String::from_utf8_lossy(&text))
    }
}

fn limits() -> Limits {
    Limits::new(Arc::new(HeadBudget::new(1 << 20)))
}

fn rejection(error: RequestHeadError) -> Response<TestBody> {
    let mut response = Response::new(TestBody::Whole(None));
    *response.status_mut() = error.status();
    response
}

/// The last response of a connection, without a body.
fn closing(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

fn without_dates(text: &str) -> String {
    text.split_inclusive("\r\n").filter(|line| !line.starts_with("date: ")).collect()
}

/// A response whose body is sent by the test, once.
fn response_of(receiver: mpsc::Receiver<io::Result<Bytes>>) -> impl Fn() -> Response<TestBody> {
    let once = Mutex::new(Some(receiver));
    move || Response::new(TestBody::Pieces(once.lock().take().expect("one request")))
}

/// Returns method, path and body of the request.
pub(super) async fn echo(head: RequestHead, mut body: RequestBody) -> Response<TestBody> {
    let mut text = format!("{} {} ", head.method, head.uri).into_bytes();
    let in_one_piece = head.uri.path() == "/rest";
    loop {
        let piece = match in_one_piece {
            true => body.rest(usize::MAX).await.map(|rest| match rest {
                BodyRest::Piece(piece) => Some(piece),
                BodyRest::End => None,
                BodyRest::Part => panic!("there is room for all of it"),
            }),
            false => body.next().await,
        };
        match piece {
            Ok(Some(piece)) => text.extend_from_slice(&piece),
            Ok(None) => return Response::new(TestBody::from(text)),
            Err(ReceiveError) => return Response::new(TestBody::from("broken")),
        }
    }
}

/// A response without a length.
fn pieces(pieces: &'static [&'static str]) -> Response<TestBody> {
    let (sender, receiver) = mpsc::channel(pieces.len());
    for piece in pieces {
        sender.try_send(Ok(Bytes::from(*piece))).unwrap();
    }
    Response::new(TestBody::Pieces(receiver))
}

fn response_with(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len())
}
