//! Calls, each on a connection of its own, and exactly how each of them ended.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use testkit::http::{Client, Event, Response, Stream};

use super::{ENDPOINTS, Load, UsableKey, lock};
use crate::cluster::MODEL;
use crate::cluster::network::public;
use crate::history::{Call, Outcome, Record, Tokens};
use crate::random::Random;
use crate::schedule::NODES;

/// Longer than any pause, hold or partition.
const DEADLINE: Duration = Duration::from_secs(60);
/// A client that leaves does so after this many events.
const LEAVES_AFTER: usize = 3;
/// As many bytes as a prompt may have tokens.
const PROMPT_BYTES: usize = 1_088;

/// A call before it is sent.
struct Planned {
    number: u64,
    node: usize,
    key: UsableKey,
    model: String,
    scripted: Option<Tokens>,
    body: Value,
    leaves: bool,
}

pub(super) async fn call_until_stopped(load: Arc<Load>, mut random: Random) -> anyhow::Result<()> {
    while !load.is_stopped() {
        let planned = plan(&load, &mut random);
        let began = load.recorder.now();
        let client = Client::new(format!("http://{}/v1", public(planned.node))).key(&planned.key.text);
        let (request, outcome) = match tokio::time::timeout(DEADLINE, send(&client, &planned)).await {
            Ok(ended) => ended,
            Err(_) => (None, Outcome::TimedOut),
        };
        let Planned { number, node, key, model, scripted, .. } = planned;
        let ended = load.recorder.now();
        let call = Call {
            number,
            node,
            workspace: key.workspace,
            key: key.id,
            model,
            began,
            ended,
            request,
            scripted,
            outcome,
        };
        load.recorder.add(&Record::Call(call))?;
        load.sleep(Duration::from_millis(random.between(100, 800))).await;
    }
    Ok(())
}

fn plan(load: &Load, random: &mut Random) -> Planned {
    let tenants = &load.tenants;
    let number = load.next_number();
    let (mut model, mut is_scripted) = (MODEL.to_owned(), true);
    let key = match random.below(100) {
        0..15 => tenants.limited.clone(),
        15..35 => tenants.capped.clone(),
        35..47 => {
            let (name, _) = ENDPOINTS[random.index(ENDPOINTS.len())];
            model = format!("dedicated/{name}");
            is_scripted = name != "real";
            tenants.dedicated.clone()
        }
        47..51 => pick(&lock(&load.revoked), random).unwrap_or_else(|| tenants.steady.clone()),
        51..65 => {
            let valid: Vec<UsableKey> = lock(&load.valid).iter().map(|(key, _)| key.clone()).collect();
            pick(&valid, random).unwrap_or_else(|| tenants.steady.clone())
        }
        65..85 => match &tenants.budgeted {
            Some(budgeted) if random.one_in(2) => budgeted.alone.clone(),
            Some(budgeted) => budgeted.together[random.index(2)].clone(),
            None => tenants.steady.clone(),
        },
        _ => tenants.steady.clone(),
    };
    let streamed = random.one_in(2);
    let is_long = streamed && random.one_in(8);
    let scripted = is_scripted.then(|| usage_of(number, is_long));
    let body = body(&model, streamed, is_long, scripted);
    let leaves = streamed && random.one_in(20);
    Planned { number, node: random.index(NODES), key, model, scripted, body, leaves }
}

fn pick(keys: &[UsableKey], random: &mut Random) -> Option<UsableKey> {
    (!keys.is_empty()).then(|| keys[random.index(keys.len())].clone())
}

/// The usage that the engine reports for a call. No other call has it, until their number exceeds 2^20.
fn usage_of(number: u64, is_long: bool) -> Tokens {
    let shortest = if is_long { 40 } else { 8 };
    Tokens { prompt: 64 + number % 1_024, cached: (number >> 10) % 64, completion: shortest + (number >> 16) % 16 }
}

fn body(model: &str, streamed: bool, is_long: bool, scripted: Option<Tokens>) -> Value {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": "x".repeat(PROMPT_BYTES)}]});
    match scripted {
        Some(Tokens { prompt, completion, cached }) => {
            let (delay, chunk_delay) = if is_long { (0, 200) } else { (20, 20) };
            body["max_tokens"] = json!(64);
            body["fake"] = json!({
                "prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached, "chunks": completion,
                "delay_ms": delay, "chunk_delay_ms": chunk_delay, "text": "w ",
            });
        }
        None => {
            body["messages"] = json!([{"role": "user", "content": "Count to three."}]);
            body["max_tokens"] = json!(6);
        }
    }
    if streamed {
        body["stream"] = json!(true);
        body["stream_options"] = json!({"include_usage": true});
    }
    body
}

/// The request's id, if the client saw one, and the outcome.
async fn send(client: &Client, planned: &Planned) -> (Option<String>, Outcome) {
    let body = Bytes::from(planned.body.to_string());
    if planned.body["stream"] == true {
        return match client.try_open_stream("/chat/completions", body).await {
            Ok(stream) => {
                let request = id(&stream.headers);
                (request, read(stream, planned.leaves).await)
            }
            Err(error) => (None, lost(&error)),
        };
    }
    match client.try_send(Method::POST, "/chat/completions", body).await {
        Ok(response) => (id(&response.headers), whole(&response)),
        Err(error) => (None, lost(&error)),
    }
}

fn id(headers: &http::HeaderMap) -> Option<String> {
    headers.get("x-request-id").and_then(|value| value.to_str().ok()).map(ToOwned::to_owned)
}

/// Names the stage in which a call without a response was lost.
fn lost(error: &anyhow::Error) -> Outcome {
    let shown = format!("{error:#}");
    match error.to_string().as_str() {
        "connect" => Outcome::Unreachable { error: shown },
        "the response was cut off" => Outcome::Cut { error: shown },
        _ => Outcome::NoResponse { error: shown },
    }
}

fn whole(response: &Response) -> Outcome {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
    match usage(&body) {
        Some(tokens) if response.status == 200 => Outcome::Served(tokens),
        _ => rejected(response.status.as_u16(), &body),
    }
}

fn rejected(status: u16, body: &Value) -> Outcome {
    let code = body["error"]["code"].as_str().or(body["error"]["type"].as_str()).unwrap_or_default();
    Outcome::Rejected { status, code: code.to_owned() }
}

/// Reads a stream to its end, or leaves it.
async fn read(mut stream: Stream, leaves: bool) -> Outcome {
    if stream.status != 200 {
        let status = stream.status.as_u16();
        let mut body = Vec::new();
        while let Ok(Some(bytes)) = stream.next_bytes().await {
            body.extend_from_slice(&bytes);
        }
        return rejected(status, &serde_json::from_slice(&body).unwrap_or(Value::Null));
    }
    let (mut tokens, mut events) = (None, 0);
    loop {
        match stream.try_next_event().await {
            Ok(Some(event)) if event.is_done() => {
                return tokens.map_or_else(|| Outcome::Cut { error: "no usage".to_owned() }, Outcome::Served);
            }
            Ok(Some(event)) => {
                if let Some(code) = error_code(&event) {
                    return Outcome::ErrorEvent { code };
                }
                tokens = usage(&event.json()).or(tokens);
                events += 1;
                if leaves && events == LEAVES_AFTER {
                    return Outcome::Left;
                }
            }
            Ok(None) => return Outcome::Cut { error: "the stream ended without [DONE]".to_owned() },
            Err(error) => return Outcome::Cut { error: error.to_string() },
        }
    }
}

fn error_code(event: &Event) -> Option<String> {
    let error = event.json().get("error")?.clone();
    Some(error["code"].as_str().unwrap_or_default().to_owned())
}

fn usage(body: &Value) -> Option<Tokens> {
    let usage = body.get("usage")?;
    Some(Tokens {
        prompt: usage["prompt_tokens"].as_u64()?,
        completion: usage["completion_tokens"].as_u64()?,
        cached: usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_calls_have_the_same_usage() {
        let mut seen = HashSet::new();
        let mut random = Random::new(1);
        assert!((0..1 << 20).all(|number| seen.insert(usage_of(number, random.one_in(8)))));
    }

    #[test]
    fn a_lost_call_is_named_by_its_stage() {
        let error = |text: &'static str| anyhow::anyhow!("refused").context(text);
        assert!(matches!(lost(&error("connect")), Outcome::Unreachable { .. }));
        assert!(matches!(lost(&error("no response")), Outcome::NoResponse { .. }));
        assert!(matches!(lost(&error("the response was cut off")), Outcome::Cut { .. }));
    }

    #[test]
    fn usage_is_read_from_a_response() {
        let body = json!({"usage": {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}});
        assert_eq!(usage(&body), Some(Tokens { prompt: 3, completion: 2, cached: 1 }));
        assert_eq!(usage(&json!({"usage": null})), None);
    }
}
