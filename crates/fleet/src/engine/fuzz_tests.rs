//! Fuzz targets for what operators and engines say: arguments of commands, and metrics.

use super::options::{problem_of, stored_problem_of};
use super::{Family, metrics, token_counters};
use domain::model::{EngineKind, EngineOptions};
use fuzz::Fuzz;

const ARGUMENT_WORDS: &[&str] = &[
    "\n",
    "--",
    "-",
    "=",
    "_",
    ".",
    "+",
    "--host",
    "--port",
    "--model",
    "--api-key",
    "--api_key",
    "--serv",
    "--dtype",
    "-tp",
    "-c",
    "/etc/passwd",
    "{\"a\":1}",
    "-1",
    "\u{e9}",
    "\u{ff0d}",
];

/// An option as Python's argparse and vLLM read it: underscores are hyphens, and a value may follow in the same argument.
fn spelled(argument: &str) -> String {
    argument.split('=').next().unwrap_or_default().replace('_', "-")
}

/// Arguments that are accepted change neither the address nor the key of an engine, and those of the store name no file.
#[test]
fn engine_arguments() {
    Fuzz::new("engine-args").words(ARGUMENT_WORDS).run(|bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let args: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let options = EngineOptions { args, ..EngineOptions::default() };
        for engine in EngineKind::ALL {
            if problem_of(engine, &options).is_some() {
                continue;
            }
            let own: &[&str] = if engine == EngineKind::ForebayEngine {
                &["--listen", "--model"]
            } else {
                &["--host", "--port", "--api-key"]
            };
            for argument in &options.args {
                assert!(!own.contains(&spelled(argument).as_str()), "{engine} gets {argument}");
                assert!(!argument.is_empty() && argument != "--", "{engine} gets {argument:?}");
            }
            if stored_problem_of(engine, &options).is_none() {
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._,:=+".contains(&byte);
                assert!(options.args.iter().all(|argument| argument.bytes().all(is_plain)), "{engine}: {options:?}");
            }
        }
    });
}

const METRIC_WORDS: &[&str] = &[
    "\n",
    "# TYPE ",
    "vllm:num_requests_running",
    "vllm:prompt_tokens_total",
    "vllm:generation_tokens_total",
    "sglang:token_usage",
    "{engine=\"0\"}",
    "{model_name=\"m\",engine=\"1\"}",
    "\\\"",
    "}",
    " 1e308\n",
    " -1\n",
    " NaN\n",
    " +Inf\n",
    " 18446744073709551616\n",
];

/// Whatever an engine reports, its load is a number that can be compared and added.
#[test]
fn engine_metrics() {
    Fuzz::new("engine-metrics").executions(2_000).words(METRIC_WORDS).run(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        for family in Family::ALL {
            let load = metrics::read(family, &text);
            assert!(load.kv_cache_usage.is_none_or(|usage| (0.0..=1.0).contains(&usage)), "{load:?}");
            for number in [load.running, load.waiting].into_iter().flatten() {
                assert!(number.is_finite() && number >= 0.0, "{load:?}");
            }
            token_counters::read(family, "m", &text);
        }
    });
}
