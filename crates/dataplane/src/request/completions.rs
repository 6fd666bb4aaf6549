//! Parses a completions request: prompts in four forms, and what some engines lack.

use super::chat::{check_logit_bias, check_stop, measured, span_before};
use super::others::check_grammar;
use super::prompts::{self, MAX_PROMPTS};
use super::{
    CacheMembers, FingerprintMembers, ModelMember, Operation, OtherMembers, ParsedRequest, StreamOptions, TokenEstimate,
};
use bytes::Bytes;
use domain::capabilities::Capability;
use domain::model::EngineKind;
use json::{Checks, InvalidParam, ParseError, read_members, without_bom};

/// The most choices of a response, over all prompts: in a stream, each has a state.
const MAX_STREAMED_CHOICES: u64 = 128;
const MAX_CHOICES: u64 = MAX_PROMPTS as u64;
/// The most alternatives of a token.
const MAX_LOGPROBS: i64 = 20;

/// The members that are read here.
const MEMBERS: [&str; 21] = [
    "model",
    "prompt",
    "suffix",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "n",
    "best_of",
    "max_tokens",
    "max_completion_tokens",
    "seed",
    "logprobs",
    "echo",
    "logit_bias",
    "stop",
    "user",
    "cache_salt",
    "cache_prompt",
];

/// What the client asks for besides the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CompletionOptions {
    pub(crate) streaming: Option<StreamOptions>,
    pub(crate) prompts: usize,
    /// Choices per prompt in the response.
    choices: u64,
    /// Choices per prompt that are generated.
    best_of: u64,
    pub(crate) echo: bool,
    has_suffix: bool,
}

/// The prompts with which the texts of a response begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EchoedPrompts {
    /// The size of the prompts, each counted once.
    pub(super) bytes: u64,
    pub(super) prompts: u64,
}

impl EchoedPrompts {
    /// The bytes that were not generated, in a response with this many choices.
    pub(crate) fn bytes_in(self, choices: u64) -> u64 {
        self.bytes.saturating_mul(choices) / self.prompts.max(1)
    }
}

impl CompletionOptions {
    /// The member that engines of this kind ignore or reject.
    pub(crate) fn lacking(&self, engine: EngineKind) -> Option<InvalidParam> {
        let only_one = match engine {
            EngineKind::LlamaServer => true,
            EngineKind::Vllm | EngineKind::Sglang | EngineKind::ForebayEngine => false,
        };
        let has_infill = matches!(engine, EngineKind::Sglang | EngineKind::ForebayEngine);
        let lacking = [
            ("echo", self.echo && engine == EngineKind::LlamaServer),
            ("best_of", self.best_of > self.choices),
            ("suffix", self.has_suffix && !has_infill),
            ("n", self.choices > 1 && only_one),
            ("prompt", self.prompts > 1 && only_one),
        ];
        let (param, _) = lacking.into_iter().find(|(_, is_lacking)| *is_lacking)?;
        let why = match param {
            "prompt" => "must be one prompt, because the engine of this model completes one at a time",
            "n" => "must be 1, because the engine of this model has one choice",
            _ => "is not supported by the engine of this model",
        };
        Some(InvalidParam { param: param.into(), why: why.into() })
    }

    /// Checks that the response does not have too many choices.
    fn check_choices(&self, checks: &mut Checks) {
        let generated = self.best_of.max(self.choices);
        if self.best_of < self.choices {
            checks.invalid(&"best_of", || "must be at least `n`".into());
        } else if self.best_of > self.choices && self.streaming.is_some() {
            checks.invalid(&"best_of", || "must be `n` in a stream, which begins before the best are known".into());
        }
        let most = if self.streaming.is_some() { MAX_STREAMED_CHOICES } else { MAX_CHOICES };
        if (self.prompts as u64).saturating_mul(generated) > most {
            let param = match (generated, self.best_of > self.choices) {
                (1, _) => "prompt",
                (_, true) => "best_of",
                (_, false) => "n",
            };
            checks.invalid(&param, || format!("makes more than {most} choices over all prompts"));
        }
    }
}

/// Parses the body of `POST /v1/completions`.
pub fn parse(body: Bytes) -> Result<ParsedRequest, ParseError> {
    let body = without_bom(body);
    let mut checks = Checks::default();
    let mut model = ModelMember::default();
    let mut prompt = None;
    let mut stream = false;
    let mut stream_options = StreamOptions::default();
    let mut options = CompletionOptions { choices: 1, ..CompletionOptions::default() };
    let mut best_of = None;
    let mut estimate = TokenEstimate::completions();
    let mut cache = CacheMembers::default();
    let mut others = OtherMembers::default();
    let mut fingerprint_members = FingerprintMembers::default();

    fingerprint_members.long_strings = read_members(&body, &MEMBERS, |reader, name| {
        let checks = &mut checks;
        match name {
            b"model" => model.read(reader, checks)?,
            b"prompt" => prompt = prompts::check(reader, checks, "prompt")?,
            b"suffix" => {
                estimate.prompt_bytes += measured(reader, |reader| {
                    options.has_suffix = checks.text(reader, &"suffix")?.is_some_and(|text| !text.raw().is_empty());
                    Ok(())
                })?;
            }
            b"stream" => stream = stream_options.read_switch(reader, checks)?,
            b"stream_options" => stream_options.read(reader, checks)?,
            b"temperature" => checks.number(reader, &"temperature", 0.0..=2.0)?,
            b"top_p" => checks.number(reader, &"top_p", 0.0..=1.0)?,
            b"presence_penalty" => checks.number(reader, &"presence_penalty", -2.0..=2.0)?,
            b"frequency_penalty" => checks.number(reader, &"frequency_penalty", -2.0..=2.0)?,
            b"n" => options.choices = checks.integer(reader, &"n", 1..=128)?.map_or(1, i64::unsigned_abs),
            b"best_of" => best_of = checks.integer(reader, &"best_of", 1..=128)?.map(i64::unsigned_abs),
            b"max_tokens" => estimate.read_max_tokens(reader, checks, 0)?,
            b"max_completion_tokens" => estimate.read_max_completion_tokens(reader, checks)?,
            b"seed" => {
                checks.integer(reader, &"seed", i64::MIN..=i64::MAX)?;
            }
            b"logprobs" => {
                let alternatives = checks.integer(reader, &"logprobs", 0..=MAX_LOGPROBS)?;
                estimate.logprobs = alternatives.map_or(0, |count| 1 + count.unsigned_abs());
            }
            b"echo" => options.echo = checks.boolean(reader, &"echo")?.unwrap_or(false),
            b"logit_bias" => check_logit_bias(reader, checks)?,
            b"stop" => check_stop(reader, checks)?,
            b"user" => {
                checks.text(reader, &"user")?;
            }
            b"cache_salt" => cache.read_salt(reader, checks)?,
            b"cache_prompt" => cache.read_prompt(reader)?,
            _ => {
                let bytes = others.read(reader, name)?;
                check_grammar(name, bytes, checks);
                estimate.prompt_bytes += bytes;
                if name == b"prompt_cache_key" {
                    fingerprint_members.session = span_before(reader, bytes);
                }
            }
        }
        Ok(())
    })?;

    let (model, model_span) = model.take(&mut checks)?;
    if prompt.is_none() {
        checks.missing(&"prompt");
    }
    let prompts = prompt.unwrap_or_default();
    options.prompts = prompts.count;
    options.best_of = best_of.unwrap_or(options.choices);
    options.streaming = stream.then_some(stream_options);
    options.check_choices(&mut checks);
    others.add_costly([
        ("best_of", options.best_of > options.choices),
        // With it, log-probabilities are those of the prompt, too, which the engine computes again.
        ("echo", options.echo),
        ("logprobs", estimate.logprobs > 0),
        ("suffix", options.has_suffix),
    ]);
    let invalid = checks.finish()?;
    let mut estimate = estimate.with_prompts(&prompts, options.best_of.max(options.choices));
    estimate.echoes = options.echo;
    let (model, operation) = ((model, model_span), Operation::Completions(options));
    let checked = (invalid, Capability::Completions);
    let bare = ParsedRequest::bare(body, model, prompts.span, operation, estimate, checked);
    Ok(ParsedRequest { cache, others, fingerprint_members, ..bare })
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::RequestRules;
    use domain::quota::TokenBound;
    use fleet::routing::TokenRatio;

    fn read(members: &str) -> ParsedRequest {
        parse(format!(r#"{{"model":"a/b",{members}}}"#).into()).unwrap()
    }

    fn param(members: &str) -> String {
        read(members).invalid.map_or_else(|| "fine".into(), |invalid| invalid.param)
    }

    #[test]
    fn a_model_can_refuse_members_that_the_gateway_knows() {
        let own = RequestRules { refused_members: Some(vec!["echo".into(), "seed".into()]), ..RequestRules::default() };
        let refused = |members: &str, rules: &RequestRules| {
            let unsupported = read(&format!(r#""prompt":"hi",{members}"#)).unsupported(rules);
            unsupported.map_or_else(|| "fine".into(), |unsupported| unsupported.param)
        };
        for (members, by_own) in
            [(r#""echo":true,"logprobs":1"#, "echo"), (r#""echo":false"#, "fine"), (r#""logprobs":1"#, "fine")]
        {
            assert_eq!(refused(members, &own), by_own, "{members}");
            assert_eq!(refused(members, &RequestRules::default()), "fine", "{members}");
        }
    }

    #[test]
    fn errors_name_the_member() {
        let many = format!(r#""prompt":[{}]"#, vec![r#""a""#; 129].join(","));
        for (members, expected) in [
            (r#""prompt":"hi","max_tokens":0,"echo":true,"logprobs":5,"best_of":3,"n":2,"suffix":"x""#, "fine"),
            (r#""prompt":["a","b"],"stream":true,"stream_options":{"include_usage":true}"#, "fine"),
            (r#""prompt":[1,2]"#, "fine"),
            (r#""prompt":[[1],[2]],"n":128"#, "fine"),
            (r#""prompt":"""#, "prompt"),
            (r#""prompt":[[1],"a"]"#, "prompt[1]"),
            (r#""prompt":"x","best_of":1,"n":2"#, "best_of"),
            (r#""prompt":"x","best_of":2,"stream":true"#, "best_of"),
            (r#""prompt":"x","logprobs":21"#, "logprobs"),
            (r#""prompt":"x","logprobs":true"#, "logprobs"),
            (r#""prompt":"x","echo":1"#, "echo"),
            (r#""prompt":"x","max_tokens":-1"#, "max_tokens"),
            (r#""prompt":"x","suffix":1"#, "suffix"),
            (r#""prompt":["x","y"],"stream":true,"n":65"#, "n"),
            (&many, "fine"),
            (&format!(r#"{many},"stream":true"#), "prompt"),
            (&format!(r#"{many},"n":16"#), "n"),
        ] {
            assert_eq!(param(members), expected, "{members}");
        }
        assert!(matches!(parse(r#"{"model":"a/b"}"#.into()), Err(ParseError::Missing { param }) if param == "prompt"));
    }

    #[test]
    fn every_prompt_and_every_choice_is_bounded() {
        const CONTEXT: u64 = 8_192;
        let bound = |members: &str| read(members).estimate.bound(CONTEXT);
        let one = r#""hi""#.len() as u64 + 64;
        assert_eq!(bound(r#""prompt":"hi""#), TokenBound { prompt: one, completion: 16, choices: 1 });
        let two = r#"["a","b"]"#.len() as u64 + 2 * 64;
        let asked = bound(r#""prompt":["a","b"],"n":2,"best_of":3,"max_tokens":7"#);
        assert_eq!(asked, TokenBound { prompt: two, completion: 7, choices: 6 });
        assert_eq!(bound(r#""prompt":"hi","max_tokens":0,"echo":true"#).completion, 1, "engines may generate one");
        assert_eq!(bound(r#""prompt":"hi","max_tokens":9,"max_completion_tokens":7"#).completion, 7);
        let ids = read(r#""prompt":[[100001,100002],[100003]],"max_tokens":5"#);
        assert_eq!((ids.estimate.bound(CONTEXT).prompt, ids.estimate.likely_prompt()), (3 + 2 * 64, 3));
        assert_eq!(ids.estimate.expected(CONTEXT, 1_000, None), (3 + 2 * 5, 2 * 5));
        assert_eq!(ids.prompt_tokens(CONTEXT, &TokenRatio::default()), 3);
        let long = "x".repeat(100_000);
        assert_eq!(bound(&format!(r#""prompt":["{long}","b"]"#)).prompt, 2 * CONTEXT);
        assert_eq!(read(&format!(r#""prompt":["{long}","b"]"#)).overflow(390).unwrap().param, "prompt");
    }

    #[test]
    fn a_completion_without_a_limit_gets_the_usual_one() {
        let request = read(r#""prompt":"hi""#);
        let sent = request.upstream_edits("b", false, request.estimate.limit_to_send(16)).apply(&request.body);
        assert_eq!(sent, r#"{"model":"b","max_tokens":16,"prompt":"hi"}"#);
    }

    #[test]
    fn an_engine_gets_the_lower_limit_as_max_tokens() {
        let sent = |members: &str| {
            let request = read(&format!(r#""prompt":"hi"{members}"#));
            let limit = request.estimate.limit_to_send(request.estimate.bound(8_192).completion);
            let sent = request.upstream_edits("b", false, limit).apply(&request.body);
            let sent: serde_json::Value = serde_json::from_slice(&sent).unwrap();
            (sent["max_tokens"].as_u64(), sent["max_completion_tokens"].as_u64())
        };
        for (members, expected) in [
            (r#","max_tokens":5"#, 5),
            (r#","max_completion_tokens":500"#, 500),
            (r#","max_tokens":null,"max_completion_tokens":500"#, 500),
            (r#","max_tokens":9,"max_completion_tokens":7"#, 7),
            (r#","max_completion_tokens":9,"max_tokens":7"#, 7),
            (r#","max_completion_tokens":99999"#, 8_192),
            (r#","max_completion_tokens":null"#, 16),
        ] {
            assert_eq!(sent(members), (Some(expected), None), "{members}");
        }
    }

    #[test]
    fn scores_of_prompts_that_make_a_response_too_large_name_the_member() {
        const CONTEXT: u64 = 8_192;
        let long = format!(r#""{}""#, "x".repeat(16_000));
        let prompts = |count: usize| vec![&*long; count].join(",");
        let oversized = |members: &str| read(&format!(r#"{members},"logprobs":20"#)).oversized(CONTEXT);
        assert_eq!(oversized(&format!(r#""prompt":[{}],"max_tokens":1,"echo":true"#, prompts(10))), None);
        assert_eq!(oversized(&format!(r#""prompt":[{}],"max_tokens":1,"echo":true"#, prompts(13))), Some("prompt"));
        assert_eq!(oversized(&format!(r#""prompt":{long},"max_tokens":1,"echo":true,"n":13"#)), Some("n"));
        assert_eq!(oversized(&format!(r#""prompt":{long},"max_tokens":1,"n":13"#)), None);
        assert_eq!(oversized(&format!(r#""prompt":[{}],"max_tokens":4096"#, prompts(13))), Some("prompt"));
        assert_eq!(oversized(&format!(r#""prompt":{long},"max_tokens":4096,"n":13"#)), Some("n"));
    }

    #[test]
    fn engines_lack_what_they_ignore() {
        use EngineKind::{ForebayEngine, LlamaServer, Sglang, Vllm};
        let lacking = |members: &str, engine| {
            let Operation::Completions(options) = read(members).operation else { panic!("not a completion") };
            options.lacking(engine).map_or_else(|| "-".into(), |invalid| invalid.param)
        };
        let of_all = |members: &str| [Vllm, Sglang, ForebayEngine, LlamaServer].map(|engine| lacking(members, engine));
        assert_eq!(of_all(r#""prompt":"x","logprobs":1"#), ["-", "-", "-", "-"]);
        assert_eq!(of_all(r#""prompt":"x","echo":true"#), ["-", "-", "-", "echo"]);
        assert_eq!(of_all(r#""prompt":"x","suffix":"y""#), ["suffix", "-", "-", "suffix"]);
        assert_eq!(of_all(r#""prompt":["x","y"],"n":2"#), ["-", "-", "-", "n"]);
        assert_eq!(of_all(r#""prompt":[[1],[2]]"#), ["-", "-", "-", "prompt"]);
        assert_eq!(of_all(r#""prompt":"x","best_of":2"#), ["best_of"; 4]);
    }
}
