//! Dimensions by which GPU costs are grouped.

use super::parse_list;
use crate::gpu_type::GpuType;
use crate::ids::{EndpointId, WorkspaceId};
use crate::named_enum;
use crate::time::Day;

named_enum! {
    /// A dimension of GPU costs.
    pub enum Dimension {
        Endpoint = "endpoint",
        GpuType = "gpuType",
        Workspace = "workspace",
        /// Days in UTC.
        Day = "day",
    }
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
    /// Parses comma-separated names, each at most once.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, DimensionsError> {
        let twice = |dimension: Dimension| DimensionsError::Twice(dimension.as_str());
        parse_list(text, Dimension::parse, DimensionsError::Unknown, twice)
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
