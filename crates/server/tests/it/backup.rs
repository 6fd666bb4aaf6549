//! Backups that are made while a gateway serves, as in docs/production.md, and gateways that serve from them.

use serde_json::{Value, json};
use sqlx::Connection as _;
use std::path::PathBuf;
use std::process::Command;
use testkit::process::ForebayLaunch;

use crate::app::{BINARY, CHAT, TIMEOUT, TestApp, chat, stream_with_usage, wait_until};
use crate::postgres::Database;

/// A flavor without a slot: its endpoint has a record but no replica.
const FLAVOR: &str = r#"[allotment_defaults]
"local/cpu" = 2

[[models]]
id = "acme/own"
upstreams = [ { url = "http://127.0.0.1:9/v1" } ]

[[models.flavors]]
name = "one"
gpu_type = "local/cpu"
argv = ["sleep", "600"]
"#;

/// The data that a restore must bring back.
struct Kept {
    second_key: String,
    endpoint: Value,
    sums: Value,
}

/// Creates some of everything that must be restored: calls, a second key, and an endpoint.
async fn fill(app: &TestApp) -> Kept {
    for _ in 0..3 {
        assert_eq!(app.chat("hi").await.status, 200);
    }
    app.usage(3).await;
    let body = json!({"name": "kept", "model": "acme/own", "flavor": "one", "replicas": 1});
    assert_eq!(app.client().post_json("/endpoints", body).await.status, 201);
    assert_eq!(app.client().post_json("/endpoints/kept/suspend", json!({})).await.status, 200);
    let has_no_replica = async || {
        let status = app.client().get("/endpoints/kept").await.json()["status"].clone();
        status.as_object().is_some_and(|counts| counts.values().all(|count| count == 0))
    };
    wait_until("the endpoint has no replica", TIMEOUT, has_no_replica).await;
    let second_key = app.new_key("second")["key"].as_str().unwrap().to_owned();
    let (endpoint, sums) = (app.client().get("/endpoints/kept").await.json(), sums(&app.admin(&sums_line(app))));
    assert_eq!(endpoint["state"], "suspended", "{endpoint}");
    Kept { second_key, endpoint, sums }
}

fn sums_line(app: &TestApp) -> String {
    format!("usage show --workspace {} --group-by model,key", app.workspace())
}

/// The usage of the first key; a call of the second one may end during the backup or after it.
fn sums(report: &Value) -> Value {
    let rows = report["data"].as_array().unwrap();
    rows.iter().find(|row| row["requests"] == 3).unwrap_or_else(|| panic!("{report}")).clone()
}

/// A gateway on a restored store, with a new data directory, has all records.
async fn serves_from(restored: &str, before: &TestApp, kept: &Kept) {
    let data_dir = tempfile::tempdir().unwrap();
    let config = before.config.replace(&store_url_of(&before.config), restored);
    let forebay = ForebayLaunch::default().binary(BINARY).data_dir(data_dir.path()).start(&config).await.unwrap();
    let admin = |line: &str| {
        let mut command = Command::new(BINARY);
        command.arg("admin").args(line.split_whitespace()).args(["--json", "--config"]).arg(&forebay.config);
        let output = command.arg("--data-dir").arg(data_dir.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert_eq!(sums(&admin(&sums_line(before))), kept.sums);
    let client = testkit::http::Client::new(format!("http://{}/v1", forebay.public)).key(&before.key);
    assert_eq!(client.get("/endpoints/kept").await.json(), kept.endpoint);
    for key in [before.key.as_str(), &kept.second_key] {
        let client = testkit::http::Client::new(format!("http://{}/v1", forebay.public)).key(key);
        assert_eq!(client.post_json("/chat/completions", chat("hi")).await.status_line(), "200 OK");
    }
    assert_eq!(admin("usage rebuild")["rowsCorrected"], 0, "the restored sums match the events");
}

fn store_url_of(config: &str) -> String {
    let start = config.find("[store]\nurl = \"").unwrap() + "[store]\nurl = \"".len();
    config[start..].split('"').next().unwrap().to_owned()
}

/// PostgreSQL's programs are not on the path of a Debian machine.
fn postgres_program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let found = versions.map(|version| version.path().join("bin").join(name)).filter(|path| path.is_file());
    found.max().unwrap_or_else(|| PathBuf::from(name))
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn a_dump_of_postgresql_made_while_serving_can_be_served_from() {
    let (database, restored) = (Database::migrated().await, Database::empty().await);
    let app = TestApp::setup().store(&database.url).table(FLAVOR).start().await;
    let kept = fill(&app).await;
    let body = stream_with_usage("during the backup");
    let open = app.client_with(&kept.second_key).open_stream("/chat/completions", body).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("forebay.dump");
    run(Command::new(postgres_program("pg_dump")).arg("--format=custom").arg("--file").arg(&file).arg(&database.url));
    let (_, clean) = open.rest().await;
    assert!(clean, "a backup blocks no call");
    run(Command::new(postgres_program("pg_restore")).args(["--no-owner", "--dbname", &restored.url]).arg(&file));
    serves_from(&restored.url, &app, &kept).await;
    drop(app);
    database.remove().await;
    restored.remove().await;
}

#[tokio::test]
async fn a_copy_of_sqlite_made_while_serving_can_be_served_from() {
    let app = TestApp::setup().table(FLAVOR).start().await;
    let kept = fill(&app).await;
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    let store = format!("sqlite:{}", app.forebay.data_dir.join("forebay.db").display());
    let mut connection = sqlx::SqliteConnection::connect(&store).await.unwrap();
    // The same as `sqlite3 forebay.db "VACUUM INTO …"`.
    sqlx::query("VACUUM INTO $1").bind(copy.to_string_lossy().into_owned()).execute(&mut connection).await.unwrap();
    serves_from(&format!("sqlite:{}", copy.display()), &app, &kept).await;
    assert_eq!(app.ask(json!({"model": CHAT, "messages": [{"role": "user", "content": "on"}]})).await.status, 200);
}
