//! A Redis without persistence, for rate limits that are shared between nodes.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use testkit::process::{Child, Launch};

const START_TIMEOUT: Duration = Duration::from_secs(10);

/// A running Redis; dropping it kills it.
pub(crate) struct Redis {
    pub(crate) url: String,
    _child: Child,
}

impl Redis {
    /// Fails if redis-server is not installed.
    pub(crate) async fn start(core: Option<usize>, scratch: &Path) -> anyhow::Result<Self> {
        let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
        let port = address.port().to_string();
        let arguments = ["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
        let mut child = Launch::new("redis-server").core(core).arguments(arguments).start("redis", scratch)?;
        child.wait_for("connection to Redis", START_TIMEOUT, |_| TcpStream::connect(address).ok()).await?;
        Ok(Self { url: format!("redis://{address}/0"), _child: child })
    }
}
