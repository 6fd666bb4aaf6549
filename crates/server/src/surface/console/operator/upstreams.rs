//! `/api/operator/upstreams/probe` and `…/models/{id}/test`: what a model server is, and whether a model responds.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{Id, Operator, Payload};
use axum::Json;
use config::{OPENAI_ENGINE, http_url};
use domain::ModelId;
use domain::model::{LimitName, Modality};
use fleet::backend::Health;
use fleet::probe::{CallOutcome, Description, ModelServer, OfferedModel, ProbeError};
use outbound::Address;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;

const DEFAULT_PROMPT: &str = "Say hello.";
const MAX_PROMPT_CHARS: usize = 2_000;
const DEFAULT_MAX_TOKENS: u32 = 32;
const MAX_TOKENS: u32 = 256;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ProbeRequest {
    #[schema(example = "http://127.0.0.1:9001/v1")]
    url: String,
    /// Used for this probe only.
    #[schema(format = Password)]
    api_key: Option<String>,
    /// The model to call; default: the first one that the server lists.
    model: Option<String>,
}

/// What a model server is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UpstreamProbe)]
pub(crate) struct ProbeView {
    /// The address without a trailing slash, and with `/v1` if the server has its models only there.
    url: String,
    reachable: bool,
    /// Why the server cannot be used.
    error: Option<String>,
    /// `forebay-engine`, `vllm`, `sglang`, `llama-server` or `openai`, if recognized.
    engine: Option<&'static str>,
    version: Option<String>,
    health_path: Option<&'static str>,
    models: Vec<OfferedModelView>,
    /// A call with one token; null if no model is known.
    call: Option<CallView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OfferedModel)]
struct OfferedModelView {
    id: String,
    context_length: Option<u64>,
}

impl From<OfferedModel> for OfferedModelView {
    fn from(model: OfferedModel) -> Self {
        Self { id: model.id, context_length: model.context_length }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProbeCall)]
struct CallView {
    model: String,
    /// `chat` or `embedding`.
    modality: &'static str,
    ok: bool,
    duration_millis: u64,
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    /// Whether usage is in every chunk of a stream.
    continuous_usage: bool,
    error: Option<String>,
}

impl CallView {
    fn new(model: String, outcome: CallOutcome) -> Self {
        let (response, error) = split(outcome.result);
        Self {
            model,
            modality: outcome.modality.as_str(),
            ok: error.is_none(),
            duration_millis: millis(outcome.duration),
            prompt_tokens: response.prompt_tokens,
            completion_tokens: response.completion_tokens,
            continuous_usage: response.continuous_usage,
            error,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn split<T: Default>(result: Result<T, ProbeError>) -> (T, Option<String>) {
    match result {
        Ok(response) => (response, None),
        Err(error) => (T::default(), Some(error.to_string())),
    }
}

/// Ask an OpenAI-compatible server for its models and its engine, and call it once.
#[utoipa::path(post, path = "/api/operator/upstreams/probe", tag = "operator", request_body = ProbeRequest,
    responses((status = 200, body = ProbeView)))]
pub(crate) async fn probe(
    Operator(caller): Operator,
    Payload(body): Payload<ProbeRequest>,
) -> Result<Json<ProbeView>, ConsoleError> {
    let address = http_url(&body.url).and_then(|url| Address::parse(&url).ok()).ok_or_else(|| {
        ConsoleError::invalid("url", "not an http:// or https:// URL with a host and without credentials or query")
    })?;
    let key = body.api_key.filter(|key| !key.is_empty());
    let mut server = ModelServer::new(caller.context.operator.connector.clone(), address, key);
    let described = server.describe().await;
    let reachable = !matches!(described, Err(ProbeError::Unreachable(_)));
    let (Description { models, engine, version, health_path }, error) = split(described);
    let first = || models.first().map(|model| model.id.clone());
    let (call, limit_name) = match body.model.or_else(first).filter(|_| reachable) {
        Some(model) => {
            let outcome = server.call_once(&model).await;
            let limit_name = outcome.result.as_ref().map(|response| response.limit_name).unwrap_or_default();
            (Some(CallView::new(model, outcome)), limit_name)
        }
        None => (None, LimitName::default()),
    };
    let engine = match (engine, limit_name) {
        (Some(engine), _) => Some(engine.as_str()),
        (None, LimitName::MaxCompletionTokens) => Some(OPENAI_ENGINE),
        (None, LimitName::MaxTokens) => None,
    };
    Ok(Json(ProbeView {
        url: server.address.to_string(),
        reachable,
        error,
        engine,
        version,
        health_path,
        models: models.into_iter().map(OfferedModelView::from).collect(),
        call,
    }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TestRequest {
    #[schema(max_length = 2000, nullable = false)]
    prompt: Option<String>,
    #[schema(minimum = 1, maximum = 256, nullable = false)]
    max_tokens: Option<u32>,
}

/// The response of a model to the operator.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ModelTest)]
pub(crate) struct TestView {
    ok: bool,
    /// The server that was called; null if none accepts calls.
    replica: Option<String>,
    /// Null for embeddings.
    answer: Option<String>,
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    duration_millis: u64,
    error: Option<String>,
}

/// Send a real call to a model of the catalogue. It is neither metered nor billed.
#[utoipa::path(post, path = "/api/operator/models/{modelId}/test", tag = "operator",
    request_body = Option<TestRequest>, responses((status = 200, body = TestView)))]
pub(crate) async fn test(
    Operator(caller): Operator,
    Id(id): Id<ModelId>,
    Payload(body): Payload<TestRequest>,
) -> Result<Json<TestView>, ConsoleError> {
    let prompt = body.prompt.as_deref().filter(|prompt| !prompt.is_empty()).unwrap_or(DEFAULT_PROMPT);
    if prompt.chars().count() > MAX_PROMPT_CHARS {
        return Err(ConsoleError::invalid("prompt", "a prompt has at most 2000 characters"));
    }
    let max_tokens = body.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
    if !(1..=MAX_TOKENS).contains(&max_tokens) {
        return Err(ConsoleError::invalid("maxTokens", "a whole number from 1 to 256"));
    }
    let route = caller.context.catalogue.routes().table().get(id.as_str()).cloned().ok_or(ConsoleError::NotFound)?;
    let replicas = route.pool.replicas().iter().filter(|replica| replica.health() != Health::Down);
    let Some(replica) = replicas.min_by_key(|replica| replica.in_flight()) else {
        let error = Some("no server of the model accepts calls".to_owned());
        let duration = Duration::ZERO;
        return Ok(Json(TestView::new(None, duration, None, None, None, error)));
    };
    let upstream = &replica.upstream;
    let (connector, address) = (caller.context.operator.connector.clone(), replica.address.clone());
    let server = ModelServer::new(connector, address, upstream.api_key.clone());
    let outcome = match route.model.modality {
        Modality::Chat => server.chat(&upstream.model, prompt, max_tokens).await,
        Modality::Embedding => server.embed(&upstream.model, prompt).await,
        Modality::Rerank => server.rerank(upstream.rerank_api, &upstream.model, prompt).await,
    };
    let (response, error) = split(outcome.result);
    let (prompt_tokens, completion_tokens) = (response.prompt_tokens, response.completion_tokens);
    let name = Some(replica.name.to_string());
    Ok(Json(TestView::new(name, outcome.duration, response.answer, prompt_tokens, completion_tokens, error)))
}

impl TestView {
    fn new(
        replica: Option<String>,
        duration: Duration,
        answer: Option<String>,
        prompt_tokens: Option<u64>,
        completion_tokens: Option<u64>,
        error: Option<String>,
    ) -> Self {
        let (ok, duration_millis) = (error.is_none(), millis(duration));
        Self { ok, replica, answer, prompt_tokens, completion_tokens, duration_millis, error }
    }
}
