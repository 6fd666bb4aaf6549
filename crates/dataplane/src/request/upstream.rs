//! The edits that turn the client's body into the one sent to a model server.

use super::{Operation, ParsedRequest};
use domain::model::{LimitName, RerankApi, Upstream};
use json::edits::Edits;

/// The name of a member that engines know as `reasoning_content`.
const REASONING: &str = "\"reasoning\"";

impl ParsedRequest {
    /// Names the texts of a comparison as the engine does.
    pub(crate) fn name_texts(&self, api: RerankApi, edits: &mut Edits<'_>) {
        if let Operation::Rerank(options) = &self.operation {
            options.translate(api, &self.body, edits);
        }
    }

    /// The edits for an upstream, with the name that it has for the token limit of a chat.
    pub(crate) fn edits_for(&self, upstream: &Upstream, limit: Option<u64>) -> Edits<'static> {
        let Upstream { model, continuous_usage, limit_name, .. } = upstream;
        let is_renamed =
            *limit_name == LimitName::MaxCompletionTokens && matches!(self.operation, Operation::Chat { .. });
        if !is_renamed {
            return self.upstream_edits(model, *continuous_usage, limit);
        }
        let mut edits = self.upstream_edits(model, *continuous_usage, None);
        self.estimate.clamp_completion(limit, self.model_span.end, &self.body, &mut edits);
        edits
    }

    /// Replaces the model with the upstream's own name, requests usage for every stream, and lowers the token limit per
    /// choice to `limit`.
    pub(crate) fn upstream_edits(&self, model: &str, running_usage: bool, limit: Option<u64>) -> Edits<'static> {
        let mut edits = Edits::default();
        edits.replace(self.model_span.clone(), json::quote(model));
        for start in &self.reasoning_names {
            edits.replace(*start..start + REASONING.len(), &br#""reasoning_content""#[..]);
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
