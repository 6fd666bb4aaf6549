//! A replica as drivers know it: its name, and what it is to run.

use domain::ModelId;
use domain::model::{DriverKind, Flavor, Launch, Modality};
use std::fmt;

/// The name of a replica, made of letters, digits, `-` and `_`: it is also the name of a folder.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplicaName(Box<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a replica (up to 64 letters, digits, - and _)")]
pub struct BadReplicaName(String);

impl ReplicaName {
    const LONGEST: usize = 64;

    pub fn parse(text: &str) -> Result<Self, BadReplicaName> {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if (1..=Self::LONGEST).contains(&text.len()) && text.bytes().all(is_good) {
            return Ok(Self(text.into()));
        }
        Err(BadReplicaName(text.chars().take(Self::LONGEST).collect()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReplicaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ReplicaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a replica is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaSpec {
    pub replica: ReplicaName,
    /// The name by which the engine is called: `dedicated/<name>`.
    pub model: ModelId,
    pub modality: Modality,
    pub driver: DriverKind,
    pub launch: Launch,
    pub image: Option<String>,
    /// Whose replica it is; nobody's where it serves everybody.
    pub owner: Option<Owner>,
    pub gpu_type: String,
    pub gpu_count: u32,
    /// Absent where nobody has said yet where they are; then only a command that does not ask for them starts.
    pub weights: Option<String>,
    /// Tokens of a prompt and its answer together.
    pub max_len: u64,
    /// Calls that the engine is to work on at once.
    pub slots: u32,
}

/// The endpoint that a replica belongs to, for those who look at a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub endpoint: String,
    pub workspace: String,
    pub generation: u64,
}

impl ReplicaSpec {
    /// A flavor that names no target is meant for so many calls at once.
    const USUAL_SLOTS: u32 = 16;

    /// A replica of a model with this context length on the flavor; `weights` are the model's own, for flavors without.
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
            image: flavor.image.clone(),
            owner: None,
            gpu_type: flavor.gpu_type.to_string(),
            gpu_count: flavor.gpu_count,
            weights: flavor.weights.as_deref().or(weights).map(ToOwned::to_owned),
            max_len: flavor.max_len.unwrap_or(context_length),
            slots: target.filter(|target| *target > 0).unwrap_or(Self::USUAL_SLOTS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_cannot_be_named_after_another_folder() {
        for bad in ["", "..", "a/b", "a b", "é", &"x".repeat(65)] {
            assert!(ReplicaName::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(ReplicaName::parse("rep_01j9-2").unwrap().as_str(), "rep_01j9-2");
    }
}
