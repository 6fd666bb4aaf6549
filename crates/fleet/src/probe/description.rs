//! How a model server describes itself.

use super::judge::Reply;
use super::server::shorten;
use domain::model::EngineKind;
use serde_json::Value;

const MAX_MODELS: usize = 500;

/// What a server says about itself.
#[derive(Debug, Default)]
pub struct Description {
    pub models: Vec<OfferedModel>,
    pub engine: Option<EngineKind>,
    pub version: Option<String>,
    /// `None` if it has no health route.
    pub health_path: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedModel {
    pub id: String,
    pub context_length: Option<u64>,
}

pub(super) fn is_model_list(reply: &Reply) -> bool {
    let list = || serde_json::from_slice::<Value>(&reply.body).unwrap_or_default();
    reply.status.is_success() && list()["data"].is_array()
}

pub(super) fn models_of(list: &Value) -> Vec<OfferedModel> {
    let offered = list["data"].as_array().map_or(&[][..], Vec::as_slice).iter().take(MAX_MODELS);
    let model = |entry: &Value| {
        let lengths = [&entry["max_model_len"], &entry["context_length"], &entry["meta"]["n_ctx_train"]];
        let context_length = lengths.into_iter().find_map(Value::as_u64);
        Some(OfferedModel { id: shorten(entry["id"].as_str()?), context_length })
    };
    offered.filter_map(model).collect()
}

/// Engines name themselves as the owner of their models.
pub(super) fn engine_of(list: &Value) -> Option<EngineKind> {
    match list["data"][0]["owned_by"].as_str()? {
        "vllm" => Some(EngineKind::Vllm),
        "sglang" => Some(EngineKind::Sglang),
        "llamacpp" => Some(EngineKind::LlamaServer),
        "forebay" => Some(EngineKind::ForebayEngine),
        _ => None,
    }
}

pub(super) fn engine_of_metrics(metrics: &str) -> Option<EngineKind> {
    let has = |prefix: &str| metrics.lines().any(|line| line.starts_with(prefix));
    let prefixes = [
        ("vllm:", EngineKind::Vllm),
        ("sglang:", EngineKind::Sglang),
        ("llamacpp:", EngineKind::LlamaServer),
        ("forebay:", EngineKind::ForebayEngine),
    ];
    prefixes.into_iter().find(|(prefix, _)| has(prefix)).map(|(_, engine)| engine)
}

pub(super) fn version_of(reply: &Reply, member: &str) -> Option<String> {
    let body: Value = serde_json::from_slice(&reply.body).ok().filter(|_| reply.status.is_success())?;
    body[member].as_str().map(shorten)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;
    use serde_json::json;

    #[test]
    fn models_and_engines_are_recognized_by_their_lists() {
        let vllm =
            json!({"data": [{"id": "a", "owned_by": "vllm", "max_model_len": 4096}, {"id": "b"}, {"object": "x"}]});
        let offered = |id: &str, context_length| OfferedModel { id: id.to_owned(), context_length };
        assert_eq!(models_of(&vllm), [offered("a", Some(4096)), offered("b", None)]);
        assert_eq!(engine_of(&vllm), Some(EngineKind::Vllm));
        let llama = json!({"data": [{"id": "a", "owned_by": "llamacpp", "meta": {"n_ctx_train": 8192}}]});
        assert_eq!(
            (models_of(&llama)[0].context_length, engine_of(&llama)),
            (Some(8192), Some(EngineKind::LlamaServer))
        );
        assert_eq!((models_of(&json!([])), engine_of(&json!({"data": [{"owned_by": "acme"}]}))), (Vec::new(), None));
        assert_eq!(engine_of_metrics("# HELP\nsglang:token_usage 0.1\n"), Some(EngineKind::Sglang));
        assert_eq!(engine_of_metrics("process_cpu_seconds_total 1"), None);
        let reply = |status, body: &str| Reply { status, body: body.as_bytes().to_vec() };
        let version = reply(StatusCode::OK, r#"{"version":"0.11.0"}"#);
        assert_eq!(version_of(&version, "version").as_deref(), Some("0.11.0"));
        assert_eq!(version_of(&version, "build_info"), None);
        assert_eq!(version_of(&reply(StatusCode::NOT_FOUND, r#"{"version":"0.11.0"}"#), "version"), None);
    }
}
