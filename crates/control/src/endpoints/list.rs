use super::{Refusal, Scope};
use domain::Endpoint;
use store::Store;
use store::endpoints::{self, Filter};

/// The endpoints of the workspace, newest first. Ask for one more than is shown to know whether there are more.
pub async fn list(store: &Store, scope: Scope<'_>, filter: Filter<'_>, limit: u32) -> Result<Vec<Endpoint>, Refusal> {
    Ok(endpoints::list(store, scope.workspace, filter, limit).await?)
}
