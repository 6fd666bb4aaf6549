//! HTTP/2 clients that abuse the protocol, frame by frame (RFC 9113). The gateway ends or bounds their connection, and the
//! clients of other connections notice nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tempfile::TempDir;
use testkit::fake_engine::Script;
use testkit::http::connect;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::app::{TIMEOUT, TestApp, chat, stream, wait_until};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;
const ENHANCE_YOUR_CALM: u32 = 11;

/// `:status: 200` in HPACK.
const STATUS_200: u8 = 0x88;
const METHOD_GET: u8 = 0x82;
const METHOD_POST: u8 = 0x83;
/// Streams whose client opens no window for them.
const HELD_STREAMS: u32 = 20;
/// The data of the ping after an attack: its reply shows that everything before it was handled.
const LAST_PING: &[u8; 8] = b"the last";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A header that is not added to the table of the connection. `name` is empty if `index` names it.
fn literal(index: &[u8], name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let name = if name.is_empty() { Vec::new() } else { text(name) };
    [index.to_vec(), name, text(value)].concat()
}

struct Gateway {
    app: TestApp,
    client: TlsConnector,
    _folder: TempDir,
}

impl Gateway {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = certificate(folder.path());
        config.alpn_protocols = vec![b"h2".to_vec()];
        let path = folder.path().display();
        let lines = format!("tls_cert = \"{path}/cert.pem\"\ntls_key = \"{path}/key.pem\"");
        let app = TestApp::setup().server(&lines).start().await;
        Self { app, client: TlsConnector::from(Arc::new(config)), _folder: folder }
    }

    /// A connection with these settings.
    async fn connect(&self, settings: &[u8]) -> Connection {
        let stream = connect(self.app.forebay.public).await;
        let name = ServerName::try_from("localhost").unwrap();
        let (reader, mut writer) = split(self.client.connect(name, stream).await.unwrap());
        let preface = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(SETTINGS, 0, 0, settings)].concat();
        writer.write_all(&preface).await.unwrap();
        Connection { reader, writer }
    }

    /// The headers of `GET /v1/models`.
    fn request(&self) -> Vec<u8> {
        self.headers(METHOD_GET, "/v1/models")
    }

    fn headers(&self, method: u8, path: &str) -> Vec<u8> {
        let key = format!("Bearer {}", self.app.key);
        [vec![method, 0x87], literal(&[0x01], "", "h"), literal(&[0x04], "", path), literal(&[0x0f, 0x08], "", &key)]
            .concat()
    }

    fn post_chat(&self, stream: u32, body: &Value) -> Vec<u8> {
        let content_type = literal(&[0x0f, 0x10], "", "application/json");
        let head = [self.headers(METHOD_POST, "/v1/chat/completions"), content_type].concat();
        let body = body.to_string();
        [frame(HEADERS, END_HEADERS, stream, &head), frame(DATA, END_STREAM, stream, body.as_bytes())].concat()
    }

    fn get(&self, stream: u32) -> Vec<u8> {
        frame(HEADERS, END_HEADERS | END_STREAM, stream, &self.request())
    }

    /// A client that came before, and one that comes now, are served.
    async fn assert_serves(&self, earlier: &mut Client) {
        earlier.assert_served(self).await;
        Client::connect(self).await.assert_served(self).await;
    }
}

/// Creates a certificate for `localhost`, and a client that accepts it.
fn certificate(folder: &Path) -> rustls::ClientConfig {
    let arguments =
        ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    let extensions = ["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"];
    let output = Command::new("openssl")
        .current_dir(folder)
        .args(arguments)
        .args(["-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "cert.pem"])
        .args(extensions)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("cert.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    builder.with_root_certificates(roots).with_no_client_auth()
}

struct Connection {
    reader: ReadHalf<TlsStream<TcpStream>>,
    writer: WriteHalf<TlsStream<TcpStream>>,
}

/// A frame from the gateway.
struct Received {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

async fn read_frame(reader: &mut ReadHalf<TlsStream<TcpStream>>) -> Option<Received> {
    let mut head = [0; 9];
    reader.read_exact(&mut head).await.ok()?;
    let [a, b, c, kind, flags, stream @ ..] = head;
    let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
    reader.read_exact(&mut payload).await.ok()?;
    Some(Received { kind, flags, stream: u32::from_be_bytes(stream), payload })
}

/// What the gateway did during an attack.
#[derive(Debug, Default)]
struct Reaction {
    /// The error of the frame that ends the connection.
    goaway: Option<u32>,
    /// Streams that it reset, by error.
    resets: BTreeMap<u32, usize>,
    responses: usize,
    /// It handled everything, and the connection is open.
    is_open: bool,
}

impl Reaction {
    fn add(&mut self, frame: &Received) {
        let number =
            |at: usize| frame.payload.get(at..at + 4).map(|bytes| u32::from_be_bytes(bytes.try_into().unwrap()));
        match frame.kind {
            GOAWAY => self.goaway = number(4),
            RST_STREAM => *self.resets.entry(number(0).unwrap()).or_default() += 1,
            HEADERS => self.responses += 1,
            PING => self.is_open |= frame.flags == ACK && frame.payload == LAST_PING,
            _ => {}
        }
    }
}

impl Connection {
    /// Sends the frames while reading; returns when the gateway has handled all of them or has closed the connection.
    async fn attack(self, frames: impl Iterator<Item = Vec<u8>>) -> Reaction {
        let Self { mut reader, mut writer } = self;
        let send = async {
            for frame in frames {
                if writer.write_all(&frame).await.is_err() {
                    return;
                }
            }
            let _ = writer.write_all(&frame(PING, 0, 0, LAST_PING)).await;
            let _ = writer.flush().await;
        };
        let read = async {
            let mut reaction = Reaction::default();
            while let Some(frame) = read_frame(&mut reader).await {
                reaction.add(&frame);
                if reaction.is_open {
                    break;
                }
            }
            reaction
        };
        timeout(3 * TIMEOUT, async { tokio::join!(send, read).1 }).await.expect("the gateway handles all or closes")
    }
}

/// A client that keeps to the rules.
struct Client {
    connection: Connection,
    stream: u32,
}

impl Client {
    async fn connect(gateway: &Gateway) -> Self {
        Self { connection: gateway.connect(&[]).await, stream: 1 }
    }

    async fn assert_served(&mut self, gateway: &Gateway) {
        let stream = self.stream;
        self.stream += 2;
        self.connection.writer.write_all(&gateway.get(stream)).await.unwrap();
        self.connection.writer.flush().await.unwrap();
        let response = async {
            loop {
                let frame = read_frame(&mut self.connection.reader).await.expect("the connection is open");
                if frame.kind == HEADERS && frame.stream == stream {
                    return frame.payload[0];
                }
            }
        };
        assert_eq!(timeout(TIMEOUT, response).await.expect("a response"), STATUS_200);
    }
}

/// The numbers of `count` streams of a client.
fn streams(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|index| 2 * index + 1)
}

#[tokio::test]
async fn streams_beyond_the_limit_are_refused() {
    let gateway = Gateway::start().await;
    let mut other = Client::connect(&gateway).await;
    // None of them ends, so all of them stay open.
    let unfinished = streams(1_000).map(|stream| frame(HEADERS, END_HEADERS, stream, &gateway.request()));
    let reaction = gateway.connect(&[]).await.attack(unfinished).await;
    let is_bounded = reaction.goaway.is_some() || reaction.resets.contains_key(&REFUSED_STREAM);
    assert!(is_bounded, "{reaction:?}");
    gateway.assert_serves(&mut other).await;
}

#[tokio::test]
async fn rapid_resets_end_the_connection() {
    let gateway = Gateway::start().await;
    let mut other = Client::connect(&gateway).await;
    let resets = streams(20_000)
        .map(|stream| [gateway.get(stream), frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes())].concat());
    let reaction = gateway.connect(&[]).await.attack(resets).await;
    assert_eq!((reaction.goaway, reaction.is_open), (Some(ENHANCE_YOUR_CALM), false), "{reaction:?}");
    gateway.assert_serves(&mut other).await;
}

#[tokio::test]
async fn an_endless_head_ends_the_connection() {
    let gateway = Gateway::start().await;
    let mut other = Client::connect(&gateway).await;
    let start = [frame(HEADERS, END_STREAM, 1, &gateway.request())];
    let header = literal(&[0x00], "x-filler", &"x".repeat(100));
    let more = std::iter::repeat_n(frame(CONTINUATION, 0, 1, &header), 100_000);
    let reaction = gateway.connect(&[]).await.attack(start.into_iter().chain(more)).await;
    assert!(!reaction.is_open && reaction.responses == 0, "{reaction:?}");
    gateway.assert_serves(&mut other).await;
}

#[tokio::test]
async fn a_head_that_grows_when_it_is_decompressed_is_not_served() {
    let gateway = Gateway::start().await;
    let mut other = Client::connect(&gateway).await;
    // One entry of the table, then a byte for each repetition of it.
    let entry = literal(&[0x40], "x-filler", &"x".repeat(120));
    let bomb = [gateway.request(), entry, vec![0xbe; 16_000]].concat();
    let reaction =
        gateway.connect(&[]).await.attack([frame(HEADERS, END_HEADERS | END_STREAM, 1, &bomb)].into_iter()).await;
    // 431 is the only response to it.
    assert!(reaction.responses <= 1, "{reaction:?}");
    gateway.assert_serves(&mut other).await;
    let served = || gateway.app.forebay.child.stdout().matches("\"route\":\"models\"").count();
    wait_until("lines of the two others", TIMEOUT, async || served() >= 2).await;
    assert_eq!(served(), 2, "the access log has the two others only");
}

#[tokio::test]
async fn floods_of_control_frames_do_not_slow_down_others() {
    let gateway = Gateway::start().await;
    let mut other = Client::connect(&gateway).await;
    for flood in [frame(SETTINGS, 0, 0, &[]), frame(PING, 0, 0, b"flooding"), frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])]
    {
        // The replies are not read: the gateway must stop reading rather than collect them.
        let Connection { reader, mut writer } = gateway.connect(&[]).await;
        let mut flooding = JoinSet::new();
        flooding.spawn(async move {
            for _ in 0..100_000 {
                if writer.write_all(&flood).await.is_err() {
                    break;
                }
            }
        });
        for _ in 0..10 {
            gateway.assert_serves(&mut other).await;
        }
        flooding.abort_all();
        drop(reader);
    }
}

#[tokio::test]
async fn a_client_without_a_window_gets_its_response_when_it_opens_one() {
    let gateway = Gateway::start().await;
    let mut other = Client::connect(&gateway).await;
    // SETTINGS_INITIAL_WINDOW_SIZE = 0
    let Connection { mut reader, mut writer } = gateway.connect(&[0, 4, 0, 0, 0, 0]).await;
    for stream in streams(100) {
        writer.write_all(&gateway.get(stream)).await.unwrap();
    }
    writer.flush().await.unwrap();
    let mut begun = 0;
    while begun < 100 {
        let frame = timeout(TIMEOUT, read_frame(&mut reader)).await.expect("a frame").expect("the connection is open");
        assert_ne!(frame.kind, DATA, "there is no window for it");
        begun += usize::from(frame.kind == HEADERS);
    }
    gateway.assert_serves(&mut other).await;
    writer.write_all(&frame(WINDOW_UPDATE, 0, 3, &(1_u32 << 20).to_be_bytes())).await.unwrap();
    writer.flush().await.unwrap();
    loop {
        let frame = timeout(TIMEOUT, read_frame(&mut reader)).await.expect("a frame").expect("the connection is open");
        if frame.kind == DATA {
            assert_eq!(frame.stream, 3);
            break;
        }
    }
}

/// The time that a stream waits for a window is not that of its engine: calls without a count are billed by the pace of the
/// model, for all tenants.
#[tokio::test]
async fn streams_that_are_held_back_leave_the_pace_of_their_model() {
    let gateway = Gateway::start().await;
    let engine = gateway.app.engine();
    engine.script(Script { chunks: 16, chunk_delay_ms: 20, ..Script::default() });
    // SETTINGS_INITIAL_WINDOW_SIZE = 0
    let Connection { mut reader, mut writer } = gateway.connect(&[0, 4, 0, 0, 0, 0]).await;
    let held = stream("hi");
    for number in streams(HELD_STREAMS) {
        writer.write_all(&gateway.post_chat(number, &held)).await.unwrap();
    }
    writer.flush().await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    for number in std::iter::once(0).chain(streams(HELD_STREAMS)) {
        writer.write_all(&frame(WINDOW_UPDATE, 0, number, &(1_u32 << 20).to_be_bytes())).await.unwrap();
    }
    writer.flush().await.unwrap();
    let mut ended = 0;
    while ended < HELD_STREAMS {
        let frame = timeout(TIMEOUT, read_frame(&mut reader)).await.expect("a frame").expect("the connection is open");
        ended += u32::from(frame.kind == DATA && frame.flags & END_STREAM != 0);
    }

    // A model of which nothing is known writes 20 tokens in the second after which the client leaves.
    engine.script(Script { delay_ms: 60_000, ..Script::default() });
    let (left, calls) = (2 * HELD_STREAMS + 1, HELD_STREAMS as usize + 1);
    writer.write_all(&gateway.post_chat(left, &chat("hi"))).await.unwrap();
    writer.flush().await.unwrap();
    assert!(engine.wait_for_calls(calls, TIMEOUT).await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    writer.write_all(&frame(RST_STREAM, 0, left, &CANCEL.to_be_bytes())).await.unwrap();
    writer.flush().await.unwrap();
    let event = gateway.app.usage(calls).await.remove(0);
    assert!(event.certainty.as_str() == "estimated" && event.tokens.completion >= 19, "{event:?}");
}
