//! `/v1/endpoints/allotments`: the ledger of the organization.

use super::Endpoints;
use super::error::ProblemError;
use super::request::ReadRequest;
use super::wire::AllotmentList;
use axum::Json;
use axum::extract::State;
use control::allotments;
use control::endpoints::EndpointError;

/// Allotted and committed GPUs of the organization, by GPU type.
#[utoipa::path(get, path = "/v1/endpoints/allotments", operation_id = "listAllotments", tag = "endpoints",
    responses((status = 200, body = AllotmentList)))]
pub(super) async fn list(
    State(context): State<Endpoints>,
    request: ReadRequest,
) -> Result<Json<AllotmentList>, ProblemError> {
    let surface = &context.surface;
    let lines = allotments::list(&surface.store, request.organization(), &surface.allotment_defaults).await;
    let lines = lines.map_err(EndpointError::from)?;
    Ok(Json(AllotmentList::new(lines, None)))
}
