//! `forebay admin doctor` as a process: problems are found and reported, and give the exit code 1.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Executor as _};
use store::nodes::{self, Node};
use tempfile::TempDir;
use testkit::gateway_config::GatewayConfig;

use crate::app::{BINARY, TIMEOUT, TestApp, text, wait_until};
use crate::redis::Redis;

/// A node that was never started, with this configuration.
struct TestNode {
    folder: TempDir,
}

impl TestNode {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        let config = GatewayConfig::default().tables(config);
        fs::write(folder.path().join("forebay.toml"), config.render()).unwrap();
        Self { folder }
    }

    fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(BINARY);
        command.args(["admin", "doctor", "--json", "--config"]).arg(self.folder.path().join("forebay.toml"));
        command.arg("--data-dir").arg(self.data_dir());
        command
    }

    fn examine(&self) -> Diagnosis {
        Diagnosis::of(self.command())
    }
}

struct Diagnosis {
    exit_code: Option<i32>,
    report: Value,
}

impl Diagnosis {
    fn of(mut command: Command) -> Self {
        let output = command.output().unwrap();
        let report = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        let diagnosis = Self { exit_code: output.status.code(), report };
        let is_problem = diagnosis.report["status"] == "problem";
        assert_eq!(diagnosis.exit_code, Some(i32::from(is_problem)), "{}", diagnosis.report);
        diagnosis
    }

    /// `level: what` of the findings of a check; those that are not ok have a remedy.
    fn of_check(&self, check: &str) -> Vec<String> {
        let findings = self.report["findings"].as_array().unwrap().iter().filter(|finding| finding["check"] == check);
        let line = |finding: &Value| {
            assert_eq!(finding["level"] == "ok", finding["remedy"].is_null(), "{finding}");
            format!("{}: {}", text(&finding["level"]), text(&finding["what"]))
        };
        findings.map(line).collect()
    }

    fn assert_has(&self, check: &str, start: &str) {
        let found = self.of_check(check);
        assert!(found.iter().any(|finding| finding.starts_with(start)), "{check}: {found:#?} instead of {start}");
    }
}

#[test]
fn a_fresh_machine_has_no_problems() {
    let node = TestNode::new("");
    fs::remove_dir(node.data_dir()).unwrap();
    let diagnosis = node.examine();
    assert_eq!(diagnosis.exit_code, Some(0), "{}", diagnosis.report);
    diagnosis.assert_has("configuration", "ok: ");
    diagnosis.assert_has("catalogue", "warning: no models");
    diagnosis.assert_has("data-directory", "warning: ");
    diagnosis.assert_has("store", "warning: ");
    diagnosis.assert_has("limits", "ok: counted in memory");
    diagnosis.assert_has("journal", "ok: 0 events in 0 bytes, the limit is 1GiB");
    diagnosis.assert_has("descriptors", "");
    diagnosis.assert_has("gpus", "ok: ");
    diagnosis.assert_has("disk", "");
    assert!(!node.data_dir().exists(), "the doctor creates nothing");
}

#[tokio::test]
async fn a_serving_node_has_no_problems() {
    let app = TestApp::setup().upstream("engine = \"vllm\"").start().await;
    app.chat("hi").await;
    let output = app.try_admin("doctor");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && said.contains("0 problems"), "{said}");
    let report = app.admin("doctor");
    let levels = |check: &str| {
        let findings = report["findings"].as_array().unwrap().iter();
        findings.filter(|finding| finding["check"] == check).map(|finding| text(&finding["level"])).collect::<Vec<_>>()
    };
    for check in ["configuration", "data-directory", "store", "limits", "journal", "engines", "clock"] {
        assert_eq!(levels(check), ["ok"], "{check}: {said}");
    }
    assert_eq!(levels("ports"), ["ok", "ok"], "{said}");
}

#[test]
fn all_problems_of_a_configuration_are_reported_and_the_rest_is_not_guessed() {
    let node = TestNode::new("drain_timeout = 'soon'\n[telemetry]\nsample_ratio = 2\n");
    let diagnosis = node.examine();
    assert_eq!(diagnosis.exit_code, Some(1));
    let found = diagnosis.of_check("configuration").concat();
    assert!(found.contains("drain_timeout") && found.contains("sample_ratio"), "{found}");
    assert_eq!(diagnosis.of_check("store"), [""; 0], "its URL is unknown");
    let node = TestNode::new("tls_cert = 'cert.pem'\ntls_key = 'key.pem'\n");
    node.examine().assert_has("configuration", "problem: server.tls_cert: cannot read");
}

#[test]
fn an_unwritable_data_directory_or_journal_is_reported() {
    let node = TestNode::new("");
    fs::remove_dir(node.data_dir()).unwrap();
    // The kernel's own folders are read-only, also for root.
    symlink("/proc/self", node.data_dir()).unwrap();
    node.examine().assert_has("data-directory", "problem: ");
    let node = TestNode::new("");
    symlink("/proc/self", node.data_dir().join("journal")).unwrap();
    node.examine().assert_has("journal", "problem: ");
}

#[tokio::test]
async fn an_unreachable_or_unsupported_store_is_reported() {
    let node = TestNode::new("[store]\nurl = 'postgres://none:s3cret@127.0.0.1:9/none'\n");
    let diagnosis = node.examine();
    diagnosis.assert_has("store", "problem: the store cannot be reached");
    assert!(!diagnosis.report.to_string().contains("s3cret"), "{}", diagnosis.report);
    diagnosis.assert_has("clock", "warning: neither the store nor Redis");

    let node = TestNode::new("");
    fs::write(node.data_dir().join("forebay.db"), "not a database").unwrap();
    node.examine().assert_has("store", "problem: ");

    let node = TestNode::new("");
    let database = node.data_dir().join("forebay.db");
    let mut connection =
        SqliteConnectOptions::new().filename(&database).create_if_missing(true).connect().await.unwrap();
    connection.execute("CREATE TABLE other (id BIGINT)").await.unwrap();
    node.examine().assert_has("store", "warning: SQLite responds and is empty");
    connection
        .execute("CREATE TABLE schema_version (version BIGINT); INSERT INTO schema_version VALUES (1)")
        .await
        .unwrap();
    node.examine().assert_has("store", "warning: SQLite responds; schema version 1, ");
    connection.execute("INSERT INTO schema_version VALUES (1000)").await.unwrap();
    node.examine().assert_has("store", "problem: SQLite has schema version 1000");
    // A newer schema with additions only is supported.
    let others: Vec<String> = (2..1_000).map(|version| format!("({version})")).collect();
    let insert = format!("INSERT INTO schema_version VALUES {}", others.join(", "));
    connection.execute(sqlx::AssertSqlSafe(insert)).await.unwrap();
    connection.execute("ALTER TABLE schema_version ADD COLUMN serves_since BIGINT NOT NULL DEFAULT 1").await.unwrap();
    node.examine().assert_has("store", "ok: SQLite responds; schema version 1000 of a newer version");
    connection.execute("UPDATE schema_version SET serves_since = 1000 WHERE version = 1000").await.unwrap();
    node.examine().assert_has("store", "problem: SQLite has schema version 1000");
}

#[tokio::test]
async fn an_unreachable_redis_is_reported() {
    let mut redis = Redis::start().await;
    let node = TestNode::new(&format!("[limits]\nurl = '{}'\n", redis.url()));
    let diagnosis = node.examine();
    diagnosis.assert_has("limits", "ok: Redis responds");
    diagnosis.assert_has("clock", "ok: 0");
    redis.stop();
    node.examine().assert_has("limits", "problem: Redis does not respond");
    let node = TestNode::new("[limits]\nurl = 'redis://:s3cret@127.0.0.1:9/0'\n");
    assert!(!node.examine().report.to_string().contains("s3cret"));
}

#[tokio::test]
async fn nodes_without_a_shared_counter_are_reported() {
    let app = TestApp::start().await;
    let store = app.store().await;
    let mut tx = store.begin().await.unwrap();
    let now = store.clock().await.unwrap();
    let another = Node { id: "node_2".into(), started_at: now, seen_at: now, catalogue_hash: String::new() };
    nodes::record(&mut tx, &another).await.unwrap();
    tx.commit().await.unwrap();
    wait_until("two nodes", TIMEOUT, async || {
        let report = app.admin("doctor");
        report.to_string().contains("counted in memory, but 2 nodes serve")
    })
    .await;
}

#[tokio::test]
async fn a_torn_damaged_or_full_journal_is_reported() {
    let mut app = TestApp::setup().table("[journal]\nmax_bytes = '1MiB'").start().await;
    app.chat("hi").await;
    app.forebay.child.kill();
    let journal = app.forebay.data_dir.join("journal");
    let files = fs::read_dir(&journal).unwrap().map(|entry| entry.unwrap().path());
    let file = files.min().unwrap();
    let line = fs::read(&file).unwrap();
    assert!(line.ends_with(b"}\n"), "a whole event");
    let report = |content: &[u8]| {
        fs::write(&file, content).unwrap();
        let output = app.try_admin("doctor --json");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        let found = findings.filter(|finding| finding["check"] == "journal").map(|one| one["what"].to_string());
        (output.status.code(), found.collect::<String>())
    };
    let (code, what) = report(&[&line[..], &line[..20]].concat());
    assert!(code == Some(0) && what.contains("incomplete line at the end of"), "{code:?} {what}");
    let damaged = String::from_utf8(line.clone()).unwrap().replacen("acme", "ACME", 1);
    let (code, what) = report(&[damaged.as_bytes(), &line].concat());
    assert!(code == Some(1) && what.contains("line 1 of run_"), "{code:?} {what}");
    let (code, what) = report(&line.repeat((1 << 20) / line.len() + 1));
    assert!(code == Some(1) && what.contains("full: "), "{code:?} {what}");
    fs::write(journal.join("refused.jsonl"), &line).unwrap();
    let (code, what) = report(&line);
    assert!(code == Some(0) && what.contains("the store rejected 1 events"), "{code:?} {what}");
}

#[test]
fn missing_engines_weights_and_upstreams_are_reported() {
    let node = TestNode::new(
        "[[models]]\nid = 'acme/own'\nengine = { weights = 'w.gguf' }\n\
         [[models]]\nid = 'acme/theirs'\nupstreams = [{ url = 'http://127.0.0.1:9/v1' }]\n\
         [[models.flavors]]\nname = 'a'\ngpu_type = 'nvidia/none-such'\nengine = 'llama-server'\n",
    );
    let mut command = node.command();
    command.env("FOREBAY_ENGINE", "/nowhere/forebay-engine").env("PATH", "/nowhere");
    let diagnosis = Diagnosis::of(command);
    for start in [
        "problem: acme/own needs forebay-engine",
        "problem: the weights of acme/own are not at",
        "warning: a flavor is started with `llama-server`",
        "warning: workspaces share the prefix caches of acme/theirs",
        "warning: the upstream of acme/theirs at http://127.0.0.1:9/v1 cannot be reached",
    ] {
        diagnosis.assert_has("engines", start);
    }
    let gpus = diagnosis.of_check("gpus").concat();
    assert!(gpus.starts_with("warning: ") && gpus.contains("flavors need nvidia/none-such"), "{gpus}");
}

#[test]
fn unusable_ports_descriptors_and_receivers_are_reported() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let node = TestNode::new("[telemetry]\notlp_endpoint = 'http://127.0.0.1:9'\n");
    let config = format!(
        "[server]\nlisten = '{address}'\nops_listen = '192.0.2.1:9'\n[telemetry]\notlp_endpoint = 'http://127.0.0.1:9'\n"
    );
    fs::write(node.folder.path().join("forebay.toml"), config).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 256 && exec \"$0\" \"$@\"", BINARY]).args(node.command().get_args());
    let diagnosis = Diagnosis::of(shell);
    diagnosis.assert_has("ports", &format!("problem: server.listen: another program uses {address}"));
    diagnosis.assert_has("ports", "problem: server.ops_listen: cannot listen on 192.0.2.1:9");
    diagnosis.assert_has("descriptors", "problem: only 256 open files are allowed");
    diagnosis
        .assert_has("telemetry", "warning: the receiver of traces at http://127.0.0.1:9/v1/traces does not respond");
}
