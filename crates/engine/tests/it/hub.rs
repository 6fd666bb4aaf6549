//! Weights from a hub: a fake hub that drops connections, returns damaged files and rejects requests.

use crate::engine::{CHAT, chat_weights, content, greedy};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use testkit::http::Client;
use testkit::process::{Child, Launch};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const TIMEOUT: Duration = Duration::from_secs(120);
const FILE: &str = "/acme/tiny/resolve/main/tiny.gguf";

/// A hub with one file.
struct Hub {
    file: Vec<u8>,
    sha256: String,
    /// The first download is cut off after this many bytes.
    cut_at: usize,
    /// Start offset of each download.
    started_at: Mutex<Vec<usize>>,
}

struct RunningHub {
    hub: Arc<Hub>,
    address: SocketAddr,
    _serving: JoinSet<()>,
}

impl Hub {
    async fn start(self) -> RunningHub {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, hub) = (listener.local_addr().unwrap(), Arc::new(self));
        let (serving_hub, mut serving) = (Arc::clone(&hub), JoinSet::new());
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let hub = Arc::clone(&serving_hub);
                connections.spawn(async move { hub.respond(stream).await });
            }
        });
        RunningHub { hub, address, _serving: serving }
    }

    /// Serves one request and closes the connection.
    async fn respond(&self, mut stream: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let Ok(byte) = stream.read_u8().await else { return };
            head.push(byte);
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let range = head.split_once("range: bytes=").map(|(_, rest)| rest.split_once("\r\n").unwrap().0.to_owned());
        let path = head.split(' ').nth(1).unwrap();
        let (head, body) = match (path, range) {
            (FILE, Some(range)) => self.part(&range),
            _ => ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n".to_owned(), Vec::new()),
        };
        let head = format!("{head}Connection: close\r\n\r\n");
        let _ = stream.write_all(head.as_bytes()).await;
        let _ = stream.write_all(&body).await;
    }

    fn part(&self, range: &str) -> (String, Vec<u8>) {
        let (from, to) = range.split_once('-').unwrap();
        let from: usize = from.parse().unwrap();
        let end = to.parse().map_or(self.file.len(), |to: usize| to + 1);
        let mut body = self.file[from..end].to_vec();
        let response = format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {from}-{}/{}\r\nETag: \"{}\"\r\n\
             X-Repo-Commit: 0123456789abcdef\r\n",
            body.len(),
            end - 1,
            self.file.len(),
            self.sha256
        );
        if to.is_empty() {
            let mut started_at = self.started_at.lock().unwrap();
            started_at.push(from);
            if started_at.len() == 1 {
                body.truncate(self.cut_at);
            }
        }
        (response, body)
    }
}

fn hub(cut_at: usize) -> Hub {
    let file = fs::read(chat_weights()).unwrap();
    let sha256 = Sha256::digest(&file).iter().map(|byte| format!("{byte:02x}")).collect();
    Hub { file, sha256, cut_at, started_at: Mutex::default() }
}

/// Starts an engine with a reference and a hub.
fn start(reference: &str, hub: SocketAddr, folder: &Path) -> Child {
    let at = |name: &str| folder.join(name).display().to_string();
    let arguments =
        ["--model", reference, "--model-name", CHAT, "--listen-file", &at("listen"), "--cache-dir", &at("cache")];
    let launch = Launch::new(env!("CARGO_BIN_EXE_forebay-engine")).arguments(arguments);
    launch.environment("HF_ENDPOINT", format!("http://{hub}")).start("engine", folder).unwrap()
}

async fn first_response(child: &mut Child, folder: &Path) -> String {
    let file = folder.join("listen");
    let ready = |child: &Child| child.stderr().contains("ready").then(|| fs::read_to_string(&file).ok()).flatten();
    let address = child.wait_for("the model", TIMEOUT, |child| ready(child)).await.unwrap();
    let client = Client::from(address.trim().parse::<SocketAddr>().unwrap());
    content(&client.post_json("/v1/chat/completions", greedy("Name the capital city of Japan.", 10)).await)
}

#[tokio::test]
async fn an_interrupted_download_resumes_and_is_not_repeated() {
    let running = hub(30_000_000).start().await;
    let folder = tempfile::tempdir().unwrap();
    let mut child = start("hf://acme/tiny/tiny.gguf", running.address, folder.path());
    let response = first_response(&mut child, folder.path()).await;
    assert!(response.contains("Tokyo"), "{response}");
    let started_at = running.hub.started_at.lock().unwrap().clone();
    assert_eq!((started_at.len(), started_at[0]), (2, 0), "{started_at:?}");
    assert!(started_at[1] > 20_000_000, "{started_at:?}");
    child.kill();

    // A cached file needs no hub.
    let unreachable = SocketAddr::from(([127, 0, 0, 1], 1));
    fs::remove_file(folder.path().join("listen")).unwrap();
    let mut child = start("hf://acme/tiny/tiny.gguf", unreachable, folder.path());
    assert_eq!(first_response(&mut child, folder.path()).await, response);
}

#[tokio::test]
async fn download_errors_are_one_line_with_a_remedy() {
    let damaged = Hub { sha256: "0".repeat(64), ..hub(usize::MAX) };
    let running = damaged.start().await;
    for (reference, words) in [
        ("hf://acme/tiny/other.gguf", "does not have other.gguf; check the name"),
        ("hf://acme/tiny/tiny.gguf", "was damaged during download"),
    ] {
        let folder: TempDir = tempfile::tempdir().unwrap();
        let mut child = start(reference, running.address, folder.path());
        assert_eq!(child.wait_for_end(TIMEOUT).await.unwrap().code(), Some(1));
        let output = child.stderr();
        assert!(output.contains(words) && output.lines().count() == 1, "{output}");
    }
}
