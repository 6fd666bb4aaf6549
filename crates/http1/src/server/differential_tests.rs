//! The same bytes to this server and to hyper's, with the same handler.
//!
//! Whatever this server serves, hyper must serve at the same position, with the same method, target and body. The other
//! direction need not hold: where a head or a chunk can be read in two ways, this server is stricter, and the table says so.

use super::tests::{Client, TestBody};
use super::*;
use Hyper::{Laxer, OtherStatus, Same};
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, DuplexStream};
use tokio::task::JoinSet;

/// A request as its handler saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenRequest {
    start: String,
    /// `None` if it did not arrive completely.
    body: Option<Vec<u8>>,
}

#[derive(Default)]
struct RequestLog(Mutex<Vec<SeenRequest>>);

impl RequestLog {
    fn begin(&self, method: &Method, target: &http::Uri) -> usize {
        let mut seen = self.0.lock();
        seen.push(SeenRequest { start: format!("{method} {target}"), body: None });
        seen.len() - 1
    }

    fn end(&self, index: usize, body: Option<Vec<u8>>) {
        self.0.lock()[index].body = body;
    }
}

/// What became of a connection.
pub(super) struct Served {
    seen: Vec<SeenRequest>,
    /// The statuses of the responses, without interim ones.
    statuses: Vec<String>,
}

impl Served {
    fn new(log: &RequestLog, output: &[u8]) -> Self {
        let output = String::from_utf8_lossy(output);
        // The handler's responses have no bodies, so every other line is a header.
        let statuses =
            output.lines().filter_map(|line| line.strip_prefix("HTTP/1.1 ").or(line.strip_prefix("HTTP/1.0 ")));
        let statuses = statuses.filter_map(|line| line.get(..3)).filter(|status| *status != "100").map(str::to_owned);
        Self { seen: log.0.lock().clone(), statuses: statuses.collect() }
    }

    /// `GET /a, POST /b "body", POST /c broken: 200 200 200`
    pub(super) fn text(&self) -> String {
        let requests = self.seen.iter().map(|request| match request.body.as_deref() {
            Some([]) => request.start.clone(),
            Some(body) => format!("{} \"{}\"", request.start, body.escape_ascii()),
            None => format!("{} broken", request.start),
        });
        format!("{}: {}", requests.collect::<Vec<_>>().join(", "), self.statuses.join(" "))
    }
}

/// Sends the pieces, closes the sending side, and reads all responses.
async fn exchange(stream: &mut DuplexStream, pieces: &[&[u8]]) -> Vec<u8> {
    for piece in pieces {
        if stream.write_all(piece).await.is_err() {
            break;
        }
        tokio::task::yield_now().await;
    }
    let _ = stream.shutdown().await;
    let mut output = Vec::new();
    stream.read_to_end(&mut output).await.unwrap();
    output
}

pub(super) async fn with_ours(pieces: &[&[u8]]) -> Served {
    let log = Arc::new(RequestLog::default());
    let handler_log = Arc::clone(&log);
    let mut client = Client::open(1 << 16, move |head: RequestHead, mut body: RequestBody| {
        let log = Arc::clone(&handler_log);
        async move {
            let index = log.begin(&head.method, &head.uri);
            let mut whole = Vec::new();
            let complete = loop {
                match body.next().await {
                    Ok(Some(piece)) => whole.extend_from_slice(&piece),
                    Ok(None) => break true,
                    Err(ReceiveError) => break false,
                }
            };
            log.end(index, complete.then_some(whole));
            Response::new(TestBody::from(""))
        }
    });
    let output = exchange(&mut client.stream, pieces).await;
    Served::new(&log, &output)
}

pub(super) async fn with_hyper(pieces: &[&[u8]]) -> Served {
    let log = Arc::new(RequestLog::default());
    let handler_log = Arc::clone(&log);
    let (mut stream, theirs) = tokio::io::duplex(1 << 16);
    let mut server = JoinSet::new();
    server.spawn(async move {
        let service = service_fn(|request: Request<Incoming>| {
            let log = Arc::clone(&handler_log);
            async move {
                let index = log.begin(request.method(), request.uri());
                let body = request.into_body().collect().await.ok().map(|body| body.to_bytes().to_vec());
                log.end(index, body);
                Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
            }
        });
        let mut builder = hyper::server::conn::http1::Builder::new();
        let connection =
            builder.half_close(true).header_read_timeout(None).serve_connection(TokioIo::new(theirs), service);
        let _ = connection.await;
    });
    let output = exchange(&mut stream, pieces).await;
    Served::new(&log, &output)
}

/// Fails if this server served anything that hyper did not, or that hyper read differently.
pub(super) fn assert_hyper_agrees(ours: &Served, hyper: &Served) {
    for (index, request) in ours.seen.iter().enumerate() {
        let theirs = hyper.seen.get(index);
        let context = || format!("ours {}\nhyper {}", ours.text(), hyper.text());
        if request.body.is_some() {
            assert_eq!(Some(request), theirs, "{}", context());
        } else {
            assert_eq!(Some(&request.start), theirs.map(|theirs| &theirs.start), "{}", context());
            assert_eq!(index, ours.seen.len() - 1, "served after a broken body: {}", context());
        }
    }
}

pub(super) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// How hyper treats a case.
enum Hyper {
    /// The same requests and statuses.
    Same,
    /// The same requests, but another status or none.
    OtherStatus,
    /// It serves more: this server is stricter on purpose, for this reason.
    Laxer(&'static str),
}

const AMBIGUOUS: &str = "a proxy in front may have used the other header";
const ONE_CODING: &str = "no other coding is implemented, and a list may be read in two ways";
const LINE_FEED: &str = "a proxy in front may not see the end of a line there";
const EMPTY_LINES: &str = "RFC 9112, section 2.2: a server should skip at least one, and more serve no client";
const NO_TOKEN: &str = "RFC 9110, section 7.6.1: options are tokens, and closing is safe";
const ONE_HOST: &str = "RFC 9112, section 3.2: a server must reject it";

const HOST: &str = "Host: h\r\n";
/// A request behind each case. If it is served, the end of the case was found.
const NEXT: &str = "GET /next HTTP/1.1\r\nHost: h\r\n\r\n";

fn get(line: &str, headers: &str) -> String {
    format!("{line}\r\n{headers}\r\n{NEXT}")
}

fn post(headers: &str, body: &str) -> String {
    format!("POST / HTTP/1.1\r\n{HOST}{headers}\r\n{body}{NEXT}")
}

fn chunked(body: &str) -> String {
    post("Transfer-Encoding: chunked\r\n", body)
}

/// Each case, whole and split at every third byte, gives what is expected, and hyper agrees.
fn check(table: &[(String, &str, Hyper)]) {
    for (text, expected, hyper) in table {
        run(async {
            let ours = with_ours(&[text.as_bytes()]).await;
            assert_eq!(ours.text(), *expected, "{text:?}");
            for cut in (0..text.len()).step_by(3) {
                let (before, after) = text.as_bytes().split_at(cut);
                assert_eq!(with_ours(&[before, after]).await.text(), *expected, "{text:?}, split at {cut}");
            }
            let theirs = with_hyper(&[text.as_bytes()]).await;
            assert_hyper_agrees(&ours, &theirs);
            match hyper {
                Same => assert_eq!(theirs.text(), *expected, "{text:?}"),
                OtherStatus => {
                    assert_eq!(theirs.seen, ours.seen, "{text:?}");
                    assert_ne!(theirs.statuses, ours.statuses, "{text:?}");
                }
                Laxer(why) => assert_ne!(theirs.seen, ours.seen, "{text:?} is not stricter any more: {why}"),
            }
        });
    }
}

const REJECTED: &str = ": 400";
const HELLO: &str = "POST / \"hello\", GET /next: 200 200";
const BROKEN: &str = "POST / broken: 200";

#[test]
fn lengths_and_codings_are_read_alike() {
    let length = |value: &str| post(&format!("Content-Length: {value}\r\n"), "hello");
    let coding = |lines: &str| post(lines, "0\r\n\r\n");
    check(&[
        (length("5"), HELLO, Same),
        (length("0005"), HELLO, Same),
        (length("5\r\nContent-Length: 5"), HELLO, Same),
        (length("5\r\nContent-Length: 6"), REJECTED, Same),
        (length("5, 5"), REJECTED, Same),
        (length("+5"), REJECTED, Same),
        (length("-5"), REJECTED, Same),
        (length("0x5"), REJECTED, Same),
        (length("5 5"), REJECTED, Same),
        (length(""), REJECTED, Same),
        (length("18446744073709551616"), REJECTED, Same),
        (length("5\r\nTransfer-Encoding: chunked"), REJECTED, Laxer(AMBIGUOUS)),
        (coding("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), REJECTED, Laxer(AMBIGUOUS)),
        (coding("TRANSFER-ENCODING:\tCHUNKED\t\r\n"), "POST /, GET /next: 200 200", Same),
        (coding("Transfer-Encoding: gzip, chunked\r\n"), REJECTED, Laxer(ONE_CODING)),
        (coding("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), REJECTED, Laxer(ONE_CODING)),
        (coding("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n"), REJECTED, Laxer(ONE_CODING)),
        (coding("Transfer-Encoding: identity\r\n"), REJECTED, Same),
        (coding("Transfer-Encoding: chunked, identity\r\n"), REJECTED, Same),
        (coding("Transfer-Encoding: xchunked\r\n"), REJECTED, Same),
        (coding("Transfer-Encoding: \"chunked\"\r\n"), REJECTED, Same),
        (coding("Transfer-Encoding: chunked;a=b\r\n"), REJECTED, Same),
        (coding("Transfer-Encoding: \x0bchunked\r\n"), REJECTED, Same),
        (coding("Transfer-Encoding: chunked\0\r\n"), REJECTED, Same),
        (coding("Transfer-Encoding : chunked\r\n"), REJECTED, Same),
        (coding("Transfer-Encoding:\r\n chunked\r\n"), REJECTED, Same),
        (format!("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{NEXT}"), REJECTED, Same),
    ]);
}

#[test]
fn header_lines_are_read_alike() {
    check(&[
        (post("X: a\r\n b\r\n", ""), REJECTED, Same),
        (get("GET / HTTP/1.1", " Host: h\r\n"), REJECTED, Same),
        (post("no colon\r\n", ""), REJECTED, Same),
        (post(": no name\r\n", ""), REJECTED, Same),
        (post("X: a\rContent-Length: 5\r\n", ""), REJECTED, Same),
        (post("X: a\0b\r\n", ""), REJECTED, Same),
        (format!("GET / HTTP/1.1\nHost: h\n\n{NEXT}"), REJECTED, Laxer(LINE_FEED)),
        (post("X: a\nContent-Length: 5\r\n", "hello"), REJECTED, Laxer(LINE_FEED)),
        (format!("GET / HTTP/1.1\r\nHost: h\r\n\n{NEXT}"), REJECTED, Laxer(LINE_FEED)),
        (post("X: \u{e9}\r\n", ""), "POST /, GET /next: 200 200", Same),
        (post(&"X: 1\r\n".repeat(101), ""), ": 431", Same),
        (get("GET / HTTP/1.1", ""), REJECTED, Laxer(ONE_HOST)),
        (get("GET / HTTP/1.1", "Host: h\r\nHost: h\r\n"), REJECTED, Laxer(ONE_HOST)),
    ]);
}

#[test]
fn chunks_are_read_alike() {
    let sized = |size: &str| chunked(&format!("{size}\r\nhello\r\n0\r\n\r\n"));
    check(&[
        (sized("5"), HELLO, Same),
        (sized("0000000000000000005"), HELLO, Same),
        (sized("5;a=b;c=\"d\""), HELLO, Same),
        (sized("5 \t"), HELLO, Same),
        (sized("5;a\nb"), BROKEN, Same),
        (sized("5;a\rb"), BROKEN, Same),
        (sized(" 5"), BROKEN, Same),
        (sized("10000000000000005"), BROKEN, Same),
        (sized("ffffffffffffffff"), BROKEN, Same),
        (sized("0x5"), BROKEN, Same),
        (sized("-5"), BROKEN, Same),
        (sized("+5"), BROKEN, Same),
        (sized("1_0"), BROKEN, Same),
        (sized(""), BROKEN, Same),
        (sized("4"), BROKEN, Same),
        (sized("6"), BROKEN, Same),
        (chunked("5\nhello\n0\n\n"), BROKEN, Same),
        (chunked("5\r\nhello\n0\r\n\r\n"), BROKEN, Same),
        (chunked("5\r\nhello\r\n0\r\n"), BROKEN, Same),
        (chunked("5\r\nhello\r\n0\r\nX: 1\r\n\r\n"), HELLO, Same),
        (chunked("5\r\nhello\r\n0\r\nContent-Length: 50\r\n\r\n"), HELLO, Same),
        (chunked("5\r\nhello\r\n0\r\nno colon\r\n\r\n"), BROKEN, Same),
        (chunked("5\r\nhello\r\n0\r\nX: \x0b1\r\n\r\n"), BROKEN, Same),
        (chunked("5\r\nhello\r\n0\r\nX: 1\n\r\n"), BROKEN, Laxer("a bare line feed may end the trailers or not")),
    ]);
}

#[test]
fn request_lines_are_read_alike() {
    check(&[
        (get("GET http://h/a HTTP/1.1", HOST), "GET http://h/a, GET /next: 200 200", Same),
        (get("OPTIONS * HTTP/1.1", HOST), "OPTIONS *, GET /next: 200 200", Same),
        // What follows CONNECT may be meant for a tunnel.
        (get("CONNECT h:443 HTTP/1.1", HOST), "CONNECT h:443: 200", Same),
        (get("GET /a#b HTTP/1.1", HOST), "GET /a, GET /next: 200 200", Same),
        (get("get / HTTP/1.1", HOST), "get /, GET /next: 200 200", Same),
        (get("GET /", ""), REJECTED, Same),
        (get("GET  / HTTP/1.1", HOST), REJECTED, Same),
        (get("GET\t/ HTTP/1.1", HOST), REJECTED, Same),
        (get("GET / HTTP/1.1 ", HOST), REJECTED, Same),
        (get("GET /a b HTTP/1.1", HOST), ": 505", OtherStatus),
        (get("GET / HTTP/1.2", HOST), ": 505", OtherStatus),
        (get("GET / http/1.1", HOST), ": 505", OtherStatus),
        (get("PRI * HTTP/2.0", ""), ": 505", OtherStatus),
    ]);
}

#[test]
fn the_next_request_is_found_alike() {
    check(&[
        (format!("{NEXT}{NEXT}{NEXT}"), "GET /next, GET /next, GET /next: 200 200 200", Same),
        (get("HEAD / HTTP/1.1", HOST), "HEAD /, GET /next: 200 200", Same),
        (format!("\r\n{NEXT}"), "GET /next: 200", Same),
        (format!("\r\n\r\n{NEXT}"), REJECTED, Laxer(EMPTY_LINES)),
        (post("Content-Length: 5\r\n", "hello\r\n"), HELLO, Same),
        (post("Content-Length: 5\r\n", "hello\0"), "POST / \"hello\": 200 400", Same),
        (post("Content-Length: 500\r\n", ""), BROKEN, Same),
        (
            format!("GET / HTTP/1.1\r\n{HOST}Content-Length: 5\r\n\r\nhello{NEXT}"),
            "GET / \"hello\", GET /next: 200 200",
            Same,
        ),
        (format!("GET / HTTP/1.1\r\n{HOST}"), ": ", Same),
        (format!("GARBAGE\r\n\r\n{NEXT}"), REJECTED, Same),
        (get("GET / HTTP/1.0", ""), "GET /: 200", Same),
        (get("GET / HTTP/1.0", "Connection: keep-alive\r\n"), "GET /, GET /next: 200 200", Same),
        (get("GET / HTTP/1.0", "Connection: keep-alive, \u{e9}\r\n"), "GET /: 200", Same),
        (get("GET / HTTP/1.1", "Host: h\r\nConnection: \u{e9}\r\n"), "GET /: 200", Laxer(NO_TOKEN)),
        (get("GET / HTTP/1.1", "Host: h\r\nConnection: close\r\n"), "GET /: 200", Same),
        (get("GET / HTTP/1.1", "Host: h\r\nConnection: keep-alive, Close\r\n"), "GET /: 200", Same),
        (post("Connection: close, Content-Length\r\nContent-Length: 5\r\n", "hello"), "POST / \"hello\": 200", Same),
        (post("Expect: 100-continue\r\nContent-Length: 5\r\n", "hello"), HELLO, Same),
        (post("Expect: 200-ok\r\nContent-Length: 5\r\n", "hello"), HELLO, Same),
        (post("Connection: Upgrade\r\nUpgrade: h2c\r\n", ""), "POST /, GET /next: 200 200", Same),
    ]);
}
