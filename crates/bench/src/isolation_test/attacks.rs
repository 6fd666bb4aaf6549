//! The attacks: what is sent, on how many connections, and how often at most.

use std::sync::Arc;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use testkit::http::{Client, Response};

use super::Attack;
use super::attackers::{Plan, Requests};
use crate::hostile::gateway::{ATTACKED_MODEL, Gateway, MODEL, SHORT_MODEL};
use crate::hostile::requests::{
    bombs, chat_body, chat_call, chat_head, continued, gzip_head, key_header, post, prompt, request, text,
};

/// As many as a workspace may have by default.
pub(super) const ENDPOINTS: u32 = 100;
/// The size of a prompt that just fits into the context.
const PROMPT_BYTES: usize = 4_000_000;
/// The size of a prompt that cannot fit into its context.
const HOPELESS_BYTES: usize = 12_000_000;
/// The size of a prompt whose tokens are counted; a little less than what is accepted.
const COUNTED_BYTES: usize = 1_000_000;
/// What its engine counts, and returns the ids of.
pub(super) const COUNTED_TOKENS: u64 = COUNTED_BYTES as u64 / 4;
/// The size of a response that is too large.
pub(super) const RESPONSE_BYTES: usize = 65 << 20;

/// Prepares an attack.
pub(super) async fn plan(attack: Attack, gateway: &Gateway) -> anyhow::Result<Plan> {
    let key = gateway.target.attacker.clone();
    Ok(match attack {
        Attack::None => Plan { connections: 0, per_second: 1, request: Arc::new(|_| Bytes::new()) },
        Attack::RejectedKeys => {
            let body = chat_body(MODEL, "hi", false);
            let request = move |number: u64| chat_call(&format!("sk-aaaaaaaaaaaa-{number:032}"), &body);
            Plan { connections: 256, per_second: 5_000, request: Arc::new(request) }
        }
        Attack::FailingCalls => {
            let call = chat_call(&key, "{\"model\": 1}");
            Plan { connections: 256, per_second: 5_000, request: Arc::new(move |_| call.clone()) }
        }
        Attack::Edits => Plan { connections: 16, per_second: 1_000, request: edits(gateway).await? },
        Attack::Bombs => {
            let calls = bombs()?.map(|bomb| {
                let head = gzip_head(&key, bomb.len());
                Bytes::from([head.as_bytes(), &bomb].concat())
            });
            let request = move |number: u64| calls[usize::from(number % 2 == 1)].clone();
            Plan { connections: 32, per_second: 100, request: Arc::new(request) }
        }
        Attack::LongPrompts => {
            let body = chat_body(ATTACKED_MODEL, &prompt(PROMPT_BYTES), false);
            Plan { connections: 16, per_second: 50, request: in_turn(gateway, |key| chat_call(key, &body)) }
        }
        Attack::HopelessPrompts => {
            let body = chat_body(SHORT_MODEL, &prompt(HOPELESS_BYTES), false);
            Plan { connections: 16, per_second: 15, request: in_turn(gateway, |key| chat_call(key, &body)) }
        }
        Attack::CountedTokens => {
            let messages = json!([{"role": "user", "content": prompt(COUNTED_BYTES)}]);
            let body = json!({"model": ATTACKED_MODEL, "messages": messages}).to_string();
            let call = |key: &str| post("/v1/messages/count_tokens", &key_header(key), &body);
            Plan { connections: 64, per_second: 200, request: in_turn(gateway, call) }
        }
        Attack::LargeResponses => {
            let body = chat_body(ATTACKED_MODEL, "hi", false);
            Plan { connections: 16, per_second: 5, request: in_turn(gateway, |key| chat_call(key, &body)) }
        }
        Attack::Endpoints => {
            let client = Client::new(format!("http://{}/v1", gateway.target.address)).key(&key);
            // The gateway has been started with one endpoint.
            for number in 1..ENDPOINTS {
                let created = client.post_json("/endpoints", endpoint(number)).await;
                ensure!(created.status == 201, "no endpoint was created: {}", created.text());
            }
            let request = move |number: u64| endpoint_request(&key, number);
            Plan { connections: 256, per_second: 1_000, request: Arc::new(request) }
        }
        Attack::StoredResponses => {
            let calls = continued(&gateway.target).await?;
            Plan { connections: 256, per_second: 500, request: cycle(calls) }
        }
    })
}

/// The call of each workspace of the organization in turn.
fn in_turn(gateway: &Gateway, call: impl Fn(&str) -> Bytes) -> Requests {
    let calls: Vec<Bytes> = gateway.target.siblings.iter().map(|key| call(key)).collect();
    cycle(calls)
}

fn cycle(calls: Vec<Bytes>) -> Requests {
    Arc::new(move |number: u64| calls[usize::try_from(number).unwrap_or_default() % calls.len()].clone())
}

/// Changes of an endpoint with the key, and of another key with a session.
async fn edits(gateway: &Gateway) -> anyhow::Result<Requests> {
    let bootstrap = gateway.forebay.bootstrap();
    let console = Client::new(gateway.target.address);
    let credentials = json!({"email": bootstrap["email"], "password": bootstrap["password"]});
    let session = console.post_json("/api/session", credentials).await;
    ensure!(session.status == 200, "no session: {}", session.text());
    let (cookie, csrf) = (session_cookie(&session)?, text(&session.json()["csrfToken"])?);
    let keys = format!("/api/workspaces/{}/keys", text(&bootstrap["workspaceId"])?);
    let signed_in = console.header("cookie", &cookie).header("x-csrf-token", &csrf);
    let created = signed_in.send_json(Method::POST, &keys, json!({"name": "edited"})).await;
    ensure!(created.status == 201, "no key was created: {}", created.text());
    let edited = format!("{keys}/{}", text(&created.json()["id"])?);
    let key = gateway.target.attacker.clone();
    Ok(Arc::new(move |number: u64| match number % 4 {
        1 => post(&format!("{edited}/disable"), &session_headers(&cookie, &csrf), "{}"),
        3 => post(&format!("{edited}/enable"), &session_headers(&cookie, &csrf), "{}"),
        _ => {
            let labels = json!({"labels": {"edit": number.to_string()}}).to_string();
            request("PATCH", "/v1/endpoints/held", &key_header(&key), &labels)
        }
    }))
}

/// Most are calls, which are held for a second; some delete an endpoint, and create it again later.
fn endpoint_request(key: &str, number: u64) -> Bytes {
    let nth = |round: u64| 1 + u32::try_from(round % u64::from(ENDPOINTS - 1)).unwrap_or_default();
    let (chosen, deleted_before) = (nth(number / 16), nth(number / 16 + u64::from(ENDPOINTS / 2)));
    match number % 16 {
        0 => request("DELETE", &format!("/v1/endpoints/e{chosen}"), &key_header(key), ""),
        8 => post("/v1/endpoints", &key_header(key), &endpoint(deleted_before).to_string()),
        _ => {
            let body = chat_body(&format!("dedicated/e{chosen}"), "hi", false);
            let headers = format!("x-hold-timeout: 1\r\ncontent-length: {}\r\n", body.len());
            Bytes::from(chat_head(key, &headers) + &body)
        }
    }
}

fn endpoint(number: u32) -> Value {
    json!({"name": format!("e{number}"), "model": "test/held", "flavor": "one", "replicas": 1})
}

fn session_headers(cookie: &str, csrf: &str) -> String {
    format!("cookie: {cookie}\r\nx-csrf-token: {csrf}\r\n")
}

fn session_cookie(response: &Response) -> anyhow::Result<String> {
    let mut cookies = response.headers.get_all("set-cookie").iter().filter_map(|line| line.to_str().ok());
    let session = cookies.find(|line| line.contains("forebay_session="));
    Ok(session.and_then(|line| line.split(';').next()).context("no session cookie")?.to_owned())
}
