//! Routes of the fake engine, and how a script becomes a response.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde_json::json;
use tokio::sync::Notify;

use super::body::{Length, ScriptedBody, Step};
use super::completions::CompletionCall;
use super::embeddings::{self, EmbeddingCall};
use super::native::{NativeApi, NativeCall};
use super::personality::Personality;
use super::request::ChatRequest;
use super::rerank::{RerankCall, ScoreFormat};
use super::script::Script;
use super::simulation::{Prefilled, SimulatedEngine};
use super::state::{CallGuard, State};
use super::stream::CUT_DELAY;
use super::{chat, errors, stream};

/// Upper bound for request bodies.
const MAX_REQUEST_BYTES: usize = 256 * 1024 * 1024;
/// Tokens of a simulated response without a limit.
const SIMULATED_TOKENS: u64 = 16;
const JSON: &str = "application/json";

/// Closes the connection without a response.
#[derive(Debug, thiserror::Error)]
#[error("the script hangs up here")]
pub(super) struct HangUp;

type EngineResponse = Response<ScriptedBody>;

pub(super) async fn respond_to(
    state: Arc<State>,
    connection: Arc<Notify>,
    request: Request<Incoming>,
) -> Result<EngineResponse, HangUp> {
    let (parts, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_REQUEST_BYTES).collect().await else {
        return Err(HangUp);
    };
    let body = body.to_bytes();
    let path = parts.uri.path();
    if !may_call(&state, path, &parts.headers) {
        return Ok(error(StatusCode::UNAUTHORIZED, "Unauthorized"));
    }
    match (&parts.method, path) {
        (&Method::POST, "/v1/chat/completions") => {
            let guard = state.begin_call(&parts, &body);
            chat_response(&state, connection, guard, &body).await
        }
        (&Method::POST, "/v1/embeddings") => {
            let guard = state.begin_call(&parts, &body);
            embedding_response(&state, connection, guard, &body).await
        }
        (&Method::POST, "/v1/completions") => {
            let guard = state.begin_call(&parts, &body);
            completion_response(&state, connection, guard, &body).await
        }
        (&Method::POST, "/v1/rerank" | "/rerank" | "/v1/score") => {
            let guard = state.begin_call(&parts, &body);
            let format = if path == "/v1/score" { ScoreFormat::List } else { ScoreFormat::Results };
            let script = state.next_script();
            match RerankCall::parse(&body) {
                Ok(call) => play_whole(&script, connection, guard, call.render(&script, format)).await,
                Err(message) => Ok(reject(guard, &message)),
            }
        }
        (&Method::POST, "/detokenize") => {
            let guard = state.begin_call(&parts, &body);
            let script = state.next_script();
            play_whole(&script, connection, guard, json!({"prompt": script.text}).to_string().into()).await
        }
        (&Method::POST, "/v1/messages") => {
            let guard = state.begin_call(&parts, &body);
            native_response(&state, connection, guard, NativeApi::Messages, &body).await
        }
        (&Method::POST, "/v1/responses") => {
            let guard = state.begin_call(&parts, &body);
            native_response(&state, connection, guard, NativeApi::Responses, &body).await
        }
        (&Method::POST, "/v1/messages/count_tokens") => {
            let guard = state.begin_call(&parts, &body);
            let count = json!({"input_tokens": state.next_script().prompt_tokens}).to_string();
            Ok(respond(JSON, ScriptedBody::whole(count.into()).guarded_by(guard)))
        }
        (&Method::POST, "/tokenize") => {
            let guard = state.begin_call(&parts, &body);
            let script = state.next_script();
            play_whole(&script, connection, guard, count_response(&script)).await
        }
        (&Method::POST, "/script" | "/script/next") => Ok(set_script(&state, path == "/script/next", &body)),
        (&Method::GET, _) => Ok(get_response(&state, path)),
        _ => Ok(error(StatusCode::NOT_FOUND, "Not Found")),
    }
}

/// Engines with a key guard their API; the routes that control the script stay open to tests.
fn may_call(state: &State, path: &str, headers: &http::HeaderMap) -> bool {
    let is_guarded =
        (path.starts_with("/v1/") && path != "/v1/health") || ["/tokenize", "/detokenize", "/metrics"].contains(&path);
    let Some(key) = state.key.as_ref().filter(|_| is_guarded) else { return true };
    let given = headers.get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    given.and_then(|value| value.strip_prefix("Bearer ")) == Some(key.as_str())
}

async fn chat_response(
    state: &State,
    connection: Arc<Notify>,
    guard: CallGuard,
    body: &Bytes,
) -> Result<EngineResponse, HangUp> {
    if let Some(engine) = &state.simulated {
        return Ok(simulated_response(Arc::clone(engine), guard, body).await);
    }
    static PLAIN: LazyLock<Bytes> =
        LazyLock::new(|| chat::render(&Script::default(), &ChatRequest { choices: 1, ..ChatRequest::default() }));
    let quick = if state.recording { None } else { ChatRequest::scan(body) };
    let mut chat_request = match quick {
        Some(parsed) if !parsed.stream && state.is_plain() => {
            return Ok(respond(JSON, ScriptedBody::whole(PLAIN.clone()).guarded_by(guard)));
        }
        Some(parsed) => parsed,
        None => match ChatRequest::parse(body) {
            Ok(parsed) => parsed,
            Err(message) => return Ok(reject(guard, &message)),
        },
    };
    let script = chat_request.script.clone().map_or_else(|| state.next_script(), Arc::new);
    if let Some(name) = script.refused.iter().find(|name| has_name(body, name)) {
        guard.complete();
        let (status, message) = script.engine.refusal(name);
        return Ok(error(status, &message));
    }
    script.engine.read_own_members(&mut chat_request);
    let script = chat_request.beginning().map(|text| Arc::new(script.continuing(text))).unwrap_or(script);
    let whole = if chat_request.stream { None } else { Some(chat::render(&script, &chat_request)) };
    let Some(whole) = whole else {
        return play(&script, connection, guard, "text/event-stream", Length::Chunked, || {
            stream::render(&script, &chat_request)
        })
        .await;
    };
    play_whole(&script, connection, guard, whole).await
}

/// Whether a name stands in quotes somewhere in the body.
fn has_name(body: &[u8], name: &str) -> bool {
    memchr::memmem::find(body, format!("\"{name}\"").as_bytes()).is_some()
}

async fn completion_response(
    state: &State,
    connection: Arc<Notify>,
    guard: CallGuard,
    body: &Bytes,
) -> Result<EngineResponse, HangUp> {
    let call = match CompletionCall::parse(body) {
        Ok(call) => call,
        Err(message) => return Ok(reject(guard, &message)),
    };
    let script = state.next_script();
    if call.is_stream() {
        let steps = || call.render_stream(&script);
        return play(&script, connection, guard, "text/event-stream", Length::Chunked, steps).await;
    }
    play_whole(&script, connection, guard, call.render(&script)).await
}

async fn native_response(
    state: &State,
    connection: Arc<Notify>,
    guard: CallGuard,
    api: NativeApi,
    body: &Bytes,
) -> Result<EngineResponse, HangUp> {
    let call = match NativeCall::parse(api, body) {
        Ok(call) => call,
        Err(message) => return Ok(reject(guard, &message)),
    };
    let script = call.in_its_api(state.next_script());
    if call.is_stream() {
        let steps = || call.render_stream(&script);
        return play(&script, connection, guard, "text/event-stream", Length::Chunked, steps).await;
    }
    play_whole(&script, connection, guard, call.render(&script)).await
}

/// vLLM's count of the tokens of a prompt.
fn count_response(script: &Script) -> Bytes {
    let count = script.prompt_tokens;
    json!({"count": count, "max_model_len": 4096, "tokens": vec![1; usize::try_from(count).unwrap_or(0)]})
        .to_string()
        .into()
}

/// Computes the prompt. Like real engines, it sends the head of a stream at once.
async fn simulated_response(engine: Arc<SimulatedEngine>, guard: CallGuard, body: &Bytes) -> EngineResponse {
    let parsed = ChatRequest::parse(body).and_then(|request| Ok((request, engine.prompt(body)?)));
    let (request, prompt) = match parsed {
        Ok(parsed) => parsed,
        Err(message) => return reject(guard, &message),
    };
    let script = move |prefilled: Prefilled, decode: Duration| Script {
        prompt_tokens: prefilled.prompt_tokens,
        cached_tokens: Some(prefilled.cached_tokens),
        chunks: 2,
        chunk_delay_ms: u64::try_from(decode.as_millis()).unwrap_or(u64::MAX),
        ..Script::default()
    };
    let tokens = request.limit.unwrap_or(SIMULATED_TOKENS);
    let decode = engine.decode_time(tokens);
    if request.stream {
        let steps = async move {
            let script = Script { completion_tokens: Some(tokens), ..script(engine.prefill(&prompt).await, decode) };
            stream::render(&script, &request)
        };
        return respond("text/event-stream", ScriptedBody::later(steps).guarded_by(guard));
    }
    let script = Script { completion_tokens: Some(tokens), ..script(engine.prefill(&prompt).await, decode) };
    tokio::time::sleep(decode).await;
    respond(JSON, ScriptedBody::whole(chat::render(&script, &request)).guarded_by(guard))
}

async fn embedding_response(
    state: &State,
    connection: Arc<Notify>,
    guard: CallGuard,
    body: &Bytes,
) -> Result<EngineResponse, HangUp> {
    let call = match EmbeddingCall::parse(body) {
        Ok(call) => call,
        Err(message) => return Ok(reject(guard, &message)),
    };
    let script = call.fake.clone().map_or_else(|| state.next_script(), Arc::new);
    match embeddings::render(&script, &call) {
        Ok(whole) => play_whole(&script, connection, guard, whole).await,
        Err(message) => Ok(reject(guard, &message)),
    }
}

/// A unary response, which may be cut or stall in the middle.
async fn play_whole(
    script: &Script,
    connection: Arc<Notify>,
    guard: CallGuard,
    whole: Bytes,
) -> Result<EngineResponse, HangUp> {
    if script.stall_after == Some(0) {
        return never(guard).await;
    }
    let length = if script.chunked { Length::Chunked } else { Length::Known(whole.len() as u64) };
    let half = whole.slice(..whole.len() / 2);
    let steps = match (script.cut_after, script.stall_after, script.split) {
        (Some(_), _, _) => vec![Step::Send(half), Step::Wait(CUT_DELAY), Step::Cut],
        (None, Some(_), _) => vec![Step::Send(half), Step::Stall],
        (None, None, Some(size)) => stream::in_pieces(vec![Step::Send(whole)], size.max(1), script.chunk_delay_ms),
        (None, None, None) => vec![Step::Send(whole)],
    };
    play(script, connection, guard, JSON, length, || steps).await
}

async fn play(
    script: &Script,
    connection: Arc<Notify>,
    guard: CallGuard,
    content_type: &'static str,
    length: Length,
    steps: impl FnOnce() -> Vec<Step>,
) -> Result<EngineResponse, HangUp> {
    if script.delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(script.delay_ms)).await;
    }
    if script.hang_up {
        guard.complete();
        return Err(HangUp);
    }
    // For an error event in a stream, `status` is only its code, not the status of the response.
    let error_status = script.status.filter(|_| script.error_event_after.is_none());
    let (content_type, mut body) = if let Some(status) = error_status {
        let (body, content_type) = errors::render(&script.error_body, status, &errors::message(script, status));
        (content_type, ScriptedBody::whole(body))
    } else if script.html {
        let page = Bytes::from_static(b"<!DOCTYPE html><html><body><h1>It works!</h1></body></html>");
        ("text/html", ScriptedBody::whole(page))
    } else {
        (content_type, ScriptedBody::new(steps(), length))
    };
    body = body.guarded_by(guard);
    if script.close_after_response {
        body = body.then_close(connection);
    }
    let mut response = respond(content_type, body);
    *response.status_mut() =
        error_status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(StatusCode::OK);
    if error_status.is_some() && script.engine == Personality::LlamaServer {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(value) = script.retry_after.as_deref().and_then(|text| HeaderValue::from_str(text).ok()) {
        response.headers_mut().insert(RETRY_AFTER, value);
    }
    for (name, value) in &script.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    Ok(response)
}

/// Blocks until the connection is closed.
async fn never(guard: CallGuard) -> Result<EngineResponse, HangUp> {
    std::future::pending::<()>().await;
    guard.complete();
    Err(HangUp)
}

fn set_script(state: &State, next_call_only: bool, body: &[u8]) -> EngineResponse {
    match serde_json::from_slice::<Script>(body) {
        Ok(script) if next_call_only => state.push(script),
        Ok(script) => state.set_current(script),
        Err(problem) => return error(StatusCode::BAD_REQUEST, &problem.to_string()),
    }
    respond(JSON, ScriptedBody::whole(Bytes::from_static(b"{}")))
}

fn get_response(state: &State, path: &str) -> EngineResponse {
    let count = |counter: &std::sync::atomic::AtomicUsize| counter.load(SeqCst);
    match path {
        "/health" | "/v1/health" | "/ping" => {
            let mut response = respond(JSON, ScriptedBody::whole(Bytes::from_static(b"{}")));
            *response.status_mut() = StatusCode::from_u16(state.health.load(SeqCst)).unwrap_or(StatusCode::OK);
            response
        }
        "/v1/models" => {
            let model = &state.current().model;
            let data = json!([{"id": model, "object": "model", "created": chat::CREATED, "owned_by": "fake"}]);
            respond_json(&json!({"object": "list", "data": data}))
        }
        "/version" => match &state.current().version {
            Some(version) => respond_json(&json!({"version": version})),
            None => error(StatusCode::NOT_FOUND, "Not Found"),
        },
        "/metrics" => {
            let running = count(&state.in_flight);
            if let Some(engine) = &state.simulated {
                let text = engine.metrics(running);
                return respond("text/plain; version=0.0.4", ScriptedBody::whole(Bytes::from(text)));
            }
            let text = format!(
                "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{{model_name=\"fake-model\"}} {running}\n\
                 # TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{{model_name=\"fake-model\"}} 0\n\
                 # TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc{{model_name=\"fake-model\"}} 0.0\n{}",
                state.counters()
            );
            respond("text/plain; version=0.0.4", ScriptedBody::whole(Bytes::from(text)))
        }
        "/state" => respond_json(&json!({
            "served": count(&state.served),
            "in_flight": count(&state.in_flight),
            "cancelled": count(&state.cancelled),
            "accepted": count(&state.accepted),
            "open": count(&state.open),
        })),
        _ => error(StatusCode::NOT_FOUND, "Not Found"),
    }
}

fn reject(guard: CallGuard, message: &str) -> EngineResponse {
    guard.complete();
    error(StatusCode::BAD_REQUEST, message)
}

fn error(status: StatusCode, message: &str) -> EngineResponse {
    let (body, content_type) = errors::render(&super::ErrorBody::Vllm, status.as_u16(), message);
    let mut response = respond(content_type, ScriptedBody::whole(body));
    *response.status_mut() = status;
    response
}

fn respond_json(value: &serde_json::Value) -> EngineResponse {
    respond(JSON, ScriptedBody::whole(Bytes::from(value.to_string())))
}

fn respond(content_type: &'static str, body: ScriptedBody) -> EngineResponse {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
