//! The attacks: what is sent, on how many connections, and how often at most.

use std::sync::Arc;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use testkit::http::{Client, Response};

use super::Attack;
use super::attackers::{Plan, Requests};
use crate::hostile::gateway::{ATTACKED_MODEL, Gateway, MODEL};
use crate::hostile::requests::{
    ANNOUNCED_WITHOUT_KEY, MAX_BODY, announced, bombs, chat_body, chat_call, chat_head, continued, counted, gzip_head,
    hopeless, key_header, post, prompt, request, text,
};

/// As many as a workspace may have by default.
pub(super) const ENDPOINTS: u32 = 100;
/// The size of a prompt that just fits into the context.
const PROMPT_BYTES: usize = 4_000_000;
/// Connections that announce bodies with keys, and as many without a credential.
const ANNOUNCERS: usize = 240;
/// Announced bodies have the length that is allowed, half of it, and so on.
const LENGTHS: usize = 8;
/// The size of a response that is too large.
pub(super) const RESPONSE_BYTES: usize = 65 << 20;

/// Prepares an attack: what is sent at once.
pub(super) async fn plans(attack: Attack, gateway: &Gateway) -> anyhow::Result<Vec<Plan>> {
    let (key, siblings) = (gateway.target.attacker.clone(), &gateway.target.siblings);
    let plan = |connections, per_second, request| vec![Plan { connections, per_second, request }];
    Ok(match attack {
        Attack::None => Vec::new(),
        Attack::RejectedKeys => {
            let body = chat_body(MODEL, "hi", false);
            let request = move |number: u64| chat_call(&format!("sk-aaaaaaaaaaaa-{number:032}"), &body);
            plan(256, 5_000, Arc::new(request))
        }
        Attack::FailingCalls => plan(256, 5_000, cycle(vec![chat_call(&key, "{\"model\": 1}")])),
        Attack::Announced => {
            let lengths = |longest: usize| (0..LENGTHS).map(move |halved| longest >> halved);
            let of_keys =
                lengths(MAX_BODY).flat_map(|length| siblings.iter().map(move |key| announced(Some(key), length)));
            let without_key = lengths(ANNOUNCED_WITHOUT_KEY).map(|length| announced(None, length));
            let plan = |calls| Plan { connections: ANNOUNCERS, per_second: 500, request: cycle(calls) };
            vec![plan(of_keys.collect()), plan(without_key.collect())]
        }
        Attack::Edits => plan(16, 1_000, edits(gateway).await?),
        Attack::Bombs => {
            let call = |bomb: Vec<u8>| Bytes::from([gzip_head(&key, bomb.len()).as_bytes(), &bomb].concat());
            plan(32, 100, cycle(bombs()?.map(call).to_vec()))
        }
        Attack::LongPrompts => {
            let body = chat_body(ATTACKED_MODEL, &prompt(PROMPT_BYTES), false);
            plan(16, 50, cycle(siblings.iter().map(|key| chat_call(key, &body)).collect()))
        }
        Attack::HopelessPrompts => plan(16, 15, cycle(hopeless(&gateway.target))),
        Attack::CountedTokens => plan(64, 200, cycle(counted(&gateway.target))),
        Attack::LargeResponses => {
            let body = chat_body(ATTACKED_MODEL, "hi", false);
            plan(16, 5, cycle(siblings.iter().map(|key| chat_call(key, &body)).collect()))
        }
        Attack::Endpoints => {
            let client = Client::new(format!("http://{}/v1", gateway.target.address)).key(&key);
            // The gateway has been started with one endpoint.
            for number in 1..ENDPOINTS {
                let created = client.post_json("/endpoints", endpoint(number)).await;
                ensure!(created.status == 201, "no endpoint was created: {}", created.text());
            }
            plan(256, 1_000, Arc::new(move |number: u64| endpoint_request(&key, number)))
        }
        Attack::StoredResponses => plan(256, 500, cycle(continued(&gateway.target).await?)),
    })
}

/// Each of the requests in turn.
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
