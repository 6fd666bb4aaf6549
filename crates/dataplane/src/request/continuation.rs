//! Requests whose response another replica can continue, and the request for its rest.

use super::{Operation, ParsedRequest};
use domain::model::EngineKind;
use json::edits::Edits;
use json::{JsonError, Reader, ValueKind};

/// Members that mean the same for the rest of a response. Others may not: the rest of a response in JSON is not JSON, and a
/// least number of tokens would count from the cut.
const HARMLESS: [&str; 35] = [
    "model",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "n",
    "max_tokens",
    "max_completion_tokens",
    "seed",
    "top_logprobs",
    "logit_bias",
    "stop",
    "stop_token_ids",
    "ignore_eos",
    "skip_special_tokens",
    "tools",
    "parallel_tool_calls",
    "reasoning_effort",
    "verbosity",
    "service_tier",
    "cache_salt",
    "cache_prompt",
    "chat_template_kwargs",
    "thinking_token_budget",
    "prompt_cache_key",
    "safety_identifier",
    "metadata",
    "store",
    "user",
    "priority",
];

impl ParsedRequest {
    /// Whether another engine could continue the response: one choice of plain text that follows another role.
    pub(crate) fn can_be_continued(&self) -> bool {
        matches!(self.operation, Operation::Chat { .. })
            && self.choices() == 1
            && is_continuable(&self.body).unwrap_or(false)
    }

    /// Adds the text so far as the beginning of the assistant's message, which the engine is to continue.
    pub(crate) fn continue_from(&self, text: &str, engine: EngineKind, edits: &mut Edits<'_>) {
        if text.is_empty() {
            return;
        }
        let message = [b",{\"role\":\"assistant\",\"content\":", &json::quote(text)[..], b"}"].concat();
        edits.insert(self.prompt.end - 1, message);
        self.continue_last_message(engine, edits);
    }

    /// Asks the engine to continue the last message, if the client wants that.
    pub(crate) fn continue_prompt(&self, engine: EngineKind, edits: &mut Edits<'_>) {
        if self.continues_message {
            self.continue_last_message(engine, edits);
        }
    }

    fn continue_last_message(&self, engine: EngineKind, edits: &mut Edits<'_>) {
        match engine {
            EngineKind::Vllm | EngineKind::Sglang | EngineKind::ForebayEngine => {
                let members = b",\"continue_final_message\":true,\"add_generation_prompt\":false";
                edits.insert(self.model_span.end, &members[..]);
            }
            // It continues a last message of the assistant by itself.
            EngineKind::LlamaServer => {}
        }
    }
}

fn is_continuable(body: &[u8]) -> Result<bool, JsonError> {
    let mut fits = true;
    Reader::new(body).object(|reader, name, _| {
        let kind = reader.kind()?;
        fits &= match (&*name.decoded(), kind) {
            (b"messages", ValueKind::Array) => !ends_with_assistant(reader)?,
            (b"response_format", ValueKind::Object) => is_plain_text(reader)?,
            (b"tool_choice", ValueKind::String) => {
                let choice = reader.string()?;
                choice.is("auto") || choice.is("none")
            }
            (b"continue_final_message" | b"add_generation_prompt", _) => reader.skip().map(|()| false)?,
            (_, ValueKind::Bool) if !is_harmless(name.raw()) => !reader.boolean()?,
            (_, kind) => {
                reader.skip()?;
                kind == ValueKind::Null || is_harmless(name.raw())
            }
        };
        Ok::<(), JsonError>(())
    })?;
    Ok(fits)
}

fn is_harmless(name: &[u8]) -> bool {
    HARMLESS.iter().any(|harmless| harmless.as_bytes() == name)
}

/// Whether the last message is one of the assistant, which the client may want to have continued, too.
fn ends_with_assistant(reader: &mut Reader<'_>) -> Result<bool, JsonError> {
    let mut is_assistant = false;
    reader.array(|reader, _| {
        is_assistant = false;
        if reader.kind()? != ValueKind::Object {
            return reader.skip();
        }
        reader.object(|reader, name, _| {
            if !name.is("role") || reader.kind()? != ValueKind::String {
                return reader.skip();
            }
            is_assistant = reader.string()?.is("assistant");
            Ok(())
        })
    })?;
    Ok(is_assistant)
}

fn is_plain_text(reader: &mut Reader<'_>) -> Result<bool, JsonError> {
    let mut is_plain = false;
    reader.object(|reader, name, _| {
        if !name.is("type") || reader.kind()? != ValueKind::String {
            return reader.skip();
        }
        is_plain = reader.string()?.is("text");
        Ok(())
    })?;
    Ok(is_plain)
}

#[cfg(test)]
mod tests {
    use crate::request::{ParsedRequest, chat};
    use domain::model::EngineKind;
    use serde_json::{Value, json};

    fn parse(rest: &str) -> ParsedRequest {
        let body =
            format!(r#"{{"model":"a/b","messages":[{{"role":"user","content":"count"}} ],"stream":true{rest}}}"#);
        chat::parse(body.into()).unwrap()
    }

    #[test]
    fn a_chat_in_plain_text_can_be_continued() {
        for rest in [
            "",
            r#","max_tokens":5,"temperature":0,"stop":["x"],"logprobs":false,"response_format":{"type":"text"}"#,
            r#","tools":[],"tool_choice":"auto","chat_template_kwargs":{"enable_thinking":false},"guided_json":null"#,
        ] {
            assert!(parse(rest).can_be_continued(), "{rest}");
        }
        for rest in [
            r#","n":2"#,
            r#","logprobs":true"#,
            r#","tool_choice":"required""#,
            r#","tool_choice":{"type":"function","function":{"name":"x"}}"#,
            r#","response_format":{"type":"json_object"}"#,
            r#","guided_regex":"a+""#,
            r#","min_tokens":9"#,
            r#","echo":true"#,
            r#","continue_final_message":false"#,
        ] {
            assert!(!parse(rest).can_be_continued(), "{rest}");
        }
        let prefilled =
            r#"{"model":"a/b","messages":[{"role":"user","content":"hi"},{"content":"He","role":"assistant"}]}"#;
        assert!(!chat::parse(prefilled.into()).unwrap().can_be_continued());
    }

    fn continued(engine: EngineKind, text: &str) -> Value {
        let request = parse(r#","max_tokens":9"#);
        let mut edits = request.upstream_edits("b", false, Some(4));
        request.continue_from(text, engine, &mut edits);
        serde_json::from_slice(&edits.apply(&request.body)).unwrap()
    }

    #[test]
    fn the_text_so_far_becomes_the_beginning_of_the_message() {
        for engine in [EngineKind::Vllm, EngineKind::Sglang, EngineKind::ForebayEngine] {
            let sent = continued(engine, "One \"two\"");
            assert_eq!(sent["messages"][1], json!({"role": "assistant", "content": "One \"two\""}));
            assert_eq!(
                (&sent["continue_final_message"], &sent["add_generation_prompt"]),
                (&json!(true), &json!(false))
            );
            assert_eq!((&sent["max_tokens"], &sent["model"]), (&json!(4), &json!("b")));
        }
        let sent = continued(EngineKind::LlamaServer, "One");
        assert_eq!(sent["messages"][1]["content"], "One");
        assert!(sent.get("continue_final_message").is_none());
        let sent = continued(EngineKind::Vllm, "");
        assert_eq!((sent["messages"].as_array().unwrap().len(), sent.get("continue_final_message")), (1, None));
    }
}
