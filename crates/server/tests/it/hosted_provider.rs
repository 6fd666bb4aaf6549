//! A hosted provider with OpenAI's API: another gateway, over TLS, with a key and with limits of its own.

use domain::usage::Certainty;
use http::StatusCode;
use serde_json::{Value, json};
use testkit::fake_engine::{FakeEngine, Script};

use crate::app::{CHAT, TestApp, chat, content, error_line, events_of, stream};
use crate::lifecycle::certificate;

const HOSTED: &str = "hosted/tiny";
/// The same provider with a wrong key.
const LOCKED: &str = "hosted/locked";
/// The same provider, and a server of our own.
const BOTH: &str = "hosted/both";
/// Calls per minute that the provider admits.
const LIMIT: u64 = 3;

fn to(model: &str) -> Value {
    named(model, chat("hi"))
}

fn named(model: &str, mut body: Value) -> Value {
    body["model"] = model.into();
    body
}

#[tokio::test]
async fn a_provider_is_called_over_tls_with_its_key_and_its_limits_are_not_the_clients() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let tls = format!("tls_cert = \"{}\"\ntls_key = \"{}\"", file("cert.pem"), file("key.pem"));
    let provider =
        TestApp::setup().server(&tls).workspace_limits(LIMIT, 1_000_000, 1_000_000_000).first_start().start().await;
    let url = format!("https://localhost:{}/v1", provider.forebay.public.port());
    let model = |id: &str, variable: &str, others: &str| {
        format!(
            "[[models]]\nid = \"{id}\"\ninput_per_1m = \"2.00\"\noutput_per_1m = \"8.00\"\n\
             upstreams = [{{ url = \"{url}\", model = \"{CHAT}\", api_key_env = \"{variable}\" }}{others}]\n"
        )
    };
    let second = FakeEngine::start().await;
    let others = format!(", {{ url = \"{}\" }}", second.url());
    let setup = TestApp::setup().table(&model(HOSTED, "PROVIDER_KEY", "")).table(&model(LOCKED, "WRONG_KEY", ""));
    let setup = setup.table(&model(BOTH, "PROVIDER_KEY", &others));
    let setup = setup.environment("PROVIDER_KEY", &provider.key).environment("WRONG_KEY", "sk-wrong");
    let app = setup.environment("SSL_CERT_FILE", &file("cert.pem")).start().await;

    let served = app.ask(to(HOSTED)).await;
    assert_eq!((served.status, &served.json()["model"]), (StatusCode::OK, &HOSTED.into()), "{}", served.text());
    let event = &app.usage(1).await[0];
    assert_eq!((event.tokens.prompt, event.tokens.completion), (10, 3), "as the provider counts");
    assert_eq!(event.cost.to_string(), "0.000044", "at the price of this catalogue");
    let sent = &provider.engine().calls()[0];
    assert!(!sent.headers.values().any(|value| value.to_str().is_ok_and(|text| text.contains(&app.key))));

    let events = events_of(&app.client(), "/chat/completions", named(HOSTED, stream("hi"))).await;
    assert_eq!(content(&events), served.json()["choices"][0]["message"]["content"], "{events:?}");
    let event = &app.usage(2).await[0];
    assert_eq!((event.tokens.completion, event.certainty), (3, Certainty::Exact), "of a stream, too");

    let wrong = app.ask(to(LOCKED)).await;
    assert_eq!(error_line(&wrong), "502 bad_gateway", "the key of the client is not what is wrong");
    for _ in 2..LIMIT {
        assert_eq!(app.ask(to(HOSTED)).await.status, 200);
    }
    let limited = app.ask(to(HOSTED)).await;
    assert_eq!(error_line(&limited), "503 model_not_serving", "{}", limited.text());
    let seconds: u64 = limited.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "as the provider says: {seconds}");
    assert_eq!(app.model_status(HOSTED).await, "available", "a limit is not a failure");

    // While the other server has a call, the provider is asked first.
    second.push(Script { stall_after: Some(1), ..Script::default() });
    let open = app.open_stream(named(BOTH, stream("hi"))).await;
    let elsewhere = app.ask(to(BOTH)).await;
    assert_eq!(elsewhere.status, StatusCode::OK, "{}", elsewhere.text());
    assert_eq!(second.calls().len(), 2, "both calls went on there");
    drop(open);
}

#[tokio::test]
async fn the_limit_of_a_call_has_the_name_that_openai_wants() {
    let provider = FakeEngine::start().await;
    provider.script(Script { refused: vec!["max_tokens".to_owned()], ..Script::default() });
    let table = format!(
        "[[models]]\nid = \"{HOSTED}\"\nupstreams = [{{ url = \"{}\", engine = \"openai\" }}]\n",
        provider.url()
    );
    let app = TestApp::setup().table(&table).start().await;
    let mut limited = to(HOSTED);
    limited["max_tokens"] = 5.into();
    for body in [to(HOSTED), limited] {
        let served = app.ask(body).await;
        assert_eq!(served.status, StatusCode::OK, "{}", served.text());
    }
    let sent: Vec<Value> = provider.calls().iter().map(|call| call.json()["max_completion_tokens"].clone()).collect();
    assert!(sent[0].is_u64(), "the gateway's own limit: {sent:?}");
    assert_eq!(sent[1], json!(5), "that of the client");
}
