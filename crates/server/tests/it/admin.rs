//! `forebay admin` from a shell.

use std::process::Command;

use crate::app::{BINARY, TestApp, text};

fn code_and_words(app: &TestApp, line: &str) -> (i32, String, String) {
    let output = app.try_admin(line);
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), words(&output.stdout), words(&output.stderr))
}

#[tokio::test]
async fn a_shell_can_tell_success_refusal_and_misuse_apart() {
    let app = TestApp::start().await;
    let (code, printed, _) = code_and_words(&app, "organizations list");
    assert!(code == 0 && printed.starts_with("id "), "{printed}");
    let (code, printed, told) = code_and_words(&app, "users show --email nobody@example.com");
    assert_eq!((code, printed.as_str()), (1, ""));
    assert!(told.contains("forebay: there is no user `nobody@example.com`"), "{told}");
    let (code, printed, told) = code_and_words(&app, "keys revoke");
    assert!(code == 2 && printed.is_empty() && told.contains("Usage"), "{told}");
}

#[tokio::test]
async fn a_disabled_key_is_not_revoked_by_mistake() {
    let app = TestApp::start().await;
    let created = app.new_key("a");
    let id = text(&created["id"]);
    assert_eq!(app.admin(&format!("keys disable {id}"))["state"], "disabled");
    let (code, _, told) = code_and_words(&app, &format!("keys revoke {id}"));
    assert!(code == 1 && told.contains("disabled"), "{told}");
    assert_eq!(app.admin(&format!("keys enable {id}"))["state"], "active");
    assert_eq!(app.admin(&format!("keys revoke {id}"))["state"], "revoked");
}

#[tokio::test]
async fn the_key_limit_holds_beside_a_running_server() {
    let app = TestApp::start().await;
    let workspace = app.workspace();
    app.admin(&format!("workspaces set {workspace} --max-api-keys 2"));
    let second = app.new_key("second");
    let (code, _, told) = code_and_words(&app, &format!("keys create --workspace {workspace} --name third"));
    assert!(code == 1 && told.contains("limit"), "{told}");
    app.admin(&format!("keys revoke {}", text(&second["id"])));
    app.new_key("third");
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
fn help_is_everywhere() {
    for line in ["--help", "serve --help", "check-config --help", "migrate --help", "admin --help", "admin keys --help"]
    {
        let output = Command::new(BINARY).args(line.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "{line}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("Usage: forebay"), "{line}");
    }
    let output = Command::new(BINARY).arg("nonsense").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
