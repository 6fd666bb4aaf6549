//! Work on whole batches, which one node does at a time, and who makes their calls.

use crate::surface::Surface;
use control::CommandError;
use control::access;
use control::batches::{BatchError, BatchStorage, Claim, FindModality};
use dataplane::CallError;
use domain::Caller;
use domain::batches::{Batch, BatchProblem};
use domain::usage::Actor;
use node::clock;
use std::sync::Arc;
use store::{Store, aliases, users};

/// What a job needs.
pub(super) struct JobParts {
    pub(super) surface: Arc<Surface>,
    pub(super) storage: BatchStorage,
    pub(super) owner: Claim,
}

/// Reads the input of a batch.
pub(super) async fn validate(parts: JobParts, batch: Batch) -> Result<(), BatchError> {
    let JobParts { surface, storage, owner } = parts;
    let Some(caller) = caller_of(&surface, &batch).await? else {
        let message = "the key or the user that created the batch may no longer make calls".to_owned();
        let problem = BatchProblem { code: "invalid_api_key".to_owned(), line: None, message, param: None };
        return storage.fail(&batch, &owner, vec![problem]).await;
    };
    let find_modality: FindModality = {
        let (surface, caller) = (Arc::clone(&surface), Arc::clone(&caller));
        Arc::new(move |model| Some(surface.dataplane.route(&caller, model).ok()??.model.modality))
    };
    let Some(input) = storage.read_input(&batch, &owner, find_modality).await? else { return Ok(()) };
    // Lines that name several models find out one by one.
    if let Some(model) = &input.model
        && let Err(CallError::BudgetExceeded { message, .. }) =
            surface.dataplane.check_budgets(&caller, model, clock::now()).await
    {
        let problem = BatchProblem { code: "budget_exceeded".to_owned(), line: None, message, param: None };
        return storage.fail(&batch, &owner, vec![problem]).await;
    }
    storage.start(&batch, &owner, input).await
}

/// Ends a batch whose input was not read within its window.
pub(super) async fn give_up_validation(parts: JobParts, batch: Batch) -> Result<(), BatchError> {
    let message = "the input file could not be read in time".to_owned();
    let problem = BatchProblem { code: "batch_expired".to_owned(), line: None, message, param: None };
    parts.storage.fail(&batch, &parts.owner, vec![problem]).await
}

/// The creator of a batch as a caller; `None` if it may no longer make calls.
pub(super) async fn caller_of(surface: &Surface, batch: &Batch) -> Result<Option<Arc<Caller>>, BatchError> {
    match &batch.actor {
        Actor::Key(id) => {
            let found = surface.keys.caller_by_id(id, clock::now()).await;
            let found = found.map_err(|error| CommandError::Internal { cause: format!("{error:?}").into() })?;
            Ok(found.filter(|caller| caller.workspace == batch.workspace))
        }
        Actor::User(id) => {
            let store: &Store = &surface.context.store;
            let Some(user) = users::by_id(store, id).await? else { return Ok(None) };
            match access::workspace(store, &user, &batch.organization, &batch.workspace).await {
                Ok(workspace) => {
                    let aliases = aliases::list(store, &workspace.id).await?;
                    let actor = Actor::User(id.clone());
                    let caller = Caller {
                        workspace_limits: workspace.stored_limits(),
                        response_retention: workspace.response_retention,
                        has_monthly_budget: workspace.has_monthly_budget(),
                        weight: workspace.weight,
                        organization_limits: workspace.organization_per_minute,
                        ..Caller::new(workspace.organization, workspace.id, actor)
                    };
                    Ok(Some(Arc::new(caller.with_aliases(aliases))))
                }
                Err(error @ CommandError::StoreUnavailable { .. }) => Err(error.into()),
                Err(_no_longer_a_member) => Ok(None),
            }
        }
    }
}
