//! `forebay admin` as a process.

use std::process::{Command, Output};

use serde_json::Value;

use crate::app::{BINARY, CONTENT_KEY, TestApp, text};

fn exit_code_and_output(app: &TestApp, line: &str) -> (i32, String, String) {
    let output = app.try_admin(line);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[tokio::test]
async fn exit_codes_distinguish_success_failure_and_misuse() {
    let app = TestApp::start().await;
    let (code, printed, _) = exit_code_and_output(&app, "organizations list");
    assert!(code == 0 && printed.starts_with("id "), "{printed}");
    let (code, printed, stderr) = exit_code_and_output(&app, "users show --email unknown@example.com");
    assert_eq!((code, printed.as_str()), (1, ""));
    assert!(stderr.contains("forebay: there is no user `unknown@example.com`"), "{stderr}");
    let (code, printed, stderr) = exit_code_and_output(&app, "keys revoke");
    assert!(code == 2 && printed.is_empty() && stderr.contains("Usage"), "{stderr}");
}

#[tokio::test]
async fn a_disabled_key_is_not_revoked_by_mistake() {
    let app = TestApp::start().await;
    let created = app.new_key("a");
    let id = text(&created["id"]);
    assert_eq!(app.admin(&format!("keys disable {id}"))["state"], "disabled");
    let (code, _, stderr) = exit_code_and_output(&app, &format!("keys revoke {id}"));
    assert!(code == 1 && stderr.contains("disabled"), "{stderr}");
    assert_eq!(app.admin(&format!("keys enable {id}"))["state"], "active");
    assert_eq!(app.admin(&format!("keys revoke {id}"))["state"], "revoked");
}

#[tokio::test]
async fn the_key_limit_holds_while_a_server_runs() {
    let app = TestApp::start().await;
    let workspace = app.workspace();
    app.admin(&format!("workspaces set {workspace} --max-api-keys 2"));
    let second = app.new_key("second");
    let (code, _, stderr) = exit_code_and_output(&app, &format!("keys create --workspace {workspace} --name third"));
    assert!(code == 1 && stderr.contains("limit"), "{stderr}");
    app.admin(&format!("keys revoke {}", text(&second["id"])));
    app.new_key("third");
}

#[tokio::test]
async fn responses_are_stored_for_the_days_of_a_flag_or_not_at_all() {
    let app = TestApp::start().await;
    let set = |days: &str| format!("workspaces set {} --response-retention-days {days} --json", app.workspace());
    let with_key = |line: &str| {
        let mut command = app.admin_command(line);
        command.env("FOREBAY_CONTENT_KEY", CONTENT_KEY).output().unwrap()
    };
    let days =
        |output: &Output| serde_json::from_slice::<Value>(&output.stdout).unwrap()["responseRetentionDays"].clone();
    assert_eq!(days(&with_key(&set("7"))), 7);
    let renamed = app.admin(&format!("workspaces set {} --name other", app.workspace()));
    assert_eq!(renamed["responseRetentionDays"], 7);
    assert_eq!(with_key(&set("31")).status.code(), Some(1));
    let (code, _, stderr) = exit_code_and_output(&app, &set("8"));
    assert!(code == 1 && stderr.contains("FOREBAY_CONTENT_KEY"), "{stderr}");
    let (code, _, stderr) = exit_code_and_output(&app, &set("long"));
    assert!(code == 2 && stderr.contains("neither a number of days nor `off`"), "{stderr}");
    assert_eq!(days(&app.try_admin(&set("off"))), Value::Null, "no key is needed to stop");
}

#[tokio::test]
async fn the_running_server_is_listed_as_a_node() {
    let app = TestApp::start().await;
    let ready = testkit::http::Client::new(app.forebay.ops).get("/readyz").await.json();
    crate::app::wait_until("listed", crate::app::TIMEOUT, async || {
        let nodes = app.admin("nodes list");
        nodes["data"][0]["id"] == ready["nodeId"] && nodes["data"][0]["catalogueHash"] == ready["catalogueHash"]
    })
    .await;
}

#[test]
fn every_command_has_help() {
    for line in ["--help", "serve --help", "check-config --help", "migrate --help", "admin --help", "admin keys --help"]
    {
        let output = Command::new(BINARY).args(line.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "{line}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("Usage: forebay"), "{line}");
    }
    let output = Command::new(BINARY).arg("no-such-command").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_version_names_the_build() {
    let output = Command::new(BINARY).arg("--version").output().unwrap();
    let line = String::from_utf8(output.stdout).unwrap();
    assert!(line.starts_with(concat!("forebay ", env!("CARGO_PKG_VERSION"), " (")), "{line}");
    assert!(line.contains(" build for "), "{line}");
}

#[test]
fn completions_and_manual_pages_are_written() {
    for shell in ["bash", "zsh", "fish"] {
        let output = Command::new(BINARY).args(["completions", shell]).output().unwrap();
        assert!(output.status.success(), "{shell}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("check-config"), "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(Command::new(BINARY).arg("manual-pages").arg(folder.path()).status().unwrap().success());
    for page in ["forebay.1", "forebay-serve.1", "forebay-admin-keys-create.1"] {
        let text = std::fs::read_to_string(folder.path().join(page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
}
