//! Finds the model or endpoint that a Model ID names.

use crate::capable;
use crate::error::{CallError, listed};
use crate::request::{Operation, ParsedRequest, PromptOverflow};
use crate::{Call, Dataplane};
use domain::alias::AliasName;
use domain::{CallClass, Caller, EndpointName, ModelId, ModelRef, NanoUsd, SaltSecret};
use fleet::endpoints::Condition;
use fleet::routes::Table;
use fleet::{LiveEndpoint, Route};
use json::InvalidParam;
use std::sync::Arc;

/// The destination of a call.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// A model of the catalogue, billed per token.
    Serverless(Arc<Route>),
    /// Replicas of the caller's workspace, billed per GPU-hour: neither rate limits nor quota apply.
    Dedicated(Arc<LiveEndpoint>),
}

impl Target {
    /// The model and its current replicas.
    pub(crate) fn route(&self) -> Arc<Route> {
        match self {
            Self::Serverless(route) => Arc::clone(route),
            Self::Dedicated(endpoint) => Arc::clone(&endpoint.view().route),
        }
    }

    /// What separates the prompts of the caller from those of other workspaces in the caches of replicas: the salt that the
    /// engine gets, or an empty text if workspaces share them.
    pub(crate) fn tenant<'a>(&self, caller: &'a Caller, secret: &SaltSecret) -> &'a str {
        if self.isolates_cache() { caller.cache_salt(secret) } else { "" }
    }

    /// Whether workspaces share the caches of replicas, so that what is cached says something about calls of others.
    pub(crate) fn shares_cache(&self) -> bool {
        matches!(self, Self::Serverless(_)) && !self.isolates_cache()
    }

    /// Whether the call may not reuse prefixes that other workspaces left in the caches of engines. The replicas of an
    /// endpoint serve one workspace only.
    pub(crate) fn isolates_cache(&self) -> bool {
        match self {
            Self::Serverless(route) => !route.model.share_prefix_cache,
            Self::Dedicated(_) => false,
        }
    }
}

impl Dataplane {
    /// The target of a call that its model can serve.
    pub(crate) fn resolve(&self, call: &mut Call) -> Result<Target, CallError> {
        let target = self.resolve_any(call)?;
        let (request, route) = (&mut call.request, target.route());
        if route.model.modality != request.operation.modality() {
            let (has, asked) = (route.model.modality.purpose(), request.operation.modality().purpose());
            let present = listed(route.pool.capabilities().present().with(has));
            let why = format!("names a model for {has}, not for {asked}; it supports: {present}");
            return Err(CallError::Invalid { param: "model".into(), why });
        }
        capable::check(&route.pool, request.needs, &call.dialect)?;
        if let Some(invalid) = lacking(&request.operation, &route) {
            return Err(invalid.into());
        }
        request.adapt_to(route.model.chat);
        let maximum = route.model.context_length;
        if let Some(PromptOverflow { param, tokens }) = request.overflow(maximum) {
            return Err(CallError::PromptTooLong { param, tokens, maximum });
        }
        if let Some(param) = request.oversized(maximum) {
            return Err(CallError::ResponseTooLarge { param });
        }
        if call.request.is_flex() && matches!(target, Target::Serverless(_)) {
            call.class = call.class.max(CallClass::Flex);
        }
        note_model(call, route);
        Ok(target)
    }

    /// The target of a call to a model of any modality. Reports an unknown model before invalid values, and invalid values
    /// before the call costs anything.
    pub(crate) fn resolve_any(&self, call: &mut Call) -> Result<Target, CallError> {
        let request = &mut call.request;
        let Some(target) = self.find(&call.caller, &request.model)? else {
            return Err(match request.invalid.take() {
                Some(invalid) if invalid.param == "model" => invalid.into(),
                _ => CallError::unknown_model(&request.model),
            });
        };
        if let Target::Serverless(route) = &target
            && let Some(unsupported) = request.unsupported(&route.model.rules)
        {
            return Err(unsupported.into());
        }
        if let Some(invalid) = request.invalid.take() {
            return Err(invalid.into());
        }
        Ok(target)
    }

    /// The model or endpoint with this id and its current replicas, if the caller may see it.
    pub fn route(&self, caller: &Caller, model: &str) -> Result<Option<Arc<Route>>, CallError> {
        Ok(self.find(caller, model)?.map(|target| target.route()))
    }

    /// Whether the caller's workspace has a dedicated endpoint.
    pub fn has_endpoint(&self, caller: &Caller) -> bool {
        self.endpoints.all().iter().any(|endpoint| endpoint.workspace == caller.workspace)
    }

    /// Whether a request is for a dedicated endpoint that the caller may call, by its name or an alias.
    pub fn is_dedicated(&self, caller: &Caller, request: &ParsedRequest) -> bool {
        matches!(self.find(caller, &request.model), Ok(Some(Target::Dedicated(_))))
    }

    /// The exact aliases that the caller may use, each with its model or endpoint: those of the workspace, then those of
    /// the catalogue.
    pub fn exact_aliases(&self, caller: &Caller) -> Vec<(AliasName, Arc<Route>)> {
        let table = self.routes.table();
        let names = aliases(caller, &table).map(|(name, _)| name).filter(|name| name.prefix().is_none());
        let found = |name: &AliasName| Some((name.clone(), self.route(caller, name.as_str()).ok()??));
        names.filter_map(found).collect()
    }

    /// Whether the caller's key may call a model or an endpoint: one of its entries is the id or an alias of it, or the
    /// beginning of one.
    pub fn is_allowed(&self, caller: &Caller, route: &Route) -> bool {
        let Some(allowed) = caller.allowed_models() else { return true };
        let id = &route.model.id;
        if allowed.iter().any(|entry| entry.matches(id.as_str())) {
            return true;
        }
        let table = self.routes.table();
        allowed.iter().any(|entry| match entry.prefix() {
            Some(prefix) => {
                let mut named = aliases(caller, &table).filter(|(name, _)| name.as_str().starts_with(prefix));
                named.any(|(_, target)| target == *id)
            }
            None => {
                let found = self.find_any(caller, entry.as_str());
                found.is_ok_and(|target| target.is_some_and(|target| target.route().model.id == *id))
            }
        })
    }

    /// The model or endpoint of this name that the caller may call.
    pub(crate) fn find(&self, caller: &Caller, model: &str) -> Result<Option<Target>, CallError> {
        let found = self.find_any(caller, model);
        let Some(allowed) = caller.allowed_models() else { return found };
        match found {
            // Not even that an endpoint exists is shown to a key that may not call it.
            Err(CallError::WrongWorkspace) if !allowed.iter().any(|entry| entry.matches(model)) => Ok(None),
            found => Ok(found?.filter(|target| self.is_allowed(caller, &target.route()))),
        }
    }

    /// A model id comes first, then an alias of the workspace, then one of the catalogue.
    fn find_any(&self, caller: &Caller, model: &str) -> Result<Option<Target>, CallError> {
        match ModelRef::parse(model) {
            Ok(ModelRef::Dedicated(name)) => Ok(self.endpoint(caller, &name)?.map(Target::Dedicated)),
            Ok(ModelRef::Catalogue(_)) | Err(_) => {
                let table = self.routes.table();
                if let Some(route) = table.get(model) {
                    return Ok(Some(Target::Serverless(Arc::clone(route))));
                }
                match caller.aliases.as_ref().and_then(|aliases| aliases.get(model)) {
                    Some(ModelRef::Dedicated(name)) => Ok(self.endpoint(caller, name)?.map(Target::Dedicated)),
                    // The catalogue may have lost the model since.
                    Some(ModelRef::Catalogue(id)) => Ok(table.get(id.as_str()).cloned().map(Target::Serverless)),
                    None => Ok(table.get_alias(model).cloned().map(Target::Serverless)),
                }
            }
        }
    }

    fn endpoint(&self, caller: &Caller, name: &EndpointName) -> Result<Option<Arc<LiveEndpoint>>, CallError> {
        let Some(endpoint) = self.endpoints.get(&caller.organization, name.as_str()) else { return Ok(None) };
        if endpoint.view().condition == Condition::Deleting {
            return Ok(None);
        }
        if endpoint.workspace != caller.workspace {
            return Err(CallError::WrongWorkspace);
        }
        Ok(Some(endpoint))
    }
}

/// The member of a call that engines of the model would not obey. Any of them may get it.
pub(crate) fn lacking(operation: &Operation, route: &Route) -> Option<InvalidParam> {
    let mut upstreams = route.pool.replicas().iter().map(|replica| &replica.upstream);
    match operation {
        Operation::Chat { .. } | Operation::Embeddings(_) => None,
        Operation::Completions(options) => upstreams.find_map(|upstream| options.lacking(upstream.engine?)),
        Operation::Rerank(options) => upstreams.find_map(|upstream| options.lacking(upstream.rerank_api)),
    }
}

/// Records the model of a call with its price, and the name that the client sent if it is another.
pub(crate) fn note_model(call: &mut Call, route: Arc<Route>) {
    let requested = Some(&call.request.model).filter(|name| **name != route.model.id.as_str());
    let requested: Option<Box<str>> = requested.map(|name| name.as_str().into());
    let class = call.class;
    let is_search = call.request.operation.is_search();
    let search_price = if is_search { route.model.search_price_of(class) } else { NanoUsd::ZERO };
    call.tap.note(|record| {
        (record.model, record.class, record.requested_model) = (Some(route), class, requested);
        record.search_price = search_price;
    });
}

/// All aliases that the caller can use, with what they stand for: those of the workspace, then those of the catalogue that
/// it does not hide.
fn aliases<'a>(caller: &'a Caller, table: &'a Table) -> impl Iterator<Item = (&'a AliasName, ModelId)> {
    let is_hidden = |name: &AliasName| caller.aliases.as_ref().is_some_and(|aliases| aliases.hides(name));
    let own = caller.aliases.iter().flat_map(|aliases| aliases.iter()).map(|(name, target)| (name, target.id()));
    let shared = table.aliases().filter(move |(name, _)| !is_hidden(name));
    own.chain(shared.map(|(name, route)| (name, route.model.id.clone())))
}
