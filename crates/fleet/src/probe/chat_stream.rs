//! Reads the stream of a chat that a model server was called with.

use super::judge::Reply;
use super::server::{CallResponse, ProbeError, after_colon, problem_of};
use serde_json::Value;

/// The text and the usage of a stream of chat chunks. Without text, the reasoning is the text.
///
/// Errors after the headers are events with the member `error`.
pub(super) fn read_events(reply: &Reply) -> Result<CallResponse, ProbeError> {
    let stream = String::from_utf8_lossy(&reply.body);
    let (mut answer, mut reasoning) = (String::new(), String::new());
    let mut response = CallResponse::default();
    let mut is_chat = false;
    for data in stream.lines().filter_map(|line| line.strip_prefix("data:")) {
        let Ok(chunk) = serde_json::from_str::<Value>(data.trim_start()) else { continue };
        if !chunk["error"].is_null() {
            return Err(ProbeError::Unexpected(format!("the stream has an error{}", after_colon(&chunk))));
        }
        is_chat |= chunk["choices"].is_array();
        let choice = &chunk["choices"][0];
        let delta = &choice["delta"];
        answer
            .push_str(delta["content"].as_str().or_else(|| choice["message"]["content"].as_str()).unwrap_or_default());
        let thought = delta["reasoning_content"].as_str().or_else(|| delta["reasoning"].as_str());
        reasoning.push_str(thought.unwrap_or_default());
        let usage = &chunk["usage"];
        if usage.is_object() {
            response.continuous_usage |= choice.is_object();
            response.prompt_tokens = usage["prompt_tokens"].as_u64().or(response.prompt_tokens);
            response.completion_tokens = usage["completion_tokens"].as_u64().or(response.completion_tokens);
        }
    }
    if !is_chat {
        return Err(ProbeError::Unexpected(format!("{}; expected a stream of chat chunks", problem_of(reply))));
    }
    response.answer = Some(if answer.is_empty() { reasoning } else { answer });
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::LimitName;
    use http::StatusCode;

    fn events(stream: &str) -> Result<CallResponse, String> {
        let reply = Reply { status: StatusCode::OK, body: stream.as_bytes().to_vec() };
        read_events(&reply).map_err(|error| error.to_string())
    }

    #[test]
    fn a_stream_gives_the_answer_and_the_usage() {
        let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"He\"}}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n\
            data: {\"choices\":[{\"delta\":{\"content\":\"llo\"}}]}\n\n\
            data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";
        let expected = CallResponse {
            answer: Some("Hello".to_owned()),
            prompt_tokens: Some(3),
            completion_tokens: Some(2),
            continuous_usage: true,
            limit_name: LimitName::MaxTokens,
        };
        assert_eq!(events(stream), Ok(expected));
        let at_the_end = stream.lines().skip(2).collect::<Vec<_>>().join("\n");
        assert!(!events(&at_the_end).unwrap().continuous_usage);
    }

    #[test]
    fn reasoning_is_shown_if_there_is_no_answer() {
        let thought = "data: {\"choices\":[{\"delta\":{\"content\":null,\"reasoning_content\":\"Hm\"}}]}\n\n";
        assert_eq!(events(thought).unwrap().answer.as_deref(), Some("Hm"));
        let both = format!("{thought}data: {{\"choices\":[{{\"delta\":{{\"content\":\"Hi\"}}}}]}}\n\n");
        assert_eq!(events(&both).unwrap().answer.as_deref(), Some("Hi"));
    }

    #[test]
    fn what_is_not_a_whole_stream_is_an_error() {
        let chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"H\"}}]}\n\n";
        let failed = format!("{chunk}data: {{\"error\":{{\"message\":\"out of memory\"}}}}\n\n");
        assert_eq!(events(&failed).unwrap_err(), "the stream has an error: out of memory");
        let page = events("<html>secret</html>").unwrap_err();
        assert_eq!(page, "the server responds with 200 OK; expected a stream of chat chunks");
        let json = events(r#"{"message":"no such model"}"#).unwrap_err();
        assert_eq!(json, "the server responds with 200 OK: no such model; expected a stream of chat chunks");
        assert!(events("data: [DONE]\n\n").is_err());
    }
}
