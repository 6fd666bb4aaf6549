//! Metrics of routing: why replicas were chosen, and what they were expected to have cached.

use super::families;
use super::page::Page;
use fleet::{Backend, Endpoints, Route, Routes};
use std::sync::Arc;

/// Writes the families of models and endpoints with at most `most` label sets each.
pub fn write(page: &mut Page, routes: &Routes, endpoints: &Endpoints, most: usize) {
    let routed = routed(routes, endpoints, most);
    let mut samples = page.family(&families::ROUTING_DECISIONS);
    for (workspace, route) in &routed {
        for (reason, count) in route.pool.decisions().counts() {
            samples.whole(&[workspace, route.model.id.as_str(), reason.as_str()], count);
        }
    }
    // A single replica is not chosen: it has no index, and what other nodes have in flight there is not known.
    let balanced = routed.iter().filter(|(_, route)| route.pool.replicas().len() > 1);
    let replicas = balanced.flat_map(|(workspace, route)| {
        let replicas = route.pool.replicas().iter();
        replicas.map(move |replica| ReplicaRow::new(workspace, route.model.id.as_str(), replica))
    });
    let rows: Vec<ReplicaRow<'_>> = replicas.take(most).collect();
    let columns = [
        &families::PREFILL_TOKENS,
        &families::CACHED_PREDICTED,
        &families::CACHED_REPORTED,
        &families::INDEX_ENTRIES,
        &families::INDEX_EVICTIONS,
    ];
    for (column, family) in columns.into_iter().enumerate() {
        let mut samples = page.family(family);
        rows.iter().for_each(|row| samples.whole(&row.labels, row.values[column]));
    }
}

/// Models of the catalogue with an empty workspace, then endpoints.
fn routed(routes: &Routes, endpoints: &Endpoints, most: usize) -> Vec<(String, Arc<Route>)> {
    let catalogue: Vec<_> = routes.table().iter().map(|route| (String::new(), Arc::clone(route))).collect();
    let dedicated = endpoints.all();
    let mut dedicated: Vec<_> =
        dedicated.iter().map(|endpoint| (endpoint.workspace.to_string(), Arc::clone(&endpoint.view().route))).collect();
    dedicated.sort_by(|(one, first), (other, second)| {
        (one, first.model.id.as_str()).cmp(&(other, second.model.id.as_str()))
    });
    catalogue.into_iter().chain(dedicated).take(most).collect()
}

/// The values of one replica, in the order of the families.
struct ReplicaRow<'a> {
    labels: [&'a str; 3],
    values: [u64; 5],
}

impl<'a> ReplicaRow<'a> {
    fn new(workspace: &'a str, model: &'a str, replica: &'a Backend) -> Self {
        let load = replica.prompt_load();
        let (predicted, reported) = load.cached_tokens();
        let (entries, evictions) = replica.prefixes(|prefixes| (prefixes.len() as u64, prefixes.evictions()));
        let labels = [workspace, model, &*replica.name];
        Self { labels, values: [load.queued_tokens(), predicted, reported, entries, evictions] }
    }
}
