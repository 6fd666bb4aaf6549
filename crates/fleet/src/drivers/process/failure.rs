//! Why an engine ended: from how it ended and what its log says.

pub(in crate::drivers) use super::directory::Ending;
use crate::drivers::{Failure, FailureClass};

/// How much of a log is looked at: the cause often stands far above a long trace.
pub(in crate::drivers) const LOOKED_AT: u64 = 256 << 10;
/// Of a line that is shown as the cause.
const LONGEST_MESSAGE: usize = 500;
/// What argument parsers end with when they refuse an argument.
const USAGE_ERROR: i32 = 2;

/// What engines write, in lower case. A class stands before those that are only its consequence.
const SAYINGS: &[(FailureClass, &[&str])] = &[
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
            "is no gguf file",
            "is damaged or was not fetched whole",
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

/// How far an engine came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drivers) enum Reached {
    Start,
    /// It has served: what is wrong is neither its weights nor its arguments, whatever calls left in its log.
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

/// Nothing, if it ended because it was asked to.
pub(in crate::drivers) fn classify(ending: &Ending, reached: Reached, log: &str) -> Option<Failure> {
    if ending.asked {
        return None;
    }
    if let Some(error) = &ending.error {
        return Some(Failure { class: FailureClass::ImageMissing, message: error.clone() });
    }
    let how = match (ending.code, ending.signal) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    };
    // Words in the log of an engine that was killed from outside are not about its end.
    let by_itself = ending.signal.is_none();
    let lines: Vec<(&str, String)> = log.lines().map(|line| (line, line.to_ascii_lowercase())).collect();
    let said = |sayings: &[&str]| {
        lines.iter().rev().find(|(_, lower)| sayings.iter().any(|saying| lower.contains(saying))).map(|(line, _)| *line)
    };
    let possible = SAYINGS.iter().filter(|(class, _)| by_itself && reached.can_fail_by(*class));
    let cause = possible.filter_map(|(class, sayings)| Some((*class, said(sayings)?))).next();
    Some(match cause {
        Some((class, line)) => Failure { class, message: shorten(line) },
        None if ending.code == Some(USAGE_ERROR) && reached == Reached::Start => {
            Failure { class: FailureClass::EngineRejectedConfig, message: last_words(&how, log) }
        }
        None => Failure { class: FailureClass::Crash, message: last_words(&how, log) },
    })
}

fn last_words(how: &str, log: &str) -> String {
    match log.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => shorten(&format!("{how}: {}", line.trim())),
        None => how.to_owned(),
    }
}

fn shorten(line: &str) -> String {
    line.trim().chars().take(LONGEST_MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;

    fn ending(code: Option<i32>, signal: Option<i32>) -> Ending {
        Ending { code, signal, time: Timestamp::from_millis(0), asked: false, error: None }
    }

    #[test]
    fn logs_of_engines_tell_the_class() {
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
            assert_eq!(classify(&ending(Some(1), None), Reached::Start, log).unwrap().class, class, "{log}");
        }
    }

    #[test]
    fn the_message_is_the_line_that_says_it() {
        let log = "loading\ntorch.OutOfMemoryError: CUDA out of memory.\nshutting down\n";
        let failure = classify(&ending(Some(1), None), Reached::Start, log).unwrap();
        assert_eq!(failure.message, "torch.OutOfMemoryError: CUDA out of memory.");
        assert_eq!(
            classify(&ending(Some(7), None), Reached::Start, "loading\n\n").unwrap().message,
            "exited with code 7: loading"
        );
        assert_eq!(
            classify(&ending(Some(2), None), Reached::Start, "").unwrap().class,
            FailureClass::EngineRejectedConfig
        );
    }

    #[test]
    fn what_calls_left_in_the_log_of_an_engine_that_served_is_not_its_failure() {
        let log = "GET /v1/models 401 Unauthorized\nCUDA out of memory\nrepository not found";
        let class = |log| classify(&ending(Some(1), None), Reached::Ready, log).unwrap().class;
        assert_eq!(class(log), FailureClass::OutOfMemory);
        assert_eq!(class("GET /v1/models 401 Unauthorized"), FailureClass::Crash);
    }

    #[test]
    fn who_is_killed_has_crashed_whatever_its_log_says() {
        let failure = classify(&ending(None, Some(9)), Reached::Start, "warning: out of memory is near").unwrap();
        assert_eq!(failure.class, FailureClass::Crash);
        assert_eq!(failure.message, "was killed by signal 9: warning: out of memory is near");
    }

    #[test]
    fn an_end_that_was_asked_for_is_no_failure() {
        assert_eq!(classify(&Ending { asked: true, ..ending(None, Some(15)) }, Reached::Start, "out of memory"), None);
        let unstarted = Ending { error: Some("cannot start vllm: No such file".into()), ..ending(None, None) };
        assert_eq!(classify(&unstarted, Reached::Start, "").unwrap().class, FailureClass::ImageMissing);
    }
}
