//! Weights by reference: a hub of our own, which breaks off, lies and refuses as the real one may.

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

const PATIENCE: Duration = Duration::from_secs(120);
const FILE: &str = "/acme/tiny/resolve/main/tiny.gguf";

/// What the hub does with the one file that it has.
struct Hub {
    file: Vec<u8>,
    sha256: String,
    /// After so many bytes the first connection that fetches breaks off.
    breaks_at: usize,
    /// Where each fetch began.
    begun_at: Mutex<Vec<usize>>,
}

struct Running {
    hub: Arc<Hub>,
    address: SocketAddr,
    _serving: JoinSet<()>,
}

impl Hub {
    async fn start(self) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, hub) = (listener.local_addr().unwrap(), Arc::new(self));
        let (serving_hub, mut serving) = (Arc::clone(&hub), JoinSet::new());
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let hub = Arc::clone(&serving_hub);
                connections.spawn(async move { hub.answer(stream).await });
            }
        });
        Running { hub, address, _serving: serving }
    }

    /// One request, one answer, and the end of the connection.
    async fn answer(&self, mut stream: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let Ok(byte) = stream.read_u8().await else { return };
            head.push(byte);
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let range = head.split_once("range: bytes=").map(|(_, rest)| rest.split_once("\r\n").unwrap().0.to_owned());
        let path = head.split(' ').nth(1).unwrap();
        let (answer, body) = match (path, range) {
            (FILE, Some(range)) => self.part(&range),
            _ => ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n".to_owned(), Vec::new()),
        };
        let answer = format!("{answer}Connection: close\r\n\r\n");
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.write_all(&body).await;
    }

    fn part(&self, range: &str) -> (String, Vec<u8>) {
        let (from, to) = range.split_once('-').unwrap();
        let from: usize = from.parse().unwrap();
        let end = to.parse().map_or(self.file.len(), |to: usize| to + 1);
        let mut body = self.file[from..end].to_vec();
        let answer = format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {from}-{}/{}\r\nETag: \"{}\"\r\n\
             X-Repo-Commit: 0123456789abcdef\r\n",
            body.len(),
            end - 1,
            self.file.len(),
            self.sha256
        );
        if to.is_empty() {
            let mut begun_at = self.begun_at.lock().unwrap();
            begun_at.push(from);
            if begun_at.len() == 1 {
                body.truncate(self.breaks_at);
            }
        }
        (answer, body)
    }
}

fn hub(breaks_at: usize) -> Hub {
    let file = fs::read(chat_weights()).unwrap();
    let sha256 = Sha256::digest(&file).iter().map(|byte| format!("{byte:02x}")).collect();
    Hub { file, sha256, breaks_at, begun_at: Mutex::default() }
}

/// An engine that is told a reference and a hub.
fn start(reference: &str, hub: SocketAddr, folder: &Path) -> Child {
    let at = |name: &str| folder.join(name).display().to_string();
    let arguments =
        ["--model", reference, "--model-name", CHAT, "--listen-file", &at("listen"), "--cache-dir", &at("cache")];
    let launch = Launch::new(env!("CARGO_BIN_EXE_forebay-engine")).arguments(arguments);
    launch.environment("HF_ENDPOINT", format!("http://{hub}")).start("engine", folder).unwrap()
}

async fn answer_of(child: &mut Child, folder: &Path) -> String {
    let file = folder.join("listen");
    let ready = |child: &Child| child.stderr().contains("ready").then(|| fs::read_to_string(&file).ok()).flatten();
    let address = child.wait_for("the model", PATIENCE, |child| ready(child)).await.unwrap();
    let client = Client::from(address.trim().parse::<SocketAddr>().unwrap());
    content(&client.post_json("/v1/chat/completions", greedy("Name the capital city of Japan.", 10)).await)
}

#[tokio::test]
async fn a_fetch_that_broke_goes_on_where_it_was_and_is_not_repeated() {
    let running = hub(30_000_000).start().await;
    let folder = tempfile::tempdir().unwrap();
    let mut child = start("hf://acme/tiny/tiny.gguf", running.address, folder.path());
    let answer = answer_of(&mut child, folder.path()).await;
    assert!(answer.contains("Tokyo"), "{answer}");
    let begun_at = running.hub.begun_at.lock().unwrap().clone();
    assert_eq!((begun_at.len(), begun_at[0]), (2, 0), "{begun_at:?}");
    assert!(begun_at[1] > 20_000_000, "{begun_at:?}");
    child.kill();

    // Once it is there, nobody is asked.
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    fs::remove_file(folder.path().join("listen")).unwrap();
    let mut child = start("hf://acme/tiny/tiny.gguf", nobody, folder.path());
    assert_eq!(answer_of(&mut child, folder.path()).await, answer);
}

#[tokio::test]
async fn what_cannot_be_fetched_is_one_line_that_says_what_to_do() {
    let lying = Hub { sha256: "0".repeat(64), ..hub(usize::MAX) };
    let running = lying.start().await;
    for (reference, words) in [
        ("hf://acme/tiny/other.gguf", "does not have other.gguf; check the name"),
        ("hf://acme/tiny/tiny.gguf", "came damaged from the hub"),
    ] {
        let folder: TempDir = tempfile::tempdir().unwrap();
        let mut child = start(reference, running.address, folder.path());
        assert_eq!(child.wait_for_end(PATIENCE).await.unwrap().code(), Some(1));
        let told = child.stderr();
        assert!(told.contains(words) && told.lines().count() == 1, "{told}");
    }
}
