//! Queries: they read endpoints and never wait for the ledger.

mod differences;
mod flavors;
mod usage;

pub use differences::{Difference, find_differences};
pub use flavors::{FlavorLine, flavors};
pub use usage::{UsageReport, usage};

use super::{EndpointError, EndpointRef, Scope};
use crate::command_error::CommandError;
use domain::Endpoint;
use domain::endpoint::event::Event;
use domain::endpoint::replica::Replica;
use store::{Store, endpoint_events, endpoints};

/// Bound of the listed replicas, ended ones included.
const MAX_REPLICAS: u32 = 200;
/// Bound of the listed failed endpoints.
const MAX_FAILED: u32 = 100;

pub async fn show(store: &Store, scope: Scope<'_>, endpoint: &EndpointRef) -> Result<Endpoint, EndpointError> {
    let found = match endpoint {
        EndpointRef::Name(name) => endpoints::by_name(store, scope.organization, name).await?,
        EndpointRef::Id(id) => endpoints::by_id(store, id).await?,
    };
    in_scope(found, scope, endpoint)
}

/// The endpoints of the workspace. Request one more than a page to know whether there is a next page.
pub async fn list(
    store: &Store,
    scope: Scope<'_>,
    filter: endpoints::Filter<'_>,
    limit: u32,
) -> Result<Vec<Endpoint>, EndpointError> {
    Ok(endpoints::list(store, scope.workspace, filter, limit).await?)
}

/// The number of endpoints that [`list`] has on all its pages.
pub async fn count(store: &Store, scope: Scope<'_>, filter: endpoints::Filter<'_>) -> Result<u64, EndpointError> {
    Ok(endpoints::count(store, scope.workspace, filter).await?)
}

/// The failed endpoints of all workspaces, those that failed last first; at most 100.
pub async fn list_failed(store: &Store) -> Result<Vec<Endpoint>, CommandError> {
    Ok(endpoints::list_failed(store, MAX_FAILED).await?)
}

/// The events of an endpoint, newest first.
pub async fn events(
    store: &Store,
    scope: Scope<'_>,
    endpoint: &EndpointRef,
    filter: endpoint_events::Filter<'_>,
    limit: u32,
) -> Result<Vec<Event>, EndpointError> {
    let endpoint = show(store, scope, endpoint).await?;
    Ok(endpoint_events::list(store, &endpoint.id, filter, limit).await?)
}

/// The newest replicas of an endpoint.
pub async fn replicas(store: &Store, scope: Scope<'_>, endpoint: &EndpointRef) -> Result<Vec<Replica>, EndpointError> {
    let endpoint = show(store, scope, endpoint).await?;
    Ok(store::replicas::newest_of(store, &endpoint.id, MAX_REPLICAS).await?)
}

/// Hides the endpoints of other organizations as if they did not exist.
pub(super) fn in_scope(
    found: Option<Endpoint>,
    scope: Scope<'_>,
    endpoint: &EndpointRef,
) -> Result<Endpoint, EndpointError> {
    let text = || endpoint.text().to_owned();
    match found {
        Some(found) if found.workspace == *scope.workspace => Ok(found),
        Some(found) if found.organization == *scope.organization => {
            Err(EndpointError::OtherWorkspace { endpoint: text() })
        }
        Some(_) | None => Err(EndpointError::EndpointNotFound { endpoint: text() }),
    }
}
