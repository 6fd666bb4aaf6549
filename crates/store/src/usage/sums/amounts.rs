//! The five numbers of a sum as signed columns, because a difference may be negative.

use crate::error::StoreError;
use crate::row;
use domain::NanoUsd;
use domain::usage::Totals;
use sqlx::any::AnyRow;
use std::ops::Neg;

pub(super) const COLUMNS: [&str; 5] = ["requests", "prompt_tokens", "completion_tokens", "cached_tokens", "cost"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Amounts([i64; 5]);

impl Amounts {
    pub(super) fn read(found: &AnyRow) -> Result<Self, StoreError> {
        let mut amounts = Self::default();
        for (amount, column) in amounts.0.iter_mut().zip(COLUMNS) {
            *amount = row::number(found, column)?;
        }
        Ok(amounts)
    }

    pub(super) fn is_zero(self) -> bool {
        self == Self::default()
    }

    pub(super) const fn numbers(self) -> [i64; 5] {
        self.0
    }

    /// A sum of events is never negative; a negative one means a damaged row.
    pub(super) fn totals(self) -> Result<Totals, StoreError> {
        let [requests, prompt_tokens, completion_tokens, cached_tokens, cost] = self.0;
        let count = |number| u64::try_from(number).map_err(|_| row::corrupt("sums of usage"));
        Ok(Totals {
            requests: count(requests)?,
            prompt_tokens: count(prompt_tokens)?,
            completion_tokens: count(completion_tokens)?,
            cached_tokens: count(cached_tokens)?,
            cost: NanoUsd::from_nanos(cost),
        })
    }
}

impl From<Totals> for Amounts {
    fn from(totals: Totals) -> Self {
        Self([
            row::to_number(totals.requests),
            row::to_number(totals.prompt_tokens),
            row::to_number(totals.completion_tokens),
            row::to_number(totals.cached_tokens),
            totals.cost.nanos(),
        ])
    }
}

impl Neg for Amounts {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.map(i64::saturating_neg))
    }
}
