//! A model server: calls to it, and requests for how it describes itself.
//!
//! The address is the operator's. Requests are bounded in time and size, and no redirect is followed. Of a response, only
//! known members and the message of an error in JSON are passed on: the address may belong to another kind of service.

use super::calls::{Route, rename_limit};
use super::chat_stream::read_events;
use super::description::{Description, engine_of, engine_of_metrics, is_model_list, models_of, version_of};
use super::judge::{Reply, message_of};
use domain::model::{EngineKind, LimitName, Modality, RerankApi};
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, header};
use http1::client::OnceError;
use outbound::{Address, Connector, OutboundError};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const DESCRIPTION_TIMEOUT: Duration = Duration::from_secs(5);
/// The first call may load the model. All requests to a server together have this time, too, unless they are a probe.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// The name of a token limit that servers ask for which do not accept the usual one.
const OTHER_LIMIT: LimitName = LimitName::MaxCompletionTokens;
const MAX_TEXT_CHARS: usize = 300;
const HEALTH_PATH: &str = "/health";
const API_PATH: &str = "/v1";
/// Where engines say their version: vLLM and forebay-engine, llama-server, SGLang, Text Embeddings Inference.
const VERSION_PATHS: [(&str, &str); 4] =
    [("/version", "version"), ("/props", "build_info"), ("/server_info", "version"), ("/info", "version")];
/// The version of Anthropic's API, which its servers want to know.
const ANTHROPIC_VERSION: (HeaderName, HeaderValue) =
    (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));

/// A server with the OpenAI API.
#[derive(Clone)]
pub struct ModelServer {
    connector: Connector,
    /// With the path of its API, such as `http://127.0.0.1:9001/v1`.
    pub address: Address,
    key: Option<String>,
    /// The timeout of a single call.
    call_timeout: Duration,
    /// The end of all requests.
    deadline: Instant,
}

/// The server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No response at all.
    #[error("{0}")]
    Unreachable(String),
    /// A response, but not the expected one.
    #[error("{0}")]
    Unexpected(String),
}

/// A request without a response that can be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    /// No connection.
    #[error("{0}")]
    Unreachable(String),
    /// The connection ended before the response did.
    #[error("{0}")]
    Broken(String),
    /// The response is too slow or too long.
    #[error("{0}")]
    Unreadable(String),
    #[error("not all responses arrived within {limit:?}", limit = CALL_TIMEOUT)]
    Deadline,
}

impl From<SendError> for ProbeError {
    fn from(error: SendError) -> Self {
        Self::Unreachable(error.to_string())
    }
}

/// The result of one call.
#[derive(Debug)]
pub struct CallOutcome {
    pub modality: Modality,
    pub duration: Duration,
    pub result: Result<CallResponse, ProbeError>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct CallResponse {
    /// `None` for embeddings.
    pub answer: Option<String>,
    pub prompt_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
    /// Whether usage is in every chunk of a stream.
    pub continuous_usage: bool,
    /// The name of the token limit that the server has accepted.
    pub limit_name: LimitName,
}

impl ModelServer {
    /// A server that can be called for a minute from now.
    pub fn new(connector: Connector, address: Address, key: Option<String>) -> Self {
        Self { connector, address, key, call_timeout: CALL_TIMEOUT, deadline: Instant::now() + CALL_TIMEOUT }
    }

    /// The same server, to be called for this time.
    #[must_use]
    pub fn within(self, total: Duration) -> Self {
        Self { deadline: Instant::now() + total, ..self }
    }

    #[cfg(test)]
    pub(super) fn with_call_timeout(self, call_timeout: Duration) -> Self {
        Self { call_timeout, ..self }
    }

    /// Asks for models, engine, version and health. An address without `/v1` gets it if only that one has models.
    pub async fn describe(&mut self) -> Result<Description, ProbeError> {
        let mut models = self.get(&self.api_path("/models")).await?;
        if !is_model_list(&models) && !self.address.path.ends_with(API_PATH) {
            let longer = format!("{}{API_PATH}", self.address.path);
            let others = self.get(&format!("{longer}/models")).await?;
            let is_only_there = models.status == StatusCode::NOT_FOUND && others.status != StatusCode::NOT_FOUND;
            if is_only_there || is_model_list(&others) {
                (self.address.path, models) = (longer, others);
            }
        }
        let route = self.api_path("/models");
        if !models.status.is_success() {
            return Err(ProbeError::Unexpected(format!("GET {route}: {}", problem_of(&models))));
        }
        let list: Value = serde_json::from_slice(&models.body)
            .map_err(|_| ProbeError::Unexpected(format!("GET {route}: the response is not JSON")))?;
        let named = engine_of(&list);
        let health = self.get_at_root(HEALTH_PATH, named);
        let (health, version, metrics) = tokio::join!(health, self.version(named), self.get_at_root("/metrics", named));
        let body_of = |reply: Result<Reply, ProbeError>| reply.ok().filter(|reply| reply.status.is_success());
        let metrics = body_of(metrics).map(|reply| String::from_utf8_lossy(&reply.body).into_owned());
        Ok(Description {
            models: models_of(&list),
            engine: named.or_else(|| engine_of_metrics(metrics.as_deref().unwrap_or_default())),
            version,
            health_path: body_of(health).map(|_| HEALTH_PATH),
        })
    }

    /// The version of the engine, if it says one. `engine` is its kind, if known.
    pub async fn version(&self, engine: Option<EngineKind>) -> Option<String> {
        for (path, member) in VERSION_PATHS {
            let reply = self.get_at_root(path, engine).await.ok()?;
            if let Some(version) = version_of(&reply, member) {
                return Some(version);
            }
        }
        None
    }

    /// One call of a probe.
    pub(super) async fn ask(&self, route: &Route, body: &Value) -> Result<Reply, SendError> {
        let path = match route {
            Route::Api(route) => self.api_path(route),
            Route::Root(route) => self.path_beside_api(route),
        };
        self.send(Method::POST, &path, body.to_string().into_bytes(), self.call_timeout, self.key.as_deref()).await
    }

    /// A call with one token: a chat, or an embedding if the server does not accept the chat.
    pub async fn call_once(&self, model: &str) -> CallOutcome {
        let chat = self.chat(model, "Hi", 1).await;
        if matches!(chat.result, Ok(_) | Err(ProbeError::Unreachable(_))) {
            return chat;
        }
        let embedding = self.embed(model, "Hi").await;
        if embedding.result.is_ok() { embedding } else { chat }
    }

    /// A streamed chat, read to its end.
    pub async fn chat(&self, model: &str, prompt: &str, max_tokens: u32) -> CallOutcome {
        let began = Instant::now();
        let messages = json!([{"role": "user", "content": prompt}]);
        let options = json!({"include_usage": true, "continuous_usage_stats": true});
        let mut body = json!({
            "model": model, "messages": messages, "max_tokens": max_tokens, "stream": true, "stream_options": options,
        });
        let mut reply = self.post("/chat/completions", &body).await;
        // Some servers reject members that they do not know.
        if is_rejected(&reply) {
            body["stream_options"] = json!({"include_usage": true});
            reply = self.post("/chat/completions", &body).await;
        }
        let mut limit_name = LimitName::MaxTokens;
        // OpenAI names the member that it wants instead.
        if is_rejected(&reply) && reply.as_ref().is_ok_and(|reply| reply.message().contains(OTHER_LIMIT.as_str())) {
            limit_name = OTHER_LIMIT;
            rename_limit(&mut body, limit_name);
            reply = self.post("/chat/completions", &body).await;
        }
        let result = reply.and_then(|reply| match reply.status.is_success() {
            true => read_events(&reply).map(|response| CallResponse { limit_name, ..response }),
            false => Err(ProbeError::Unexpected(problem_of(&reply))),
        });
        CallOutcome { modality: Modality::Chat, duration: began.elapsed(), result }
    }

    /// One embedding.
    pub async fn embed(&self, model: &str, text: &str) -> CallOutcome {
        let began = Instant::now();
        let reply = self.post("/embeddings", &json!({"model": model, "input": text})).await;
        let result = reply.and_then(|reply| {
            let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
            if !reply.status.is_success() || !body["data"][0]["embedding"].is_array() {
                return Err(ProbeError::Unexpected(problem_of(&reply)));
            }
            Ok(CallResponse { prompt_tokens: body["usage"]["prompt_tokens"].as_u64(), ..CallResponse::default() })
        });
        CallOutcome { modality: Modality::Embedding, duration: began.elapsed(), result }
    }

    /// One comparison, in vLLM's API or in that of Text Embeddings Inference.
    pub async fn rerank(&self, api: RerankApi, model: &str, text: &str) -> CallOutcome {
        let began = Instant::now();
        let reply = match api {
            RerankApi::Vllm => self.post("/rerank", &json!({"model": model, "query": text, "documents": [text]})).await,
            RerankApi::Tei => {
                self.post_to(&self.path_beside_api("/rerank"), &json!({"query": text, "texts": [text]})).await
            }
        };
        let result = reply.and_then(|reply| {
            let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
            if !reply.status.is_success() || !(body["results"].is_array() || body.is_array()) {
                return Err(ProbeError::Unexpected(problem_of(&reply)));
            }
            Ok(CallResponse { prompt_tokens: body["usage"]["total_tokens"].as_u64(), ..CallResponse::default() })
        });
        CallOutcome { modality: Modality::Rerank, duration: began.elapsed(), result }
    }

    /// The path of a route of the API.
    fn api_path(&self, route: &str) -> String {
        format!("{}{route}", self.address.path)
    }

    /// The path of a route beside the API.
    fn path_beside_api(&self, route: &str) -> String {
        format!("{}{route}", self.address.path.strip_suffix(API_PATH).unwrap_or(&self.address.path))
    }

    async fn get(&self, path: &str) -> Result<Reply, ProbeError> {
        let reply = self.send(Method::GET, path, Vec::new(), DESCRIPTION_TIMEOUT, self.key.as_deref()).await;
        Ok(reply?)
    }

    /// A response from the root of the host, where engines describe themselves.
    async fn get_at_root(&self, path: &str, engine: Option<EngineKind>) -> Result<Reply, ProbeError> {
        Ok(self.send(Method::GET, path, Vec::new(), DESCRIPTION_TIMEOUT, self.key_at_root(engine)).await?)
    }

    /// The key for routes at the root. With an unusual path, the host may have other services, too: these get it only if
    /// the server is known as an engine.
    fn key_at_root(&self, engine: Option<EngineKind>) -> Option<&str> {
        let is_usual = self.address.path == API_PATH;
        self.key.as_deref().filter(|_| engine.is_some() || is_usual)
    }

    async fn post(&self, route: &str, body: &Value) -> Result<Reply, ProbeError> {
        self.post_to(&self.api_path(route), body).await
    }

    async fn post_to(&self, path: &str, body: &Value) -> Result<Reply, ProbeError> {
        let body = body.to_string().into_bytes();
        Ok(self.send(Method::POST, path, body, self.call_timeout, self.key.as_deref()).await?)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        timeout: Duration,
        key: Option<&str>,
    ) -> Result<Reply, SendError> {
        let unusable = |_| SendError::Unreachable("the address or the key cannot be used in a request".to_owned());
        let mut request = Request::builder().method(method).uri(path).body(body).map_err(unusable)?;
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if path.ends_with("/messages") {
            let (name, version) = ANTHROPIC_VERSION;
            headers.insert(name, version);
        }
        if let Some(key) = key {
            let bearer =
                HeaderValue::from_str(&format!("Bearer {key}")).map_err(http::Error::from).map_err(unusable)?;
            headers.insert(header::AUTHORIZATION, bearer);
        }
        let limit = timeout.min(self.deadline.saturating_duration_since(Instant::now()));
        let response = outbound::call_at(&self.address, limit, &self.connector, request).await;
        let response = response.map_err(|error| match error {
            OutboundError::Timeout(_) if limit < timeout => SendError::Deadline,
            OutboundError::Connect(cause) => {
                let host = &self.address.authority;
                SendError::Unreachable(format!("{host} is unreachable: {}", outbound::in_words(&cause)))
            }
            OutboundError::Address => SendError::Unreachable(error.to_string()),
            OutboundError::Exchange(OnceError::Connection(_)) => SendError::Broken(with_cause(&error)),
            OutboundError::Timeout(_) | OutboundError::Exchange(OnceError::TooLarge(_)) => {
                SendError::Unreadable(with_cause(&error))
            }
        })?;
        Ok(Reply { status: response.status(), body: response.into_body() })
    }
}

/// Whether the server does not accept the request as it is.
fn is_rejected(reply: &Result<Reply, ProbeError>) -> bool {
    reply.as_ref().is_ok_and(|reply| [400, 422].contains(&reply.status.as_u16()))
}

/// An error and what caused it, such as a refused connection.
fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

pub(super) fn shorten(text: &str) -> String {
    text.chars().take(MAX_TEXT_CHARS).collect()
}

/// The status, and the message of an error in JSON.
pub(super) fn problem_of(reply: &Reply) -> String {
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    format!("the server responds with {}{}", reply.status, after_colon(&body))
}

/// The message of an error, after a colon; empty without one.
pub(super) fn after_colon(body: &Value) -> String {
    message_of(body).map(|message| format!(": {}", shorten(&message))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::fake_engine::{FakeEngine, Script};

    fn server(url: &str, key: Option<&str>) -> ModelServer {
        ModelServer::new(Connector::default(), Address::parse(url).unwrap(), key.map(str::to_owned))
    }

    #[tokio::test]
    async fn all_requests_share_one_deadline() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", silent.local_addr().unwrap());
        let deadline = Instant::now() + Duration::from_millis(50);
        let mut server = ModelServer { deadline, ..server(&url, None) };
        let late = "not all responses arrived within 60s";
        assert_eq!(server.describe().await.unwrap_err().to_string(), late);
        assert_eq!(server.call_once("x").await.result.unwrap_err().to_string(), late);
    }

    #[tokio::test]
    async fn a_server_that_wants_another_name_of_the_limit_gets_it() {
        let engine = FakeEngine::start().await;
        let message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
        for _ in 0..2 {
            let error_message = Some(message.to_owned());
            engine.push(Script { status: Some(400), error_message, ..Script::default() });
        }
        let response = server(&engine.url(), None).call_once("x").await.result.unwrap();
        assert_eq!(response.limit_name, LimitName::MaxCompletionTokens);
        let sent = engine.calls()[2].json();
        assert_eq!((&sent["max_completion_tokens"], sent.get("max_tokens")), (&json!(1), None));
    }

    #[test]
    fn beside_another_path_only_a_known_engine_gets_the_key() {
        let key = |url: &str, engine| server(url, Some("secret")).key_at_root(engine).is_some();
        assert!(key("http://a/v1", None) && key("http://a/openai/v1", Some(EngineKind::Vllm)));
        assert!(!key("http://a/openai/v1", None) && !key("http://a", None));
    }

    #[test]
    fn of_an_error_only_the_message_in_json_is_passed_on() {
        let reply = |body: &str| Reply { status: StatusCode::UNAUTHORIZED, body: body.as_bytes().to_vec() };
        let shown = problem_of(&reply(r#"{"error":{"message":"bad key"},"secret":"x"}"#));
        assert_eq!(shown, "the server responds with 401 Unauthorized: bad key");
        assert_eq!(problem_of(&reply("<html>secret</html>")), "the server responds with 401 Unauthorized");
    }
}
