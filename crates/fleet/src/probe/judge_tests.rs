//! Responses of real engines, shortened, and what they say about them.

use super::calls::ProbeCall::{self, *};
use super::judge::{Evidence, Reply, judge};
use domain::capabilities::{Capabilities, Capability, CapabilitySet, Support};
use http::StatusCode;

type Recorded = (ProbeCall, u16, &'static str);

fn judged(recorded: &[Recorded]) -> Capabilities {
    let reply = |(call, status, body): &Recorded| {
        (*call, Reply { status: StatusCode::from_u16(*status).unwrap(), body: body.as_bytes().to_vec() })
    };
    judge(&Evidence { replies: recorded.iter().map(reply).collect(), context_length: 2_048 })
}

fn names(set: CapabilitySet) -> String {
    set.iter().map(Capability::as_str).collect::<Vec<_>>().join(" ")
}

const HELLO: &str = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello!"},"finish_reason":"stop"}],"usage":{"prompt_tokens":33,"completion_tokens":3}}"#;
const CALLED: &str = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"get_weather","arguments":"{\"city\": \"Paris\"}"}}]},"finish_reason":"tool_calls"}]}"#;
const STREAMED_CALL: &str = r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"get_weather","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\": "}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Paris\"}"}}]},"finish_reason":"tool_calls"}]}

data: [DONE]
"#;
const STREAM: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":33,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n";
const SCHEMA: &str =
    r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"{\"number\": 4}"},"finish_reason":"stop"}]}"#;
const LOGPROBS: &str =
    r#"{"choices":[{"index":0,"message":{"content":"Hi"},"logprobs":{"content":[{"token":"Hi","logprob":-0.1}]}}]}"#;
const COMPLETION: &str = r#"{"object":"text_completion","choices":[{"index":0,"text":" world"}]}"#;
const CACHED: &str = r#"{"choices":[{"message":{"content":"The"}}],"usage":{"prompt_tokens":390,"prompt_tokens_details":{"cached_tokens":384}}}"#;
const UNCACHED: &str =
    r#"{"choices":[{"message":{"content":"The"}}],"usage":{"prompt_tokens":390,"prompt_tokens_details":null}}"#;
const FASTAPI_404: &str = r#"{"detail":"Not Found"}"#;

/// vLLM 0.32 with the options that docs/vllm.md names.
const VLLM: &[Recorded] = &[
    (Chat, 200, HELLO),
    (Completion, 200, COMPLETION),
    (Embedding, 404, FASTAPI_404),
    (Rerank, 404, FASTAPI_404),
    (Score, 404, FASTAPI_404),
    (Tokenize, 200, r#"{"count":31,"max_model_len":2048,"tokens":[1,2,3]}"#),
    (Stream, 200, STREAM),
    (Tools, 200, HELLO),
    (ForcedTool, 200, CALLED),
    (StreamedTool, 200, STREAMED_CALL),
    (ProbeCall::Schema, 200, SCHEMA),
    (
        InvalidStream,
        200,
        "data: {\"error\": {\"message\": \"Grammar error: Invalid type: unknown\", \"type\": \"BadRequestError\", \"param\": null, \"code\": 400}}\n\ndata: [DONE]\n\n",
    ),
    (Logprobs, 200, LOGPROBS),
    (
        Image,
        400,
        r#"{"error":{"message":"At most 0 image(s) may be provided in one prompt.","type":"BadRequestError","param":null,"code":400}}"#,
    ),
    (Prompt, 200, UNCACHED),
    (RepeatedPrompt, 200, CACHED),
    (
        Overflow,
        400,
        r#"{"error":{"message":"This model's maximum context length is 2048 tokens. However, your request has 2571 input tokens.","type":"BadRequestError","code":400}}"#,
    ),
    (Messages, 200, r#"{"id":"msg","type":"message","role":"assistant","content":[{"type":"text","text":"Hello!"}]}"#),
    (Responses, 200, r#"{"id":"resp","object":"response","status":"completed","output":[]}"#),
];

/// llama-server without `--embeddings` and `--mmproj`.
const LLAMA_SERVER: &[Recorded] = &[
    (Chat, 200, HELLO),
    (Completion, 200, COMPLETION),
    (
        Embedding,
        501,
        r#"{"error":{"code":501,"message":"This server does not support embeddings. Start it with `--embeddings`","type":"not_supported_error"}}"#,
    ),
    (
        Rerank,
        501,
        r#"{"error":{"code":501,"message":"This server does not support reranking. Start it with `--reranking`","type":"not_supported_error"}}"#,
    ),
    (Score, 404, r#"{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}"#),
    (Tokenize, 200, r#"{"tokens":[19556]}"#),
    (Stream, 200, STREAM),
    (Tools, 200, HELLO),
    (ForcedTool, 200, CALLED),
    (StreamedTool, 200, STREAMED_CALL),
    (ProbeCall::Schema, 200, SCHEMA),
    (
        InvalidStream,
        400,
        r#"{"error":{"code":400,"message":"JSON schema conversion failed:\nUnrecognized schema: {\"type\":\"unknown\"}","type":"invalid_request_error"}}"#,
    ),
    (Logprobs, 200, LOGPROBS),
    (
        Image,
        500,
        r#"{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}"#,
    ),
    (
        RepeatedPrompt,
        200,
        r#"{"choices":[{"message":{"content":"The"}}],"usage":{"prompt_tokens":390,"prompt_tokens_details":{"cached_tokens":0}}}"#,
    ),
    (
        Overflow,
        400,
        r#"{"error":{"code":400,"message":"request (2571 tokens) exceeds the available context size (1024 tokens), try increasing it","type":"exceed_context_size_error"}}"#,
    ),
    (Messages, 404, r#"{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}"#),
    (Responses, 404, r#"{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}"#),
];

const UNKNOWN_PATH: &str =
    r#"{"error":{"message":"unknown path","type":"invalid_request_error","param":"","code":"unknown_route"}}"#;
const FOREBAY_ENGINE: &[Recorded] = &[
    (Chat, 200, HELLO),
    (Completion, 200, COMPLETION),
    (
        Embedding,
        422,
        r#"{"error":{"message":"`model` is not supported: it generates text, it has no embeddings","code":"unsupported_parameter"}}"#,
    ),
    (Rerank, 404, UNKNOWN_PATH),
    (Score, 404, UNKNOWN_PATH),
    (Tokenize, 200, r#"{"count":31,"max_model_len":2048,"tokens":[1,2,3]}"#),
    (Stream, 200, STREAM),
    (Tools, 200, HELLO),
    (ForcedTool, 200, CALLED),
    (StreamedTool, 200, STREAMED_CALL),
    (ProbeCall::Schema, 200, SCHEMA),
    (
        InvalidStream,
        422,
        r#"{"error":{"message":"`response_format.json_schema.schema` is not supported: Invalid type: unknown","code":"unsupported_parameter"}}"#,
    ),
    (Logprobs, 200, LOGPROBS),
    (
        Image,
        422,
        r#"{"error":{"message":"`messages[0].content[1]` is not supported: only text","code":"unsupported_parameter"}}"#,
    ),
    (RepeatedPrompt, 200, CACHED),
    (
        Overflow,
        400,
        r#"{"error":{"message":"the context length is 2048 tokens: the prompt has 2571, and a completion needs at least one more","code":"context_length_exceeded"}}"#,
    ),
    (Messages, 404, UNKNOWN_PATH),
    (Responses, 404, UNKNOWN_PATH),
];

/// A server of embeddings.
const VECTORS: &[Recorded] = &[
    (Chat, 400, r#"{"error":{"message":"The model does not support Chat Completions API","code":400}}"#),
    (Completion, 404, FASTAPI_404),
    (Embedding, 200, r#"{"data":[{"index":0,"embedding":[0.1,0.2]}]}"#),
    (Rerank, 404, FASTAPI_404),
    (Score, 200, r#"{"data":[{"index":0,"score":0.8}]}"#),
    (Tokenize, 422, r#"{"detail":"messages: field required"}"#),
];

/// Text Embeddings Inference with a model that compares texts.
const TEI: &[Recorded] = &[
    (Chat, 404, ""),
    (Completion, 404, ""),
    (Embedding, 424, r#"{"error":"model is not an embedding model","error_type":"Backend"}"#),
    (TeiRerank, 200, r#"[{"index":0,"score":0.99}]"#),
];

#[test]
fn recorded_responses_show_what_engines_can_do() {
    for (engine, recorded, present, missing) in [
        (
            "vllm",
            VLLM,
            "chat completions tokenize tools streamed_tools json_schema logprobs stream_usage cached_tokens \
             overflow_errors stream_errors native_messages native_responses",
            "embeddings rerank score images",
        ),
        (
            "llama-server",
            LLAMA_SERVER,
            "chat completions tokenize tools streamed_tools json_schema logprobs stream_usage overflow_errors \
             stream_errors",
            "embeddings rerank score images native_messages native_responses",
        ),
        (
            "forebay-engine",
            FOREBAY_ENGINE,
            "chat completions tokenize tools streamed_tools json_schema logprobs stream_usage cached_tokens overflow_errors \
             stream_errors",
            "embeddings rerank score images native_messages native_responses",
        ),
        ("embeddings", VECTORS, "embeddings score", "chat completions rerank"),
        ("text-embeddings-inference", TEI, "rerank score", "chat completions"),
    ] {
        let found = judged(recorded);
        assert_eq!(
            (names(found.present()), names(found.missing())),
            (present.to_owned(), missing.to_owned()),
            "{engine}"
        );
    }
    let vllm = judged(VLLM);
    assert_eq!(vllm.note_of(Capability::StreamErrors), Some("as an event"));
    assert!(vllm.note_of(Capability::OverflowErrors).unwrap().starts_with("This model's maximum context length"));
    assert_eq!(judged(FOREBAY_ENGINE).note_of(Capability::StreamErrors), Some("as a status"));
}

const THOUGHT: &str =
    r#"{"choices":[{"message":{"content":null,"reasoning_content":"The user greets"},"finish_reason":"length"}]}"#;
const THOUGHT_AND_TEXT: &str =
    r#"{"choices":[{"message":{"content":"4","reasoning":"A dog has four"},"finish_reason":"stop"}]}"#;
const SWALLOWED: &str = r#"{"choices":[{"message":{"content":null,"reasoning":"Hello!"},"finish_reason":"stop"}]}"#;
const SCHEMA_SWALLOWED: &str =
    r#"{"choices":[{"message":{"content":null,"reasoning":"{\"number\":4}"},"finish_reason":"stop"}]}"#;
const NO_PARSER: &str = r#"{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}}"#;
const LOST: &str = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"get_weather\",\"arguments\":\"{\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n";
const OTHER_CALL: &str = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"city\\\":\\\"Par\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n";
const CUT: &str = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\"}}]},\"finish_reason\":\"length\"}]}\n\n";
const FAILED: &str = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\"}}]}}]}\n\ndata: {\"error\":{\"message\":\"out of memory\"}}\n\n";
const LONGER: &str = r#"{"choices":[{"message":{"content":"Hello"}}],"usage":{"prompt_tokens":2571}}"#;
const TOO_LONG: &str = r#"{"error":{"message":"This model's maximum context length is 512 tokens."}}"#;
const TWO_CALLS: &str =
    r#"{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{}"}},{"function":{"arguments":"{}"}}]}}]}"#;
const TAGGED: &str = r#"{"choices":[{"message":{"content":"<think>\nThe user"}}]}"#;

#[test]
fn single_capabilities_are_judged_by_what_disproves_them() {
    use Capability as C;
    use Support::{No, Unknown, Yes};
    let table: &[(Capability, Support, &[Recorded])] = &[
        (C::Tools, No, &[(Tools, 400, NO_PARSER), (ForcedTool, 400, NO_PARSER)]),
        (C::StreamedTools, No, &[(Tools, 400, NO_PARSER), (ForcedTool, 400, NO_PARSER)]),
        // A forced tool may work where a choice does not.
        (C::Tools, Yes, &[(Tools, 400, NO_PARSER), (ForcedTool, 200, CALLED)]),
        // A model that calls nothing has perhaps not understood.
        (C::Tools, Unknown, &[(Tools, 200, HELLO), (ForcedTool, 200, HELLO)]),
        (C::Tools, Unknown, &[(Tools, 503, ""), (ForcedTool, 503, "")]),
        (C::ParallelTools, Unknown, &[(Tools, 200, CALLED)]),
        (C::ParallelTools, Yes, &[(Tools, 200, TWO_CALLS)]),
        (C::StreamedTools, Yes, &[(ForcedTool, 200, HELLO), (StreamedTool, 200, STREAMED_CALL)]),
        (C::StreamedTools, No, &[(ForcedTool, 200, CALLED), (StreamedTool, 200, LOST)]),
        // Perhaps the engine has lost a part of the text, perhaps the model has chosen another one.
        (C::StreamedTools, Unknown, &[(ForcedTool, 200, CALLED), (StreamedTool, 200, OTHER_CALL)]),
        (C::StreamedTools, Unknown, &[(ForcedTool, 200, CALLED), (StreamedTool, 200, CUT)]),
        (C::StreamedTools, Unknown, &[(ForcedTool, 200, HELLO), (StreamedTool, 200, LOST)]),
        // A tool that was not called, and a stream that failed, lose nothing.
        (C::StreamedTools, Unknown, &[(ForcedTool, 200, CALLED), (StreamedTool, 200, STREAM)]),
        (C::StreamedTools, Unknown, &[(ForcedTool, 200, CALLED), (StreamedTool, 200, FAILED)]),
        (C::Reasoning, Unknown, &[]),
        (C::Reasoning, Yes, &[(ProbeCall::Schema, 200, THOUGHT)]),
        (C::Reasoning, No, &[(Prompt, 200, TAGGED)]),
        // A parser that takes all text for thoughts, also if the first response was cut.
        (C::Reasoning, No, &[(ProbeCall::Schema, 200, THOUGHT), (Prompt, 200, SWALLOWED)]),
        (C::Reasoning, Yes, &[(ProbeCall::Schema, 200, THOUGHT_AND_TEXT), (Prompt, 200, SWALLOWED)]),
        // A right parser does so with the JSON of a grammar.
        (C::Reasoning, Yes, &[(Chat, 200, THOUGHT), (ProbeCall::Schema, 200, SCHEMA_SWALLOWED)]),
        (C::ReasoningRead, Yes, &[(WithReasoning, 200, UNCACHED), (WithoutReasoning, 200, HELLO)]),
        (C::ReasoningRead, No, &[(WithReasoning, 200, HELLO), (WithoutReasoning, 200, HELLO)]),
        (C::ReasoningRead, Unknown, &[(WithReasoning, 200, HELLO), (WithoutReasoning, 400, "{}")]),
        (C::JsonSchema, No, &[(ProbeCall::Schema, 400, "{}")]),
        (C::JsonSchema, Unknown, &[(ProbeCall::Schema, 200, HELLO)]),
        (C::JsonSchema, Yes, &[(ProbeCall::Schema, 200, THOUGHT), (PlainSchema, 200, SCHEMA)]),
        (
            C::JsonSchema,
            Yes,
            &[(Chat, 200, THOUGHT), (ProbeCall::Schema, 200, SCHEMA_SWALLOWED), (PlainSchema, 200, SCHEMA)],
        ),
        (C::JsonSchemaThinking, Unknown, &[(ProbeCall::Schema, 200, THOUGHT), (PlainSchema, 200, SCHEMA)]),
        // An engine that ignores the member is not rejected for it.
        (C::Logprobs, Unknown, &[(Logprobs, 200, HELLO)]),
        (C::Logprobs, No, &[(Logprobs, 400, "{}")]),
        (C::Images, Unknown, &[(Image, 500, r#"{"error":"out of memory"}"#)]),
        (C::Images, No, &[(Image, 404, r#"{"error":{"message":"No endpoints found that support image input"}}"#)]),
        (C::StreamUsage, No, &[(Stream, 200, "data: {\"choices\":[]}\n\n")]),
        (C::StreamErrors, No, &[(InvalidStream, 200, STREAM)]),
        (C::CachedTokens, No, &[(RepeatedPrompt, 200, UNCACHED)]),
        (C::OverflowErrors, No, &[(Overflow, 200, HELLO)]),
        // The context of the engine is longer than the operator says.
        (C::OverflowErrors, Unknown, &[(Overflow, 200, LONGER)]),
        // A context that is too small says nothing about what was to be shown.
        (C::Images, Unknown, &[(Image, 400, TOO_LONG)]),
        (C::OverflowErrors, Yes, &[(Overflow, 400, TOO_LONG)]),
        // Words of the error say nothing about other properties.
        (C::Images, Unknown, &[(Image, 500, r#"{"error":"the request requires more memory"}"#)]),
        (C::Images, Unknown, &[(Image, 403, "{}")]),
        (C::Completions, Unknown, &[(Completion, 400, r#"{"error":{"message":"requires `suffix`"}}"#)]),
        // A wrong name of the model says nothing about the engine.
        (C::Completions, Unknown, &[(Completion, 404, r#"{"error":{"message":"The model `x` does not exist."}}"#)]),
        (C::Completions, Unknown, &[(Completion, 200, "<html>")]),
    ];
    for (capability, expected, recorded) in table {
        let recorded = [&[(Chat, 200, HELLO)], *recorded].concat();
        assert_eq!(judged(&recorded).get(*capability), *expected, "{capability}: {recorded:?}");
    }
    let without_chat = judged(&[(Chat, 404, "{}"), (Tools, 200, CALLED)]);
    assert_eq!(names(without_chat.present()), "", "nothing is known of chats that do not work");
}
