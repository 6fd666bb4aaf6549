//! Start, reload and shutdown.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};
use testkit::fake_engine::{FakeEngine, Script};
use testkit::gateway_config::GatewayConfig;
use testkit::http::Client;
use testkit::process::ForebayLaunch;
use tokio::net::TcpStream;

use crate::app::{BINARY, CHAT, TIMEOUT, TestApp, chat, content, error_line, stream, wait_until};
use crate::wire::{Wire, get};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn forebay(arguments: &[&str]) -> Output {
    Command::new(BINARY).args(arguments).output().unwrap()
}

fn errors_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn the_first_start_writes_addresses_and_credentials() {
    let app = TestApp::setup().first_start().start().await;
    let (data_dir, public, ops) = (&app.forebay.data_dir, app.forebay.public, app.forebay.ops);
    let listen = read_json(&data_dir.join("listen.json"));
    assert_eq!(listen, json!({"public": public.to_string(), "ops": ops.to_string()}));

    assert_eq!(mode(&data_dir.join("bootstrap.json")), 0o600);
    let bootstrap = read_json(&data_dir.join("bootstrap.json"));
    let mut members: Vec<&str> = bootstrap.as_object().unwrap().keys().map(String::as_str).collect();
    members.sort_unstable();
    let expected = ["apiKey", "baseUrl", "consoleUrl", "email", "organizationId", "password", "workspaceId"];
    assert_eq!(members, expected);
    assert_eq!(bootstrap["baseUrl"], format!("http://{public}/v1"));
    assert_eq!(bootstrap["consoleUrl"], format!("http://{public}"));
    assert_eq!(bootstrap["email"], "admin@localhost");
    assert!(bootstrap["password"].as_str().unwrap().len() >= 16);
    assert!(bootstrap["organizationId"].as_str().unwrap().starts_with("org_"));
    assert!(bootstrap["workspaceId"].as_str().unwrap().starts_with("ws_"));

    let key = app.key.split('-').collect::<Vec<_>>();
    assert!(key.len() == 3 && key[0] == "sk" && key[1].len() == 12 && key[2].len() >= 32, "{}", app.key);
    let response = Client::new(bootstrap["baseUrl"].as_str().unwrap()).key(&app.key).get("/models").await;
    assert_eq!(response.status_line(), "200 OK");
    let shows_call = async || app.forebay.child.stderr().contains("curl ");
    wait_until("the first call is shown", TIMEOUT, shows_call).await;
    let shown = app.forebay.child.stderr();
    for text in [&app.key, bootstrap["password"].as_str().unwrap(), "admin@localhost"] {
        assert!(shown.contains(text), "{text} is not shown:\n{shown}");
    }
    let leftovers = fs::read_dir(data_dir)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".new"));
    assert_eq!(leftovers.count(), 0, "both files are written by rename");
}

#[tokio::test]
async fn later_starts_keep_the_first_key() {
    let mut app = TestApp::start().await;
    let before = app.forebay.bootstrap();
    app.forebay.restart().await.unwrap();
    let after = app.forebay.bootstrap();
    for member in ["apiKey", "password", "email", "organizationId", "workspaceId"] {
        assert_eq!(before[member], after[member], "{member}");
    }
    assert_eq!(after["baseUrl"], format!("http://{}/v1", app.forebay.public), "the port has changed");
    assert_eq!(mode(&app.forebay.data_dir.join("bootstrap.json")), 0o600);
    assert_eq!(app.chat("hi").await.status_line(), "200 OK");

    fs::remove_file(app.forebay.data_dir.join("bootstrap.json")).unwrap();
    app.forebay.restart().await.unwrap();
    assert_eq!(app.forebay.bootstrap(), Value::Null, "no second bootstrap key");
    assert_eq!(app.chat("hi").await.status_line(), "200 OK");
}

#[tokio::test]
async fn the_bootstrap_file_uses_the_public_url() {
    let app = TestApp::setup().server("public_url = \"https://ai.example.com\"").first_start().start().await;
    let bootstrap = app.forebay.bootstrap();
    assert_eq!(bootstrap["baseUrl"], "https://ai.example.com/v1");
    assert_eq!(bootstrap["consoleUrl"], "https://ai.example.com");
}

#[tokio::test]
async fn on_sigterm_open_responses_finish_and_new_connections_are_rejected() {
    for signal in ["TERM", "INT"] {
        let mut app = TestApp::start().await;
        app.engine().push(Script { chunks: 160, chunk_delay_ms: 50, ..Script::default() });
        let mut opened = app.open_stream(stream("hi")).await;
        opened.next_event().await.unwrap();
        app.engine().push(Script { delay_ms: 800, ..Script::default() });
        let client = app.client();
        let mut idle = Wire::open(app.forebay.public).await;
        idle.send(get(&app, "/v1/models")).await;
        assert_eq!(idle.response().await.status, 200);
        let unary = async {
            let response = client.post_json("/chat/completions", chat("hi")).await;
            assert_eq!(response.status_line(), "200 OK", "a call in flight completes");
        };
        let draining = async {
            assert!(app.engine().wait_for_calls(2, TIMEOUT).await);
            app.forebay.child.signal(signal).unwrap();
            let ops = Client::new(app.forebay.ops);
            wait_until("not ready", TIMEOUT, async || ops.get("/readyz").await.status == 503).await;
            assert_eq!(ops.get("/readyz").await.json()["status"], "draining");
            // Until then, new connections are served.
            wait_until("no new connections", TIMEOUT, async || {
                app.forebay.child.stderr().contains("closing the listening sockets")
            })
            .await;
            wait_until("new connections are refused", TIMEOUT, async || {
                TcpStream::connect(app.forebay.public).await.is_err()
            })
            .await;
            assert!(idle.is_closed().await, "idle connections close");
        };
        tokio::join!(unary, draining);
        assert_eq!(app.engine().in_flight(), 1, "the stream is still running");
        let (events, clean) = opened.rest().await;
        assert!(clean && events.last().unwrap().is_done(), "{events:#?}");
        assert_eq!(content(&events), "Hello ".repeat(160));
        let ended = app.forebay.child.wait_for_end(TIMEOUT).await.expect("the process exits");
        assert_eq!(ended.code(), Some(0));
        assert_eq!(app.usage(2).await.len(), 2, "usage is stored");
    }
}

#[tokio::test]
async fn streams_are_cut_at_the_end_of_the_drain_timeout() {
    let mut app = TestApp::setup().server("drain_timeout = \"300ms\"").start().await;
    app.engine().push(Script { stall_after: Some(1), ..Script::default() });
    let opened = app.open_stream(stream("hi")).await;
    app.forebay.child.signal("TERM").unwrap();
    let ended = app.forebay.child.wait_for_end(Duration::from_secs(10)).await.expect("the process exits");
    assert_eq!(ended.code(), Some(0));
    let (events, _) = opened.rest().await;
    assert!(!events.iter().any(testkit::http::Event::is_done), "a cut stream does not look complete");
    assert_eq!(events.last().unwrap().json()["error"]["code"], "bad_gateway");
    let event = app.usage(1).await.remove(0);
    assert_eq!((&*event.code, event.tokens.completion), ("bad_gateway", 1));
}

#[tokio::test]
async fn a_reload_changes_the_catalogue_without_cutting_streams() {
    let app = TestApp::start().await;
    app.engine().push(Script { chunks: 20, chunk_delay_ms: 50, ..Script::default() });
    let mut opened = app.open_stream(stream("hi")).await;
    opened.next_event().await.unwrap();

    app.forebay.write_config(&app.config.replace(&format!("id = \"{CHAT}\""), "id = \"acme/new\"")).unwrap();
    app.forebay.child.signal("HUP").unwrap();
    let ids = async || {
        let list = app.client().get("/models").await.json();
        let ids: Vec<String> =
            list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap().to_owned()).collect();
        ids
    };
    wait_until("reloaded", TIMEOUT, async || ids().await == ["acme/new", "acme/embed"]).await;
    assert_eq!(error_line(&app.chat("hi").await), "404 model_not_found model");
    let mut body = chat("hi");
    body["model"] = json!("acme/new");
    assert_eq!(app.ask(body.clone()).await.json()["model"], "acme/new");

    app.forebay.write_config("[server]\nlissten = 1\n").unwrap();
    app.forebay.child.signal("HUP").unwrap();
    wait_until("refused", TIMEOUT, async || app.forebay.child.stderr().contains("the catalogue was not reloaded"))
        .await;
    assert!(app.forebay.child.stderr().contains("lissten"), "{}", app.forebay.child.stderr());
    assert_eq!(app.ask(body).await.status_line(), "200 OK");

    let (events, clean) = opened.rest().await;
    assert!(clean && events.last().unwrap().is_done());
    assert_eq!(content(&events), "Hello ".repeat(20));
    assert_eq!(events[0].json()["model"], CHAT, "an open call keeps its model");
}

#[tokio::test]
async fn after_a_reload_calls_go_to_the_new_replicas() {
    let app = TestApp::setup().engines(3).start().await;
    let urls: Vec<String> = app.engines.iter().map(FakeEngine::url).collect();
    for round in 0..24 {
        let chosen = round % app.engines.len();
        let named = format!("round {round}");
        let config = TestApp::setup().config(&urls[chosen..=chosen]);
        app.forebay.write_config(&config.replace("name = \"Tiny\"", &format!("name = \"{named}\""))).unwrap();
        app.forebay.child.signal("HUP").unwrap();
        wait_until("reloaded", TIMEOUT, async || {
            app.client().get(&format!("/models/{CHAT}")).await.json()["name"] == named.as_str()
        })
        .await;
        app.engines.iter().for_each(FakeEngine::forget_calls);
        for _ in 0..6 {
            assert_eq!(app.chat("hi").await.status_line(), "200 OK");
        }
        let counts: Vec<usize> = app.engines.iter().map(|engine| engine.calls().len()).collect();
        assert_eq!(counts[chosen], 6, "round {round}: {counts:?}, chosen was {chosen}");
    }
}

#[test]
fn all_problems_of_a_configuration_are_reported_together() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("forebay.toml");
    let path = file.to_str().unwrap();
    fs::write(
        &file,
        "[server]\nlisten = \"nowhere\"\nlissten = 1\n[edge]\nbody_limit = \"a lot\"\n[[models]]\nname = \"x\"\n",
    )
    .unwrap();
    let output = forebay(&["check-config", "--config", path]);
    assert_eq!(output.status.code(), Some(1));
    let errors = errors_of(&output).replace(folder.path().to_str().unwrap(), "FOLDER");
    for problem in ["listen", "lissten", "body_limit", "id"] {
        assert!(errors.contains(problem), "{problem} is not reported:\n{errors}");
    }
    assert!(errors.contains(":2") && errors.contains(":3") && errors.contains(":5"), "lines are reported:\n{errors}");
    let serve = forebay(&["serve", "--config", path, "--data-dir", folder.path().join("data").to_str().unwrap()]);
    assert_eq!((serve.status.code(), errors_of(&serve)), (Some(1), errors_of(&output)));

    fs::write(&file, "").unwrap();
    let output = forebay(&["check-config", "--config", path]);
    assert!(output.status.success(), "{}", errors_of(&output));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("the configuration is valid: 0 models"));
    let flavor =
        "[[models]]\nid = 'acme/x'\n[[models.flavors]]\nname = 'a'\ngpu_type = 'local/cpu'\nargv = ['no-such']\n";
    fs::write(&file, flavor).unwrap();
    let output = forebay(&["check-config", "--config", path]);
    assert!(output.status.success(), "{}", errors_of(&output));
    assert!(errors_of(&output).contains("`no-such`, which is not on the PATH"), "{}", errors_of(&output));
    let output = forebay(&["check-config", "--config", folder.path().join("none.toml").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors_of(&output).contains("none.toml"), "{}", errors_of(&output));
}

#[tokio::test]
async fn a_port_in_use_is_reported() {
    let app = TestApp::start().await;
    for (key, taken) in [("listen", app.forebay.public), ("ops_listen", app.forebay.ops)] {
        let other = if key == "listen" { "ops_listen" } else { "listen" };
        let config = format!("[server]\n{key} = \"{taken}\"\n{other} = \"127.0.0.1:0\"\n");
        let error = ForebayLaunch::default().binary(BINARY).start(&config).await.err().unwrap().to_string();
        assert!(error.contains("exit status: 1"), "{error}");
        assert!(error.contains(&format!("forebay: cannot listen on {taken}: another program does")), "{error}");
    }
    assert_eq!(app.chat("hi").await.status_line(), "200 OK");
}

#[test]
fn a_store_is_migrated_once() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().to_str().unwrap();
    let migrate = || String::from_utf8(forebay(&["migrate", "--data-dir", data_dir]).stdout).unwrap();
    expect!["schema version 36 (was 0)\n"].assert_eq(&migrate());
    expect!["schema version 36 (was 36)\n"].assert_eq(&migrate());
}

/// Creates a self-signed certificate for the loopback address. It is not one of an authority, so that it can be trusted as it is.
pub(crate) fn certificate(folder: &Path) {
    let names = "subjectAltName=DNS:localhost,IP:127.0.0.1";
    let arguments =
        ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    let output = Command::new("openssl")
        .current_dir(folder)
        .args(arguments)
        .args(["-subj", "/CN=localhost", "-addext", names, "-addext", "basicConstraints=CA:FALSE"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", errors_of(&output));
}

#[tokio::test]
async fn tls_serves_http_1_and_http_2() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path());
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let lines = format!("tls_cert = \"{}\"\ntls_key = \"{}\"", cert.display(), key.display());
    let app = TestApp::setup().server(&lines).first_start().start().await;
    let base = app.forebay.bootstrap()["baseUrl"].as_str().unwrap().to_owned();
    assert_eq!(base, format!("https://{}/v1", app.forebay.public));

    let curl = |arguments: &[&str]| {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--max-time", "20", "--cacert"]).arg(&cert);
        command.args(["--header", &format!("Authorization: Bearer {}", app.key)]);
        command.args(["--write-out", "\n%{http_version} %{response_code}"]).args(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", errors_of(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let (chats, models, none) = (format!("{base}/chat/completions"), format!("{base}/models"), format!("{base}/none"));
    let body = stream("hi").to_string();
    for (flag, version) in [("--http1.1", "1.1"), ("--http2", "2")] {
        assert!(curl(&[flag, &models]).ends_with(&format!("\n{version} 200")));
        let missing = curl(&[flag, &none]);
        assert!(missing.contains("route_not_found") && missing.ends_with(&format!("\n{version} 404")), "{missing}");
        let streamed = curl(&[flag, &chats, "--json", &body]);
        assert!(streamed.ends_with(&format!("data: [DONE]\n\n\n{version} 200")), "{streamed}");
        let session = curl(&[flag, "--include", &format!("https://{}/api/session", app.forebay.public)]);
        assert!(session.to_lowercase().contains("strict-transport-security: max-age=31536000"), "{session}");
    }
    app.engine().push(Script { stall_after: Some(1), ..Script::default() });
    let mut leaving = Command::new("curl");
    leaving.args(["--silent", "--no-buffer", "--http2", "--json", &body, &chats, "--output", "/dev/null", "--cacert"]);
    let mut leaving =
        leaving.arg(&cert).args(["--header", &format!("Authorization: Bearer {}", app.key)]).spawn().unwrap();
    assert!(app.engine().wait_for_calls(3, TIMEOUT).await);
    leaving.kill().unwrap();
    leaving.wait().unwrap();
    assert!(
        app.engine().wait_until_cancelled(Duration::from_secs(1)).await,
        "a disconnect over HTTP/2 is noticed, too"
    );

    let mut plain = Wire::open(app.forebay.public).await;
    plain.send_until_closed(get(&app, "/v1/models").as_bytes()).await;
    assert!(!plain.is_silent().await, "plain HTTP on a TLS port is rejected");
}

#[tokio::test]
async fn an_unreadable_certificate_is_reported() {
    let files = "tls_cert = \"/nowhere/cert.pem\"\ntls_key = \"/nowhere/key.pem\"";
    let config = GatewayConfig::default().server(files).render();
    let error = ForebayLaunch::default().binary(BINARY).start(&config).await.err().unwrap().to_string();
    assert!(error.contains("exit status: 1") && error.contains("/nowhere/cert.pem"), "{error}");
}

#[tokio::test]
async fn a_data_directory_is_private_to_one_process() {
    let app = TestApp::start().await;
    let data_dir = app.forebay.data_dir.clone();
    let config = app.forebay.config.to_str().unwrap().to_owned();
    let second = forebay(&["serve", "--config", &config, "--data-dir", data_dir.to_str().unwrap()]);
    assert_eq!(second.status.code(), Some(1));
    assert!(errors_of(&second).contains("another forebay is serving from"), "{}", errors_of(&second));
    assert!(data_dir.join("listen.json").exists(), "the file of the first process stays");
    assert_eq!(mode(&data_dir.join("forebay.db")) & 0o077, 0);
}

#[tokio::test]
async fn nothing_is_created_if_the_credentials_cannot_be_written() {
    let scratch = tempfile::tempdir().unwrap();
    let data_dir = scratch.path().join("data");
    fs::create_dir_all(data_dir.join("bootstrap.json/x")).unwrap();
    let config = scratch.path().join("forebay.toml");
    fs::write(&config, GatewayConfig::default().render()).unwrap();
    let failed = forebay(&["serve", "--config", config.to_str().unwrap(), "--data-dir", data_dir.to_str().unwrap()]);
    assert!(errors_of(&failed).contains("bootstrap.json is a folder"), "{}", errors_of(&failed));

    fs::remove_dir_all(data_dir.join("bootstrap.json")).unwrap();
    let text = fs::read_to_string(&config).unwrap();
    let launch = ForebayLaunch::default().binary(BINARY).data_dir(&data_dir);
    let forebay = launch.start(&text).await.unwrap();
    assert!(forebay.api_key().is_ok(), "the first start is repeated");
}
