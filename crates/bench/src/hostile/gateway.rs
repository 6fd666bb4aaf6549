//! The gateway under attack: two models, an endpoint that never becomes ready, and two organizations.

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
use testkit::fake_engine::{FakeEngine, Script};
use testkit::gateway_config::{GatewayConfig, upstreams};
use testkit::http::Client;
use testkit::process::{Forebay, ForebayLaunch};

use super::host;

/// The model of the others, and that of the attackers, which has an engine of its own.
pub(crate) const MODEL: &str = "test/chat";
pub(crate) const ATTACKED_MODEL: &str = "test/attacked";
/// At the engine of the attackers, with a context of 8,192 tokens.
pub(crate) const SHORT_MODEL: &str = "test/short";
/// Its replicas never start, so calls to it are held.
pub(crate) const ENDPOINT: &str = "dedicated/held";
/// The model of the endpoint, whose replicas end at once.
const HELD_MODEL: &str = r#"context_length = 1_000_000
upstreams = [ { url = "http://127.0.0.1:9/v1" } ]

[[models.flavors]]
name = "one"
gpu_type = "local/cpu"
gpu_count = 1
precision = "q4"
price_per_gpu_hour = "1.00"
argv = ["true", "{port}"]
"#;

/// Encrypts stored responses.
const CONTENT_KEY: (&str, &str) = ("FOREBAY_CONTENT_KEY", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");

/// Where attackers and others send their calls.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    /// The keys: of the attacker, and of two workspaces of the others.
    pub(crate) attacker: String,
    pub(crate) victim: String,
    pub(crate) bystander: String,
    /// Address and password of a person of the others.
    pub(crate) person: (&'static str, &'static str),
    /// The keys of further workspaces of the attacker's organization.
    pub(crate) siblings: Vec<String>,
    /// Set if the gateway serves TLS.
    pub(crate) tls: Option<Arc<rustls::ClientConfig>>,
}

/// How the gateway is started.
pub(crate) struct Setup<'a> {
    pub(crate) binary: &'a Path,
    pub(crate) confinement: Confinement,
    pub(crate) has_tls: bool,
    /// The requests of a workspace per minute.
    pub(crate) requests_per_minute: u64,
    /// GPUs that an organization may commit; there are none on the machine.
    pub(crate) allotment: u32,
    /// If the gateway cannot derive it from the memory limit of its control group.
    pub(crate) memory_budget: Option<u64>,
    /// Further workspaces of the attacker's organization, which store responses.
    pub(crate) siblings: usize,
    /// How the model of the attackers responds.
    pub(crate) attacked: Script,
    /// The kind of its engine, if the gateway is to know it.
    pub(crate) attacked_engine: Option<&'static str>,
}

/// The resources that the gateway runs in.
pub(crate) enum Confinement {
    Anywhere,
    /// A control group, by the file to which a process writes its id to join.
    Group(PathBuf),
    /// One core.
    Core(usize),
}

pub(crate) struct Gateway {
    pub(crate) target: Target,
    // Before its control group is removed, the process must end.
    pub(crate) forebay: Forebay,
    _engines: [FakeEngine; 2],
    _scratch: TempDir,
}

impl Gateway {
    pub(crate) async fn start(setup: &Setup<'_>) -> anyhow::Result<Self> {
        let scratch = tempfile::tempdir()?;
        let engines = [start_engine()?, start_engine_of_attackers()?];
        engines[1].script(setup.attacked.clone());
        let tls = if setup.has_tls { Some(certificate(scratch.path())?) } else { None };
        let config = config(&engines.each_ref().map(FakeEngine::url), setup, scratch.path());
        let binary =
            fs::canonicalize(setup.binary).with_context(|| format!("{} does not exist", setup.binary.display()))?;
        let launch = ForebayLaunch::default().environment(CONTENT_KEY.0, CONTENT_KEY.1);
        let launch = match &setup.confinement {
            Confinement::Anywhere => launch.binary(&binary),
            Confinement::Group(members) => launch.binary(launcher(scratch.path(), &binary, members)?),
            Confinement::Core(core) => launch.binary(&binary).core(Some(*core)),
        };
        let forebay = launch.start(&config).await?;
        let admin = |line: &str| admin(&binary, &forebay, line);
        let new_key = |organization: &str| {
            let workspace = admin(&format!("workspaces create --organization {organization} --name more"))?;
            let id = text(&workspace["id"]);
            admin(&format!("workspaces set {id} --response-retention-days 1"))?;
            let key = admin(&format!("keys create --workspace {id} --name more"))?;
            anyhow::Ok(text(&key["key"]))
        };
        let others = text(&admin("organizations create --name others")?["id"]);
        let [victim, bystander] = [new_key(&others)?, new_key(&others)?];
        let person = ("person@example.com", "some-password");
        admin(&format!("users create --email {} --password {} --organization {others}", person.0, person.1))?;
        let first = text(&forebay.bootstrap()["organizationId"]);
        let siblings = (0..setup.siblings).map(|_| new_key(&first)).collect::<anyhow::Result<_>>()?;
        let (address, attacker) = (forebay.public, forebay.api_key()?);
        let target = Target { address, attacker, victim, bystander, person, siblings, tls };
        if target.tls.is_none() {
            create_endpoint(&target).await?;
        }
        Ok(Self { target, forebay, _engines: engines, _scratch: scratch })
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.forebay.child.ended().is_some()
    }

    /// Waits until no request body takes memory and no call runs; false on timeout.
    pub(crate) async fn wait_until_idle(&self, timeout: Duration) -> anyhow::Result<bool> {
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

/// An engine that keeps no calls: an attack has too many, and too large ones.
fn start_engine() -> anyhow::Result<FakeEngine> {
    FakeEngine::for_load(SocketAddr::from(([127, 0, 0, 1], 0)), 1)
}

/// It works for the attackers, so it must not slow down the others: its threads inherit the low priority.
fn start_engine_of_attackers() -> anyhow::Result<FakeEngine> {
    let start = || host::yield_to_others().and_then(|()| start_engine());
    std::thread::spawn(start).join().map_err(|_| anyhow::anyhow!("the engine of the attackers did not start"))?
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A script that joins the group and becomes the gateway, so that the gateway sees the limit when it starts.
fn launcher(scratch: &Path, binary: &Path, members: &Path) -> anyhow::Result<PathBuf> {
    let path = scratch.join("forebay-in-cgroup");
    let script = format!("#!/bin/sh\necho $$ > '{}' && exec '{}' \"$@\"\n", members.display(), binary.display());
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

fn config([engine, attacked]: &[String; 2], setup: &Setup<'_>, scratch: &Path) -> String {
    let Setup { requests_per_minute, allotment, .. } = setup;
    let tls = match setup.has_tls {
        true => format!("tls_cert = \"{0}/cert.pem\"\ntls_key = \"{0}/key.pem\"", scratch.display()),
        false => String::new(),
    };
    let budget = setup.memory_budget.map_or_else(String::new, |bytes| format!("memory_budget = {bytes}\n"));
    let defaults = format!(
        r#"[edge]
client_stall_timeout = "10s"
{budget}
[workspace_defaults]
requests_per_minute = {requests_per_minute}
tokens_per_minute = 1_000_000_000_000
monthly_tokens = 1_000_000_000_000_000

[allotment_defaults]
"local/cpu" = {allotment}
"#
    );
    let priced = |upstreams: &str, context: u32| {
        let prices = format!("context_length = {context}\ninput_per_1m = \"1.00\"\noutput_per_1m = \"1.00\"");
        format!("{prices}\n{upstreams}")
    };
    let [usual, unknown] = [engine, attacked].map(|url| upstreams([url], "fake"));
    let known = setup.attacked_engine.map(|engine| {
        let upstream = format!("{{ url = \"{attacked}\", model = \"fake\", engine = \"{engine}\" }}");
        // Without the calls that show what it can do.
        format!("probe = false\nupstreams = [ {upstream} ]")
    });
    let config = GatewayConfig::default().server(&tls).tables(&defaults).model(MODEL, &priced(&usual, 1_000_000));
    let config = config.model(ATTACKED_MODEL, &priced(known.as_ref().unwrap_or(&unknown), 1_000_000));
    let config = config.model(SHORT_MODEL, &priced(&unknown, 8_192));
    config.model("test/held", HELD_MODEL).render()
}

async fn create_endpoint(target: &Target) -> anyhow::Result<()> {
    let client = Client::new(format!("http://{}/v1", target.address)).key(&target.attacker);
    let body = json!({"name": "held", "model": "test/held", "flavor": "one", "replicas": 1});
    let created = client.post_json("/endpoints", body).await;
    ensure!(created.status == 201, "the endpoint was not created: {}", created.text());
    Ok(())
}

pub(crate) fn admin(binary: &Path, forebay: &Forebay, line: &str) -> anyhow::Result<Value> {
    let mut command = Command::new(binary);
    command.arg("admin").args(line.split_whitespace()).arg("--json").arg("--config").arg(&forebay.config);
    command.env(CONTENT_KEY.0, CONTENT_KEY.1);
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
