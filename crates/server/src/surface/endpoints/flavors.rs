//! `/v1/endpoints/flavors`: the hardware shapes that a model is offered in.

use super::error::ProblemError;
use super::request::ReadRequest;
use super::wire::FlavorList;
use axum::Json;
use control::endpoints;
use domain::ModelId;
use domain::endpoint::{FieldError, FieldErrorCode};

/// The flavors that a model is offered in. Those that do not fit the allotment are marked, not hidden.
#[utoipa::path(get, path = "/v1/endpoints/flavors", operation_id = "listFlavors", tag = "endpoints",
    params(("model" = String, Query, description = "a Model ID")),
    responses((status = 200, body = FlavorList)))]
pub(super) async fn list(request: ReadRequest) -> Result<Json<FlavorList>, ProblemError> {
    let missing = || FieldError::new("model", FieldErrorCode::MissingField, "is required");
    let model = request.parsed("model", |text| ModelId::parse(text).ok(), "must be <provider>/<model-name>")?;
    let model = model.ok_or_else(missing)?;
    let found = endpoints::flavors(request.store(), request.rules(), request.organization(), &model).await?;
    Ok(Json(FlavorList::new(found, None)))
}
