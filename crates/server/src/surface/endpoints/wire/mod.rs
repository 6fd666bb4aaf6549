//! Bodies of `/v1/endpoints` as JSON, with their schemas.

mod record;
mod request;

pub(super) use record::{
    AllotmentList, EncodedRecord, EndpointList, EndpointView, EventList, FlavorList, ReplicaList, UsageView, encode,
};
pub(super) use request::{ChangeRequest, NewEndpointRequest, ResumeRequest, ScalingMembers, SuspendRequest, shortened};
