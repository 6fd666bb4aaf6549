use super::{Choice, Refusal, Scope};
use domain::Endpoint;
use domain::endpoint::replica::Replica;
use store::Store;
use store::endpoints;

/// So many replicas are shown, ended ones among them.
const MAX_REPLICAS: u32 = 200;

pub async fn show(store: &Store, scope: Scope<'_>, choice: &Choice) -> Result<Endpoint, Refusal> {
    let found = match choice {
        Choice::Name(name) => endpoints::by_name(store, scope.organization, name).await?,
        Choice::Id(id) => endpoints::by_id(store, id).await?,
    };
    in_scope(found, scope, choice)
}

/// The newest replicas of an endpoint.
pub async fn replicas(store: &Store, scope: Scope<'_>, choice: &Choice) -> Result<Vec<Replica>, Refusal> {
    let endpoint = show(store, scope, choice).await?;
    Ok(store::replicas::newest_of(store, &endpoint.id, MAX_REPLICAS).await?)
}

/// What belongs to another organization does not exist.
pub(super) fn in_scope(found: Option<Endpoint>, scope: Scope<'_>, choice: &Choice) -> Result<Endpoint, Refusal> {
    let endpoint = || choice.text().to_owned();
    match found {
        Some(found) if found.workspace == *scope.workspace => Ok(found),
        Some(found) if found.organization == *scope.organization => {
            Err(Refusal::OtherWorkspace { endpoint: endpoint() })
        }
        Some(_) | None => Err(Refusal::EndpointNotFound { endpoint: endpoint() }),
    }
}
