//! `/v1/endpoints/allotments`: the ledger of the organization.

use super::error::ProblemError;
use super::request::ReadRequest;
use super::wire::AllotmentList;
use axum::Json;
use control::allotments;
use control::endpoints::EndpointError;

/// Allotted and committed GPUs of the organization, by GPU type.
#[utoipa::path(get, path = "/v1/endpoints/allotments", operation_id = "listAllotments", tag = "endpoints",
    responses((status = 200, body = AllotmentList)))]
pub(super) async fn list(request: ReadRequest) -> Result<Json<AllotmentList>, ProblemError> {
    let (store, defaults) = (request.store(), request.rules().defaults);
    let lines = allotments::list(store, request.organization(), defaults).await;
    let lines = lines.map_err(EndpointError::from)?;
    Ok(Json(AllotmentList::new(lines, None)))
}
