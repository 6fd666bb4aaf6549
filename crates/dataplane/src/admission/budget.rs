//! Reserves what a call may cost from the budgets of its key, of its end user and of its workspace.

use super::lease::{LeasedAccount, LocalLease};
use super::quota::{Quota, QuotaError, Reservation};
use domain::budget::{Budget, BudgetPeriod};
use domain::quota::TokenBound;
use domain::usage::{Actor, Tokens};
use domain::{CallPrice, Caller, EndUserId, KeyId, Month, Timestamp};
use std::sync::Arc;
use std::time::Instant;

/// The reservations of one call, one per budget. Unused amounts are free again on drop.
pub(super) struct BudgetReservations {
    price: CallPrice,
    all: Vec<Reservation>,
}

impl BudgetReservations {
    /// The most that the call may generate, given what was reserved.
    pub(super) fn limit(&self, bound: &TokenBound) -> TokenBound {
        let least = self.all.iter().map(|reservation| reservation.amount).min();
        least.map_or(*bound, |nanos| bound.affordable(&self.price, nanos))
    }

    /// Ends the reservations of a call that used these tokens.
    pub(super) fn settle(self, tokens: Tokens, now: Instant) {
        let cost = self.price.charge(tokens).nanos().max(0).unsigned_abs();
        self.all.into_iter().for_each(|reservation| reservation.settle(cost, now));
    }
}

impl Quota {
    /// `None` for a call that costs nothing, which an exhausted budget does not reject.
    pub(super) async fn reserve_budgets(
        &self,
        caller: &Caller,
        price: CallPrice,
        bound: &TokenBound,
        now: Timestamp,
        end_user: Option<&EndUserId>,
    ) -> Result<Option<Box<BudgetReservations>>, QuotaError> {
        let need = bound.cost(&price);
        if need.total == 0 {
            return Ok(None);
        }
        let mut all = Vec::new();
        if let (Actor::Key(key), Some(budgets)) = (&caller.actor, &caller.budgets) {
            for budget in budgets.hard() {
                all.push(self.reserve_from(self.lease_of_key(key, budget, now), need).await?);
            }
        }
        if let (Some(end_user), Some(policy)) = (end_user, &caller.end_users) {
            for budget in policy.budgets(end_user).hard() {
                all.push(self.reserve_from(self.lease_of_end_user(caller, end_user, budget, now), need).await?);
            }
        }
        if caller.has_monthly_budget {
            all.push(self.reserve_from(self.lease_of_workspace(caller, Month::of(now)), need).await?);
        }
        Ok((!all.is_empty()).then(|| Box::new(BudgetReservations { price, all })))
    }

    fn lease_of_key(&self, key: &KeyId, budget: &Budget, now: Timestamp) -> Arc<LocalLease> {
        let account = LeasedAccount::Budget { key: key.clone(), period: BudgetPeriod::of(budget.window, now) };
        let is_same = |lease: &LocalLease| lease.account == account;
        let lease = self.budget_leases().get_or_insert(key, is_same, || LocalLease::new(account.clone()));
        lease.state().follow_cap(budget.cap(now).nanos().unsigned_abs(), now);
        lease
    }

    fn lease_of_end_user(
        &self,
        caller: &Caller,
        end_user: &EndUserId,
        budget: &Budget,
        now: Timestamp,
    ) -> Arc<LocalLease> {
        let period = BudgetPeriod::of(budget.window, now);
        let account =
            LeasedAccount::EndUser { workspace: caller.workspace.clone(), end_user: end_user.clone(), period };
        let is_same = |lease: &LocalLease| lease.account == account;
        let lease = self.end_user_leases().get_or_insert(end_user, is_same, || LocalLease::new(account.clone()));
        lease.state().follow_cap(budget.cap(now).nanos().unsigned_abs(), now);
        lease
    }

    fn lease_of_workspace(&self, caller: &Caller, month: Month) -> Arc<LocalLease> {
        let (workspace, organization) = (caller.workspace.clone(), caller.organization.clone());
        let account = LeasedAccount::Spend { workspace, organization, month };
        let is_same = |lease: &LocalLease| lease.account == account;
        self.spend_leases().get_or_insert(&caller.workspace, is_same, || LocalLease::new(account.clone()))
    }
}
