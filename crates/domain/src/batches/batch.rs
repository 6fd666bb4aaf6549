//! Batches: their record and their states.

use crate::caller::Actor;
use crate::ids::{BatchId, FileId, OrganizationId, WorkspaceId};
use crate::model::Modality;
use crate::money::NanoUsd;
use crate::named_enum;
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// The only window in which batches complete.
pub const COMPLETION_WINDOW: &str = "24h";
pub const COMPLETION_WINDOW_MILLIS: i64 = 24 * 3_600_000;
pub const MAX_METADATA_PAIRS: usize = 16;
/// In characters.
pub const MAX_METADATA_KEY: usize = 64;
pub const MAX_METADATA_VALUE: usize = 512;
/// The problems of an input file that a batch lists.
pub const MAX_PROBLEMS: usize = 100;

named_enum! {
    /// The state of a batch: `validating` → `in_progress` → `finalizing` → `completed` or `expired`, and from the first
    /// two also → `cancelling` → `cancelled`.
    pub enum BatchStatus {
        Validating = "validating",
        InProgress = "in_progress",
        Finalizing = "finalizing",
        Completed = "completed",
        /// The input file is invalid: no line has run.
        Failed = "failed",
        Expired = "expired",
        Cancelling = "cancelling",
        Cancelled = "cancelled",
    }
}

impl BatchStatus {
    /// Whether there is still work to do.
    pub const fn is_open(self) -> bool {
        match self {
            Self::Validating | Self::InProgress | Self::Finalizing | Self::Cancelling => true,
            Self::Completed | Self::Failed | Self::Expired | Self::Cancelled => false,
        }
    }
}

named_enum! {
    /// The route that the lines of a batch call.
    pub enum BatchEndpoint {
        Chat = "/v1/chat/completions",
        Embeddings = "/v1/embeddings",
        Completions = "/v1/completions",
        Responses = "/v1/responses",
        Rerank = "/v1/rerank",
        /// Lines of a message batch, in the format of Anthropic's API.
        Messages = "/v1/messages",
    }
}

impl BatchEndpoint {
    /// Whether the batch was made by `POST /v1/messages/batches`.
    pub const fn is_messages(self) -> bool {
        matches!(self, Self::Messages)
    }

    /// The modality of the models that serve it.
    pub const fn modality(self) -> Modality {
        match self {
            Self::Chat | Self::Completions | Self::Responses | Self::Messages => Modality::Chat,
            Self::Embeddings => Modality::Embedding,
            Self::Rerank => Modality::Rerank,
        }
    }
}

named_enum! {
    /// How a line ended.
    pub enum LineOutcome {
        Succeeded = "succeeded",
        /// With a response that is an error.
        Failed = "failed",
        Cancelled = "cancelled",
        /// The window of the batch ended first.
        Expired = "expired",
        /// The engine of its last attempt has not responded in time.
        TimedOut = "timed_out",
    }
}

impl LineOutcome {
    /// The code and message of a line that has no response; `None` if it has one.
    pub const fn error(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Succeeded | Self::Failed => None,
            Self::Cancelled => Some(("batch_cancelled", "The batch was cancelled before this request was completed.")),
            Self::Expired => Some(("batch_expired", "This request was not completed before the batch expired.")),
            Self::TimedOut => Some(("request_timeout", "The model did not respond in time.")),
        }
    }
}

/// The ended lines of a batch by their outcome, and the number of all lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineCounts {
    pub total: u64,
    pub succeeded: u64,
    /// With those that timed out.
    pub failed: u64,
    pub cancelled: u64,
    pub expired: u64,
}

impl LineCounts {
    pub const fn ended(&self) -> u64 {
        self.succeeded + self.unsuccessful()
    }

    /// The lines of the error file.
    pub const fn unsuccessful(&self) -> u64 {
        self.failed + self.cancelled + self.expired
    }

    pub fn count(&mut self, outcome: LineOutcome) {
        let count = match outcome {
            LineOutcome::Succeeded => &mut self.succeeded,
            LineOutcome::Failed | LineOutcome::TimedOut => &mut self.failed,
            LineOutcome::Cancelled => &mut self.cancelled,
            LineOutcome::Expired => &mut self.expired,
        };
        *count += 1;
    }
}

/// The tokens of lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineUsage {
    pub input: u64,
    /// The part of the input that engines had cached.
    pub cached: u64,
    pub output: u64,
    /// The part of the output that is reasoning.
    pub reasoning: u64,
}

impl std::ops::AddAssign for LineUsage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// Why a batch failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchProblem {
    /// Stable, for programs.
    pub code: String,
    /// The line of the input file, from 1.
    pub line: Option<u64>,
    pub message: String,
    pub param: Option<String>,
}

/// How long the results of a batch are kept after they were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputExpiry {
    pub seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub id: BatchId,
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    /// Who created it. Its lines are calls of this key or user.
    pub actor: Actor,
    pub endpoint: BatchEndpoint,
    pub status: BatchStatus,
    /// The model of all lines; `None` if they name several, and before they were read.
    pub model: Option<String>,
    /// `None` for message batches, whose lines come with the request.
    pub input_file: Option<FileId>,
    pub output_file: Option<FileId>,
    /// The lines that failed. A message batch has all results in the output file, and the first that are errors also in
    /// this one.
    pub error_file: Option<FileId>,
    /// `None` for the retention of all files.
    pub output_expiry: Option<OutputExpiry>,
    pub metadata: Option<BTreeMap<String, String>>,
    pub problems: Vec<BatchProblem>,
    pub counts: LineCounts,
    pub usage: LineUsage,
    pub cost: NanoUsd,
    pub created_at: Timestamp,
    pub in_progress_at: Option<Timestamp>,
    pub expires_at: Timestamp,
    pub finalizing_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub failed_at: Option<Timestamp>,
    pub expired_at: Option<Timestamp>,
    pub cancelling_at: Option<Timestamp>,
    pub cancelled_at: Option<Timestamp>,
}

impl Batch {
    /// When it ended, however that was.
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.completed_at.or(self.failed_at).or(self.expired_at).or(self.cancelled_at)
    }

    /// The state after its last line has ended and its files are written.
    pub const fn final_status(&self) -> BatchStatus {
        match (self.cancelling_at, self.counts.expired) {
            (Some(_), _) => BatchStatus::Cancelled,
            (None, 0) => BatchStatus::Completed,
            (None, _) => BatchStatus::Expired,
        }
    }

    /// How a line that has not ended ends now; `None` as long as it may run.
    pub fn end_of_lines(&self, now: Timestamp) -> Option<LineOutcome> {
        if self.status == BatchStatus::Cancelling {
            return Some(LineOutcome::Cancelled);
        }
        (now >= self.expires_at).then_some(LineOutcome::Expired)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_counted_once_and_those_without_a_response_have_a_code() {
        let mut counts = LineCounts { total: 5, ..LineCounts::default() };
        LineOutcome::ALL.into_iter().for_each(|outcome| counts.count(outcome));
        assert_eq!((counts.ended(), counts.succeeded, counts.unsuccessful()), (5, 1, 4));
        assert_eq!((counts.failed, counts.expired), (2, 1), "a batch whose lines timed out is not an expired one");
        let codes: Vec<_> = LineOutcome::ALL.into_iter().filter_map(LineOutcome::error).map(|(code, _)| code).collect();
        assert_eq!(codes, ["batch_cancelled", "batch_expired", "request_timeout"]);
    }

    #[test]
    fn a_batch_that_has_ended_is_not_open() {
        let open: Vec<_> = BatchStatus::ALL.into_iter().filter(|status| status.is_open()).collect();
        use BatchStatus::{Cancelling, Finalizing, InProgress, Validating};
        assert_eq!(open, [Validating, InProgress, Finalizing, Cancelling]);
    }
}
