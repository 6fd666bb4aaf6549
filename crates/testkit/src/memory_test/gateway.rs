//! The gateway under attack: a model, an endpoint that never becomes ready, and two workspaces.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::cgroup::Cgroup;
use crate::fake_engine::{FakeEngine, Script};
use crate::http::Client;
use crate::process::{Forebay, ForebayLaunch};

/// The model of the others, and that of the attackers, which has an engine of its own.
pub(super) const MODEL: &str = "test/chat";
pub(super) const ATTACKED_MODEL: &str = "test/attacked";
/// Its replicas never start, so calls to it are held.
pub(super) const ENDPOINT: &str = "dedicated/held";

/// Where attackers and others send their calls.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) address: SocketAddr,
    pub(super) attacker: String,
    pub(super) other: String,
    /// Set if the gateway serves TLS.
    pub(super) tls: Option<Arc<rustls::ClientConfig>>,
}

pub(super) struct Gateway {
    pub(super) target: Target,
    // Before the group's folder is removed, the process must end.
    forebay: Forebay,
    _engines: [FakeEngine; 2],
    _scratch: TempDir,
}

impl Gateway {
    pub(super) async fn start(binary: &Path, group: &Cgroup, has_tls: bool) -> anyhow::Result<Self> {
        let scratch = tempfile::tempdir()?;
        let engines = [FakeEngine::start().await, FakeEngine::start().await];
        // Paced, so that what the test measures is not the speed of the engine: 80 KB per second and stream. The engine
        // renders a stream ahead, so it is not longer than what no socket buffer holds: 1 MB.
        let long = Script { chunks: 128, chunk_delay_ms: 100, text: "x".repeat(8_000), ..Script::default() };
        engines[1].script(long);
        let tls = if has_tls { Some(certificate(scratch.path())?) } else { None };
        let launcher = launcher(scratch.path(), binary, group)?;
        let config = config(&engines.each_ref().map(FakeEngine::url), has_tls.then(|| scratch.path()));
        let forebay = ForebayLaunch::default().binary(launcher).start(&config).await?;
        let admin = |line: &str| admin(binary, &forebay, line);
        let organization = text(&forebay.bootstrap()["organizationId"]);
        let workspace = admin(&format!("workspaces create --organization {organization} --name others"))?;
        let other = admin(&format!("keys create --workspace {} --name others", text(&workspace["id"])))?;
        let target = Target { address: forebay.public, attacker: forebay.api_key()?, other: text(&other["key"]), tls };
        if target.tls.is_none() {
            create_endpoint(&target).await?;
        }
        Ok(Self { target, forebay, _engines: engines, _scratch: scratch })
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.forebay.child.ended().is_some()
    }

    /// Waits until no request body takes memory and no call runs; false on timeout.
    pub(super) async fn wait_until_idle(&self, timeout: Duration) -> anyhow::Result<bool> {
        let deadline = Instant::now() + timeout;
        let free = ["forebay_body_memory_bytes 0\n".to_owned(), format!("replica=\"{ATTACKED_MODEL}#1\"}} 0\n")];
        while Instant::now() < deadline {
            let page = Client::new(self.forebay.ops).get("/metrics").await.text();
            if free.iter().all(|line| page.contains(line)) {
                return Ok(true);
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Ok(false)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A script that joins the group and becomes the gateway, so that the gateway sees the limit when it starts.
fn launcher(scratch: &Path, binary: &Path, group: &Cgroup) -> anyhow::Result<PathBuf> {
    let path = scratch.join("forebay-in-cgroup");
    let binary = fs::canonicalize(binary).with_context(|| format!("{} does not exist", binary.display()))?;
    let script =
        format!("#!/bin/sh\necho $$ > '{}' && exec '{}' \"$@\"\n", group.members().display(), binary.display());
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

fn config([engine, attacked]: &[String; 2], certificates: Option<&Path>) -> String {
    let tls = certificates.map_or_else(String::new, |folder| {
        format!("tls_cert = \"{0}/cert.pem\"\ntls_key = \"{0}/key.pem\"\n", folder.display())
    });
    format!(
        r#"[server]
listen = "127.0.0.1:0"
ops_listen = "127.0.0.1:0"
{tls}
[edge]
client_stall_timeout = "10s"

[workspace_defaults]
requests_per_minute = 100_000_000
tokens_per_minute = 1_000_000_000_000
monthly_tokens = 1_000_000_000_000_000

[allotment_defaults]
"local/cpu" = 1

[[models]]
id = "{MODEL}"
context_length = 1_000_000
input_per_1m = "1.00"
output_per_1m = "1.00"
upstreams = [ {{ url = "{engine}", model = "fake" }} ]

[[models]]
id = "{ATTACKED_MODEL}"
context_length = 1_000_000
input_per_1m = "1.00"
output_per_1m = "1.00"
upstreams = [ {{ url = "{attacked}", model = "fake" }} ]

[[models]]
id = "test/held"
context_length = 1_000_000
upstreams = [ {{ url = "http://127.0.0.1:9/v1" }} ]

[[models.flavors]]
name = "one"
gpu_type = "local/cpu"
gpu_count = 1
precision = "q4"
price_per_gpu_hour = "1.00"
argv = ["true", "{{port}}"]
"#
    )
}

async fn create_endpoint(target: &Target) -> anyhow::Result<()> {
    let client = Client::new(format!("http://{}/v1", target.address)).key(&target.attacker);
    let body = json!({"name": "held", "model": "test/held", "flavor": "one", "replicas": 1});
    let created = client.post_json("/endpoints", body).await;
    ensure!(created.status == 201, "the endpoint was not created: {}", created.text());
    Ok(())
}

fn admin(binary: &Path, forebay: &Forebay, line: &str) -> anyhow::Result<Value> {
    let mut command = Command::new(binary);
    command.arg("admin").args(line.split_whitespace()).arg("--json").arg("--config").arg(&forebay.config);
    let output = command.arg("--data-dir").arg(&forebay.data_dir).output()?;
    ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Creates a certificate for the loopback address; returns the configuration of clients that trust it.
fn certificate(folder: &Path) -> anyhow::Result<Arc<rustls::ClientConfig>> {
    let output = Command::new("openssl")
        .current_dir(folder)
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .output()
        .context("openssl is needed for the test over HTTP/2")?;
    ensure!(output.status.success(), "openssl: {}", String::from_utf8_lossy(&output.stderr));
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("cert.pem"))?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}
