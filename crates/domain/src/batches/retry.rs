//! What happens to a line after an attempt.

/// The calls of engines whose response had no room in the memory of its organization: others may have used it at that moment.
const MAX_CHARGED_ATTEMPTS: u32 = 3;
const FIRST_BACKOFF_MILLIS: u64 = 500;
/// A line whose calls always fail makes about 150 of them in a day.
const MAX_BACKOFF_MILLIS: u64 = 600_000;
/// How long a line waits for what it could not begin without.
const WAIT_MILLIS: u64 = 2_000;

/// The response to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptResponse<'a> {
    pub status: u16,
    /// Empty if the call succeeded.
    pub code: &'a str,
    /// No engine has taken the call, for a reason that may pass: what it needs is reserved by running calls, or no engine has
    /// room or serves.
    pub may_begin_later: bool,
    /// An engine did work that the client pays for, as in an interactive call that ends like this.
    pub is_charged: bool,
    /// The attempts that count, with this one if it does.
    pub attempts: u32,
}

/// How a line goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterAttempt {
    /// The response is the result of the line.
    Finish,
    /// The line runs again after this time, unless its batch ends before.
    Retry { after_millis: u64 },
    /// The same after an attempt that does not count, because nothing was done for the line.
    Wait { after_millis: u64 },
}

/// Decides by the response.
pub fn after_attempt(response: &AttemptResponse<'_>) -> AfterAttempt {
    let AttemptResponse { status, code, may_begin_later, is_charged, attempts } = *response;
    // Only the last attempt is billed, so work would be free if the line ran again and again.
    if is_charged && (status != 429 || attempts >= MAX_CHARGED_ATTEMPTS) {
        return AfterAttempt::Finish;
    }
    if may_begin_later {
        return AfterAttempt::Wait { after_millis: WAIT_MILLIS };
    }
    let is_transient = match (status, code) {
        // Used up, not only reserved.
        (429, "quota_exceeded" | "budget_exceeded") => false,
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

    fn failed(status: u16, code: &str, attempts: u32) -> AttemptResponse<'_> {
        AttemptResponse { status, code, may_begin_later: false, is_charged: false, attempts }
    }

    #[test]
    fn only_transient_failures_are_retried_with_growing_pauses_until_the_window_ends() {
        for (status, code) in [
            (200, ""),
            (400, "context_length_exceeded"),
            (404, "model_not_found"),
            (422, "x"),
            (429, "quota_exceeded"),
            (429, "budget_exceeded"),
            (503, "request_quarantined"),
        ] {
            assert_eq!(after_attempt(&failed(status, code, 1)), AfterAttempt::Finish, "{status} {code}");
        }
        for status in [408, 429, 500, 502, 503, 504] {
            let first = after_attempt(&failed(status, "x", 1));
            assert_eq!(first, AfterAttempt::Retry { after_millis: 500 }, "{status}");
        }
        let pauses = [1, 2, 3, 11, 12, 1_000].map(|attempts| after_attempt(&failed(503, "x", attempts)));
        let expected = [500, 1_000, 2_000, 512_000, 600_000, 600_000];
        assert_eq!(pauses, expected.map(|after_millis| AfterAttempt::Retry { after_millis }));
    }

    #[test]
    fn an_attempt_that_the_client_pays_for_is_the_last_one() {
        // Too much for the time, or the API cannot express the response.
        for (status, code) in [(408, "upstream_timeout"), (502, "bad_gateway"), (200, "")] {
            let response = AttemptResponse { is_charged: true, ..failed(status, code, 1) };
            assert_eq!(after_attempt(&response), AfterAttempt::Finish, "{status} {code}");
        }
        // Too much for the memory that the organization has left.
        let busy = |attempts| {
            let response = failed(429, "concurrency_limit_exceeded", attempts);
            after_attempt(&AttemptResponse { is_charged: true, ..response })
        };
        assert_eq!([1, 2].map(busy), [500, 1_000].map(|after_millis| AfterAttempt::Retry { after_millis }));
        assert_eq!(busy(MAX_CHARGED_ATTEMPTS), AfterAttempt::Finish);
    }

    #[test]
    fn a_line_that_could_not_begin_waits_as_long_as_its_batch_may() {
        for (status, code) in [
            (429, "quota_exceeded"),
            (429, "budget_exceeded"),
            (429, "resource_unavailable"),
            (503, "model_not_serving"),
            (504, "edge_timeout"),
        ] {
            let response = AttemptResponse { may_begin_later: true, ..failed(status, code, 1_000) };
            assert_eq!(after_attempt(&response), AfterAttempt::Wait { after_millis: WAIT_MILLIS }, "{status} {code}");
        }
    }
}
