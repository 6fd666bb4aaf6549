//! Connections over an in-memory stream, checked byte for byte.

use super::*;
use crate::request_head::MAX_REQUEST_HEAD;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::Body;
use http_body::{Frame, SizeHint};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Returns method, path and body of the request.
pub(super) async fn echo(head: RequestHead, mut body: RequestBody) -> Response<TestBody> {
    let mut text = format!("{} {} ", head.method, head.uri).into_bytes();
    let in_one_piece = head.uri.path() == "/rest";
    loop {
        let piece = if in_one_piece { body.rest().await } else { body.next().await };
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

#[tokio::test]
async fn requests_are_read_alike_wherever_the_input_is_split() {
    let requests = "POST /a HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\nhost: h\r\n\r\n\
        POST /rest HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\nworld\
        POST /rest HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nt: 1\r\n\r\n\
        POST /d HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
    let expected = ["POST /a hello", "GET /b ", "POST /rest world", "POST /rest hello"].map(response_with).concat()
        + "HTTP/1.1 200 OK\r\ncontent-length: 10\r\nconnection: close\r\n\r\nPOST /d ok";
    for cut in 1..requests.len() {
        let mut client = Client::open(1 << 16, echo);
        client.send(&requests[..cut]).await;
        tokio::task::yield_now().await;
        client.send(&requests[cut..]).await;
        assert_eq!(client.all().await, expected, "split at {cut}");
    }
}

#[tokio::test]
async fn input_that_arrives_while_a_handler_runs_is_kept() {
    for behind in ["", "POST /b HT", "POST /b HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: 5\r\n\r\nwo"]
    {
        let mut client = Client::open(1 << 16, async |head, body| {
            let response = echo(head, body).await;
            tokio::time::sleep(Duration::from_millis(30)).await;
            response
        });
        let second = "POST /b HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: 5\r\n\r\nworld";
        client.send("POST /a HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n").await;
        tokio::task::yield_now().await;
        client.send(&format!("5\r\nhello\r\n0\r\n\r\n{behind}")).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        client.send(&second[behind.len()..]).await;
        let last = "HTTP/1.1 200 OK\r\ncontent-length: 13\r\nconnection: close\r\n\r\nPOST /b world";
        assert_eq!(client.all().await, response_with("POST /a hello") + last, "{behind}");
    }
}

#[tokio::test]
async fn a_head_may_arrive_byte_by_byte() {
    let mut client = Client::open(1, echo);
    let request =
        "POST /a HTTP/1.1\r\nhost: h\r\nconnection: close\r\nx-long: aaaaaaaaaaaaaaaa\r\ncontent-length: 2\r\n\r\nok";
    for byte in request.split("").filter(|byte| !byte.is_empty()) {
        client.send(byte).await;
        tokio::task::yield_now().await;
    }
    assert!(client.all().await.ends_with("POST /a ok"));
}

#[tokio::test]
async fn a_response_without_a_body_has_no_length() {
    let mut client = Client::open(1 << 16, async |_, _| {
        let mut response = Response::new(TestBody::Whole(None));
        *response.status_mut() = StatusCode::NO_CONTENT;
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(0));
        response
    });
    client.send("DELETE / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").await;
    assert_eq!(client.all().await, "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
}

#[tokio::test]
async fn a_handler_may_switch_from_the_whole_body_to_pieces() {
    let mut client = Client::open(1 << 16, async |_, mut body: RequestBody| {
        let too_slow = tokio::time::timeout(Duration::from_millis(20), body.rest()).await;
        assert!(too_slow.is_err());
        let mut passed = 0;
        while let Ok(Some(piece)) = body.next().await {
            passed += piece.len();
        }
        Response::new(TestBody::from(passed.to_string()))
    });
    client.send("POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 10\r\n\r\nabcd").await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    client.send("efghijGET").await;
    assert_eq!(client.until("\r\n\r\n10").await, response_with("10"));
}

#[tokio::test]
async fn a_body_may_be_skipped() {
    let skip = async |head: RequestHead, mut body: RequestBody| {
        let mut skipped = 0;
        if head.uri.path() == "/some" {
            skipped += body.next().await.unwrap().unwrap().len();
        }
        while let Some(count) = body.skip().await.unwrap() {
            skipped += count;
        }
        assert!(body.is_over());
        Response::new(TestBody::from(skipped.to_string()))
    };
    let requests = "POST /all HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\nhello\
        POST /some HTTP/1.1\r\nhost: h\r\ncontent-length: 7\r\n\r\n, world\
        POST /all HTTP/1.1\r\nhost: h\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
    let last = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\n5";
    let expected = response_with("5") + &response_with("7") + last;
    for cut in 1..requests.len() {
        let mut client = Client::open(1 << 16, skip);
        client.send(&requests[..cut]).await;
        tokio::task::yield_now().await;
        client.send(&requests[cut..]).await;
        assert_eq!(client.all().await, expected, "split at {cut}");
    }
}

#[tokio::test]
async fn continue_is_sent_once_the_handler_reads_the_body() {
    let head = "POST / HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n";
    let mut client = Client::open(1 << 16, echo);
    client.send(head).await;
    assert_eq!(client.until("\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("hi").await;
    assert_eq!(client.until("hi").await, response_with("POST / hi"));

    let mut client = Client::open(1 << 16, async |_, _| Response::new(TestBody::from("no")));
    client.send(head).await;
    assert_eq!(client.all().await, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno");
}

#[tokio::test]
async fn the_end_of_a_response_is_visible_to_every_client() {
    let stream = async |_, _| pieces(&["one", "", "three"]);
    let mut client = Client::open(1 << 16, stream);
    client.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    let chunks = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n5\r\nthree\r\n0\r\n\r\n";
    assert_eq!(client.until("0\r\n\r\n").await, chunks);
    client.send("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n").await;
    assert_eq!(client.all().await, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nonethree");

    let mut client = Client::open(1 << 16, echo);
    client
        .send("GET /x HTTP/1.0\r\nconnection: keep-alive\r\n\r\nHEAD /long HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n")
        .await;
    let expected = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: keep-alive\r\n\r\nGET /x \
        HTTP/1.1 200 OK\r\ncontent-length: 11\r\nconnection: close\r\n\r\n";
    assert_eq!(client.all().await, expected.replace("/x         HTTP", "/x HTTP"));
}

#[tokio::test]
async fn a_response_that_fails_midway_has_no_last_chunk() {
    let (sender, receiver) = mpsc::channel(1);
    let once = Mutex::new(Some(receiver));
    let mut client = Client::open(1 << 16, move |_, _| {
        let receiver = once.lock().take().unwrap();
        std::future::ready(Response::new(TestBody::Pieces(receiver)))
    });
    client.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    sender.send(Ok(Bytes::from("one"))).await.unwrap();
    let begun = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n";
    assert_eq!(client.until("one\r\n").await, begun);
    sender.send(Err(io::Error::other("broken"))).await.unwrap();
    assert_eq!(client.all().await, "");
}

#[tokio::test]
async fn a_large_response_waits_for_a_slow_client() {
    let large = "0123456789abcdef".repeat(20_000);
    let body = large.clone();
    let mut client = Client::open(1_000, move |_, _| std::future::ready(Response::new(TestBody::from(body.clone()))));
    client.send("GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").await;
    assert!(client.all().await.ends_with(&format!("\r\n\r\n{large}")));
}

#[tokio::test]
async fn a_handler_is_dropped_when_its_client_disconnects() {
    for request in [
        "GET / HTTP/1.1\r\nhost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: h\r\n\r\nx",
        "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\nhe",
        "POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nx",
    ] {
        struct Dropped(Arc<AtomicBool>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let was_dropped = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&was_dropped);
        let mut client = Client::open(1 << 16, move |_, mut body: RequestBody| {
            let dropped = Dropped(Arc::clone(&flag));
            async move {
                let _dropped = dropped;
                while let Ok(Some(_)) = body.next().await {}
                std::future::pending().await
            }
        });
        client.send(request).await;
        tokio::task::yield_now().await;
        assert!(!was_dropped.load(Ordering::Relaxed));
        drop(client.stream);
        client.server.join_next().await.unwrap().unwrap();
        assert!(was_dropped.load(Ordering::Relaxed), "{request}");
    }
}

#[tokio::test]
async fn input_beyond_the_bound_ends_the_connection_after_the_response() {
    let (release, released) = watch::channel(false);
    let mut client = Client::open(1 << 16, move |_, _| {
        let mut released = released.clone();
        async move {
            released.wait_for(|is_released| *is_released).await.unwrap();
            Response::new(TestBody::from("done"))
        }
    });
    client.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    let next = "GET /next HTTP/1.1\r\nhost: h\r\n\r\n";
    client.send(&next.repeat(1 + 4 * MAX_REQUEST_HEAD / next.len())).await;
    release.send_replace(true);
    let last = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\ndone";
    assert_eq!(client.until("done").await, last);
    client.send(next).await;
    client.stream.shutdown().await.unwrap();
    assert_eq!(client.all().await, "", "the rest is read and discarded");
}

#[tokio::test]
async fn input_behind_the_last_request_is_read_before_the_connection_closes() {
    let mut client = Client::open(1 << 16, echo);
    client.send("GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\nGET /more HTTP/1.1\r\n").await;
    let last = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nGET / ";
    assert_eq!(client.until("GET / ").await, last);
    assert_eq!(client.stream.read(&mut [0]).await.unwrap(), 0, "the response has ended");
    client.send("a reset would have lost the response").await;
}

#[tokio::test]
async fn a_malformed_request_is_rejected_and_nothing_behind_it_is_served() {
    for (bad, status) in [
        ("GARBAGE\r\n\r\n", "400 Bad Request"),
        (
            "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "400 Bad Request",
        ),
        ("GET / HTTP/3.0\r\n\r\n", "505 HTTP Version Not Supported"),
    ] {
        let mut client = Client::open(1 << 16, echo);
        client.send(&format!("{bad}GET /hidden HTTP/1.1\r\nhost: h\r\n\r\n")).await;
        client.stream.shutdown().await.unwrap();
        assert_eq!(client.all().await, closing(status), "{bad}");
    }
    let mut client = Client::open(1 << 16, echo);
    client.send("POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n5\nhello\r\nGET /hidden HTTP/1.1\r\nhost: h\r\n\r\n").await;
    client.stream.shutdown().await.unwrap();
    let rejected = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nbroken";
    assert_eq!(client.all().await, rejected, "malformed chunks end the connection");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let limits = Limits { idle: Duration::from_millis(30), ..limits() };
    let mut client = Client::open_for(limits, 1 << 16, echo);
    client.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    assert_eq!(client.until("GET / ").await, response_with("GET / "));
    assert_eq!(client.all().await, "");
}

#[tokio::test]
async fn a_head_has_a_deadline_however_it_trickles_in() {
    let limits = Limits { head: Duration::from_millis(60), ..limits() };
    let mut client = Client::open_for(limits, 1 << 16, echo);
    client.send("GET / HTTP/1.1\r\nhost: h\r\n").await;
    let (mut reading, mut writing) = tokio::io::split(client.stream);
    let trickle = async {
        while writing.write_all(b"x: 1\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let mut sent = String::new();
    tokio::select! {
        read = reading.read_to_string(&mut sent) => assert!(read.is_ok()),
        () = trickle => panic!("closed without reading"),
    }
    assert_eq!(without_dates(&sent), closing("408 Request Timeout"));
}

#[tokio::test]
async fn incomplete_heads_share_a_budget() {
    let limits = Limits::new(Arc::new(HeadBudget::new(1_000)));
    let part = format!("GET / HTTP/1.1\r\nhost: h\r\nx: {}", "a".repeat(570));
    let mut first = Client::open_for(limits.clone(), 1 << 16, echo);
    first.send(&part).await;
    tokio::task::yield_now().await;
    let mut second = Client::open_for(limits.clone(), 1 << 16, echo);
    second.send(&part).await;
    assert_eq!(second.until("\r\n\r\n").await, closing("503 Service Unavailable"));
    let mut whole = Client::open_for(limits.clone(), 1 << 16, echo);
    whole.send(&format!("{part}\r\n\r\n")).await;
    assert_eq!(whole.until("GET / ").await, response_with("GET / "), "a head in one piece needs no budget");
    first.send("\r\n\r\n").await;
    assert_eq!(first.until("GET / ").await, response_with("GET / "));
    let mut third = Client::open_for(limits, 1 << 16, echo);
    third.send(&part).await;
    tokio::task::yield_now().await;
    third.send("\r\n\r\n").await;
    assert_eq!(third.until("GET / ").await, response_with("GET / "), "the budget was returned");
}

#[tokio::test]
async fn a_client_that_stops_reading_or_reads_a_trickle_is_cut_off() {
    let limits = Limits { stall: Duration::from_millis(100), ..limits() };
    let endless = async |_, _| Response::new(TestBody::Endless);
    let mut silent = Client::open_for(limits.clone(), 1 << 12, endless);
    silent.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    assert_eq!(silent.cutoff().await, Some(Cutoff::Stalled));

    let mut slow = Client::open_for(limits, 1 << 12, endless);
    slow.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    // What the stream holds can still be read after the end, so reading ends late.
    let trickle = async {
        while slow.stream.read_u8().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        cutoff = slow.server.join_next() => assert_eq!(cutoff.unwrap().unwrap(), Some(Cutoff::Stalled)),
        () = trickle => panic!("read to the end"),
    }
}

#[tokio::test]
async fn a_call_has_a_deadline_before_and_during_its_response() {
    let limits = Limits { call: Duration::from_millis(50), ..limits() };
    let mut waiting = Client::open_for(limits.clone(), 1 << 12, async |_, _| std::future::pending().await);
    waiting.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    assert_eq!(waiting.cutoff().await, Some(Cutoff::TimedOut));

    let (sender, receiver) = mpsc::channel(1);
    let once = Mutex::new(Some(receiver));
    let mut begun = Client::open_for(limits, 1 << 12, move |_, _| {
        let receiver = once.lock().take().unwrap();
        std::future::ready(Response::new(TestBody::Pieces(receiver)))
    });
    begun.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    sender.send(Ok(Bytes::from("one"))).await.unwrap();
    assert_eq!(begun.cutoff().await, Some(Cutoff::TimedOut));
}

#[tokio::test]
async fn pauses_of_a_handler_are_not_stalls_of_its_client() {
    let limits = Limits { stall: Duration::from_millis(20), ..limits() };
    let (sender, receiver) = mpsc::channel(1);
    let once = Mutex::new(Some(receiver));
    let mut client = Client::open_for(limits, 1 << 12, move |_, _| {
        let receiver = once.lock().take().unwrap();
        std::future::ready(Response::new(TestBody::Pieces(receiver)))
    });
    client.send("GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").await;
    for _ in 0..4 {
        sender.send(Ok(Bytes::from("piece"))).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(sender);
    assert_eq!(client.all().await.matches("piece").count(), 4);
}

#[tokio::test]
async fn a_stopping_server_closes_connections_after_their_last_response() {
    let limits = Limits { last_request: Duration::from_millis(10), ..limits() };
    let idle = Client::open_for(limits, 1 << 16, echo);
    tokio::task::yield_now().await;
    idle.stop.send_replace(true);
    assert_eq!(idle.all().await, "");

    let mut busy = Client::open(1 << 16, echo);
    busy.send("POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\n").await;
    tokio::task::yield_now().await;
    busy.stop.send_replace(true);
    busy.send("hi").await;
    assert_eq!(busy.all().await, "HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nPOST / hi");
}

#[tokio::test]
async fn a_stopping_server_serves_the_first_request_of_a_new_connection() {
    let limits = Limits { last_request: Duration::from_secs(60), ..limits() };
    let mut client = Client::open_for(limits, 1 << 16, echo);
    client.stop.send_replace(true);
    tokio::task::yield_now().await;
    client.send("GET / HTT").await;
    tokio::task::yield_now().await;
    client.send("P/1.1\r\nhost: h\r\n\r\n").await;
    assert_eq!(client.all().await, "HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nGET / ");
}

#[tokio::test]
async fn a_request_that_comes_too_late_for_a_stopping_server_is_not_answered_with_a_reset() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let (_stop, stopping) = watch::channel(true);
    let limits = Limits { last_request: Duration::ZERO, ..limits() };
    let mut server = JoinSet::new();
    server.spawn(async move { serve(stream, limits, stopping, echo, rejection).await });
    let mut text = Vec::new();
    client.read_to_end(&mut text).await.unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(server.join_next().await.unwrap().unwrap(), None);
    client.read_to_end(&mut text).await.expect("no reset");
    assert_eq!(text, b"");
}
