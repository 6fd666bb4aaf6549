//! What happens to a line after an attempt.

/// The attempts of a line whose workspace has no quota left. Lines that run at the same moment may hold what is left of it.
const QUOTA_ATTEMPTS: u32 = 3;
const FIRST_BACKOFF_MILLIS: u64 = 500;
const MAX_BACKOFF_MILLIS: u64 = 60_000;

/// How a line goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterAttempt {
    /// The response is the result of the line.
    Finish,
    /// The line runs again after this time, unless its batch ends before.
    Retry { after_millis: u64 },
}

/// Decides by the status and the code of a response. `attempts` are those that were made, with this one.
pub fn after_attempt(status: u16, code: &str, attempts: u32) -> AfterAttempt {
    let is_transient = match (status, code) {
        (429, "quota_exceeded" | "budget_exceeded") => attempts < QUOTA_ATTEMPTS,
        // It ended the engines that read it.
        (_, "request_quarantined") => false,
        (408 | 429 | 500..=599, _) => true,
        _ => false,
    };
    if !is_transient {
        return AfterAttempt::Finish;
    }
    let doublings = attempts.saturating_sub(1).min(16);
    AfterAttempt::Retry { after_millis: (FIRST_BACKOFF_MILLIS << doublings).min(MAX_BACKOFF_MILLIS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_transient_failures_are_retried_with_growing_pauses() {
        for (status, code) in [
            (200, ""),
            (400, "context_length_exceeded"),
            (404, "model_not_found"),
            (422, "x"),
            (503, "request_quarantined"),
        ] {
            assert_eq!(after_attempt(status, code, 1), AfterAttempt::Finish, "{status}");
        }
        for status in [408, 429, 500, 502, 503, 504] {
            assert_eq!(after_attempt(status, "x", 1), AfterAttempt::Retry { after_millis: 500 }, "{status}");
        }
        let pauses = [1, 2, 3, 7, 8, 1_000_000].map(|attempts| after_attempt(503, "x", attempts));
        let expected = [500, 1_000, 2_000, 32_000, 60_000, 60_000];
        assert_eq!(pauses, expected.map(|after_millis| AfterAttempt::Retry { after_millis }));
    }

    #[test]
    fn a_line_without_quota_fails_soon() {
        for code in ["quota_exceeded", "budget_exceeded"] {
            assert!(matches!(after_attempt(429, code, 2), AfterAttempt::Retry { .. }));
            assert_eq!(after_attempt(429, code, 3), AfterAttempt::Finish);
        }
    }
}
