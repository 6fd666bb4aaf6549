//! Requests that a proxy and the gateway might read differently, through nginx and HAProxy.
//!
//! Each case carries a second, valid call in its body or behind it. The gateway must never serve more calls than the proxy
//! has forwarded: one more would be a call that the proxy did not see.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use tempfile::TempDir;
use testkit::http::connect;
use testkit::process::{Child, Launch};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::app::{TIMEOUT, TestApp, chat};

/// A complete call that is marked with the number of its case.
fn call(app: &TestApp, case: usize) -> String {
    with_framing(app, case, &format!("Content-Length: {}\r\n", body(case).len()), &body(case))
}

fn body(case: usize) -> String {
    chat(&format!("case {case}")).to_string()
}

fn with_framing(app: &TestApp, case: usize, headers: &str, body: &str) -> String {
    let key = &app.key;
    format!(
        "POST /v1/chat/completions?case={case}& HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\n{headers}\r\n{body}"
    )
}

/// Headers about the end of a body that two readers might understand differently. `LENGTH` stands for a length.
const HEADERS: [&str; 24] = [
    "Content-Length: LENGTH\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: LENGTH\r\n",
    "Content-Length: LENGTH\r\nTransfer-Encoding : chunked\r\n",
    "Content-Length: LENGTH\r\nTransfer-Encoding:\tchunked\r\n",
    "Content-Length: LENGTH\r\nTransfer-Encoding: xchunked\r\n",
    "Content-Length: LENGTH\r\nTransfer-Encoding: chunked, identity\r\n",
    "Content-Length: LENGTH\r\nTransfer-Encoding: identity, chunked\r\n",
    "Content-Length: LENGTH\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    "Content-Length: LENGTH\r\nTransfer-Encoding: \"chunked\"\r\n",
    "Content-Length: LENGTH\r\nTransfer-Encoding: \x0bchunked\r\n",
    "Content-Length: LENGTH\r\nTransfer-Encoding: chunked\x0b\r\n",
    "Content-Length: LENGTH\r\nTransfer_Encoding: chunked\r\n",
    "Content-Length: LENGTH\r\n Transfer-Encoding: chunked\r\n",
    "Content-Length: LENGTH\r\nTransfer-Encoding:\r\n chunked\r\n",
    "Content-Length: LENGTH\r\nX: y\nTransfer-Encoding: chunked\r\n",
    "Content-Length: LENGTH\r\nX: y\rTransfer-Encoding: chunked\r\n",
    "Content-Length: LENGTH\r\nContent-Length: 0\r\n",
    "Content-Length: 0\r\nContent-Length: LENGTH\r\n",
    "Content-Length: LENGTH, 0\r\n",
    "Content-Length: +LENGTH\r\n",
    "Content-Length: 0xLENGTH\r\n",
    "Content-Length : LENGTH\r\n",
    "Connection: Content-Length\r\nContent-Length: LENGTH\r\n",
    "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n",
];

/// Chunked bodies of which one reader might see less than another. `NEXT` stands for a call.
const CHUNKED: [&str; 11] = [
    "0\r\n\r\nNEXT",
    "0\r\nX: 1\r\n\r\nNEXT",
    "0\r\nX: 1\n\r\nNEXT",
    "0\n\nNEXT",
    "0 \r\n\r\nNEXT",
    "0;x\nNEXT",
    "0;x=\"\r\n\r\nNEXT\"\r\n\r\n",
    "10000000000000000\r\n\r\nNEXT",
    "-0\r\n\r\nNEXT",
    "0x0\r\n\r\nNEXT",
    "0\r\nContent-Length: 9999\r\n\r\nNEXT",
];

/// The bytes of all cases. The first two are ordinary pipelines.
fn cases(app: &TestApp) -> Vec<Vec<u8>> {
    let mut cases: Vec<String> = Vec::new();
    for start in ["POST ", "POST http://h"] {
        let case = cases.len();
        cases.push(call(app, case).replacen("POST ", start, 1) + &call(app, case));
    }
    for headers in HEADERS {
        // The body ends before the second call for a reader of chunks, and after it for a reader of lengths.
        let case = cases.len();
        let body = format!("0\r\n\r\n{}", call(app, case));
        cases.push(with_framing(app, case, &headers.replace("LENGTH", &body.len().to_string()), &body));
        // The other way around.
        let case = cases.len();
        let next = call(app, case);
        let size = format!("{:x}\r\n", next.len());
        let body = format!("{size}{next}\r\n0\r\n\r\n");
        cases.push(with_framing(app, case, &headers.replace("LENGTH", &size.len().to_string()), &body));
    }
    for body in CHUNKED {
        let case = cases.len();
        let body = body.replace("NEXT", &call(app, case));
        cases.push(with_framing(app, case, "Transfer-Encoding: chunked\r\n", &body));
    }
    for (version, headers) in [
        ("HTTP/1.0", "Connection: keep-alive\r\nContent-Length: 0\r\n"),
        ("HTTP/1.0", "Transfer-Encoding: chunked\r\n"),
        ("HTTP/1.1", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"),
        ("HTTP/1.1", "Expect: 100-continue\r\nContent-Length: 0\r\n"),
        ("HTTP/1.1", ""),
        ("HTTP/1.2", "Content-Length: 0\r\n"),
    ] {
        let case = cases.len();
        let body = format!("0\r\n\r\n{}", call(app, case));
        cases.push(with_framing(app, case, headers, &body).replacen("HTTP/1.1", version, 1));
    }
    cases.into_iter().map(String::into_bytes).collect()
}

/// A proxy that writes a line for each request that it has forwarded.
struct Proxy {
    name: &'static str,
    address: SocketAddr,
    child: Child,
    folder: TempDir,
}

impl Proxy {
    async fn start(name: &'static str, arguments: &[&str], config: impl Fn(SocketAddr, &Path) -> String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Neither can choose a port by itself and report it, so this picks one that was just free.
        let address = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
        let path = folder.path().join("config");
        fs::write(&path, config(address, folder.path())).unwrap();
        let launch = Launch::new(format!("/usr/sbin/{name}")).arguments(arguments).arguments([&path]);
        let mut child = launch.start(name, folder.path()).unwrap();
        child.wait_for("listener", TIMEOUT, |_| TcpStream::connect(address).ok()).await.unwrap();
        Self { name, address, child, folder }
    }

    async fn nginx(forebay: SocketAddr) -> Self {
        let config = |address, folder: &Path| {
            let folder = folder.display();
            format!(
                "daemon off; worker_processes 1; user root; pid {folder}/pid; error_log stderr error;
                events {{ worker_connections 1024; }}
                http {{
                    log_format forwarded '$upstream_status $request_uri'; access_log {folder}/forwarded forwarded;
                    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
                    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
                    keepalive_timeout 1s; client_header_timeout 2s; client_body_timeout 2s; lingering_timeout 1s;
                    underscores_in_headers on;
                    upstream forebay {{ server {forebay}; keepalive 8; }}
                    server {{
                        listen {address};
                        location / {{
                            proxy_pass http://forebay; proxy_http_version 1.1; proxy_set_header Connection \"\";
                            proxy_request_buffering off;
                        }}
                    }}
                }}"
            )
        };
        Self::start("nginx", &["-c"], config).await
    }

    async fn haproxy(forebay: SocketAddr) -> Self {
        let config = |address, _: &Path| {
            format!(
                "global
                    log stdout format raw local0
                defaults
                    mode http
                    log global
                    log-format \"%s %HU\"
                    http-reuse always
                    timeout connect 10s
                    timeout server 20s
                    timeout client 2s
                    timeout http-request 2s
                    timeout http-keep-alive 1s
                listen all
                    bind {address}
                    server forebay {forebay}
"
            )
        };
        Self::start("haproxy", &["-db", "-f"], config).await
    }

    /// Stops it, and returns the targets of the requests that it has forwarded.
    async fn forwarded(mut self) -> Vec<String> {
        self.child.signal("TERM").unwrap();
        assert!(self.child.wait_for_end(TIMEOUT).await.is_some(), "{} did not end", self.name);
        let file = fs::read_to_string(self.folder.path().join("forwarded")).unwrap_or_default();
        let lines = file + &self.child.stdout();
        let lines = lines.lines().filter_map(|line| line.split_once(' '));
        let is_forwarded = |(to, _): &(&str, &str)| !matches!(*to, "-" | "<NOSRV>");
        lines.filter(is_forwarded).map(|(_, target)| target.to_owned()).collect()
    }
}

/// Sends the bytes and reads until the proxy closes the connection, which it does when the connection is idle.
async fn send(address: SocketAddr, bytes: Vec<u8>) {
    let mut stream = connect(address).await;
    let _ = stream.write_all(&bytes).await;
    let mut responses = Vec::new();
    let closed = timeout(3 * TIMEOUT, stream.read_to_end(&mut responses)).await;
    assert!(closed.is_ok(), "open after {}", String::from_utf8_lossy(&responses));
}

async fn assert_serves_no_more_than(proxy: Proxy, app: &TestApp) {
    let mut clients = JoinSet::new();
    let cases = cases(app);
    for bytes in cases.clone() {
        clients.spawn(send(proxy.address, bytes));
    }
    clients.join_all().await;
    let name = proxy.name;
    let forwarded = proxy.forwarded().await;
    let calls = app.engine().calls();
    for (case, bytes) in cases.iter().enumerate() {
        let forwarded = forwarded.iter().filter(|target| target.contains(&format!("case={case}&"))).count();
        let content = format!("case {case}");
        let served = calls.iter().filter(|call| call.json()["messages"][0]["content"] == *content).count();
        assert!(served <= forwarded, "{name} forwarded {forwarded}, {served} were served: {}", bytes.escape_ascii());
        assert!(case > 1 || served == 2, "{name} served {served} of an ordinary pipeline");
    }
}

#[tokio::test]
async fn nothing_passes_nginx_unseen() {
    let app = TestApp::start().await;
    assert_serves_no_more_than(Proxy::nginx(app.forebay.public).await, &app).await;
}

#[tokio::test]
async fn nothing_passes_haproxy_unseen() {
    let app = TestApp::start().await;
    assert_serves_no_more_than(Proxy::haproxy(app.forebay.public).await, &app).await;
}
