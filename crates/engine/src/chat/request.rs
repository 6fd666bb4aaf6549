//! Parses and validates a chat request.

use super::messages;
use crate::decode::Salt;
use crate::error::RequestError;
use crate::members::Members;
use crate::sampling::Sampling;
use crate::tools::{ToolChoice, Tools};
use serde_json::{Map, Value};

/// Members that would change the response but are not supported.
const UNSUPPORTED: [(&str, &str); 8] = [
    ("functions", "use `tools`"),
    ("function_call", "use `tool_choice`"),
    ("audio", "output is text"),
    ("web_search_options", "web search is not available"),
    ("structured_outputs", "use `response_format`"),
    ("guided_json", "use `response_format`"),
    ("guided_regex", "use `response_format`"),
    ("guided_grammar", "use `response_format`"),
];
const MAX_CHOICES: i64 = 128;
const MAX_STOPS: usize = 16;
const MAX_TOP_LOGPROBS: i64 = 20;

/// A valid chat request. Whether it fits the context is checked later.
#[derive(Debug, PartialEq)]
pub(crate) struct ChatRequest {
    pub model: String,
    pub messages: Vec<Value>,
    /// The beginning of the response, which it continues.
    pub beginning: String,
    pub tools: Tools,
    pub template_extras: Map<String, Value>,
    /// Only calls with the same salt share cached prefixes.
    pub cache_salt: Salt,
    pub sampling: Sampling,
    pub stops: Vec<String>,
    pub max_tokens: Option<usize>,
    pub choices: usize,
    /// Number of top alternatives per token; `None` disables log probabilities.
    pub logprobs: Option<usize>,
    pub format: OutputFormat,
    /// `None` for a response that is not streamed.
    pub stream: Option<StreamOptions>,
}

/// Required output format.
#[derive(Debug, PartialEq)]
pub(crate) enum OutputFormat {
    Text,
    JsonObject,
    JsonSchema(Value),
}

/// Additional contents of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StreamOptions {
    pub include_usage: bool,
    pub continuous_usage: bool,
}

impl ChatRequest {
    pub(crate) fn read(body: &[u8]) -> Result<Self, RequestError> {
        let body = object(body)?;
        let members = Members::new(&body);
        for (name, reason) in UNSUPPORTED {
            if members.get(name).is_some() {
                return Err(RequestError::unsupported(name, reason));
            }
        }
        let model = members.text("model")?.ok_or_else(|| RequestError::Missing { param: "model".to_owned() })?;
        members.required("messages")?;
        let mut messages = messages::normalize(members.list("messages")?.unwrap_or_default())?;
        let beginning = beginning(members, &mut messages)?;
        let request = Self {
            model: model.to_owned(),
            messages,
            beginning,
            tools: Tools::read(members)?,
            template_extras: members.object("chat_template_kwargs")?.cloned().unwrap_or_default(),
            cache_salt: members.text("cache_salt")?.map(Into::into),
            sampling: sampling(members)?,
            stops: stops(members)?,
            max_tokens: max_tokens(members)?,
            choices: count(members, "n", MAX_CHOICES)?.unwrap_or(1),
            logprobs: logprobs(members)?,
            format: format(members)?,
            stream: stream(members)?,
        };
        request.check_combinations()?;
        Ok(request)
    }

    /// Checks combinations of members.
    fn check_combinations(&self) -> Result<(), RequestError> {
        let min_tokens = self.sampling.min_tokens;
        if self.max_tokens.is_some_and(|limit| min_tokens > limit) {
            return Err(RequestError::invalid("min_tokens", "must not be greater than the maximum number of tokens"));
        }
        let forced = self.tools.choice == ToolChoice::Forced;
        if forced && self.format != OutputFormat::Text {
            let reason = "it cannot be combined with a forced tool call";
            return Err(RequestError::unsupported("response_format", reason));
        }
        if !self.beginning.is_empty() && (forced || self.format != OutputFormat::Text) {
            let reason = "constrained output cannot be continued";
            return Err(RequestError::unsupported("continue_final_message", reason));
        }
        // Constrained output ends where its JSON ends.
        let constrained = forced || self.format != OutputFormat::Text;
        let reason = "output with a schema or a forced tool call ends where its JSON ends";
        match (min_tokens > 0, self.sampling.ignore_eos) {
            (true, _) if constrained => Err(RequestError::unsupported("min_tokens", reason)),
            (_, true) if constrained => Err(RequestError::unsupported("ignore_eos", reason)),
            _ => Ok(()),
        }
    }
}

/// Takes the last message, if the response continues it: like vLLM, only without a generation prompt.
fn beginning(members: Members<'_>, messages: &mut Vec<Value>) -> Result<String, RequestError> {
    if !members.flag("continue_final_message")? {
        return Ok(String::new());
    }
    if members.get("add_generation_prompt").is_none() || members.flag("add_generation_prompt")? {
        let problem = "must be false, because `continue_final_message` is true";
        return Err(RequestError::invalid("add_generation_prompt", problem));
    }
    let is_assistant = |message: &&mut Value| message["role"] == "assistant" && message.get("tool_calls").is_none();
    let Some(Value::String(text)) = messages.last_mut().filter(is_assistant).map(|message| message["content"].take())
    else {
        let problem = "must end with a text of the assistant, because `continue_final_message` is true";
        return Err(RequestError::invalid("messages", problem));
    };
    messages.pop();
    Ok(text)
}

/// Parses the body as a JSON object.
pub(crate) fn object(body: &[u8]) -> Result<Map<String, Value>, RequestError> {
    serde_json::from_slice(body).map_err(|error| RequestError::BadJson { problem: error.to_string() })
}

pub(crate) fn count(members: Members<'_>, name: &str, max: i64) -> Result<Option<usize>, RequestError> {
    let number = members.integer(name, 1..=max)?;
    Ok(number.and_then(|number| usize::try_from(number).ok()))
}

fn max_tokens(members: Members<'_>) -> Result<Option<usize>, RequestError> {
    let old = count(members, "max_tokens", i64::MAX)?;
    Ok(count(members, "max_completion_tokens", i64::MAX)?.or(old))
}

pub(crate) fn sampling(members: Members<'_>) -> Result<Sampling, RequestError> {
    let defaults = Sampling::default();
    let top_k = members.integer("top_k", -1..=i64::from(i32::MAX))?.unwrap_or(0).max(0);
    Ok(Sampling {
        temperature: members.number("temperature", 0.0..=2.0)?.unwrap_or(defaults.temperature),
        top_p: members.number("top_p", 0.0..=1.0)?.unwrap_or(defaults.top_p),
        top_k: i32::try_from(top_k).unwrap_or(i32::MAX),
        min_p: members.number("min_p", 0.0..=1.0)?.unwrap_or(defaults.min_p),
        presence_penalty: members.number("presence_penalty", -2.0..=2.0)?.unwrap_or(defaults.presence_penalty),
        frequency_penalty: members.number("frequency_penalty", -2.0..=2.0)?.unwrap_or(defaults.frequency_penalty),
        repetition_penalty: members.number("repetition_penalty", 0.01..=10.0)?.unwrap_or(defaults.repetition_penalty),
        logit_bias: logit_bias(members)?,
        seed: members.integer("seed", i64::MIN..=i64::MAX)?,
        ignore_eos: members.flag("ignore_eos")?,
        min_tokens: members.integer("min_tokens", 0..=i64::MAX)?.map_or(0, |least| usize::try_from(least).unwrap_or(0)),
    })
}

fn logit_bias(members: Members<'_>) -> Result<Vec<(i32, f32)>, RequestError> {
    let Some(biases) = members.object("logit_bias")? else { return Ok(Vec::new()) };
    let inside = Members::inside(biases, "logit_bias");
    let mut read = Vec::with_capacity(biases.len());
    for token in biases.keys() {
        let number = token.parse().ok().filter(|number: &i32| *number >= 0);
        let number = number.ok_or_else(|| inside.invalid(token, "must be a token id"))?;
        read.extend(inside.number(token, -100.0..=100.0)?.map(|bias| (number, bias)));
    }
    Ok(read)
}

pub(crate) fn stops(members: Members<'_>) -> Result<Vec<String>, RequestError> {
    let Some(value) = members.get("stop") else { return Ok(Vec::new()) };
    if let Some(stop) = value.as_str() {
        return Ok(vec![stop.to_owned()]);
    }
    let list = value.as_array().filter(|list| list.len() <= MAX_STOPS);
    let list =
        list.ok_or_else(|| members.invalid("stop", format!("must be a string or at most {MAX_STOPS} strings")))?;
    let text = |(index, stop): (usize, &Value)| {
        let stop = stop.as_str().map(str::to_owned);
        stop.ok_or_else(|| members.invalid(&format!("stop[{index}]"), "must be a string"))
    };
    list.iter().enumerate().map(text).collect()
}

fn logprobs(members: Members<'_>) -> Result<Option<usize>, RequestError> {
    let top = members.integer("top_logprobs", 0..=MAX_TOP_LOGPROBS)?;
    match (members.flag("logprobs")?, top) {
        (false, Some(_)) => Err(members.invalid("top_logprobs", "requires `logprobs` to be true")),
        (false, None) => Ok(None),
        (true, top) => Ok(Some(usize::try_from(top.unwrap_or(0)).unwrap_or(0))),
    }
}

fn format(members: Members<'_>) -> Result<OutputFormat, RequestError> {
    let Some(format) = members.object("response_format")? else { return Ok(OutputFormat::Text) };
    let inside = Members::inside(format, "response_format");
    match inside.text("type")? {
        Some("text") => Ok(OutputFormat::Text),
        Some("json_object") => Ok(OutputFormat::JsonObject),
        Some("json_schema") => {
            inside.required("json_schema")?;
            let named = inside.object("json_schema")?.cloned().unwrap_or_default();
            let schema = Members::inside(&named, "response_format.json_schema").required("schema")?;
            Ok(OutputFormat::JsonSchema(schema.clone()))
        }
        Some(other) => Err(RequestError::unsupported("response_format.type", format!("unknown type `{other}`"))),
        None => Err(RequestError::Missing { param: "response_format.type".to_owned() }),
    }
}

pub(crate) fn stream(members: Members<'_>) -> Result<Option<StreamOptions>, RequestError> {
    let streaming = members.flag("stream")?;
    let Some(options) = members.object("stream_options")? else {
        return Ok(streaming.then(StreamOptions::default));
    };
    if !streaming {
        return Err(members.invalid("stream_options", "requires `stream` to be true"));
    }
    let inside = Members::inside(options, "stream_options");
    let (include_usage, continuous_usage) = (inside.flag("include_usage")?, inside.flag("continuous_usage_stats")?);
    Ok(Some(StreamOptions { include_usage, continuous_usage: include_usage && continuous_usage }))
}
