//! Options that operators add to the command of a known engine: parsers, a chat template, and arguments.
//!
//! What Forebay relies on stays Forebay's: an argument that would change the address, the model or the metrics of an
//! engine is rejected. Models in the store may use only options that neither read files nor load code, because a
//! session that may edit models may not run programs on the machines.

use domain::model::{EngineKind, EngineOptions};

const MAX_ARGS: usize = 100;
const MAX_ARG_LEN: usize = 4096;
const MAX_STORED_VALUE_LEN: usize = 64;

/// Options that Forebay sets, with all of their spellings, and those that would take away what it relies on.
const fn reserved(engine: EngineKind) -> &'static [&'static str] {
    match engine {
        EngineKind::Vllm => &[
            "--model",
            "--served-model-name",
            "--host",
            "--port",
            "--uds",
            "--tensor-parallel-size",
            "-tp",
            "--max-model-len",
            "--shutdown-timeout",
            "--enable-prompt-tokens-details",
            "--no-enable-prompt-tokens-details",
            "--disable-log-stats",
            "--config",
            "--api-key",
            "--root-path",
            "--ssl-keyfile",
            "--ssl-certfile",
            "--headless",
            "--grpc",
        ],
        EngineKind::Sglang => &[
            "--model",
            "--model-path",
            "--served-model-name",
            "--host",
            "--port",
            "--tp",
            "--tp-size",
            "--tensor-parallel-size",
            "--context-length",
            "--enable-metrics",
            "--enable-cache-report",
            "--config",
            "--api-key",
            "--ssl-keyfile",
            "--ssl-certfile",
            "--grpc-mode",
        ],
        EngineKind::LlamaServer => &[
            "-m",
            "--model",
            "-mu",
            "--model-url",
            "-hf",
            "-hfr",
            "--hf-repo",
            "-a",
            "--alias",
            "--host",
            "--port",
            "-c",
            "--ctx-size",
            "-np",
            "--parallel",
            "--metrics",
            "--api-key",
            "--api-key-file",
            "--api-prefix",
            "--ssl-key-file",
            "--ssl-cert-file",
        ],
        EngineKind::ForebayEngine => &[
            "--model",
            "--model-name",
            "--ctx",
            "--listen",
            "--listen-file",
            "--drain-timeout",
            "--stop-with-stdin",
            "--cache-dir",
        ],
    }
}

/// Options with a default in the command, which an operator may replace. The first spelling is the command's.
const fn replaceable(engine: EngineKind) -> &'static [&'static str] {
    match engine {
        EngineKind::Vllm => &["--gpu-memory-utilization"],
        EngineKind::LlamaServer => &["-ngl", "--gpu-layers", "--n-gpu-layers"],
        EngineKind::Sglang | EngineKind::ForebayEngine => &[],
    }
}

/// Options that a model in the store may have: numbers, switches and names, no files, no code, no addresses.
const fn harmless(engine: EngineKind) -> &'static [&'static str] {
    match engine {
        EngineKind::Vllm => &[
            "--async-scheduling",
            "--attention-backend",
            "--block-size",
            "--cpu-offload-gb",
            "--data-parallel-size",
            "--dtype",
            "--enable-chunked-prefill",
            "--enable-expert-parallel",
            "--enable-prefix-caching",
            "--enforce-eager",
            "--gpu-memory-utilization",
            "--kv-cache-dtype",
            "--max-logprobs",
            "--max-num-batched-tokens",
            "--max-num-seqs",
            "--no-enable-chunked-prefill",
            "--no-enable-prefix-caching",
            "--pipeline-parallel-size",
            "--quantization",
            "--scheduling-policy",
            "--seed",
        ],
        EngineKind::Sglang => &[
            "--attention-backend",
            "--chunked-prefill-size",
            "--cuda-graph-max-bs",
            "--disable-cuda-graph",
            "--disable-radix-cache",
            "--dp-size",
            "--dtype",
            "--enable-mixed-chunk",
            "--enable-torch-compile",
            "--ep-size",
            "--kv-cache-dtype",
            "--max-prefill-tokens",
            "--max-running-requests",
            "--max-total-tokens",
            "--mem-fraction-static",
            "--page-size",
            "--quantization",
            "--random-seed",
            "--schedule-conservativeness",
            "--schedule-policy",
        ],
        EngineKind::LlamaServer => &[
            "--batch-size",
            "--cache-reuse",
            "--cache-type-k",
            "--cache-type-v",
            "--embeddings",
            "--flash-attn",
            "--gpu-layers",
            "--jinja",
            "--mlock",
            "--n-gpu-layers",
            "--no-mmap",
            "--pooling",
            "--reasoning-budget",
            "--split-mode",
            "--swa-full",
            "--tensor-split",
            "--threads",
            "--threads-batch",
            "--ubatch-size",
            "-b",
            "-fa",
            "-ngl",
            "-sm",
            "-t",
            "-tb",
            "-ts",
            "-ub",
        ],
        EngineKind::ForebayEngine => {
            &["--embeddings", "--kv-cache-tokens", "--kv-cache-type", "--parallel", "--queue", "--threads"]
        }
    }
}

/// The member of the options, and the options of the engine that it sets; `None` if the engine has none.
const fn tool_parser(engine: EngineKind) -> Option<&'static [&'static str]> {
    match engine {
        EngineKind::Vllm => Some(&["--enable-auto-tool-choice", "--tool-call-parser"]),
        EngineKind::Sglang => Some(&["--tool-call-parser"]),
        EngineKind::LlamaServer | EngineKind::ForebayEngine => None,
    }
}

const fn reasoning_parser(engine: EngineKind) -> Option<&'static [&'static str]> {
    match engine {
        EngineKind::Vllm | EngineKind::Sglang => Some(&["--reasoning-parser"]),
        EngineKind::LlamaServer => Some(&["--reasoning-format"]),
        EngineKind::ForebayEngine => None,
    }
}

const fn chat_template(engine: EngineKind) -> Option<&'static [&'static str]> {
    match engine {
        EngineKind::Vllm | EngineKind::Sglang | EngineKind::ForebayEngine => Some(&["--chat-template"]),
        EngineKind::LlamaServer => Some(&["--jinja", "--chat-template-file"]),
    }
}

/// An option with a member of its own: the member, its value, and the engine's options, of which the last has the value.
type Named<'a> = (&'static str, &'a str, Option<&'static [&'static str]>);

fn named(engine: EngineKind, options: &EngineOptions) -> impl Iterator<Item = Named<'_>> {
    let members = [
        ("tool_parser", &options.tool_parser, tool_parser(engine)),
        ("reasoning_parser", &options.reasoning_parser, reasoning_parser(engine)),
        ("chat_template", &options.chat_template, chat_template(engine)),
    ];
    members.into_iter().filter_map(|(member, value, names)| Some((member, value.as_deref()?, names)))
}

/// The arguments of these options.
pub(super) fn arguments(engine: EngineKind, options: &EngineOptions) -> Vec<String> {
    let named = named(engine, options).flat_map(|(_, value, names)| {
        let names = names.unwrap_or_default();
        let value = (!names.is_empty()).then_some(value);
        names.iter().copied().chain(value).map(ToOwned::to_owned)
    });
    named.chain(options.args.iter().cloned()).collect()
}

/// Removes the defaults of a command that these options replace.
pub(super) fn remove_replaced(command: &mut Vec<String>, engine: EngineKind, options: &EngineOptions) {
    let spellings = replaceable(engine);
    let is_replaced = options.args.iter().filter_map(|arg| option_name(arg)).any(|name| spellings.contains(&&*name));
    let place = command.iter().position(|argument| spellings.first() == Some(&argument.as_str()));
    if let Some(place) = place.filter(|_| is_replaced) {
        command.drain(place..place + 2);
    }
}

/// The first problem of these options, with the member that it is about.
pub fn problem_of(engine: EngineKind, options: &EngineOptions) -> Option<(&'static str, String)> {
    if let Some((member, ..)) = named(engine, options).find(|(_, _, names)| names.is_none()) {
        return Some((member, format!("{engine} has no such option; its chat template decides")));
    }
    if options.args.len() > MAX_ARGS {
        return Some(("args", format!("more than {MAX_ARGS} arguments")));
    }
    if options.args.first().is_some_and(|first| option_name(first).is_none()) {
        return Some(("args", "the first argument is not an option".to_owned()));
    }
    options.args.iter().find_map(|arg| Some(("args", problem_of_argument(engine, options, arg)?)))
}

fn problem_of_argument(engine: EngineKind, options: &EngineOptions, arg: &str) -> Option<String> {
    if arg.is_empty() || arg.len() > MAX_ARG_LEN || arg.chars().any(char::is_control) {
        return Some(format!("an argument has 1 to {MAX_ARG_LEN} characters on one line"));
    }
    let name = option_name(arg)?;
    if name == "--" {
        return Some("`--` ends the options".to_owned());
    }
    if reserved(engine).iter().any(|reserved| abbreviates(&name, reserved)) {
        return Some(format!("`{name}` is set by Forebay"));
    }
    let by_member = named(engine, options).find(|(.., names)| names.is_some_and(|names| names.contains(&&*name)));
    by_member.map(|(member, ..)| format!("`{name}` is set by {member}"))
}

/// The first problem that these options have in the store only.
pub fn stored_problem_of(engine: EngineKind, options: &EngineOptions) -> Option<(&'static str, String)> {
    if options.chat_template.is_some() {
        return Some(("chat_template", "is only allowed in the configuration file".to_owned()));
    }
    options.args.iter().find_map(|arg| {
        let (name, value) = match option_name(arg) {
            Some(name) => (Some(name), arg.split_once('=').map(|(_, value)| value)),
            None => (None, Some(arg.as_str())),
        };
        if let Some(name) = name.filter(|name| !harmless(engine).contains(&&**name)) {
            return Some(("args", format!("`{name}` is only allowed in the configuration file")));
        }
        let value = value.filter(|value| !is_plain_value(value))?;
        Some(("args", format!("the value `{value}` is only allowed in the configuration file")))
    })
}

fn is_plain_value(value: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._,:".contains(&byte);
    value.len() <= MAX_STORED_VALUE_LEN && value.bytes().all(is_plain)
}

/// The option that an argument names, as engines read it: `--dtype` of `--dtype=auto` and of `--d_type`. `None` for a
/// value, such as `auto` or `-1`.
fn option_name(arg: &str) -> Option<String> {
    let is_option = arg.starts_with('-') && !arg[1..].starts_with(|next: char| next.is_ascii_digit() || next == '.');
    // vLLM also reads `--option.member` and `--option+`.
    let name = arg.split(['=', '.', '+']).next().filter(|_| is_option && arg.len() > 1)?;
    Some(name.replace('_', "-"))
}

/// Python's argparse accepts the beginning of a long option.
fn abbreviates(name: &str, option: &str) -> bool {
    name == option || (name.len() > 2 && name.starts_with("--") && option.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(args: &[&str]) -> EngineOptions {
        EngineOptions { args: args.iter().map(|&arg| arg.to_owned()).collect(), ..EngineOptions::default() }
    }

    #[test]
    fn options_that_forebay_sets_are_rejected_by_name_in_every_spelling() {
        for (engine, args, refused) in [
            (EngineKind::Vllm, &["--port", "1"][..], "`--port` is set by Forebay"),
            (EngineKind::Vllm, &["--served_model_name=x"], "`--served-model-name` is set by Forebay"),
            (EngineKind::Vllm, &["--dtype", "auto", "--max-model=9"], "`--max-model` is set by Forebay"),
            (EngineKind::Vllm, &["--no-enable-prompt-tokens-details"], "`--no-enable-prompt-tokens-details` is set"),
            (EngineKind::Vllm, &["--dtype", "auto", "--"], "`--` ends the options"),
            (EngineKind::Vllm, &["other-model"], "the first argument is not an option"),
            (EngineKind::Vllm, &["--dtype", "a\nb"], "an argument has 1 to 4096 characters on one line"),
            (EngineKind::Sglang, &["--tp", "2"], "`--tp` is set by Forebay"),
            (EngineKind::LlamaServer, &["-c", "1"], "`-c` is set by Forebay"),
            (EngineKind::ForebayEngine, &["--listen=0.0.0.0:1"], "`--listen` is set by Forebay"),
        ] {
            let (member, why) = problem_of(engine, &options(args)).unwrap();
            assert_eq!(member, "args");
            assert!(why.starts_with(refused), "{args:?}: {why}");
        }
        for (engine, args) in [
            (EngineKind::Vllm, &["--dtype", "auto", "--hf-overrides", r#"{"a": -1}"#, "--seed", "-1"][..]),
            (EngineKind::Vllm, &["--max-num-seqs=8", "-O3", "--tool-call-parser", "hermes"]),
            (EngineKind::LlamaServer, &["-fa", "on", "-ngl", "20"]),
            (EngineKind::ForebayEngine, &["--parallel", "2"]),
        ] {
            assert_eq!(problem_of(engine, &options(args)), None, "{args:?}");
        }
    }

    #[test]
    fn an_option_is_set_once_and_only_where_the_engine_has_it() {
        let parser = |engine, args| problem_of(engine, &EngineOptions { tool_parser: Some("hermes".into()), ..args });
        let twice = parser(EngineKind::Vllm, options(&["--tool-call-parser", "mistral"]));
        assert_eq!(twice, Some(("args", "`--tool-call-parser` is set by tool_parser".to_owned())));
        let (member, why) = parser(EngineKind::LlamaServer, options(&[])).unwrap();
        assert_eq!(
            (member, why.as_str()),
            ("tool_parser", "llama-server has no such option; its chat template decides")
        );
    }

    #[test]
    fn the_store_has_only_options_without_files_code_and_addresses() {
        let stored = |args: &[&str]| stored_problem_of(EngineKind::Vllm, &options(args)).map(|(_, why)| why);
        assert_eq!(stored(&["--max-num-seqs", "8", "--dtype=bfloat16", "--enforce-eager"]), None);
        for (args, refused) in [
            (&["--trust-remote-code"][..], "`--trust-remote-code`"),
            (&["--tool-parser-plugin", "/tmp/x.py"], "`--tool-parser-plugin`"),
            (&["--dtype", "/etc/passwd"], "the value `/etc/passwd`"),
            (&["--dtype={\"a\":1}"], "the value `{\"a\":1}`"),
            (&["--dty", "auto"], "`--dty`"),
        ] {
            assert_eq!(stored(args).unwrap(), format!("{refused} is only allowed in the configuration file"));
        }
        for engine in EngineKind::ALL {
            for name in harmless(engine) {
                assert_eq!(problem_of(engine, &options(&[name])), None, "{engine} {name}");
            }
        }
    }
}
