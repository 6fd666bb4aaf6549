//! Why an endpoint is in its state: a code for programs and a sentence for people.

use crate::endpoint::failure::FailureReason;

/// Why an endpoint is in its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateReason {
    /// No particular reason; shown as an empty string.
    Plain,
    Created,
    WaitingForGpus,
    WaitingForWeights,
    Degraded,
    Recovering,
    ColdStart,
    Scaled,
    Resumed,
    Retry,
    Failure(FailureReason),
}

impl StateReason {
    pub(super) const WITHOUT_FAILURES: [Self; 10] = [
        Self::Plain,
        Self::Created,
        Self::WaitingForGpus,
        Self::WaitingForWeights,
        Self::Degraded,
        Self::Recovering,
        Self::ColdStart,
        Self::Scaled,
        Self::Resumed,
        Self::Retry,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Created => "created",
            Self::WaitingForGpus => "waiting-for-gpus",
            Self::WaitingForWeights => "waiting-for-weights",
            Self::Degraded => "degraded",
            Self::Recovering => "recovering",
            Self::ColdStart => "cold-start",
            Self::Scaled => "scaled",
            Self::Resumed => "resumed",
            Self::Retry => "retry",
            Self::Failure(reason) => reason.as_str(),
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let plain = Self::WITHOUT_FAILURES.into_iter().find(|reason| reason.as_str() == text);
        plain.or_else(|| FailureReason::parse(text).map(Self::Failure))
    }

    /// Whether a start was requested: by a user, or by a call to an endpoint at zero.
    pub const fn is_requested_start(self) -> bool {
        match self {
            Self::Created | Self::ColdStart | Self::Scaled | Self::Resumed | Self::Retry => true,
            Self::Plain
            | Self::WaitingForGpus
            | Self::WaitingForWeights
            | Self::Degraded
            | Self::Recovering
            | Self::Failure(_) => false,
        }
    }

    /// A sentence for people.
    pub const fn message(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Created => "The endpoint was created and its first replica is being started.",
            Self::WaitingForGpus => "No node has enough free GPUs of this type; a replica starts as soon as one does.",
            Self::WaitingForWeights => "The model's weights are not available yet.",
            Self::Degraded => "A replica failed and is being restarted; the others serve.",
            Self::Recovering => "The last ready replica was lost and is being restarted.",
            Self::ColdStart => "A call arrived while no replica was running; replicas are being started.",
            Self::Scaled => "The endpoint no longer scales to zero; replicas are being started.",
            Self::Resumed => "The endpoint was resumed and its first replica is being started.",
            Self::Retry => "The endpoint is being started again after a failure.",
            Self::Failure(reason) => reason.message(),
        }
    }
}
