//! The command that starts an engine: an array of arguments with variables in it, and never a shell.

use crate::drivers::ReplicaSpec;
use domain::model::{EngineKind, Launch};
use std::path::{Path, PathBuf};
use std::time::Duration;

const VLLM: &str = "vllm serve {weights} --served-model-name {modelId} --host {host} --port {port} \
    --tensor-parallel-size {gpuCount} --max-model-len {maxLen} --gpu-memory-utilization 0.90 --shutdown-timeout {drain}";
const SGLANG: &str = "python -m sglang.launch_server --model-path {weights} --served-model-name {modelId} \
    --host {host} --port {port} --tp-size {gpuCount} --context-length {maxLen} --enable-metrics";
const LLAMA_SERVER: &str = "llama-server -m {weights} --alias {modelId} --host {host} --port {port} -ngl all \
    -c {ctxTotal} --parallel {slots} --metrics";
/// Behind the path of its binary, and before the folder of its cache.
const FOREBAY_ENGINE: &str = "--model {weights} --model-name {modelId} --ctx {maxLen} --listen {host}:{port} \
    --drain-timeout {drain} --cache-dir";
const KNOWN: &str = "{weights} {modelId} {host} {port} {gpuCount} {maxLen} {drain} {ctxTotal} {slots}";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("`{{{name}}}` in `{argument}` is no variable; known here: {KNOWN}")]
    UnknownVariable { name: String, argument: String },
    #[error("nobody has said where the weights are")]
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

/// Whether a flavor's own command uses only variables that there are.
pub fn check(argv: &[String]) -> Result<(), CommandError> {
    if argv.is_empty() {
        return Err(CommandError::Empty);
    }
    argv.iter().try_for_each(|argument| fill(argument, |_| Ok(String::new())).map(drop))
}

/// The arguments with which this replica is started; `drain` is what it gets to end by itself.
pub(in crate::drivers) fn argv(
    spec: &ReplicaSpec,
    (host, port): (&str, u16),
    drain: Duration,
    built_in: &BuiltInEngine,
) -> Result<Vec<String>, CommandError> {
    let value = |variable| {
        Ok(match variable {
            Variable::Weights => spec.weights.clone().ok_or(CommandError::NoWeights)?,
            Variable::ModelId => spec.model.as_str().to_owned(),
            Variable::Host => host.to_owned(),
            Variable::Port => port.to_string(),
            Variable::GpuCount => spec.gpu_count.to_string(),
            Variable::MaxLen => spec.max_len.to_string(),
            Variable::Drain => drain.as_secs().to_string(),
            Variable::CtxTotal => spec.max_len.saturating_mul(spec.slots.into()).to_string(),
            Variable::Slots => spec.slots.to_string(),
        })
    };
    // The text is cut before the values come in, so a blank in a value stays in its argument.
    let filled = |template: &str| template.split_ascii_whitespace().map(|argument| fill(argument, value)).collect();
    match &spec.launch {
        Launch::Engine(EngineKind::ForebayEngine) => {
            let arguments: Vec<String> = filled(FOREBAY_ENGINE)?;
            let text = |path: &Path| path.to_string_lossy().into_owned();
            Ok([vec![text(&built_in.binary)], arguments, vec![text(&built_in.cache_dir)]].concat())
        }
        Launch::Engine(EngineKind::Vllm) => filled(VLLM),
        Launch::Engine(EngineKind::Sglang) => filled(SGLANG),
        Launch::Engine(EngineKind::LlamaServer) => filled(LLAMA_SERVER),
        Launch::Argv(own) if own.is_empty() => Err(CommandError::Empty),
        Launch::Argv(own) => own.iter().map(|argument| fill(argument, value)).collect(),
    }
}

#[derive(Debug, Clone, Copy)]
enum Variable {
    Weights,
    ModelId,
    Host,
    Port,
    GpuCount,
    MaxLen,
    Drain,
    CtxTotal,
    Slots,
}

impl Variable {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "weights" => Self::Weights,
            "modelId" => Self::ModelId,
            "host" => Self::Host,
            "port" => Self::Port,
            "gpuCount" => Self::GpuCount,
            "maxLen" => Self::MaxLen,
            "drain" => Self::Drain,
            "ctxTotal" => Self::CtxTotal,
            "slots" => Self::Slots,
            _ => return None,
        })
    }
}

/// Puts values in place of `{names}`. Braces around anything but a name stay: arguments may be JSON.
fn fill(argument: &str, value: impl Fn(Variable) -> Result<String, CommandError>) -> Result<String, CommandError> {
    let mut filled = String::with_capacity(argument.len());
    let mut rest = argument;
    while let Some((before, behind)) = rest.split_once('{') {
        filled.push_str(before);
        let is_name = |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
        let named = behind.split_once('}').filter(|(name, _)| is_name(name));
        let Some((name, behind_name)) = named else {
            filled.push('{');
            rest = behind;
            continue;
        };
        let unknown = || CommandError::UnknownVariable { name: name.to_owned(), argument: argument.to_owned() };
        filled.push_str(&value(Variable::named(name).ok_or_else(unknown)?)?);
        rest = behind_name;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::ReplicaName;
    use domain::ModelId;
    use domain::model::{DriverKind, Modality};

    fn spec(launch: Launch) -> ReplicaSpec {
        ReplicaSpec {
            replica: ReplicaName::parse("rep_1").unwrap(),
            model: ModelId::parse("dedicated/chat").unwrap(),
            modality: Modality::Chat,
            driver: DriverKind::Process,
            launch,
            image: None,
            owner: None,
            gpu_type: "nvidia/h100-sxm-80gb".into(),
            gpu_count: 4,
            weights: Some("/models/a b; rm -rf {port}".into()),
            max_len: 8192,
            slots: 16,
        }
    }

    fn line(spec: &ReplicaSpec) -> Result<String, CommandError> {
        let built_in = BuiltInEngine { binary: "/bin/forebay-engine".into(), cache_dir: "/data/cache".into() };
        argv(spec, ("127.0.0.1", 20_010), Duration::from_secs(25), &built_in).map(|argv| argv.join("|"))
    }

    #[test]
    fn every_engine_gets_its_command() {
        for (kind, expected) in [
            (
                EngineKind::Vllm,
                "vllm|serve|/models/a b; rm -rf {port}|--served-model-name|dedicated/chat|--host|127.0.0.1|--port|20010\
                 |--tensor-parallel-size|4|--max-model-len|8192|--gpu-memory-utilization|0.90|--shutdown-timeout|25",
            ),
            (
                EngineKind::Sglang,
                "python|-m|sglang.launch_server|--model-path|/models/a b; rm -rf {port}|--served-model-name\
                 |dedicated/chat|--host|127.0.0.1|--port|20010|--tp-size|4|--context-length|8192|--enable-metrics",
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
            assert_eq!(line(&spec(Launch::Engine(kind))).unwrap(), expected);
        }
    }

    #[test]
    fn a_command_of_ones_own_may_hold_json_but_no_unknown_variable() {
        let own = |argv: &[&str]| Launch::Argv(argv.iter().map(|&argument| argument.to_owned()).collect());
        let json = own(&["serve", r#"--overrides={"rope":{"factor":2}}"#, "{", "}{port}{slots}"]);
        assert_eq!(line(&spec(json)).unwrap(), r#"serve|--overrides={"rope":{"factor":2}}|{|}2001016"#);

        let error = line(&spec(own(&["serve", "--at={where}:{port}"]))).unwrap_err();
        assert_eq!(
            error,
            CommandError::UnknownVariable { name: "where".into(), argument: "--at={where}:{port}".into() }
        );
        assert_eq!(
            check(&["{where}".to_owned()]).unwrap_err().to_string().split(';').next().unwrap(),
            "`{where}` in `{where}` is no variable"
        );
        assert_eq!(check(&[]), Err(CommandError::Empty));
    }

    #[test]
    fn weights_are_asked_for_only_where_the_command_names_them() {
        let mut spec = spec(Launch::Engine(EngineKind::Vllm));
        spec.weights = None;
        assert_eq!(line(&spec), Err(CommandError::NoWeights));
        spec.launch = Launch::Argv(vec!["serve-them-all".into()]);
        assert_eq!(line(&spec).unwrap(), "serve-them-all");
    }
}
