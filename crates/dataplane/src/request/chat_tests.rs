use super::*;
use domain::model::EngineKind::{ForebayEngine, LlamaServer, Sglang, Vllm};
use domain::model::RequestRules;
use proptest::prelude::*;

fn read(body: &str) -> Result<ParsedRequest, ParseError> {
    parse(Bytes::copy_from_slice(body.as_bytes()))
}

/// The status of the error and its param, or `fine`.
fn verdict(body: &str) -> String {
    match read(body) {
        Ok(request) => request.invalid.map_or_else(|| "fine".into(), |invalid| format!("422 {}", invalid.param)),
        Err(ParseError::Missing { param } | ParseError::BadName { param, .. }) => format!("400 {param}"),
        Err(ParseError::Unreadable(_)) => "400".into(),
    }
}

const HEAD: &str = r#""model":"acme/tiny","messages":[{"role":"user","content":"hi"}]"#;

#[test]
fn every_documented_range_is_checked_with_its_path() {
    for (member, expected) in [
        (r#""temperature":2"#, "fine"),
        (r#""temperature":2.01"#, "422 temperature"),
        (r#""temperature":"1""#, "422 temperature"),
        (r#""temperature":null"#, "fine"),
        (r#""temperature":1e400"#, "422 temperature"),
        (r#""top_p":-0.1"#, "422 top_p"),
        (r#""n":0"#, "422 n"),
        (r#""n":129"#, "422 n"),
        (r#""n":1.5"#, "422 n"),
        (r#""max_tokens":0"#, "422 max_tokens"),
        (r#""max_completion_tokens":"9""#, "422 max_completion_tokens"),
        (r#""presence_penalty":-2.5"#, "422 presence_penalty"),
        (r#""frequency_penalty":3"#, "422 frequency_penalty"),
        (r#""seed":9223372036854775807"#, "fine"),
        (r#""seed":9223372036854775808"#, "422 seed"),
        (r#""seed":-1"#, "fine"),
        (r#""seed":1.5"#, "422 seed"),
        (r#""stop":"end""#, "fine"),
        (r#""stop":["a","b","c","d","e"]"#, "422 stop"),
        (r#""stop":[]"#, "422 stop"),
        (r#""stop":["a",1]"#, "422 stop[1]"),
        (r#""stream":"yes""#, "422 stream"),
        (r#""stream_options":[]"#, "422 stream_options"),
        (r#""stream_options":{"include_usage":1}"#, "422 stream_options.include_usage"),
        (r#""stream_options":{"Include_Usage":false}"#, "422 stream_options.Include_Usage"),
        (r#""logprobs":true,"top_logprobs":20"#, "fine"),
        (r#""logprobs":1"#, "422 logprobs"),
        (r#""top_logprobs":5"#, "422 top_logprobs"),
        (r#""logprobs":true,"top_logprobs":21"#, "422 top_logprobs"),
        (r#""logit_bias":{"50256":-100}"#, "fine"),
        (r#""logit_bias":{"50256":-101}"#, "422 logit_bias.50256"),
        (r#""logit_bias":{"word":1}"#, "422 logit_bias.word"),
        (r#""tools":[{"type":"function","function":{"name":"get_weather"}}]"#, "fine"),
        (r#""tools":{}"#, "422 tools"),
        (r#""tools":["x"]"#, "422 tools[0]"),
        (r#""tools":[{"type":"custom"}]"#, "fine"),
        (r#""tools":[{"type":"magic"}]"#, "422 tools[0].type"),
        (r#""tools":[{"type":"function"}]"#, "400 tools[0].function"),
        (r#""tools":[{"type":"function","function":{"name":"a b"}}]"#, "422 tools[0].function.name"),
        (r#""tools":[{"type":"function","function":{}}]"#, "400 tools[0].function.name"),
        (r#""tool_choice":"maybe""#, "422 tool_choice"),
        (r#""tool_choice":{"type":"function","function":{"name":"f"}}"#, "fine"),
        (r#""parallel_tool_calls":1"#, "422 parallel_tool_calls"),
        (r#""response_format":{"type":"yaml"}"#, "422 response_format.type"),
        (r#""response_format":{"type":"json_schema"}"#, "400 response_format.json_schema"),
        (r#""response_format":{"type":"json_schema","json_schema":{}}"#, "400 response_format.json_schema.name"),
        (r#""response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{}}}"#, "fine"),
        (r#""response_format":{"type":"json_object"}"#, "fine"),
        (r#""reasoning_effort":"huge""#, "422 reasoning_effort"),
        (r#""verbosity":"loud""#, "422 verbosity"),
        (r#""service_tier":"gold""#, "422 service_tier"),
        (r#""top_k":-1,"min_p":"anything""#, "fine"),
        (
            r#""top_p":null,"n":null,"stop":null,"stream":null,"stream_options":null,"logit_bias":null,"seed":null"#,
            "fine",
        ),
        (r#""tools":null,"tool_choice":null,"response_format":null,"user":null,"max_tokens":null"#, "fine"),
    ] {
        assert_eq!(verdict(&format!("{{{HEAD},{member}}}")), expected, "{member}");
    }
}

#[test]
fn messages_are_checked_with_their_path() {
    for (messages, expected) in [
        ("[]", "422 messages"),
        ("null", "400 messages"),
        ("{}", "422 messages"),
        (r#"["hi"]"#, "422 messages[0]"),
        (r#"[{"content":"hi"}]"#, "400 messages[0].role"),
        (r#"[{"role":"robot","content":"hi"}]"#, "422 messages[0].role"),
        (r#"[{"role":7,"content":"hi"}]"#, "422 messages[0].role"),
        (r#"[{"role":"user"}]"#, "400 messages[0].content"),
        (r#"[{"role":"user","content":5}]"#, "422 messages[0].content"),
        (r#"[{"role":"user","content":[{"type":"text","text":"hi"}]}]"#, "fine"),
        (r#"[{"role":"user","content":[{"type":"text"}]}]"#, "400 messages[0].content[0].text"),
        (r#"[{"role":"user","content":[{"type":"text","text":1}]}]"#, "422 messages[0].content[0].text"),
        (r#"[{"role":"user","content":[{"text":"hi"}]}]"#, "400 messages[0].content[0].type"),
        (r#"[{"role":"user","content":[{"type":"video_url","video_url":{}}]}]"#, "fine"),
        (r#"[{"role":"assistant","content":null,"tool_calls":[]}]"#, "fine"),
        (r#"[{"role":"assistant","refusal":"no"}]"#, "fine"),
        (r#"[{"role":"assistant","tool_calls":{}}]"#, "422 messages[0].tool_calls"),
        (
            r#"[{"role":"assistant","tool_calls":[{"function":{"arguments":{}}}]}]"#,
            "422 messages[0].tool_calls[0].function.arguments",
        ),
        (r#"[{"role":"tool","content":"4"}]"#, "400 messages[0].tool_call_id"),
        (r#"[{"content":"4","role":"tool","tool_call_id":"c"}]"#, "fine"),
        (r#"[{"role":"developer","content":"be brief"},{"role":"user","content":1}]"#, "422 messages[1].content"),
    ] {
        assert_eq!(verdict(&format!(r#"{{"model":"a/b","messages":{messages}}}"#)), expected, "{messages}");
    }
}

#[test]
fn grammars_have_a_bound() {
    for (name, bytes, expected) in [
        ("grammar", 256 << 10, "fine"),
        ("grammar", (256 << 10) + 1, "422 grammar"),
        ("Guided_JSON", 300_000, "422 Guided_JSON"),
        ("structured_outputs", 300_000, "422 structured_outputs"),
        ("documents", 300_000, "fine"),
    ] {
        let member = format!("\"{name}\":\"{}\"", "x".repeat(bytes - 2));
        assert_eq!(verdict(&format!("{{{HEAD},{member}}}")), expected, "{name}");
    }
    let schema = format!(r#"{{"name":"a","schema":{{"description":"{}"}}}}"#, "x".repeat(300_000));
    let format = format!(r#""response_format":{{"type":"json_schema","json_schema":{schema}}}"#);
    assert_eq!(verdict(&format!("{{{HEAD},{format}}}")), "422 response_format");
}

#[test]
fn parameters_of_tools_have_a_bound_if_one_must_be_called() {
    const HALF: usize = 128 << 10;
    let function = |name: &str, bytes: usize| {
        let (schema, long) = (r#"{"title":""}"#, "x".repeat(300_000));
        let parameters = schema.replace("\"\"", &format!("\"{}\"", "x".repeat(bytes - schema.len())));
        let members = format!(r#""name":"{name}","description":"{long}","parameters":{parameters}"#);
        format!(r#"{{"type":"function","function":{{{members}}}}}"#)
    };
    for (choice, bytes, expected) in [
        (r#""required""#, HALF, "fine"),
        (r#""required""#, HALF + 1, "422 tools"),
        (r#""r\u0065quired""#, HALF + 1, "422 tools"),
        (r#"{"type":"function","function":{"name":"a"}}"#, HALF + 1, "422 tools"),
        (r#"{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[]}}"#, HALF + 1, "422 tools"),
        (r#""auto""#, HALF + 1, "fine"),
        (r#""none""#, HALF + 1, "fine"),
        ("null", HALF + 1, "fine"),
    ] {
        let tools = format!(r#""tools":[{},{}]"#, function("a", HALF), function("b", bytes));
        let choice = format!(r#""tool_choice":{choice}"#);
        assert_eq!(verdict(&format!("{{{HEAD},{tools},{choice}}}")), expected, "{choice}");
        assert_eq!(verdict(&format!("{{{HEAD},{choice},{tools}}}")), expected, "{choice} before the tools");
    }
}

#[test]
fn missing_members_are_reported_before_invalid_values() {
    assert_eq!(verdict(r#"{"temperature":9,"messages":[{"role":"user","content":"x"}]}"#), "400 model");
    assert_eq!(verdict(r#"{"temperature":9,"model":"a/b"}"#), "400 messages");
    assert_eq!(verdict(r#"{"model":null,"messages":[{"role":"user","content":"x"}]}"#), "400 model");
    assert_eq!(verdict(r#"{"model":7,"messages":[{"role":"user","content":"x"}]}"#), "422 model");
}

#[test]
fn unreadable_bodies_are_rejected() {
    let body = |extra: &str| format!("{{{HEAD}{extra}}}");
    let deep = format!(",\"x\":{}{}", "[".repeat(20_000), "]".repeat(20_000));
    for bad in ["", " ", "[]", "\"hi\"", "null", "nul", "{", "{'model':1}", &(body("") + " x"), &(body("") + &body(""))]
    {
        assert_eq!(verdict(bad), "400", "{bad}");
    }
    for bad in [",", ",\"temperature\":NaN", ",\"a\":01", ",\"model\":\"b\"", &deep] {
        assert_eq!(verdict(&body(bad)), "400", "{}", &bad[..bad.len().min(40)]);
    }
    assert_eq!(verdict(&body(r#","user":"\ud800""#)), "400");
    assert_eq!(verdict(&body(r#","mod\u0065l":"x""#)), "400");
    assert_eq!(verdict(&body(r#","x":{"a":1,"a":2},"y":"\u0000""#)), "fine");
    assert_eq!(sent(&format!("\u{feff}{}", body("")), false)["model"], "up\"stream", "engines get no byte order mark");
    assert_eq!(
        parse(Bytes::from_static(b"{\"a\":\"\xFF\"}")).err(),
        Some(ParseError::Unreadable("the body is not UTF-8".into()))
    );
}

#[test]
fn the_options_of_a_stream_are_few() {
    let options = |count: usize| (0..count).map(|index| format!("\"o{index}\":1")).collect::<Vec<_>>().join(",");
    assert_eq!(verdict(&format!(r#"{{{HEAD},"stream_options":{{{}}}}}"#, options(16))), "fine");
    assert_eq!(verdict(&format!(r#"{{{HEAD},"stream_options":{{{}}}}}"#, options(17))), "422 stream_options");
}

#[test]
fn a_duplicate_is_found_among_many_members() {
    let many: String = (0..100).map(|i| format!(",\"m{i}\":{i}")).collect();
    assert_eq!(verdict(&format!("{{{HEAD}{many}}}")), "fine");
    assert_eq!(verdict(&format!("{{{HEAD}{many},\"m3\":0}}")), "400");
}

#[test]
fn a_known_name_in_other_letters_is_rejected() {
    for name in ["Model", "MESSAGES", "Max_Tokens", "N", "\u{17f}tream", "max_to\u{212a}ens"] {
        assert_eq!(verdict(&format!(r#"{{{HEAD},"{name}":1}}"#)), format!("400 {name}"));
    }
    assert_eq!(verdict(&format!(r#"{{{HEAD},"Top_K":1}}"#)), "fine");
}

/// A member that is read, but missing in the list, could be sent in capital letters.
#[test]
fn every_member_that_is_read_is_in_the_list() {
    let source = include_str!("chat.rs");
    let arms = source.lines().filter_map(|line| line.trim().strip_prefix("b\"")?.split_once("\" =>"));
    let read: Vec<&str> = arms.map(|(name, _)| name).collect();
    assert_eq!(read, MEMBERS);
}

#[test]
fn an_error_repeats_only_the_start_of_a_long_name() {
    let long = "é".repeat(100_000);
    let body = format!(r#"{{{HEAD},"logit_bias":{{"{long}":1}}}}"#);
    let invalid = read(&body).unwrap().invalid.unwrap();
    assert_eq!(invalid.param, format!("logit_bias.{}", "é".repeat(100)));
    let twice = read(&format!(r#"{{{HEAD},"{long}":1,"{long}":2}}"#)).unwrap_err();
    assert_eq!(twice, ParseError::Unreadable(format!("duplicate member `{}`", "é".repeat(100))));
    let spelled = read(&format!(r#"{{{HEAD},"{long}":1,"MODEL":2}}"#)).unwrap_err();
    assert_eq!(spelled, ParseError::BadName { param: "MODEL".into(), why: "must be written `model`".into() });
}

/// The param that a shared model rejects, or `fine`.
fn unsupported(members: &str, rules: &RequestRules) -> String {
    let request = read(&format!("{{{members}}}")).unwrap();
    request.unsupported(rules).map_or_else(|| "fine".into(), |unsupported| unsupported.param)
}

#[test]
fn members_that_control_a_shared_engine_are_not_supported() {
    let usual = RequestRules::default();
    let own = RequestRules { refused_members: Some(vec!["top_k".into()]), media_urls: false };
    for (member, by_usual, by_own) in [
        (r#""n_predict":200"#, "n_predict", "n_predict"),
        (r#""N_Predict":200"#, "N_Predict", "N_Predict"),
        (r#""use_beam_search":true"#, "use_beam_search", "use_beam_search"),
        (r#""use_beam_search":false"#, "fine", "fine"),
        (r#""best_of":null"#, "fine", "fine"),
        (r#""chat_template":"{{ x }}""#, "chat_template", "fine"),
        (r#""\u006b\u0076_transfer_params":{}"#, "kv_transfer_params", "fine"),
        (r#""prio\u0072ity":0"#, "priority", "fine"),
        (r#""top_k":1"#, "fine", "top_k"),
        (r#""chat_template_kwargs":{"enable_thinking":false},"cache_salt":"x","x":[{}]"#, "fine", "fine"),
    ] {
        let members = format!("{HEAD},{member}");
        assert_eq!(unsupported(&members, &usual), by_usual, "{member}");
        assert_eq!(unsupported(&members, &own), by_own, "{member}");
    }
}

#[test]
fn media_of_a_shared_model_must_be_in_the_request() {
    for (part, expected) in [
        (r#"{"type":"text","text":"see http://example.com/a.png"}"#, "fine"),
        (r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AA==","detail":"low"}}"#, "fine"),
        (r#"{"type":"image_url","image_url":{"url":"http://169.254.169.254/"}}"#, "image_url.url"),
        (r#"{"type":"image_url","image_url":{"url":"data:image/png,","URL":"http://x"}}"#, "image_url.URL"),
        (r#"{"type":"image_url","image_url":{"url":"/etc/passwd.png"}}"#, "image_url.url"),
        (r#"{"type":"text","text":"x","image_url":{"\u0075rl":"file:///x"}}"#, "image_url.url"),
        (r#"{"type":"video_url","video_url":{"url":"https://x/y.mp4"}}"#, "video_url.url"),
        (r#"{"type":"input_image","image_url":{"x":{"url":["data:,","ftp://x"]}}}"#, "image_url.x.url[1]"),
        (r#"{"audio_url":"https://x/y.mp3","type":"audio"}"#, "audio_url"),
        (r#"{"type":"image","image":"https://x/y.png"}"#, "image"),
        (r#"{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}"#, "fine"),
        (r#"{"type":"file","file":{"file_data":"AA==","filename":"a.pdf"}}"#, "fine"),
    ] {
        let members = format!(r#""model":"a/b","messages":[{{"role":"user","content":[{part}]}}]"#);
        let expected = if expected == "fine" { "fine".into() } else { format!("messages[0].content[0].{expected}") };
        assert_eq!(unsupported(&members, &RequestRules::default()), expected, "{part}");
        let fetches = RequestRules { media_urls: true, ..RequestRules::default() };
        assert_eq!(unsupported(&members, &fetches), "fine", "{part}");
    }
}

fn sent(body: &str, running: bool) -> serde_json::Value {
    let request = read(body).unwrap();
    let edited = request.upstream_edits("up\"stream", running, None).apply(&request.body);
    serde_json::from_slice(&edited).unwrap()
}

#[test]
fn reasoning_that_is_sent_back_has_the_name_that_the_engine_reads() {
    let messages = |members: &str, engine| {
        let body = format!(r#"{{"model":"acme/tiny","messages":[{{"role":"user","content":"hi"}},{{{members}}}]}}"#);
        let request = read(&body).unwrap();
        let mut edits = request.upstream_edits("up", false, None);
        request.name_reasoning(engine, &mut edits);
        let sent: serde_json::Value = serde_json::from_slice(&edits.apply(&request.body)).unwrap();
        sent["messages"][1].clone()
    };
    let all = [None, Some(Vllm), Some(Sglang), Some(LlamaServer), Some(ForebayEngine)];
    for engine in all {
        let (own, other) = ("reasoning", "reasoning_content");
        let (own, other) = if engine == Some(Vllm) { (own, other) } else { (other, own) };
        for sent in [own, other] {
            let renamed = messages(&format!(r#""{sent}":"hm","role":"assistant","content":"x""#), engine);
            let expected = serde_json::json!({"role": "assistant", "content": "x", own: "hm"});
            assert_eq!(renamed, expected, "{sent} at {engine:?}");
        }
        for kept in [
            r#""role":"assistant","reasoning":"a","reasoning_content":"b""#,
            r#""role":"assistant","reasoning":null"#,
            r#""role":"assistant","reasoning_content":["a"]"#,
            r#""role":"user","content":"x","reasoning":"a""#,
        ] {
            let expected: serde_json::Value = serde_json::from_str(&format!("{{{kept}}}")).unwrap();
            assert_eq!(messages(kept, engine), expected, "{engine:?}");
        }
    }
}

#[test]
fn only_the_model_and_the_stream_options_change() {
    let unary = sent(&format!(r#"{{"seed":9007199254740993,{HEAD},"x":{{"y":[1.50]}}}}"#), true);
    assert_eq!(unary["model"], "up\"stream");
    assert_eq!(unary["seed"], 9_007_199_254_740_993_i64);
    assert!(unary.get("stream_options").is_none());

    let stream = sent(&format!(r#"{{{HEAD},"stream":true}}"#), true);
    assert_eq!(stream["stream_options"], serde_json::json!({"include_usage": true, "continuous_usage_stats": true}));
    let plain = sent(&format!(r#"{{"stream":true,"stream_options":null,{HEAD}}}"#), false);
    assert_eq!(plain["stream_options"], serde_json::json!({"include_usage": true}));
    let kept = sent(
        &format!(r#"{{"stream":true,"stream_options":{{"include_usage":false,"include_obfuscation":false}},{HEAD}}}"#),
        false,
    );
    assert_eq!(kept["stream_options"], serde_json::json!({"include_usage": true, "include_obfuscation": false}));
}

proptest! {
    #[test]
    fn no_input_makes_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(Bytes::from(bytes));
    }

    #[test]
    fn a_damaged_request_never_makes_the_parser_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut body = format!(
            r#"{{{HEAD},"stream":true,"stop":["a"],"tools":[{{"type":"function","function":{{"name":"f"}}}}],"n":2}}"#
        ).into_bytes();
        let at = at.index(body.len());
        body[at] = byte;
        if let Ok(request) = parse(Bytes::from(body)) && request.invalid.is_none() {
            let edited = request.upstream_edits("m", true, None).apply(&request.body);
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&edited).is_ok());
        }
    }
}
