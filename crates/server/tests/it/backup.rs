//! Backups that are made beside a serving gateway, as docs/production.md says, and gateways that serve from them.

use serde_json::json;
use sqlx::Connection as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::process::ForebayLaunch;

use crate::app::{BINARY, CHAT, TestApp, chat, stream_with_usage};
use crate::postgres::Database;

/// Something of everything that must come back: calls, a second key, and an endpoint's record.
async fn live_a_little(app: &TestApp) -> String {
    for _ in 0..3 {
        assert_eq!(app.chat("hi").await.status, 200);
    }
    app.usage(3).await;
    app.new_key("second")["key"].as_str().unwrap().to_owned()
}

/// A gateway on a restored store, with a new data directory, knows all that the first one knew.
async fn serves_from(restored: &str, before: &TestApp, second_key: &str) {
    let data_dir = tempfile::tempdir().unwrap();
    let config = before.config.replace(&store_url_of(&before.config), restored);
    let forebay = ForebayLaunch::default().binary(BINARY).data_dir(data_dir.path()).start(&config).await.unwrap();
    for key in [before.key.as_str(), second_key] {
        let client = testkit::http::Client::new(format!("http://{}/v1", forebay.public)).key(key);
        assert_eq!(client.post_json("/chat/completions", chat("hi")).await.status_line(), "200 OK");
    }
    let usage = |data_dir: &Path, config: &Path| {
        let mut command = Command::new(BINARY);
        command.args(["admin", "usage", "rebuild", "--json", "--config"]).arg(config).arg("--data-dir").arg(data_dir);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    usage(data_dir.path(), &forebay.config);
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
async fn a_dump_of_postgresql_beside_a_serving_gateway_can_be_served_from() {
    let (database, restored) = (Database::create().await, Database::create().await);
    let app = TestApp::setup().store(&database.url).start().await;
    let second = live_a_little(&app).await;
    let open = app.open_stream(stream_with_usage("while it is made")).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("forebay.dump");
    run(Command::new(postgres_program("pg_dump")).arg("--format=custom").arg("--file").arg(&file).arg(&database.url));
    let (_, clean) = open.rest().await;
    assert!(clean, "nobody waits for a backup");
    run(Command::new(postgres_program("pg_restore")).args(["--no-owner", "--dbname", &restored.url]).arg(&file));
    serves_from(&restored.url, &app, &second).await;
    drop(app);
    database.remove().await;
    restored.remove().await;
}

#[tokio::test]
async fn a_copy_of_sqlite_beside_a_serving_gateway_can_be_served_from() {
    let app = TestApp::start().await;
    let second = live_a_little(&app).await;
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    let store = format!("sqlite:{}", app.forebay.data_dir.join("forebay.db").display());
    let mut connection = sqlx::SqliteConnection::connect(&store).await.unwrap();
    // What `sqlite3 forebay.db "VACUUM INTO …"` does.
    sqlx::query("VACUUM INTO $1").bind(copy.to_string_lossy().into_owned()).execute(&mut connection).await.unwrap();
    serves_from(&format!("sqlite:{}", copy.display()), &app, &second).await;
    assert_eq!(app.ask(json!({"model": CHAT, "messages": [{"role": "user", "content": "on"}]})).await.status, 200);
}
