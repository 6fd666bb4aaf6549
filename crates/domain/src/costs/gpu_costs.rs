//! Dimensions by which GPU costs are grouped.

use crate::gpu_type::GpuType;
use crate::ids::{EndpointId, WorkspaceId};
use crate::time::Day;

/// A dimension of GPU costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    Endpoint,
    GpuType,
    Workspace,
    /// Days in UTC.
    Day,
}

/// A list of dimensions is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DimensionsError {
    #[error("`{0}` is not one of endpoint, gpuType, workspace and day")]
    Unknown(String),
    #[error("`{0}` is named twice")]
    Twice(&'static str),
}

impl Dimension {
    const ALL: [Self; 4] = [Self::Endpoint, Self::GpuType, Self::Workspace, Self::Day];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Endpoint => "endpoint",
            Self::GpuType => "gpuType",
            Self::Workspace => "workspace",
            Self::Day => "day",
        }
    }

    /// Parses comma-separated names, each at most once.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, DimensionsError> {
        let mut dimensions = Vec::new();
        for word in text.split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
            let known = Self::ALL.into_iter().find(|dimension| dimension.as_str() == word);
            let dimension = known.ok_or_else(|| DimensionsError::Unknown(word.chars().take(64).collect()))?;
            if dimensions.contains(&dimension) {
                return Err(DimensionsError::Twice(dimension.as_str()));
            }
            dimensions.push(dimension);
        }
        Ok(dimensions)
    }
}

/// The group of one line; dimensions that were not requested are `None`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Group {
    pub day: Option<Day>,
    pub workspace: Option<WorkspaceId>,
    pub endpoint: Option<(EndpointId, String)>,
    pub gpu_type: Option<GpuType>,
}
