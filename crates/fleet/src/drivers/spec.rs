//! Name and specification of a replica.

use crate::engine::command::Invocation;
use domain::ModelId;
use domain::model::{DriverKind, EngineOptions, Flavor, Launch, Modality};
use domain::shown_as_text;
use std::time::Duration;

/// Name of a replica: letters, digits, `-` and `_`, since it is also the name of a folder.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplicaName(Box<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a replica name (up to 64 letters, digits, - and _)")]
pub struct ReplicaNameError(String);

impl ReplicaName {
    const MAX_LEN: usize = 64;

    pub fn parse(text: &str) -> Result<Self, ReplicaNameError> {
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if (1..=Self::MAX_LEN).contains(&text.len()) && text.bytes().all(is_valid) {
            return Ok(Self(text.into()));
        }
        Err(ReplicaNameError(text.chars().take(Self::MAX_LEN).collect()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

shown_as_text!(ReplicaName);

/// What a replica runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaSpec {
    pub replica: ReplicaName,
    /// Model name that the engine expects in requests: `dedicated/<name>`.
    pub model: ModelId,
    pub modality: Modality,
    pub driver: DriverKind,
    pub launch: Launch,
    pub options: EngineOptions,
    pub image: Option<String>,
    /// `None` for a replica of a serverless pool.
    pub owner: Option<ReplicaOwner>,
    pub gpu_type: String,
    pub gpu_count: u32,
    /// `None` if not configured; then only a command that does not use them can start.
    pub weights: Option<String>,
    /// Maximum tokens of prompt and completion together.
    pub max_len: u64,
    /// Calls that the engine processes at once.
    pub slots: u32,
}

/// The endpoint of a replica, shown as labels in a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaOwner {
    pub endpoint: String,
    pub workspace: String,
    pub generation: u64,
}

impl ReplicaSpec {
    /// Slots of a flavor without a target.
    const DEFAULT_SLOTS: u32 = 16;

    /// A replica of a model on a flavor; `weights` are the model's, used if the flavor has none.
    pub fn of_flavor(
        replica: ReplicaName,
        (model, modality): (ModelId, Modality),
        flavor: &Flavor,
        context_length: u64,
        weights: Option<&str>,
    ) -> Self {
        let target = flavor.default_target;
        Self {
            replica,
            model,
            modality,
            driver: flavor.driver,
            launch: flavor.launch.clone(),
            options: flavor.options.clone(),
            image: flavor.image.clone(),
            owner: None,
            gpu_type: flavor.gpu_type.to_string(),
            gpu_count: flavor.gpu_count,
            weights: flavor.weights.as_deref().or(weights).map(ToOwned::to_owned),
            max_len: flavor.max_len.unwrap_or(context_length),
            slots: target.filter(|target| *target > 0).unwrap_or(Self::DEFAULT_SLOTS),
        }
    }

    /// The values of its command's variables, with the weights as the engine sees them.
    pub(super) const fn invocation<'a>(
        &'a self,
        weights: Option<&'a str>,
        (host, port): (&'a str, u16),
        drain: Duration,
    ) -> Invocation<'a> {
        let Self { launch, options, model, gpu_count, max_len, slots, .. } = self;
        let (gpu_count, max_len, slots) = (*gpu_count, *max_len, *slots);
        Invocation { launch, options, model, weights, gpu_count, max_len, slots, host, port, drain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_escape_their_folder() {
        for bad in ["", "..", "a/b", "a b", "é", &"x".repeat(65)] {
            assert!(ReplicaName::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(ReplicaName::parse("rep_01j9-2").unwrap().as_str(), "rep_01j9-2");
    }
}
