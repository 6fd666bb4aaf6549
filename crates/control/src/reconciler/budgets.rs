//! Suspends the endpoints of workspaces whose monthly budget is spent, if they or their organizations ask for it.

use crate::command::{Author, Command};
use crate::command_error::CommandError;
use crate::endpoints::{self, EndpointCommand, EndpointRef, EndpointRules, Scope};
use domain::allotment::Defaults;
use domain::{Catalogue, Month, Timestamp, WorkspaceId};
use std::collections::HashMap;
use store::Store;
use store::spend::{self, SuspendableEndpoint};

/// One round: suspends every endpoint that commits GPUs of a spent budget. An endpoint that cannot be suspended is tried again in
/// the next one.
pub async fn suspend_spent(store: &Store, now: Timestamp) -> Result<(), CommandError> {
    let month = Month::of(now);
    let mut spent: HashMap<WorkspaceId, bool> = HashMap::new();
    for found in spend::suspendable_endpoints(store).await? {
        let is_spent = match spent.get(&found.workspace) {
            Some(is_spent) => *is_spent,
            None => {
                let account = spend::tightest_account(store, &found.workspace, month).await?;
                *spent.entry(found.workspace.clone()).or_insert(account.is_some_and(|one| one.is_spent_for(1)))
            }
        };
        if is_spent {
            suspend(store, &found, now).await;
        }
    }
    Ok(())
}

async fn suspend(store: &Store, found: &SuspendableEndpoint, now: Timestamp) {
    let SuspendableEndpoint { endpoint, workspace, organization } = found;
    // A suspension needs no rule of them.
    let (catalogue, defaults) = (Catalogue::default(), Defaults::default());
    let command = EndpointCommand {
        base: Command { store, author: &Author::Budget, now },
        rules: EndpointRules { catalogue: &catalogue, defaults: &defaults, max_endpoints: 0 },
        scope: Scope { organization, workspace },
        idempotency: None,
        encode: |_| String::new(),
    };
    match endpoints::suspend(command, &EndpointRef::Id(endpoint.clone())).await {
        Ok(_) => {
            tracing::info!(endpoint.id = %endpoint, workspace.id = %workspace, "suspended {endpoint}: a monthly budget is spent");
        }
        Err(error) => tracing::warn!(endpoint.id = %endpoint, %error, "{endpoint} was not suspended"),
    }
}
