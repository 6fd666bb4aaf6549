//! The command `create`.

use super::attempt::{Attempt, Retries, Start};
use super::commitment::Commitment;
use super::event::event_of;
use super::{CommandResponse, EndpointCommand, EndpointError, Outcome, RunMode};
use crate::entropy;
use domain::endpoint::event::EventType;
use domain::endpoint::labels::{Labels, patched};
use domain::endpoint::replica::Status;
use domain::endpoint::request::NewEndpoint;
use domain::endpoint::scaling::{Metric, Scaling};
use domain::endpoint::{Generation, Shape, State, state};
use domain::model::{Launch, Model};
use domain::{Endpoint, EndpointId};
use store::{StoreError, endpoint_events, endpoints};

/// Creates an endpoint; a dry run returns the record without creating it.
pub async fn create(
    command: EndpointCommand<'_>,
    new: &NewEndpoint,
    run: RunMode,
) -> Result<CommandResponse, EndpointError> {
    let mut retries = Retries::new();
    loop {
        match once(command, new, run).await {
            Err(error) if retries.again(&error).await => {}
            outcome => return outcome.map_err(EndpointError::while_checking_allotment),
        }
    }
}

async fn once(command: EndpointCommand<'_>, new: &NewEndpoint, run: RunMode) -> Result<CommandResponse, EndpointError> {
    let command = match run {
        RunMode::Real => command,
        RunMode::Dry => EndpointCommand { idempotency: None, ..command },
    };
    let tx = command.base.store.begin_ledger().await?;
    let mut attempt = match Attempt::start(tx, &command).await? {
        Start::Replayed(response) => return Ok(*response),
        Start::New(attempt) => attempt,
    };
    let unknown = || EndpointError::ModelNotFound { model: new.model.clone() };
    let model = command.rules.catalogue.get(new.model.as_str()).ok_or_else(unknown)?;
    let name_in_use = || EndpointError::NameInUse { name: new.name.clone() };
    if endpoints::name_is_taken(&mut attempt.tx, command.scope.organization, &new.name).await? {
        return Err(name_in_use());
    }
    let endpoint = planned(model, command, new)?;
    Commitment::of_new(&endpoint).check(&mut attempt.tx, command.rules, "Creating", command.base.now).await?;
    // A suspended endpoint commits no GPUs, so the allotment does not bound the number of endpoints. Counted behind the
    // ledger's lock, so that two commands at once cannot both take the last place.
    if endpoints::count_of(&mut attempt.tx, command.scope.workspace).await? >= command.rules.max_endpoints {
        return Err(EndpointError::LimitReached { limit: command.rules.max_endpoints });
    }
    endpoints::insert(&mut attempt.tx, &endpoint, state::SCALE_DOWN_DRAIN_SECS).await.map_err(|error| match error {
        StoreError::EndpointNameTaken => name_in_use(),
        other => other.into(),
    })?;
    if run == RunMode::Dry {
        return Ok(CommandResponse::new(Outcome::Done, endpoint, command.encode)); // dropping the attempt rolls back
    }
    endpoint_events::append(&mut attempt.tx, &event_of(&endpoint, EventType::Created, &command)).await?;
    Commitment::of_new(&endpoint).record(&mut attempt.tx, &command, EventType::Created.as_str()).await?;
    attempt.audit(&endpoint, EventType::Created).await?;
    attempt.finish(Outcome::Created, endpoint).await
}

fn planned(model: &Model, command: EndpointCommand<'_>, new: &NewEndpoint) -> Result<Endpoint, EndpointError> {
    let not_offered = || EndpointError::FlavorNotOffered { model: new.model.clone(), flavor: new.flavor.clone() };
    let shape = Shape::of(model, &new.flavor).ok_or_else(not_offered)?;
    let scaling = Scaling::create(&new.scaling, shape.flavor.default_target).map_err(EndpointError::Conflicting)?;
    check_metric(&shape, &scaling)?;
    let step = state::create(scaling, shape.flavor.gpu_count);
    Ok(Endpoint {
        id: EndpointId::new(command.base.now, entropy::for_id()),
        organization: command.scope.organization.clone(),
        workspace: command.scope.workspace.clone(),
        name: new.name.clone(),
        model: new.model.clone(),
        shape,
        scaling,
        state: State::Provisioning,
        reason: step.reason,
        message: step.reason.message().to_owned(),
        state_since: command.base.now,
        started_at: command.base.now,
        status: Status { desired: step.desired, ..Status::default() },
        committed_gpus: step.committed,
        last_request_at: None,
        labels: patched(&Labels::new(), &new.labels).map_err(EndpointError::Conflicting)?,
        created_by: command.base.author.to_string(),
        created_at: command.base.now,
        updated_at: command.base.now,
        generation: Generation(1),
    })
}

/// Rejects a metric that the flavor's engine does not report. A custom command line may run any engine, so it is accepted.
pub(super) fn check_metric(shape: &Shape, scaling: &Scaling) -> Result<(), EndpointError> {
    let reports_kv_cache = match &shape.flavor.launch {
        Launch::Engine(kind) => kind.reports_kv_cache_usage(),
        Launch::Argv(_) => true,
    };
    match scaling.target.metric() {
        Metric::KvCacheUtilization if !reports_kv_cache => {
            Err(EndpointError::MetricNotSupported { flavor: shape.flavor.name.clone() })
        }
        Metric::KvCacheUtilization | Metric::Concurrency => Ok(()),
    }
}
