//! Gauges that are read from the store: endpoints, the ledger and the monthly quota.
//!
//! Every node reports the same values. While the store is unavailable, the last known values are reported.

use crate::clock;
use domain::allotment::{Defaults, Ledger};
use domain::endpoint::replica::Status;
use domain::endpoint::state::State;
use domain::model_ref::dedicated_id;
use domain::quota::Account;
use domain::{Endpoint, GpuType, Month, OrganizationId, WorkspaceId};
use parking_lot::Mutex;
use std::collections::BTreeMap;

use std::time::Duration;
use store::{Store, StoreError, allotments, endpoints, quota};
use telemetry::metrics::{OTHER, Page, families};

pub const REFRESH_PERIOD: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Found {
    endpoints: Vec<Endpoint>,
    ledgers: Vec<(OrganizationId, GpuType, Ledger)>,
    accounts: Vec<(WorkspaceId, Account)>,
}

/// The last rows that were read, and the settings for reading them.
pub struct Rows {
    store: Store,
    allotment_defaults: Defaults,
    monthly_tokens: u64,
    /// Most label sets per family.
    most: usize,
    found: Mutex<Found>,
}

impl Rows {
    pub fn new(store: Store, allotment_defaults: Defaults, monthly_tokens: u64, most: usize) -> Self {
        Self { store, allotment_defaults, monthly_tokens, most, found: Mutex::default() }
    }

    /// Reads the rows; after an error, the last ones stay.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        let most = u32::try_from(self.most).unwrap_or(u32::MAX);
        let found = Found {
            endpoints: endpoints::list_all(&self.store).await?,
            ledgers: allotments::list_all(&self.store, &self.allotment_defaults, most).await?,
            accounts: quota::list(&self.store, Month::of(clock::now()), self.monthly_tokens, most).await?,
        };
        *self.found.lock() = found;
        Ok(())
    }

    pub(super) fn write(&self, page: &mut Page) {
        let found = self.found.lock();
        found.write_endpoints(page, self.most);
        let mut samples = page.family(&families::LEDGER_ALLOTMENT);
        for (organization, gpu_type, ledger) in &found.ledgers {
            samples.whole(&[organization.as_str(), gpu_type.as_str()], ledger.allotment);
        }
        let mut samples = page.family(&families::LEDGER_COMMITTED);
        for (organization, gpu_type, ledger) in &found.ledgers {
            samples.whole(&[organization.as_str(), gpu_type.as_str()], ledger.committed);
        }
        let mut samples = page.family(&families::QUOTA_USED);
        for (workspace, account) in &found.accounts {
            samples.whole(&[workspace.as_str()], account.used + account.reserved);
        }
        let mut samples = page.family(&families::QUOTA_CAP);
        for (workspace, account) in &found.accounts {
            samples.whole(&[workspace.as_str()], account.cap);
        }
    }
}

impl Found {
    fn write_endpoints(&self, page: &mut Page, most: usize) {
        let replicas = self.endpoints.iter().map(|endpoint| {
            let Status { desired, pending, starting, ready, draining } = endpoint.status;
            let model = dedicated_id(endpoint.name.as_str());
            ((endpoint.workspace.to_string(), model), [desired, pending, starting, ready, draining].map(u64::from))
        });
        let mut samples = page.family(&families::ENDPOINT_REPLICAS);
        for ((workspace, model), counts) in bounded(replicas, most) {
            for (state, count) in ["desired", "pending", "starting", "ready", "draining"].iter().zip(counts) {
                samples.whole(&[&workspace, &model, state], count);
            }
        }
        let mut samples = page.family(&families::ENDPOINTS);
        for state in State::ALL {
            let count = self.endpoints.iter().filter(|endpoint| endpoint.state == state).count();
            samples.whole(&[state.as_str()], count as u64);
        }
    }
}

/// Numbers per workspace and model: the first `most` separately, and the sum of the others.
pub(super) fn bounded<const N: usize>(
    each: impl Iterator<Item = ((String, String), [u64; N])>,
    most: usize,
) -> BTreeMap<(String, String), [u64; N]> {
    let mut sums: BTreeMap<(String, String), [u64; N]> = BTreeMap::new();
    for (labels, numbers) in each {
        let is_separate = sums.len() < most || sums.contains_key(&labels);
        let labels = if is_separate { labels } else { (OTHER.to_owned(), OTHER.to_owned()) };
        let sum = sums.entry(labels).or_insert([0; N]);
        for (sum, number) in sum.iter_mut().zip(numbers) {
            *sum += number;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_sets_beyond_the_bound_are_added_up_as_other() {
        let each = ["a", "b", "c", "a", "d"].map(|name| ((name.to_owned(), "m".to_owned()), [1, 10]));
        let sums = bounded(each.into_iter(), 2).into_iter();
        let shown: Vec<String> = sums.map(|((workspace, model), sum)| format!("{workspace} {model} {sum:?}")).collect();
        assert_eq!(shown, ["a m [2, 20]", "b m [1, 10]", "other other [2, 20]"]);
    }
}
