//! The edits that turn the client's body into the one sent to a model server.

use super::{Operation, ParsedRequest};
use domain::CallClass;
use domain::model::{EngineKind, LimitName, RerankApi, Upstream};
use json::edits::Edits;

impl ParsedRequest {
    /// Names the texts of a comparison as the engine does.
    pub(crate) fn name_texts(&self, api: RerankApi, edits: &mut Edits<'_>) {
        if let Operation::Rerank(options) = &self.operation {
            options.translate(api, &self.body, edits);
        }
    }

    /// Names the class of the call for an engine that serves waiting calls by their `priority`, the lowest first. Those
    /// without one have 0.
    pub(crate) fn prioritize(&self, class: CallClass, edits: &mut Edits<'_>) {
        edits.insert(self.model_span.end, format!(",\"priority\":{}", class as u8).into_bytes());
    }

    /// The edits for an upstream, with the names that it has for reasoning and for the token limit of a chat.
    pub(crate) fn edits_for(&self, upstream: &Upstream, limit: Option<u64>) -> Edits<'static> {
        let Upstream { model, continuous_usage, limit_name, engine, .. } = upstream;
        let is_renamed =
            *limit_name == LimitName::MaxCompletionTokens && matches!(self.operation, Operation::Chat { .. });
        let mut edits = self.upstream_edits(model, *continuous_usage, limit.filter(|_| !is_renamed));
        if is_renamed {
            self.estimate.clamp_completion(limit, self.model_span.end, &self.body, &mut edits);
        }
        self.name_reasoning(*engine, &mut edits);
        edits
    }

    /// Names reasoning that is sent back as the engine reads it.
    pub(crate) fn name_reasoning(&self, engine: Option<EngineKind>, edits: &mut Edits<'_>) {
        let own = EngineKind::reasoning_name(engine).as_bytes();
        // Without the quotes.
        let names = self.reasoning_names.iter().map(|name| name.start + 1..name.end - 1);
        for name in names.filter(|name| self.body[name.clone()] != *own) {
            edits.replace(name, own);
        }
    }

    /// Replaces the model with the upstream's own name, requests usage for every stream, and lowers the token limit per
    /// choice to `limit`.
    pub(crate) fn upstream_edits(&self, model: &str, running_usage: bool, limit: Option<u64>) -> Edits<'static> {
        let mut edits = Edits::default();
        edits.replace(self.model_span.clone(), json::quote(model));
        for value in &self.hidden {
            edits.replace(value.clone(), &b"null"[..]);
        }
        if let Some(limit) = limit {
            self.estimate.clamp(limit, self.model_span.end, &mut edits);
        }
        match self.operation.streaming() {
            Some(client) if client.is_gathered => {
                edits.replace(client.switch.clone(), &b"false"[..]);
                if let Some(span) = client.span() {
                    // Engines reject options without a stream.
                    edits.replace(span, &b"null"[..]);
                }
            }
            Some(client) => {
                let options = client.for_upstream(&self.body, running_usage);
                match client.span() {
                    Some(span) => edits.replace(span, options),
                    None => edits.insert(self.model_span.end, [b",\"stream_options\":", &options[..]].concat()),
                }
            }
            None => {}
        }
        edits
    }
}
