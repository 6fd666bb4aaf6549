//! What engines say of themselves, in Prometheus text. Names differ by engine and by version; one that is not there is
//! not known, and never taken for zero.

use super::signal::EngineLoad;
use crate::endpoint::scaling::Milli;
use crate::model::EngineKind;
use crate::time::Timestamp;

/// The names of what is read, the present one first. With data parallelism there is one series for each engine: caches
/// are averaged, calls are added.
struct Names {
    kv_usage: &'static [&'static str],
    running: &'static [&'static str],
    waiting: &'static [&'static str],
}

const FOREBAY: Names = Names {
    kv_usage: &["forebay:kv_cache_usage_ratio"],
    running: &["forebay:num_requests_running"],
    waiting: &["forebay:num_requests_waiting"],
};
/// The older name was the only one up to 0.9.1, and is gone since 0.12.0.
const VLLM: Names = Names {
    kv_usage: &["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
    running: &["vllm:num_requests_running"],
    waiting: &["vllm:num_requests_waiting"],
};
/// Aggregators in between write underscores.
const SGLANG: Names = Names {
    kv_usage: &["sglang:token_usage", "sglang_token_usage"],
    running: &["sglang:num_running_reqs", "sglang_num_running_reqs"],
    waiting: &["sglang:num_queue_reqs", "sglang_num_queue_reqs"],
};

/// The load of an engine, if it tells all of it. `None` for an operator's own command line, which may start any of them.
pub fn read(engine: Option<EngineKind>, text: &str, at: Timestamp) -> Option<EngineLoad> {
    let candidates: &[Names] = match engine {
        Some(EngineKind::ForebayEngine) => &[FOREBAY],
        Some(EngineKind::Vllm) => &[VLLM],
        Some(EngineKind::Sglang) => &[SGLANG],
        Some(EngineKind::LlamaServer) => &[],
        None => &[FOREBAY, VLLM, SGLANG],
    };
    candidates.iter().find_map(|names| {
        let usage = values(text, names.kv_usage)?;
        let count = u32::try_from(usage.len()).map_or(1.0, f64::from);
        let (running, waiting) = (values(text, names.running)?, values(text, names.waiting)?);
        Some(EngineLoad {
            at,
            kv_usage: milli(usage.iter().sum::<f64>() / count),
            running: milli(running.iter().sum()) / 1_000,
            waiting: milli(waiting.iter().sum()) / 1_000,
        })
    })
}

/// The values of all series of the first name that has any.
fn values(text: &str, names: &[&str]) -> Option<Vec<f64>> {
    let of = |name: &&str| {
        let found: Vec<f64> = text.lines().filter_map(|line| value(line, name)).collect();
        (!found.is_empty()).then_some(found)
    };
    names.iter().find_map(of)
}

/// `name 0.5`, `name{label="x"} 0.5 1700000000000`. What is no number is not there.
fn value(line: &str, name: &str) -> Option<f64> {
    let rest = line.strip_prefix(name)?;
    let rest = match rest.strip_prefix('{') {
        Some(labels) => labels.rsplit_once('}')?.1,
        None => rest.strip_prefix([' ', '\t'])?,
    };
    rest.split_whitespace().next()?.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)
}

fn milli(value: f64) -> Milli {
    const MOST: f64 = 1e12;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
    let milli = (value * 1_000.0).round().clamp(0.0, MOST) as Milli;
    milli
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_millis(5);

    fn load(engine: Option<EngineKind>, text: &str) -> Option<(Milli, u64, u64)> {
        read(engine, text, AT).map(|load| (load.kv_usage, load.running, load.waiting))
    }

    #[test]
    fn old_and_new_names_are_read_and_the_new_one_wins() {
        let rest = "vllm:num_requests_running{model_name=\"a b\"} 3.0\nvllm:num_requests_waiting 2\n";
        for (usage, found) in [
            ("vllm:kv_cache_usage_perc{engine=\"0\"} 0.25 1700000000000", Some((250, 3, 2))),
            ("vllm:gpu_cache_usage_perc 0.5", Some((500, 3, 2))),
            ("vllm:gpu_cache_usage_perc 0.0\nvllm:kv_cache_usage_perc 0.75", Some((750, 3, 2))),
            ("vllm:kv_cache_usage_perc NaN", None),
            ("# TYPE vllm:kv_cache_usage_perc gauge", None),
            ("vllm:kv_cache_usage_perc_total 0.5", None),
        ] {
            assert_eq!(load(Some(EngineKind::Vllm), &format!("{usage}\n{rest}")), found, "{usage}");
        }
        assert_eq!(load(Some(EngineKind::Vllm), "vllm:kv_cache_usage_perc 0.5"), None, "a part is not enough");
    }

    #[test]
    fn series_of_several_engines_are_one_load() {
        let text = "vllm:kv_cache_usage_perc{engine=\"0\"} 0.2\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.6\n\
            vllm:num_requests_running{engine=\"0\"} 1\nvllm:num_requests_running{engine=\"1\"} 4\n\
            vllm:num_requests_waiting{engine=\"0\"} 0\nvllm:num_requests_waiting{engine=\"1\"} 7\n";
        assert_eq!(load(Some(EngineKind::Vllm), text), Some((400, 5, 7)));
    }

    #[test]
    fn every_engine_has_its_names_and_llama_server_none() {
        let sglang = "sglang:token_usage 0.91\nsglang:num_running_reqs 20\nsglang:num_queue_reqs 20";
        let own = "forebay:kv_cache_usage_ratio 0.5\nforebay:num_requests_running 2\nforebay:num_requests_waiting 0";
        assert_eq!(load(Some(EngineKind::Sglang), sglang), Some((910, 20, 20)));
        assert_eq!(load(Some(EngineKind::Sglang), &sglang.replace(':', "_")), Some((910, 20, 20)));
        assert_eq!(load(Some(EngineKind::ForebayEngine), own), Some((500, 2, 0)));
        assert_eq!(load(Some(EngineKind::LlamaServer), "llamacpp:requests_processing 3"), None);
        assert_eq!((load(None, sglang), load(None, own)), (Some((910, 20, 20)), Some((500, 2, 0))));
        assert_eq!(load(Some(EngineKind::Vllm), sglang), None);
    }
}
