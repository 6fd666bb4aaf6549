//! nginx as a plain reverse proxy: one worker, keep-alive connections, no buffering, no log.
//!
//! Large prompts are sent with `proxy_request_buffering off`: with buffering, nginx writes them to a file or maps new
//! memory for each, and would be an easier baseline. With a body buffer of 64 KiB its cost per large prompt varies least.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use testkit::process::{Child, Launch};

use crate::proxy_bench::setup::process_stat;

pub(crate) const PROGRAM: &str = "/usr/sbin/nginx";

pub(crate) struct Nginx {
    pub(crate) address: SocketAddr,
    /// Master and worker.
    pub(crate) pids: Vec<u32>,
    child: Child,
}

impl Nginx {
    pub(crate) async fn start(
        engine: SocketAddr,
        core: Option<usize>,
        extra: &str,
        scratch: &Path,
    ) -> anyhow::Result<Self> {
        let folder = scratch.join("nginx");
        fs::create_dir_all(&folder)?;
        let address = free_address()?;
        let config = folder.join("nginx.conf");
        fs::write(&config, configuration(address, engine, extra, &folder))?;
        let launch = Launch::new(PROGRAM).core(core);
        let launch = launch.arguments(["-p".as_ref(), folder.as_os_str(), "-c".as_ref(), config.as_os_str()]);
        let mut child = launch.start("nginx", scratch)?;
        let listens = |_: &Child| TcpStream::connect(address).ok();
        child.wait_for("response from nginx", Duration::from_secs(10), listens).await?;
        // It listens before its worker has started.
        let worker = |nginx: &Child| process_stat::children(nginx.pid()).ok().filter(|pids| !pids.is_empty());
        let mut pids = child.wait_for("worker of nginx", Duration::from_secs(10), worker).await?;
        pids.push(child.pid());
        Ok(Self { address, pids, child })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // SIGKILL would leave the worker behind; SIGTERM stops both.
        if self.child.signal("TERM").is_ok() {
            self.child.wait();
        }
    }
}

/// nginx does not support port 0, so this picks a port that was just free.
fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

fn configuration(listen: SocketAddr, engine: SocketAddr, extra: &str, folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "daemon off;
worker_processes 1;
worker_rlimit_nofile 8192;
user root;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000000;
    client_max_body_size 64m;
    client_body_buffer_size 64k;
    upstream engine {{
        server {engine};
        keepalive 256;
        keepalive_requests 1000000000;
    }}
    server {{
        listen {listen} backlog=4096;
        location / {{
            proxy_pass http://engine;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_buffering off;
            proxy_request_buffering off;
            proxy_read_timeout 600s;
            {extra}
        }}
    }}
}}
"
    )
}
