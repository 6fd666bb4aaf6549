//! Reads the usage of a workspace.

use super::query::{Selection, group_column, groups_and_amounts, query};
use crate::db::Store;
use crate::error::StoreError;
use domain::Grouping;
use domain::grouping::{Dimension, Group};
use domain::span::Piece;
use domain::usage::Totals;

/// The usage of one group, with one value per requested dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summed {
    pub groups: Vec<Group>,
    pub totals: Totals,
}

/// The sum of the pieces per group, in the order of the groups, without groups that have no usage. Without dimensions, the
/// result is always one sum.
pub async fn read(
    store: &Store,
    selection: Selection<'_>,
    pieces: &[Piece],
    grouping: &Grouping,
) -> Result<Vec<Summed>, StoreError> {
    let by = grouping.dimensions();
    let mut sums = if pieces.is_empty() { Vec::new() } else { read_some(store, selection, pieces, by).await? };
    if by.is_empty() && sums.is_empty() {
        sums.push(Summed { groups: Vec::new(), totals: Totals::default() });
    }
    // The databases order texts differently.
    sums.sort_unstable_by(|one, other| one.groups.cmp(&other.groups));
    Ok(sums)
}

async fn read_some(
    store: &Store,
    selection: Selection<'_>,
    pieces: &[Piece],
    by: &[Dimension],
) -> Result<Vec<Summed>, StoreError> {
    let columns: Vec<&str> = by.iter().map(|dimension| group_column(*dimension)).collect();
    let mut sums = Vec::new();
    for found in store.rows(query(selection, pieces, &columns)).await? {
        let (groups, amounts) = groups_and_amounts(&found, by)?;
        if !amounts.is_zero() {
            sums.push(Summed { groups, totals: amounts.totals()? });
        }
    }
    Ok(sums)
}
