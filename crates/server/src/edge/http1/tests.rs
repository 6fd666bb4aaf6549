//! Connections with exact bytes on them.

use super::*;
use bytes::Bytes;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// A client's end of a connection, and what serves the other.
struct Client {
    stream: DuplexStream,
    server: JoinSet<()>,
    stop: watch::Sender<bool>,
}

impl Client {
    /// `room` bytes fit on the way at once.
    fn open<A, F>(room: usize, answer: A) -> Self
    where
        A: Fn(Head, Incoming) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        Self::open_for(IDLE, room, answer)
    }

    fn open_for<A, F>(idle: Duration, room: usize, answer: A) -> Self
    where
        A: Fn(Head, Incoming) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let (stream, theirs) = tokio::io::duplex(room);
        let (stop, stopping) = watch::channel(false);
        let answer = move |head, body| {
            let answering = answer(head, body);
            async { Answered::from(answering.await) }
        };
        let mut server = JoinSet::new();
        server.spawn(async move { serve(theirs, idle, stopping, answer).await });
        Self { stream, server, stop }
    }

    async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// What comes up to `end`, without dates.
    async fn until(&mut self, end: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(end) {
            text.push(char::from(self.stream.read_u8().await.unwrap_or_else(|_| panic!("no {end:?} in {text:?}"))));
        }
        without_dates(&text)
    }

    /// All that comes until the connection is closed.
    async fn all(mut self) -> String {
        let mut text = Vec::new();
        self.stream.read_to_end(&mut text).await.unwrap();
        self.server.join_next().await.unwrap().unwrap();
        without_dates(&String::from_utf8(text).unwrap())
    }
}

fn without_dates(text: &str) -> String {
    text.split_inclusive("\r\n").filter(|line| !line.starts_with("date: ")).collect()
}

/// Answers with method, path and body of what was asked.
async fn echo(head: Head, mut body: Incoming) -> Response<Body> {
    let mut text = format!("{} {} ", head.method, head.uri).into_bytes();
    let in_one_piece = head.uri.path() == "/rest";
    loop {
        let piece = if in_one_piece { body.rest().await } else { body.next().await };
        match piece {
            Ok(Some(piece)) => text.extend_from_slice(&piece),
            Ok(None) => return Response::new(Body::from(text)),
            Err(Gone) => return Response::new(Body::from("gone")),
        }
    }
}

/// Pieces of an answer without a length.
fn pieces(pieces: &'static [&'static str]) -> Response<Body> {
    let (sender, receiver) = mpsc::channel(pieces.len());
    for piece in pieces {
        sender.try_send(Ok(Bytes::from(*piece))).unwrap();
    }
    Response::new(Body::Pieces(receiver))
}

fn answer_with(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len())
}

#[tokio::test]
async fn requests_are_read_the_same_however_they_are_cut() {
    let requests = "POST /a HTTP/1.1\r\ncontent-length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\n\r\n\
        POST /rest HTTP/1.1\r\ncontent-length: 5\r\n\r\nworld\
        POST /rest HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nt: 1\r\n\r\n\
        POST /d HTTP/1.1\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
    let expected = ["POST /a hello", "GET /b ", "POST /rest world", "POST /rest hello"].map(answer_with).concat()
        + "HTTP/1.1 200 OK\r\ncontent-length: 10\r\nconnection: close\r\n\r\nPOST /d ok";
    for cut in 1..requests.len() {
        let mut client = Client::open(1 << 16, echo);
        client.send(&requests[..cut]).await;
        tokio::task::yield_now().await;
        client.send(&requests[cut..]).await;
        assert_eq!(client.all().await, expected, "cut at {cut}");
    }
}

#[tokio::test]
async fn what_comes_while_a_handler_works_is_kept() {
    for behind in ["", "POST /b HT", "POST /b HTTP/1.1\r\nconnection: close\r\ncontent-length: 5\r\n\r\nwo"] {
        let mut client = Client::open(1 << 16, async |head, body| {
            let answer = echo(head, body).await;
            tokio::time::sleep(Duration::from_millis(30)).await;
            answer
        });
        let second = "POST /b HTTP/1.1\r\nconnection: close\r\ncontent-length: 5\r\n\r\nworld";
        client.send("POST /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n").await;
        tokio::task::yield_now().await;
        client.send(&format!("5\r\nhello\r\n0\r\n\r\n{behind}")).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        client.send(&second[behind.len()..]).await;
        let last = "HTTP/1.1 200 OK\r\ncontent-length: 13\r\nconnection: close\r\n\r\nPOST /b world";
        assert_eq!(client.all().await, answer_with("POST /a hello") + last, "{behind}");
    }
}

#[tokio::test]
async fn a_head_may_come_byte_by_byte() {
    let mut client = Client::open(1, echo);
    let request = "POST /a HTTP/1.1\r\nconnection: close\r\nx-long: aaaaaaaaaaaaaaaa\r\ncontent-length: 2\r\n\r\nok";
    for byte in request.split("").filter(|byte| !byte.is_empty()) {
        client.send(byte).await;
        tokio::task::yield_now().await;
    }
    assert!(client.all().await.ends_with("POST /a ok"));
}

#[tokio::test]
async fn an_answer_that_has_no_body_has_no_length() {
    let mut client = Client::open(1 << 16, async |_, _| {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(0));
        response
    });
    client.send("DELETE / HTTP/1.1\r\nconnection: close\r\n\r\n").await;
    assert_eq!(client.all().await, "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
}

#[tokio::test]
async fn a_body_that_was_wanted_whole_can_be_passed_over() {
    let mut client = Client::open(1 << 16, async |_, mut body: Incoming| {
        let too_slow = tokio::time::timeout(Duration::from_millis(20), body.rest()).await;
        assert!(too_slow.is_err());
        let mut passed = 0;
        while let Ok(Some(piece)) = body.next().await {
            passed += piece.len();
        }
        Response::new(Body::from(passed.to_string()))
    });
    client.send("POST / HTTP/1.1\r\ncontent-length: 10\r\n\r\nabcd").await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    client.send("efghijGET").await;
    assert_eq!(client.until("\r\n\r\n10").await, answer_with("10"));
}

#[tokio::test]
async fn who_waits_to_send_is_told_to_go_on_once_somebody_reads() {
    let head = "POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n";
    let mut client = Client::open(1 << 16, echo);
    client.send(head).await;
    assert_eq!(client.until("\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("hi").await;
    assert_eq!(client.until("hi").await, answer_with("POST / hi"));

    let mut client = Client::open(1 << 16, async |_, _| Response::new(Body::from("no")));
    client.send(head).await;
    assert_eq!(client.all().await, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno");
}

#[tokio::test]
async fn an_answer_ends_as_its_reader_can_see() {
    let stream = async |_, _| pieces(&["one", "", "three"]);
    let mut client = Client::open(1 << 16, stream);
    client.send("GET / HTTP/1.1\r\n\r\n").await;
    let chunks = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n5\r\nthree\r\n0\r\n\r\n";
    assert_eq!(client.until("0\r\n\r\n").await, chunks);
    client.send("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n").await;
    assert_eq!(client.all().await, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nonethree");

    let mut client = Client::open(1 << 16, echo);
    client
        .send("GET /x HTTP/1.0\r\nconnection: keep-alive\r\n\r\nHEAD /long HTTP/1.1\r\nconnection: close\r\n\r\n")
        .await;
    let expected = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: keep-alive\r\n\r\nGET /x \
        HTTP/1.1 200 OK\r\ncontent-length: 11\r\nconnection: close\r\n\r\n";
    assert_eq!(client.all().await, expected.replace("/x         HTTP", "/x HTTP"));
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_not_ended() {
    let (sender, receiver) = mpsc::channel(1);
    let once = Mutex::new(Some(receiver));
    let mut client = Client::open(1 << 16, move |_, _| {
        let receiver = once.lock().unwrap().take().unwrap();
        std::future::ready(Response::new(Body::Pieces(receiver)))
    });
    client.send("GET / HTTP/1.1\r\n\r\n").await;
    sender.send(Ok(Bytes::from("one"))).await.unwrap();
    let begun = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n";
    assert_eq!(client.until("one\r\n").await, begun);
    sender.send(Err(io::Error::other("broken"))).await.unwrap();
    assert_eq!(client.all().await, "");
}

#[tokio::test]
async fn a_large_answer_waits_for_a_slow_reader() {
    let large = "0123456789abcdef".repeat(20_000);
    let body = large.clone();
    let mut client = Client::open(1_000, move |_, _| std::future::ready(Response::new(Body::from(body.clone()))));
    client.send("GET / HTTP/1.1\r\nconnection: close\r\n\r\n").await;
    assert!(client.all().await.ends_with(&format!("\r\n\r\n{large}")));
}

#[tokio::test]
async fn who_leaves_is_not_worked_for() {
    for request in ["GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nhe"] {
        struct Dropped(Arc<AtomicBool>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let was_dropped = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&was_dropped);
        let mut client = Client::open(1 << 16, move |_, mut body: Incoming| {
            let dropped = Dropped(Arc::clone(&noted));
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
async fn what_is_no_request_is_refused_and_nothing_behind_it_is_served() {
    for (bad, status) in [
        ("NONSENSE\r\n\r\n", "400 Bad Request"),
        ("POST / HTTP/1.1\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", "400 Bad Request"),
        ("GET / HTTP/3.0\r\n\r\n", "505 HTTP Version Not Supported"),
    ] {
        let mut client = Client::open(1 << 16, echo);
        client.send(&format!("{bad}GET /hidden HTTP/1.1\r\n\r\n")).await;
        client.stream.shutdown().await.unwrap();
        let expected = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        assert_eq!(client.all().await, expected, "{bad}");
    }
    let mut client = Client::open(1 << 16, echo);
    client.send("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5\nhello\r\nGET /hidden HTTP/1.1\r\n\r\n").await;
    client.stream.shutdown().await.unwrap();
    let refused = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\ngone";
    assert_eq!(client.all().await, refused, "chunks that are none end the connection");
}

#[tokio::test]
async fn who_asks_for_nothing_is_not_waited_for_long() {
    let mut client = Client::open_for(Duration::from_millis(30), 1 << 16, echo);
    client.send("GET / HTTP/1.1\r\n\r\n").await;
    assert_eq!(client.until("GET / ").await, answer_with("GET / "));
    assert_eq!(client.all().await, "");
    let mut client = Client::open_for(Duration::from_millis(30), 1 << 16, echo);
    client.send("GET / HTTP/1.1\r\n").await;
    assert_eq!(client.all().await, "", "half a request is no request");
}

#[tokio::test]
async fn a_node_that_stops_ends_its_connections_behind_their_answers() {
    let idle = Client::open(1 << 16, echo);
    tokio::task::yield_now().await;
    idle.stop.send_replace(true);
    assert_eq!(idle.all().await, "");

    let mut busy = Client::open(1 << 16, echo);
    busy.send("POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n").await;
    tokio::task::yield_now().await;
    busy.stop.send_replace(true);
    busy.send("hi").await;
    assert_eq!(busy.all().await, "HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nPOST / hi");
}
