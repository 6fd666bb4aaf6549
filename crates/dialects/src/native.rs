//! A request in the client's own API, for engines that speak it themselves.

use bytes::{Bytes, BytesMut};
use domain::model::NativeApi;

/// The members that become the prompt, or could. They may have parts that a translation leaves out, such as members of tools
/// that chat does not have.
const PROMPT_MEMBERS: [&str; 8] =
    ["messages", "system", "input", "instructions", "tools", "tool_choice", "text", "output_config"];

/// The members of a request that are forwarded. All others are omitted, so that nothing reaches an engine unseen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeRequest {
    pub api: NativeApi,
    /// The size of the client's body, which is kept because the members are parts of it, and of what was copied from it.
    body_bytes: usize,
    /// Names and values, without the model and the token limit.
    members: Vec<(&'static str, Bytes)>,
}

/// What is our own in a passed-on request.
#[derive(Debug, Clone, Copy)]
pub struct NativeHead<'a> {
    /// The upstream's name of the model.
    pub model: &'a str,
    /// The most tokens to generate; `None` if the request generates nothing.
    pub limit: Option<u64>,
    /// Set if the call may not reuse what the engine has cached for other workspaces.
    pub cache_salt: Option<&'a str>,
}

impl NativeRequest {
    /// `members` have values, which are JSON.
    pub(crate) fn new(api: NativeApi, body_bytes: usize, members: Vec<(&'static str, Bytes)>) -> Self {
        Self { api, body_bytes, members }
    }

    /// The bytes of the members that become the prompt, or could.
    pub fn prompt_bytes(&self) -> u64 {
        let members = self.members.iter().filter(|(name, _)| PROMPT_MEMBERS.contains(name));
        members.map(|(_, value)| value.len() as u64).sum()
    }

    /// The bytes that are kept of the client's body.
    pub fn body_bytes(&self) -> usize {
        self.body_bytes
    }

    /// The body in pieces, which share memory with the client's.
    pub fn pieces(&self, head: NativeHead<'_>) -> Vec<Bytes> {
        let mut pieces = Vec::with_capacity(2 * self.members.len() + 1);
        let mut text = BytesMut::from(&b"{\"model\":"[..]);
        text.extend_from_slice(&json::quote(head.model));
        if let Some(limit) = head.limit {
            put_name(self.limit_name(), &mut text);
            text.extend_from_slice(limit.to_string().as_bytes());
        }
        if let Some(salt) = head.cache_salt {
            put_name("cache_salt", &mut text);
            text.extend_from_slice(&json::quote(salt));
        }
        if self.api == NativeApi::Responses {
            // Forebay stores responses itself.
            put_name("store", &mut text);
            text.extend_from_slice(b"false");
        }
        for (name, value) in &self.members {
            put_name(name, &mut text);
            pieces.extend([text.split().freeze(), value.clone()]);
        }
        text.extend_from_slice(b"}");
        pieces.push(text.freeze());
        pieces
    }

    const fn limit_name(&self) -> &'static str {
        match self.api {
            NativeApi::Messages => "max_tokens",
            NativeApi::Responses => "max_output_tokens",
        }
    }
}

/// `,"name":`.
fn put_name(name: &str, text: &mut BytesMut) {
    text.extend_from_slice(b",\"");
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b"\":");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(api: NativeApi, head: NativeHead<'_>) -> String {
        let members = vec![("a", Bytes::from_static(b"[1]")), ("c", Bytes::from_static(b"{ }"))];
        let request = NativeRequest::new(api, 100, members);
        String::from_utf8(request.pieces(head).concat()).unwrap()
    }

    #[test]
    fn a_request_gets_the_name_of_the_model_and_our_limit() {
        let head = NativeHead { model: "tiny \"q4\"", limit: Some(7), cache_salt: None };
        let expected = r#"{"model":"tiny \"q4\"","max_tokens":7,"a":[1],"c":{ }}"#;
        assert_eq!(body(NativeApi::Messages, head), expected);
        let count = NativeHead { model: "m", limit: None, cache_salt: None };
        assert_eq!(body(NativeApi::Messages, count), r#"{"model":"m","a":[1],"c":{ }}"#);
    }

    #[test]
    fn an_engine_stores_no_response_and_keeps_workspaces_apart() {
        let head = NativeHead { model: "m", limit: Some(7), cache_salt: Some("s") };
        let expected = r#"{"model":"m","max_output_tokens":7,"cache_salt":"s","store":false,"a":[1],"c":{ }}"#;
        assert_eq!(body(NativeApi::Responses, head), expected);
    }
}
