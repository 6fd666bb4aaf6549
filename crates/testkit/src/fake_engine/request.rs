//! Parses chat requests: completely if the response is scripted, by a quick scan under load.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;

use super::script::Script;

/// Members of a chat request that affect the response.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ChatRequest {
    pub(super) stream: bool,
    pub(super) include_usage: bool,
    pub(super) continuous_usage: bool,
    pub(super) choices: usize,
    /// Token limit per choice.
    pub(super) limit: Option<u64>,
    /// Members of llama.cpp's server.
    pub(super) n_predict: Option<u64>,
    pub(super) n_cmpl: Option<usize>,
    /// The text of the last message, if it is one of the assistant.
    pub(super) assistant_text: Option<String>,
    /// The response continues that message.
    pub(super) continues: bool,
    /// The script contained in the request.
    pub(super) script: Option<Script>,
}

#[derive(Deserialize)]
struct Message {
    role: Option<String>,
    content: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct ChatMembers {
    messages: Option<Vec<Message>>,
    continue_final_message: Option<bool>,
    add_generation_prompt: Option<bool>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    n: Option<usize>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    n_predict: Option<i64>,
    n_cmpl: Option<usize>,
    fake: Option<Script>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

/// Maximum number of rendered choices.
const MAX_CHOICES: usize = 128;

impl ChatRequest {
    /// Parses the whole body like an engine; the error is the message of a 400.
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        let members: ChatMembers = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let stream = members.stream.unwrap_or(false);
        if members.stream_options.is_some() && !stream {
            return Err("Stream options can only be defined when `stream=True`.".to_owned());
        }
        let continues = members.continue_final_message.unwrap_or(false);
        if continues && members.add_generation_prompt.unwrap_or(true) {
            return Err("Cannot set both `continue_final_message` and `add_generation_prompt` to True.".to_owned());
        }
        let last = members.messages.as_ref().and_then(|messages| messages.last());
        let assistant = last.filter(|message| message.role.as_deref() == Some("assistant"));
        let assistant_text = assistant.and_then(|message| message.content.as_ref()?.as_str().map(str::to_owned));
        let option =
            |pick: fn(&StreamOptions) -> Option<bool>| members.stream_options.as_ref().and_then(pick).unwrap_or(false);
        let include_usage = option(|options| options.include_usage);
        Ok(Self {
            stream,
            include_usage,
            continuous_usage: include_usage && option(|options| options.continuous_usage_stats),
            choices: members.n.unwrap_or(1).clamp(1, MAX_CHOICES),
            limit: members.max_completion_tokens.or(members.max_tokens),
            // Negative: no limit.
            n_predict: members.n_predict.map(|limit| u64::try_from(limit).unwrap_or(u64::MAX)),
            n_cmpl: members.n_cmpl.map(|choices| choices.clamp(1, MAX_CHOICES)),
            assistant_text,
            continues,
            script: members.fake,
        })
    }

    /// The beginning of the message that the response continues.
    pub(super) fn beginning(&self) -> Option<&str> {
        self.assistant_text.as_deref().filter(|_| self.continues)
    }

    /// Scans for the relevant members as bytes; `None` if the body contains a script and must be parsed.
    pub(super) fn scan(body: &[u8]) -> Option<Self> {
        static FAKE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"fake\""));
        static STREAM: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"stream\""));
        static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"include_usage\""));
        static CONTINUOUS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"continuous_usage_stats\""));
        if FAKE.find(body).is_some() {
            return None;
        }
        let stream = is_true(body, &STREAM);
        let include_usage = stream && is_true(body, &USAGE);
        let continuous_usage = include_usage && is_true(body, &CONTINUOUS);
        Some(Self { stream, include_usage, continuous_usage, choices: 1, ..Self::default() })
    }
}

/// Whether the member is present with the value `true`.
fn is_true(body: &[u8], member: &Finder<'_>) -> bool {
    member.find_iter(body).any(|at| {
        let mut rest = body[at + member.needle().len()..].iter().filter(|byte| !byte.is_ascii_whitespace());
        rest.next() == Some(&b':') && rest.take(4).eq(b"true")
    })
}
