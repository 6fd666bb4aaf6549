//! `/api/organizations/{id}/allotments`: the ledger, and the operator's caps.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{Caller, Id, List, Operator, PathParam, Payload};
use axum::Json;
use control::{access, allotments, organizations};
use domain::ids::IdError;
use domain::{GpuType, OrganizationId};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;
use view::AllotmentView;

impl PathParam for GpuType {
    const PARAM: &'static str = "gpuType";

    fn read(text: &str) -> Result<Self, IdError> {
        Self::parse(text).map_err(|bad| IdError { text: bad.0, prefix: "" })
    }
}

/// Allotted and committed GPUs of an organization, by GPU type.
#[utoipa::path(get, path = "/api/organizations/{organizationId}/allotments", tag = "organizations",
    responses((status = 200, body = List<AllotmentView>)))]
pub(crate) async fn list(
    caller: Caller,
    Id(id): Id<OrganizationId>,
) -> Result<Json<List<AllotmentView>>, ConsoleError> {
    let context = &caller.context;
    if caller.signed.user.operator {
        organizations::show(&context.store, &id).await?;
    } else if access::organization(&caller.signed)?.0 != &id {
        return Err(ConsoleError::NotFound);
    }
    let lines = allotments::list(&context.store, &id, &context.allotment_defaults).await?;
    Ok(Json(List::whole(lines.into_iter().map(AllotmentView::from).collect())))
}

/// A cap; null resets it to the configured default.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cap {
    #[serde(deserialize_with = "null_or_value")]
    #[schema(maximum = 1_000_000)]
    allotment: Option<u64>,
}

/// Requires the member: an empty body must not reset the cap.
fn null_or_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Option::<u64>::deserialize(deserializer)
}

/// Set the allotment of an organization. A lower cap stops nothing that runs.
#[utoipa::path(put, path = "/api/organizations/{organizationId}/allotments/{gpuType}", tag = "organizations",
    request_body = Cap, responses((status = 200, body = AllotmentView)))]
pub(crate) async fn set(
    Operator(caller): Operator,
    Id(id): Id<OrganizationId>,
    Id(gpu_type): Id<GpuType>,
    Payload(cap): Payload<Cap>,
) -> Result<Json<AllotmentView>, ConsoleError> {
    let context = &caller.context;
    let defaults = &context.allotment_defaults;
    let line = allotments::set(caller.command(), &id, &gpu_type, cap.allotment, defaults).await?;
    Ok(Json(line.into()))
}
