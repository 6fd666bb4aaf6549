//! What a chat call asks for, checked member by member.

use super::messages;
use crate::members::Members;
use crate::refusal::Refusal;
use crate::sampling::Sampling;
use crate::tools::{Choice, Tools};
use serde_json::{Map, Value};

/// Members that would change the answer in a way that this engine does not know.
const NOT_HERE: [(&str, &str); 8] = [
    ("functions", "use `tools`"),
    ("function_call", "use `tool_choice`"),
    ("audio", "answers are text"),
    ("web_search_options", "there is no search"),
    ("structured_outputs", "use `response_format`"),
    ("guided_json", "use `response_format`"),
    ("guided_regex", "use `response_format`"),
    ("guided_grammar", "use `response_format`"),
];
const MOST_CHOICES: i64 = 128;
const MOST_STOPS: usize = 16;
const MOST_TOP_LOGPROBS: i64 = 20;

/// A call that can be understood; whether it fits into the model is seen later.
#[derive(Debug, PartialEq)]
pub(crate) struct ChatRequest {
    pub model: String,
    pub messages: Vec<Value>,
    pub tools: Tools,
    pub template_extras: Map<String, Value>,
    pub sampling: Sampling,
    pub stops: Vec<String>,
    pub max_tokens: Option<usize>,
    pub choices: usize,
    /// How many likeliest tokens to tell beside each token; `None`: no probabilities.
    pub logprobs: Option<usize>,
    pub format: Format,
    /// `None`: one whole answer.
    pub stream: Option<StreamOptions>,
}

/// What the answer must be.
#[derive(Debug, PartialEq)]
pub(crate) enum Format {
    Text,
    JsonObject,
    JsonSchema(Value),
}

/// What a stream tells beside the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StreamOptions {
    pub include_usage: bool,
    pub continuous_usage: bool,
}

impl ChatRequest {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Refusal> {
        let body = object(body)?;
        let members = Members::new(&body);
        for (name, reason) in NOT_HERE {
            if members.get(name).is_some() {
                return Err(Refusal::unsupported(name, reason));
            }
        }
        let model = members.text("model")?.ok_or_else(|| Refusal::Missing { param: "model".to_owned() })?;
        members.required("messages")?;
        let messages = messages::plain(members.list("messages")?.unwrap_or_default())?;
        let request = Self {
            model: model.to_owned(),
            messages,
            tools: Tools::read(members)?,
            template_extras: members.object("chat_template_kwargs")?.cloned().unwrap_or_default(),
            sampling: sampling(members)?,
            stops: stops(members)?,
            max_tokens: max_tokens(members)?,
            choices: count(members, "n", MOST_CHOICES)?.unwrap_or(1),
            logprobs: logprobs(members)?,
            format: format(members)?,
            stream: stream(members)?,
        };
        request.check_together()?;
        Ok(request)
    }

    /// Members that are well by themselves and contradict each other.
    fn check_together(&self) -> Result<(), Refusal> {
        let min_tokens = self.sampling.min_tokens;
        if self.max_tokens.is_some_and(|most| min_tokens > most) {
            return Err(Refusal::invalid("min_tokens", "must not be more than the answer may have"));
        }
        let forced = self.tools.choice == Choice::Forced;
        if forced && self.format != Format::Text {
            let reason = "an answer that must call a tool has no format of its own";
            return Err(Refusal::unsupported("response_format", reason));
        }
        // Such an answer ends when its JSON does.
        let constrained = forced || self.format != Format::Text;
        let reason = "the end of an answer with a schema or a tool that must be called is where its JSON ends";
        match (min_tokens > 0, self.sampling.ignore_eos) {
            (true, _) if constrained => Err(Refusal::unsupported("min_tokens", reason)),
            (_, true) if constrained => Err(Refusal::unsupported("ignore_eos", reason)),
            _ => Ok(()),
        }
    }
}

/// The body as an object.
pub(crate) fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::BadJson { problem: error.to_string() })
}

fn count(members: Members<'_>, name: &str, most: i64) -> Result<Option<usize>, Refusal> {
    let number = members.integer(name, 1..=most)?;
    Ok(number.and_then(|number| usize::try_from(number).ok()))
}

fn max_tokens(members: Members<'_>) -> Result<Option<usize>, Refusal> {
    let old = count(members, "max_tokens", i64::MAX)?;
    Ok(count(members, "max_completion_tokens", i64::MAX)?.or(old))
}

fn sampling(members: Members<'_>) -> Result<Sampling, Refusal> {
    let usual = Sampling::default();
    let top_k = members.integer("top_k", -1..=i64::from(i32::MAX))?.unwrap_or(0).max(0);
    Ok(Sampling {
        temperature: members.number("temperature", 0.0..=2.0)?.unwrap_or(usual.temperature),
        top_p: members.number("top_p", 0.0..=1.0)?.unwrap_or(usual.top_p),
        top_k: i32::try_from(top_k).unwrap_or(i32::MAX),
        min_p: members.number("min_p", 0.0..=1.0)?.unwrap_or(usual.min_p),
        presence_penalty: members.number("presence_penalty", -2.0..=2.0)?.unwrap_or(usual.presence_penalty),
        frequency_penalty: members.number("frequency_penalty", -2.0..=2.0)?.unwrap_or(usual.frequency_penalty),
        repetition_penalty: members.number("repetition_penalty", 0.01..=10.0)?.unwrap_or(usual.repetition_penalty),
        logit_bias: logit_bias(members)?,
        seed: members.integer("seed", i64::MIN..=i64::MAX)?,
        ignore_eos: members.flag("ignore_eos")?,
        min_tokens: members.integer("min_tokens", 0..=i64::MAX)?.map_or(0, |least| usize::try_from(least).unwrap_or(0)),
    })
}

fn logit_bias(members: Members<'_>) -> Result<Vec<(i32, f32)>, Refusal> {
    let Some(biases) = members.object("logit_bias")? else { return Ok(Vec::new()) };
    let inside = Members::inside(biases, "logit_bias");
    let mut read = Vec::with_capacity(biases.len());
    for token in biases.keys() {
        let number = token.parse().ok().filter(|number: &i32| *number >= 0);
        let number = number.ok_or_else(|| inside.invalid(token, "must be named by the number of a token"))?;
        read.extend(inside.number(token, -100.0..=100.0)?.map(|bias| (number, bias)));
    }
    Ok(read)
}

fn stops(members: Members<'_>) -> Result<Vec<String>, Refusal> {
    let Some(value) = members.get("stop") else { return Ok(Vec::new()) };
    if let Some(stop) = value.as_str() {
        return Ok(vec![stop.to_owned()]);
    }
    let list = value.as_array().filter(|list| list.len() <= MOST_STOPS);
    let list =
        list.ok_or_else(|| members.invalid("stop", format!("must be a string or at most {MOST_STOPS} strings")))?;
    let text = |(index, stop): (usize, &Value)| {
        let stop = stop.as_str().map(str::to_owned);
        stop.ok_or_else(|| members.invalid(&format!("stop[{index}]"), "must be a string"))
    };
    list.iter().enumerate().map(text).collect()
}

fn logprobs(members: Members<'_>) -> Result<Option<usize>, Refusal> {
    let top = members.integer("top_logprobs", 0..=MOST_TOP_LOGPROBS)?;
    match (members.flag("logprobs")?, top) {
        (false, Some(_)) => Err(members.invalid("top_logprobs", "needs `logprobs` to be true")),
        (false, None) => Ok(None),
        (true, top) => Ok(Some(usize::try_from(top.unwrap_or(0)).unwrap_or(0))),
    }
}

fn format(members: Members<'_>) -> Result<Format, Refusal> {
    let Some(format) = members.object("response_format")? else { return Ok(Format::Text) };
    let inside = Members::inside(format, "response_format");
    match inside.text("type")? {
        Some("text") => Ok(Format::Text),
        Some("json_object") => Ok(Format::JsonObject),
        Some("json_schema") => {
            inside.required("json_schema")?;
            let named = inside.object("json_schema")?.cloned().unwrap_or_default();
            let schema = Members::inside(&named, "response_format.json_schema").required("schema")?;
            Ok(Format::JsonSchema(schema.clone()))
        }
        Some(other) => Err(Refusal::unsupported("response_format.type", format!("there is no `{other}`"))),
        None => Err(Refusal::Missing { param: "response_format.type".to_owned() }),
    }
}

fn stream(members: Members<'_>) -> Result<Option<StreamOptions>, Refusal> {
    let streaming = members.flag("stream")?;
    let Some(options) = members.object("stream_options")? else {
        return Ok(streaming.then(StreamOptions::default));
    };
    if !streaming {
        return Err(members.invalid("stream_options", "needs `stream` to be true"));
    }
    let inside = Members::inside(options, "stream_options");
    let (include_usage, continuous_usage) = (inside.flag("include_usage")?, inside.flag("continuous_usage_stats")?);
    Ok(Some(StreamOptions { include_usage, continuous_usage: include_usage && continuous_usage }))
}
