//! A hub of models on this machine that behaves like the Hugging Face hub.
//!
//! It describes repositories, and redirects files to a storage on another port that resumes downloads. Tests let it cut a
//! download off, or hold it; those of other processes by `POST /-/hold` and `POST /-/release`.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n";
/// What is sent of each file from `POST /-/hold` on.
const HOLD_AFTER: usize = 8 << 20;
/// The commit of every repository.
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A file of a repository.
#[derive(Debug, Clone)]
pub struct HubFile {
    pub name: String,
    pub content: Vec<u8>,
    /// As the hub reports it; `None` for a small file.
    pub sha256: Option<String>,
    /// The size that the hub reports; `None` for the true one.
    pub reported_bytes: Option<u64>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubRequest {
    pub path: String,
    /// The first byte that was asked for.
    pub from: Option<u64>,
    pub has_token: bool,
}

/// How the storage sends the next files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sending {
    #[default]
    Whole,
    /// The next one is cut off after this many bytes.
    CutAfter(usize),
    /// Every one stops after this many bytes and stays open.
    HoldAfter(usize),
}

#[derive(Default)]
struct State {
    repositories: BTreeMap<String, (Value, Vec<HubFile>)>,
    requests: Vec<HubRequest>,
}

struct Shared {
    state: Mutex<State>,
    sending: watch::Sender<Sending>,
    storage: SocketAddr,
}

/// A running hub; dropping it stops it.
pub struct FakeHub {
    shared: Arc<Shared>,
    address: SocketAddr,
    _serving: JoinSet<()>,
}

impl FakeHub {
    pub async fn start() -> Self {
        let free = SocketAddr::from(([127, 0, 0, 1], 0));
        let hub = TcpListener::bind(free).await.expect("a loopback port is free for the hub");
        let storage = TcpListener::bind(free).await.expect("a loopback port is free for its storage");
        let address = |listener: &TcpListener| listener.local_addr().expect("it is bound");
        let (hub_address, storage_address) = (address(&hub), address(&storage));
        let shared = Shared { state: Mutex::default(), sending: watch::Sender::default(), storage: storage_address };
        let (shared, mut serving) = (Arc::new(shared), JoinSet::new());
        for listener in [hub, storage] {
            serving.spawn(serve(listener, Arc::clone(&shared)));
        }
        Self { shared, address: hub_address, _serving: serving }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a repository. `members` are further members of its description, such as `tags`.
    pub fn add(&self, repository: &str, members: Value, files: Vec<HubFile>) {
        self.shared.state().repositories.insert(repository.to_owned(), (members, files));
    }

    pub fn set_sending(&self, sending: Sending) {
        self.shared.sending.send_replace(sending);
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<HubRequest> {
        self.shared.state().requests.clone()
    }

    /// The first bytes of all downloads so far.
    pub fn downloads(&self) -> Vec<u64> {
        let requests = self.requests().into_iter().filter(|request| request.path.starts_with("/storage/"));
        requests.map(|request| request.from.unwrap_or(0)).collect()
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        connections.spawn(async move { respond(stream, &shared).await });
    }
}

/// Serves one request and closes the connection.
async fn respond(mut stream: TcpStream, shared: &Shared) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head);
    let request = read_request(&head);
    shared.state().requests.push(request.clone());
    let (response, body) = find(shared, &request);
    let _ = stream.write_all(format!("{response}connection: close\r\n\r\n").as_bytes()).await;
    if !request.path.starts_with("/storage/") {
        let _ = stream.write_all(&body).await;
        return;
    }
    send_file(&mut stream, shared, &body).await;
}

async fn send_file(stream: &mut TcpStream, shared: &Shared, body: &[u8]) {
    let sending = *shared.sending.borrow();
    let count = match sending {
        Sending::Whole => body.len(),
        Sending::CutAfter(count) | Sending::HoldAfter(count) => count.min(body.len()),
    };
    let _ = stream.write_all(&body[..count]).await;
    match sending {
        Sending::Whole => {}
        Sending::CutAfter(_) => _ = shared.sending.send_replace(Sending::Whole),
        Sending::HoldAfter(_) => {
            let _ = stream.flush().await;
            let _ = shared.sending.subscribe().wait_for(|next| *next != sending).await;
        }
    }
}

fn read_request(head: &str) -> HubRequest {
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let lower = head.to_ascii_lowercase();
    let range = lower.split_once("range: bytes=").and_then(|(_, rest)| rest.split_once('-')).map(|(from, _)| from);
    let from = range.and_then(|from| from.parse().ok());
    HubRequest { path, from, has_token: lower.contains("\r\nauthorization: bearer ") }
}

/// The head of the response without its end, and the body.
fn find(shared: &Shared, request: &HubRequest) -> (String, Vec<u8>) {
    let state = shared.state();
    let path = request.path.split('?').next().unwrap_or_default();
    if let Some(action) = path.strip_prefix("/-/") {
        shared.sending.send_replace(if action == "hold" { Sending::HoldAfter(HOLD_AFTER) } else { Sending::Whole });
        return (ok(0), Vec::new());
    }
    let described = path.strip_prefix("/api/models/").and_then(|rest| rest.split_once("/revision/"));
    if let Some((repository, _)) = described {
        let found = state.repositories.get(repository).map(|(members, files)| describe(repository, members, files));
        return found.map_or_else(|| (NOT_FOUND.to_owned(), Vec::new()), |body| (ok(body.len()), body));
    }
    let stored = path.strip_prefix("/storage");
    let parts: Vec<&str> = stored.unwrap_or(path).splitn(6, '/').skip(1).collect();
    let [owner, name, "resolve", COMMIT | "main", file] = parts[..] else { return (NOT_FOUND.to_owned(), Vec::new()) };
    let repository = state.repositories.get(&format!("{owner}/{name}"));
    let found = repository.and_then(|(_, files)| files.iter().find(|known| known.name == file));
    let Some(found) = found else { return (NOT_FOUND.to_owned(), Vec::new()) };
    match (&found.sha256, stored) {
        (Some(sha256), None) => (redirect(shared.storage, path, sha256, found.content.len()), Vec::new()),
        (None, None) => (ok(found.content.len()), found.content.clone()),
        (_, Some(_)) => part(found, request.from),
    }
}

fn ok(length: usize) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n")
}

fn redirect(storage: SocketAddr, path: &str, sha256: &str, bytes: usize) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nlocation: http://{storage}/storage{path}?Signature=a~b\r\nx-linked-size: {bytes}\r\n\
         x-linked-etag: \"{sha256}\"\r\nx-repo-commit: {COMMIT}\r\netag: \"{sha256}\"\r\ncontent-length: 0\r\n"
    )
}

fn part(file: &HubFile, from: Option<u64>) -> (String, Vec<u8>) {
    let total = file.content.len();
    let Some(from) = from.and_then(|from| usize::try_from(from).ok()) else { return (ok(total), file.content.clone()) };
    let Some(body) = file.content.get(from..).filter(|body| !body.is_empty()) else {
        return ("HTTP/1.1 416 Range Not Satisfiable\r\ncontent-length: 0\r\n".to_owned(), Vec::new());
    };
    let (length, last) = (body.len(), total - 1);
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\ncontent-length: {length}\r\ncontent-range: bytes {from}-{last}/{total}\r\n"
    );
    (head, body.to_vec())
}

fn describe(repository: &str, members: &Value, files: &[HubFile]) -> Vec<u8> {
    let sibling = |file: &HubFile| {
        let bytes = file.reported_bytes.unwrap_or(file.content.len() as u64);
        let mut sibling = json!({"rfilename": file.name, "size": bytes});
        if let Some(sha256) = &file.sha256 {
            sibling["lfs"] = json!({"sha256": sha256, "size": bytes, "pointerSize": 134});
        }
        sibling
    };
    let siblings: Vec<Value> = files.iter().map(sibling).collect();
    let mut description =
        json!({"id": repository, "modelId": repository, "sha": COMMIT, "private": false, "gated": false});
    description["siblings"] = siblings.into();
    for (name, value) in members.as_object().into_iter().flatten() {
        description[name] = value.clone();
    }
    description.to_string().into_bytes()
}
