//! Requests for endpoints, parsed and checked as far as possible without knowing the endpoint.

use super::labels::LabelsPatch;
use super::name::EndpointName;
use super::scaling::ScalingPatch;
use crate::model::ModelId;

/// A request to create an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEndpoint {
    pub name: EndpointName,
    pub model: ModelId,
    pub flavor: String,
    pub scaling: ScalingPatch,
    pub labels: LabelsPatch,
}

/// A request to change an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    pub scaling: ScalingPatch,
    pub labels: LabelsPatch,
}
