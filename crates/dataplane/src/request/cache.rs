//! The members that decide which cached prefixes a call may reuse.

use super::ParsedRequest;
use domain::model::EngineKind;
use json::edits::Edits;
use json::{Checks, JsonError, Reader, ValueKind};
use std::ops::Range;

/// Where the client has set them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CacheMembers {
    /// `cache_salt` of forebay-engine, vLLM and SGLang.
    salt: Option<SaltMember>,
    /// `cache_prompt` of llama-server.
    prompt: Option<Range<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SaltMember {
    span: Range<usize>,
    /// False for null.
    is_text: bool,
}

impl CacheMembers {
    pub(super) fn read_salt(&mut self, reader: &mut Reader<'_>, checks: &mut Checks) -> Result<(), JsonError> {
        let is_text = reader.kind()? == ValueKind::String;
        let start = reader.position();
        checks.text(reader, &"cache_salt")?;
        self.salt = Some(SaltMember { span: start..reader.position(), is_text });
        Ok(())
    }

    pub(super) fn read_prompt(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError> {
        reader.kind()?;
        let start = reader.position();
        reader.skip()?;
        self.prompt = Some(start..reader.position());
        Ok(())
    }

    /// The range of the client's own salt.
    pub(super) fn salt_text(&self) -> Option<Range<usize>> {
        self.salt.as_ref().filter(|salt| salt.is_text).map(|salt| salt.span.clone())
    }

    /// A client's own salt stays effective among the calls of its workspace.
    fn put_salt<'a>(&self, salt: &'a str, model_end: usize, edits: &mut Edits<'a>) {
        let at = match &self.salt {
            Some(SaltMember { span, is_text: true }) => return edits.insert(span.start + 1, salt.as_bytes()),
            Some(SaltMember { span, is_text: false }) => {
                edits.replace(span.clone(), &b"\""[..]);
                span.end
            }
            None => {
                edits.insert(model_end, &b",\"cache_salt\":\""[..]);
                model_end
            }
        };
        edits.insert(at, salt.as_bytes());
        edits.insert(at, &b"\""[..]);
    }

    fn turn_off(&self, model_end: usize, edits: &mut Edits<'_>) {
        match &self.prompt {
            Some(span) => edits.replace(span.clone(), &b"false"[..]),
            None => edits.insert(model_end, &b",\"cache_prompt\":false"[..]),
        }
    }
}

impl ParsedRequest {
    /// Keeps the cached prefixes of the call apart from those of other workspaces. llama-server has no salt, so it reuses
    /// nothing.
    pub(crate) fn isolate_cache<'a>(&self, engine: EngineKind, salt: &'a str, edits: &mut Edits<'a>) {
        let model_end = self.model_span.end;
        match engine {
            EngineKind::ForebayEngine | EngineKind::Vllm | EngineKind::Sglang => {
                self.cache.put_salt(salt, model_end, edits);
            }
            EngineKind::LlamaServer => self.cache.turn_off(model_end, edits),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::request::{chat, embeddings};
    use domain::model::EngineKind;

    fn isolated(engine: EngineKind, members: &str) -> String {
        let body = format!(r#"{{"model":"a/b","messages":[{{"role":"user","content":"hi"}}],"stream":true{members}}}"#);
        let request = chat::parse(body.into()).unwrap();
        assert_eq!(request.invalid, None);
        let mut edits = request.upstream_edits("b", false, Some(7));
        request.isolate_cache(engine, "5a17", &mut edits);
        let sent: serde_json::Value = serde_json::from_slice(&edits.apply(&request.body)).unwrap();
        assert_eq!((&sent["model"], &sent["max_tokens"]), (&"b".into(), &7.into()), "{sent}");
        format!("{} {}", sent["cache_salt"], sent["cache_prompt"])
    }

    #[test]
    fn a_salt_is_added_or_put_before_the_clients_own() {
        for engine in [EngineKind::ForebayEngine, EngineKind::Vllm, EngineKind::Sglang] {
            assert_eq!(isolated(engine, ""), r#""5a17" null"#);
            assert_eq!(isolated(engine, r#","cache_salt": null "#), r#""5a17" null"#);
            assert_eq!(isolated(engine, r#","cache_salt": "mine""#), r#""5a17mine" null"#);
            assert_eq!(isolated(engine, r#","cache_salt":"","x":1"#), r#""5a17" null"#);
        }
    }

    #[test]
    fn llama_server_reuses_nothing() {
        assert_eq!(isolated(EngineKind::LlamaServer, ""), "null false");
        assert_eq!(isolated(EngineKind::LlamaServer, r#","cache_prompt": true"#), "null false");
    }

    #[test]
    fn the_input_of_an_embedding_is_kept_apart_alike() {
        let request = embeddings::parse(r#"{"model":"a/b","input":"x","cache_prompt":true}"#.into()).unwrap();
        let mut edits = request.upstream_edits("b", false, None);
        request.isolate_cache(EngineKind::LlamaServer, "5a17", &mut edits);
        assert_eq!(edits.apply(&request.body), r#"{"model":"b","input":"x","cache_prompt":false}"#);
    }

    #[test]
    fn a_salt_must_be_text() {
        let body = r#"{"model":"a/b","messages":[{"role":"user","content":"hi"}],"cache_salt":["x"]}"#;
        assert_eq!(chat::parse(body.into()).unwrap().invalid.unwrap().param, "cache_salt");
    }
}
