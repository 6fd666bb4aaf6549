use super::{Choice, Refusal, Scope, show};
use domain::endpoint::event::Event;
use store::Store;
use store::endpoint_events::{self, Filter};

/// What happened to an endpoint, newest first.
pub async fn events(
    store: &Store,
    scope: Scope<'_>,
    choice: &Choice,
    filter: Filter<'_>,
    limit: u32,
) -> Result<Vec<Event>, Refusal> {
    let endpoint = show(store, scope, choice).await?;
    Ok(endpoint_events::list(store, &endpoint.id, filter, limit).await?)
}
