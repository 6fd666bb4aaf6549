//! Failure classes: why an engine ended, from its exit status and its log.
//!
//! Each class has phrases that known engines log. The first class with a phrase in the log wins, and the last line that
//! contains it becomes the message. Example: `torch.OutOfMemoryError: CUDA out of memory` followed by
//! `RuntimeError: Engine core initialization failed` is `OutOfMemory` with the first line as its message.

use domain::Timestamp;
pub use domain::endpoint::FailureClass;
use serde::{Deserialize, Serialize};

/// How much of the end of a log is searched: the cause is often far above a long trace.
pub(crate) const SEARCHED_LOG_BYTES: u64 = 256 << 10;
const MAX_MESSAGE_CHARS: usize = 500;
/// Exit code of argument parsers that reject an argument.
const USAGE_ERROR: i32 = 2;

/// Why a replica ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub class: FailureClass,
    /// The log line that shows the cause, or else the exit status.
    pub message: String,
}

/// How an engine process ended; the content of `exit.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExitRecord {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) time: Timestamp,
    /// Whether the shim was asked to stop it.
    #[serde(default)]
    pub(crate) asked: bool,
    /// Why the process could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// Log phrases by class, in lower case. A class precedes those that are only its consequence.
const LOG_PHRASES: &[(FailureClass, &[&str])] = &[
    (
        FailureClass::PortTaken,
        &["address already in use", "address in use", "errno 98", "os error 98", "couldn't bind http server socket"],
    ),
    (
        FailureClass::WeightsUnauthorized,
        &[
            "gatedrepoerror",
            "is a gated repo",
            "access to model",
            "401 client error",
            "403 client error",
            "401 unauthorized",
            "403 forbidden",
            "invalid user token",
            "you must have access to it",
        ],
    ),
    (
        FailureClass::WeightsMissing,
        &[
            "there are no weights at",
            "could not be fetched",
            "repositorynotfounderror",
            "repository not found",
            "entrynotfounderror",
            "hfvalidationerror",
            "repo id must be in the form",
            "is not a local folder and is not a valid model identifier",
            "cannot find any model weights",
            "no such file or directory: ",
            "failed to open gguf file",
            "gguf_init_from_file: failed",
            "safetensors_rust.safetensorerror",
            "is not a gguf file",
            "is damaged or incomplete",
        ],
    ),
    (
        FailureClass::OutOfMemory,
        &[
            "out of memory",
            "outofmemoryerror",
            "cudamalloc failed",
            "not enough memory",
            "no available memory for the cache blocks",
            "cannot allocate memory",
            "memoryerror",
            "unable to allocate",
            "failed to allocate",
            "larger than the available kv cache memory",
        ],
    ),
    (
        FailureClass::EngineRejectedConfig,
        &[
            "unrecognized arguments",
            "unexpected argument",
            "invalid argument:",
            "error: argument ",
            "invalid value",
            "validation error for",
            "is not supported for this model",
            "are not supported for now",
            "must be divisible by tensor parallel size",
            "is greater than the derived max_model_len",
            "unknown model architecture",
            "the architecture is not supported",
        ],
    ),
];

/// How far an engine got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    Start,
    /// It has served, so neither its weights nor its arguments are at fault, whatever calls left in its log.
    Ready,
}

impl Reached {
    fn can_fail_by(self, class: FailureClass) -> bool {
        match self {
            Self::Start => true,
            Self::Ready => matches!(class, FailureClass::OutOfMemory | FailureClass::Crash),
        }
    }
}

/// The failure of an engine; `None` if it was asked to stop.
pub(crate) fn classify(exit: &ExitRecord, reached: Reached, log: &str) -> Option<Failure> {
    if exit.asked {
        return None;
    }
    if let Some(error) = &exit.error {
        return Some(Failure { class: FailureClass::ImageMissing, message: error.clone() });
    }
    let status = match (exit.code, exit.signal) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    };
    // The log of an engine that was killed from outside does not explain its end.
    let ended_itself = exit.signal.is_none();
    let lines: Vec<(&str, String)> = log.lines().map(|line| (line, line.to_ascii_lowercase())).collect();
    let last_line_with = |phrases: &[&str]| {
        let mut latest_first = lines.iter().rev();
        latest_first.find(|(_, lower)| phrases.iter().any(|phrase| lower.contains(phrase))).map(|(line, _)| *line)
    };
    let possible = LOG_PHRASES.iter().filter(|(class, _)| ended_itself && reached.can_fail_by(*class));
    let cause = possible.filter_map(|(class, phrases)| Some((*class, last_line_with(phrases)?))).next();
    Some(match cause {
        Some((class, line)) => Failure { class, message: shorten(line) },
        None if exit.code == Some(USAGE_ERROR) && reached == Reached::Start => {
            Failure { class: FailureClass::EngineRejectedConfig, message: with_last_line(&status, log) }
        }
        None => Failure { class: FailureClass::Crash, message: with_last_line(&status, log) },
    })
}

fn with_last_line(status: &str, log: &str) -> String {
    match log.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => shorten(&format!("{status}: {}", line.trim())),
        None => status.to_owned(),
    }
}

fn shorten(line: &str) -> String {
    line.trim().chars().take(MAX_MESSAGE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(code: Option<i32>, signal: Option<i32>) -> ExitRecord {
        ExitRecord { code, signal, time: Timestamp::from_millis(0), asked: false, error: None }
    }

    #[test]
    fn engine_logs_determine_the_class() {
        use FailureClass::*;
        for (log, class) in [
            ("forebay-engine: there are no weights at /models/x.gguf: fetch the starter models", WeightsMissing),
            (
                "OSError: org/x is not a local folder and is not a valid model identifier listed on the hub",
                WeightsMissing,
            ),
            ("huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name'", WeightsMissing),
            ("gguf_init_from_file: failed to open GGUF file 'x.gguf' (No such file or directory)", WeightsMissing),
            ("huggingface_hub.errors.GatedRepoError: 403 Client Error.\nRepositoryNotFoundError", WeightsUnauthorized),
            (
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\nRuntimeError: Engine core \
              initialization failed. See root cause above.",
                OutOfMemory,
            ),
            ("ggml_backend_cuda_buffer_type_alloc_buffer: cudaMalloc failed: out of memory", OutOfMemory),
            ("ValueError: No available memory for the cache blocks.", OutOfMemory),
            (
                "ValueError: User-specified max_model_len (9) is greater than the derived max_model_len (8)",
                EngineRejectedConfig,
            ),
            ("error: unexpected argument '--frob' found", EngineRejectedConfig),
            ("ERROR: [Errno 98] error while attempting to bind on address: address already in use", PortTaken),
            ("Error: cannot listen on 127.0.0.1:20000: Address already in use (os error 98)", PortTaken),
            ("thread 'main' panicked at src/main.rs", Crash),
            ("", Crash),
        ] {
            assert_eq!(classify(&exit(Some(1), None), Reached::Start, log).unwrap().class, class, "{log}");
        }
    }

    #[test]
    fn the_message_is_the_line_with_the_cause() {
        let log = "loading\ntorch.OutOfMemoryError: CUDA out of memory.\nshutting down\n";
        let failure = classify(&exit(Some(1), None), Reached::Start, log).unwrap();
        assert_eq!(failure.message, "torch.OutOfMemoryError: CUDA out of memory.");
        assert_eq!(
            classify(&exit(Some(7), None), Reached::Start, "loading\n\n").unwrap().message,
            "exited with code 7: loading"
        );
        assert_eq!(
            classify(&exit(Some(2), None), Reached::Start, "").unwrap().class,
            FailureClass::EngineRejectedConfig
        );
    }

    #[test]
    fn log_lines_about_calls_do_not_classify_an_engine_that_served() {
        let log = "GET /v1/models 401 Unauthorized\nCUDA out of memory\nrepository not found";
        let class = |log| classify(&exit(Some(1), None), Reached::Ready, log).unwrap().class;
        assert_eq!(class(log), FailureClass::OutOfMemory);
        assert_eq!(class("GET /v1/models 401 Unauthorized"), FailureClass::Crash);
    }

    #[test]
    fn a_killed_engine_has_crashed_whatever_its_log_says() {
        let failure = classify(&exit(None, Some(9)), Reached::Start, "warning: out of memory is near").unwrap();
        assert_eq!(failure.class, FailureClass::Crash);
        assert_eq!(failure.message, "was killed by signal 9: warning: out of memory is near");
    }

    #[test]
    fn a_requested_stop_is_not_a_failure() {
        assert_eq!(
            classify(&ExitRecord { asked: true, ..exit(None, Some(15)) }, Reached::Start, "out of memory"),
            None
        );
        let unstarted = ExitRecord { error: Some("cannot start vllm: No such file".into()), ..exit(None, None) };
        assert_eq!(classify(&unstarted, Reached::Start, "").unwrap().class, FailureClass::ImageMissing);
    }
}
