//! A Redis server per test, which can be stopped, paused and restarted.

use tempfile::TempDir;
use testkit::process::{Child, Launch};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::app::TIMEOUT;

/// Below the kernel's range of ephemeral ports.
const PORTS: std::ops::Range<u64> = 20_000..32_000;
const TRIES: usize = 20;

pub(crate) struct Redis {
    port: u64,
    child: Child,
    folder: TempDir,
}

impl Redis {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..TRIES {
            let port = PORTS.start + getrandom::u64().unwrap() % (PORTS.end - PORTS.start);
            if let Ok(child) = listen(port, &folder).await {
                return Self { port, child, folder };
            }
        }
        panic!("redis-server found no free port in {TRIES} tries");
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Kills the server; its data is lost.
    pub(crate) fn stop(&mut self) {
        self.child.kill();
    }

    pub(crate) async fn start_again(&mut self) {
        self.child = listen(self.port, &self.folder).await.unwrap();
    }

    /// Pauses the server. Commands received meanwhile are executed after [`Redis::go_on`].
    pub(crate) fn hold_up(&self) {
        self.child.signal("STOP").unwrap();
    }

    pub(crate) fn go_on(&self) {
        self.child.signal("CONT").unwrap();
    }

    /// The raw response to a command.
    pub(crate) async fn ask(&self, command: &str) -> String {
        let mut connection = TcpStream::connect(("127.0.0.1", u16::try_from(self.port).unwrap())).await.unwrap();
        connection.write_all(format!("{command}\r\nQUIT\r\n").as_bytes()).await.unwrap();
        let mut response = String::new();
        connection.read_to_string(&mut response).await.unwrap();
        response
    }

    /// The reservations that are neither settled nor expired.
    pub(crate) async fn reservations(&self) -> usize {
        self.ask("KEYS forebay:*:req_*").await.matches(":req_").count()
    }
}

async fn listen(port: u64, folder: &TempDir) -> anyhow::Result<Child> {
    let launch = Launch::new("redis-server").arguments(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
    let launch = launch.arguments(["--save", "", "--appendonly", "no"]);
    let mut child = launch.start("redis", folder.path())?;
    let ready = |child: &Child| child.stdout().contains("Ready to accept connections").then_some(());
    child.wait_for("Redis is ready", TIMEOUT, ready).await?;
    Ok(child)
}
