//! `/v1/endpoints/flavors`: what a model may run on.

use super::Desk;
use super::ask::{Ask, List, Reply};
use super::describe::FlavorList;
use super::error::Refused;
use control::endpoints;
use domain::ModelId;
use domain::endpoint::{FieldError, FieldErrorCode};

/// The flavors that a model is offered in; what does not fit the allotment is marked, not hidden.
#[utoipa::path(get, path = "/v1/endpoints/flavors", operation_id = "listFlavors", tag = "endpoints",
    params(("model" = String, Query, description = "a Model ID")),
    responses((status = 200, body = FlavorList)))]
pub(super) async fn list(desk: &Desk, ask: &Ask) -> Result<Reply, Refused> {
    let missing = || FieldError::new("model", FieldErrorCode::MissingField, "is required");
    let model = ask.word("model", |text| ModelId::parse(text).ok(), "must be <provider>/<model-name>")?;
    let model = model.ok_or_else(missing)?;
    let catalogue = desk.catalogue();
    let found = endpoints::flavors(desk.office(&catalogue), &ask.caller.organization, &model).await?;
    Ok(Reply::json(&List::whole(found))?)
}
