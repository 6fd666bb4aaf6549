//! `/v1/endpoints/allotments`: the ledger of the organization.

use super::Desk;
use super::ask::{Ask, List, Reply};
use super::describe::AllotmentList;
use super::error::Refused;
use control::allotments;

/// What the organization is allotted and has committed, by GPU type.
#[utoipa::path(get, path = "/v1/endpoints/allotments", operation_id = "listAllotments", tag = "endpoints",
    responses((status = 200, body = AllotmentList)))]
pub(super) async fn list(desk: &Desk, ask: &Ask) -> Result<Reply, Refused> {
    let people = &desk.people;
    let lines = allotments::list(&people.store, &ask.caller.organization, &people.allotment_defaults).await?;
    Ok(Reply::json(&List::whole(lines))?)
}
