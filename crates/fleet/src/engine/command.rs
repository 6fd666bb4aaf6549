//! Command lines of engines: arrays of arguments with variables, never a shell.
//!
//! Example: `--port {port}` of a flavor becomes `--port 20010`. Values are inserted after the template is split, so a blank
//! in a value stays within its argument. What an operator adds (`options.rs`) is appended as it is.

use super::options;
use domain::ModelId;
use domain::model::{EngineKind, EngineOptions, Launch};
use domain::named_enum;
use std::path::{Path, PathBuf};
use std::time::Duration;

const VLLM: &str = "vllm serve {weights} --served-model-name {modelId} --host {host} --port {port} \
    --tensor-parallel-size {gpuCount} --max-model-len {maxLen} --gpu-memory-utilization 0.90 --shutdown-timeout {drain} \
    --enable-prompt-tokens-details";
const SGLANG: &str = "python -m sglang.launch_server --model-path {weights} --served-model-name {modelId} \
    --host {host} --port {port} --tp-size {gpuCount} --context-length {maxLen} --enable-metrics \
    --enable-cache-report";
const LLAMA_SERVER: &str = "llama-server -m {weights} --alias {modelId} --host {host} --port {port} -ngl all \
    -c {ctxTotal} --parallel {slots} --metrics";
/// Follows the path of its binary and precedes its cache directory.
const FOREBAY_ENGINE: &str = "--model {weights} --model-name {modelId} --ctx {maxLen} --listen {host}:{port} \
    --drain-timeout {drain} --cache-dir";
const KNOWN: &str = "{weights} {modelId} {host} {port} {gpuCount} {maxLen} {drain} {ctxTotal} {slots}";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("unknown variable `{{{name}}}` in `{argument}`; use one of {KNOWN}")]
    UnknownVariable { name: String, argument: String },
    #[error("no weights are configured for this model")]
    NoWeights,
    #[error("the flavor's command is empty")]
    Empty,
}

/// Where the built-in engine is, and where it keeps converted weights.
#[derive(Debug, Clone)]
pub struct BuiltInEngine {
    pub binary: PathBuf,
    pub cache_dir: PathBuf,
}

/// The values of a command's variables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Invocation<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) options: &'a EngineOptions,
    pub(crate) model: &'a ModelId,
    pub(crate) weights: Option<&'a str>,
    pub(crate) gpu_count: u32,
    pub(crate) max_len: u64,
    pub(crate) slots: u32,
    pub(crate) host: &'a str,
    /// 0 if it is not known yet: then `{port}` stays.
    pub(crate) port: u16,
    /// Time the engine gets to finish its calls after SIGTERM.
    pub(crate) drain: Duration,
}

impl Invocation<'_> {
    /// The arguments that start the engine.
    pub(crate) fn argv(&self, built_in: &BuiltInEngine) -> Result<Vec<String>, CommandError> {
        let value = |variable| self.value(variable);
        let filled = |template: &str| -> Result<Vec<String>, CommandError> {
            template.split_ascii_whitespace().map(|argument| fill(argument, value)).collect()
        };
        let engine = match self.launch {
            Launch::Engine(engine) => *engine,
            Launch::Argv(custom) if custom.is_empty() => return Err(CommandError::Empty),
            Launch::Argv(custom) => return custom.iter().map(|argument| fill(argument, value)).collect(),
        };
        let mut command = match engine {
            EngineKind::ForebayEngine => {
                let arguments = filled(FOREBAY_ENGINE)?;
                let text = |path: &Path| path.to_string_lossy().into_owned();
                [vec![text(&built_in.binary)], arguments, vec![text(&built_in.cache_dir)]].concat()
            }
            EngineKind::Vllm => filled(VLLM)?,
            EngineKind::Sglang => filled(SGLANG)?,
            EngineKind::LlamaServer => filled(LLAMA_SERVER)?,
        };
        options::remove_replaced(&mut command, engine, self.options);
        command.extend(options::arguments(engine, self.options));
        Ok(command)
    }

    fn value(&self, variable: Variable) -> Result<String, CommandError> {
        Ok(match variable {
            Variable::Weights => self.weights.ok_or(CommandError::NoWeights)?.to_owned(),
            Variable::ModelId => self.model.as_str().to_owned(),
            Variable::Host => self.host.to_owned(),
            Variable::Port if self.port == 0 => "{port}".to_owned(),
            Variable::Port => self.port.to_string(),
            Variable::GpuCount => self.gpu_count.to_string(),
            Variable::MaxLen => self.max_len.to_string(),
            Variable::Drain => self.drain.as_secs().to_string(),
            Variable::CtxTotal => self.max_len.saturating_mul(self.slots.into()).to_string(),
            Variable::Slots => self.slots.to_string(),
        })
    }
}

named_enum! {
    enum Variable {
        Weights = "weights",
        ModelId = "modelId",
        Host = "host",
        Port = "port",
        GpuCount = "gpuCount",
        MaxLen = "maxLen",
        Drain = "drain",
        CtxTotal = "ctxTotal",
        Slots = "slots",
    }
}

/// Replaces `{name}` by its value. Braces around anything but a name are kept: arguments may be JSON.
fn fill(argument: &str, value: impl Fn(Variable) -> Result<String, CommandError>) -> Result<String, CommandError> {
    let mut filled = String::with_capacity(argument.len());
    let mut rest = argument;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let is_name = |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
        let named = after.split_once('}').filter(|(name, _)| is_name(name));
        let Some((name, after_name)) = named else {
            filled.push('{');
            rest = after;
            continue;
        };
        let unknown = || CommandError::UnknownVariable { name: name.to_owned(), argument: argument.to_owned() };
        filled.push_str(&value(Variable::parse(name).ok_or_else(unknown)?)?);
        rest = after_name;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(launch: &Launch, weights: Option<&str>, options: &EngineOptions) -> Result<String, CommandError> {
        let model = ModelId::parse("dedicated/chat").unwrap();
        let invocation = Invocation {
            launch,
            options,
            model: &model,
            weights,
            gpu_count: 4,
            max_len: 8192,
            slots: 16,
            host: "127.0.0.1",
            port: 20_010,
            drain: Duration::from_secs(25),
        };
        let built_in = BuiltInEngine { binary: "/bin/forebay-engine".into(), cache_dir: "/data/cache".into() };
        invocation.argv(&built_in).map(|argv| argv.join("|"))
    }

    fn line(launch: &Launch) -> Result<String, CommandError> {
        argv(launch, Some("/models/a b; rm -rf {port}"), &EngineOptions::default())
    }

    #[test]
    fn each_engine_gets_its_command() {
        for (kind, expected) in [
            (
                EngineKind::Vllm,
                "vllm|serve|/models/a b; rm -rf {port}|--served-model-name|dedicated/chat|--host|127.0.0.1|--port|20010\
                 |--tensor-parallel-size|4|--max-model-len|8192|--gpu-memory-utilization|0.90|--shutdown-timeout|25\
                 |--enable-prompt-tokens-details",
            ),
            (
                EngineKind::Sglang,
                "python|-m|sglang.launch_server|--model-path|/models/a b; rm -rf {port}|--served-model-name\
                 |dedicated/chat|--host|127.0.0.1|--port|20010|--tp-size|4|--context-length|8192|--enable-metrics\
                 |--enable-cache-report",
            ),
            (
                EngineKind::LlamaServer,
                "llama-server|-m|/models/a b; rm -rf {port}|--alias|dedicated/chat|--host|127.0.0.1|--port|20010|-ngl\
                 |all|-c|131072|--parallel|16|--metrics",
            ),
            (
                EngineKind::ForebayEngine,
                "/bin/forebay-engine|--model|/models/a b; rm -rf {port}|--model-name|dedicated/chat|--ctx|8192|--listen\
                 |127.0.0.1:20010|--drain-timeout|25|--cache-dir|/data/cache",
            ),
        ] {
            assert_eq!(line(&Launch::Engine(kind)).unwrap(), expected);
        }
    }

    #[test]
    fn a_custom_command_may_contain_json_but_no_unknown_variable() {
        let custom = |argv: &[&str]| Launch::Argv(argv.iter().map(|&argument| argument.to_owned()).collect());
        let json = custom(&["serve", r#"--overrides={"rope":{"factor":2}}"#, "{", "}{port}{slots}"]);
        assert_eq!(line(&json).unwrap(), r#"serve|--overrides={"rope":{"factor":2}}|{|}2001016"#);

        let error = line(&custom(&["serve", "--at={where}:{port}"])).unwrap_err();
        assert_eq!(
            error,
            CommandError::UnknownVariable { name: "where".into(), argument: "--at={where}:{port}".into() }
        );
        assert_eq!(error.to_string().split(';').next().unwrap(), "unknown variable `{where}` in `--at={where}:{port}`");
        assert_eq!(line(&custom(&[])), Err(CommandError::Empty));
    }

    #[test]
    fn weights_are_required_only_if_the_command_names_them() {
        let none = EngineOptions::default();
        assert_eq!(argv(&Launch::Engine(EngineKind::Vllm), None, &none), Err(CommandError::NoWeights));
        assert_eq!(argv(&Launch::Argv(vec!["serve-them-all".into()]), None, &none).unwrap(), "serve-them-all");
    }

    #[test]
    fn options_follow_the_command_and_replace_its_defaults() {
        let options = |tool: Option<&str>, reasoning: Option<&str>, args: &[&str]| EngineOptions {
            tool_parser: tool.map(ToOwned::to_owned),
            reasoning_parser: reasoning.map(ToOwned::to_owned),
            chat_template: Some("/t.jinja".to_owned()),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
        };
        let line = |kind, options| argv(&Launch::Engine(kind), Some("w"), &options).unwrap();
        let vllm =
            line(EngineKind::Vllm, options(Some("hermes"), Some("qwen3"), &["--gpu-memory-utilization=0.5", "{x}"]));
        let (_, added) = vllm.split_once("|--max-model-len|8192|").unwrap();
        assert_eq!(
            added,
            "--shutdown-timeout|25|--enable-prompt-tokens-details|--enable-auto-tool-choice|--tool-call-parser|hermes\
             |--reasoning-parser|qwen3|--chat-template|/t.jinja|--gpu-memory-utilization=0.5|{x}"
        );
        let sglang = line(EngineKind::Sglang, options(Some("qwen25"), Some("qwen3"), &[]));
        assert!(
            sglang.ends_with("|--tool-call-parser|qwen25|--reasoning-parser|qwen3|--chat-template|/t.jinja"),
            "{sglang}"
        );
        let llama = line(EngineKind::LlamaServer, options(None, Some("deepseek"), &["--gpu-layers", "9"]));
        assert!(
            llama.ends_with(
                "|20010|-c|131072|--parallel|16|--metrics|--reasoning-format|deepseek|--jinja|--chat-template-file\
                 |/t.jinja|--gpu-layers|9"
            ),
            "{llama}"
        );
    }
}
