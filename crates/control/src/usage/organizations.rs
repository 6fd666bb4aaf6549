//! What organizations use in the current month, and the list of organizations in this order.

use super::consumers::{ConsumerOrder, read};
use crate::command_error::CommandError;
use domain::usage::Totals;
use domain::{OrganizationId, Span, Timestamp};
use std::cmp::Ordering;
use std::collections::HashMap;
use store::organizations::{self, CountedOrganization, OrganizationColumn};
use store::usage::sums::consumers::{Consumer, ConsumerKind, MAX_READ};
use store::{Listing, Order, Store};

/// What these organizations used in the month of `now`, with GPU-hours. Those that used nothing are absent.
pub async fn this_month(
    store: &Store,
    organizations: &[&OrganizationId],
    now: Timestamp,
) -> Result<HashMap<OrganizationId, Consumer>, CommandError> {
    let span = Span::or_month_of(now, None, None)?;
    let found = read(store, ConsumerKind::Organization, Some(organizations), span, now).await?;
    Ok(found.into_iter().filter_map(|one| Some((one.organization.clone()?.0, one))).collect())
}

/// An organization in a list, and the number that it is sorted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranked {
    pub value: i64,
    pub organization: CountedOrganization,
}

/// At most `limit` of the organizations that a search finds, by what they used this month, and by their ids among equal ones.
/// `after` is the number and the id of the last one on the page before. Usage is read of all organizations, because that of
/// GPUs is in no row.
pub async fn list_by_usage(
    store: &Store,
    listing: Listing<'_, OrganizationColumn>,
    order: Order<ConsumerOrder>,
    after: Option<(i64, &str)>,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<Ranked>, CommandError> {
    let span = Span::or_month_of(now, None, None)?;
    let used = read(store, ConsumerKind::Organization, None, span, now).await?;
    let ids = organizations::found_ids(store, listing, MAX_READ + 1).await?;
    if used.len() >= MAX_READ || ids.len() > MAX_READ {
        let why = "more than 10000 organizations are not sorted by usage";
        return Err(CommandError::BadValue { field: "sort", why });
    }
    let values: HashMap<&OrganizationId, i64> =
        used.iter().filter_map(|one| Some((&one.organization.as_ref()?.0, order.by.value_of(&one.totals)))).collect();
    let nothing = order.by.value_of(&Totals::default());
    let ranked = ids.into_iter().map(|id| (values.get(&id).copied().unwrap_or(nothing), id));
    let mut ranked = sorted(ranked.collect(), order.descending, after).into_iter();

    let mut page = Vec::new();
    // More than once if some were deleted meanwhile: a shorter page would end the list.
    while page.len() < limit && ranked.len() > 0 {
        let part: Vec<_> = ranked.by_ref().take(limit - page.len()).collect();
        let ids: Vec<_> = part.iter().map(|(_, id)| id.clone()).collect();
        let counted = organizations::counted_by_ids(store, &ids).await?;
        let mut counted: HashMap<_, _> = counted.into_iter().map(|one| (one.organization.id.clone(), one)).collect();
        let found =
            part.into_iter().filter_map(|(value, id)| Some(Ranked { value, organization: counted.remove(&id)? }));
        page.extend(found);
    }
    Ok(page)
}

/// Those after the last one on the page before.
fn sorted(
    mut ranked: Vec<(i64, OrganizationId)>,
    descending: bool,
    after: Option<(i64, &str)>,
) -> Vec<(i64, OrganizationId)> {
    let compare = |one: (i64, &str), other: (i64, &str)| -> Ordering {
        if descending { other.cmp(&one) } else { one.cmp(&other) }
    };
    if let Some(last) = after {
        ranked.retain(|(value, id)| compare((*value, id.as_str()), last).is_gt());
    }
    ranked.sort_unstable_by(|one, other| compare((one.0, one.1.as_str()), (other.0, other.1.as_str())));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_by_usage_have_no_gaps_among_organizations_that_used_nothing() {
        let id = |number: u128| OrganizationId::new(Timestamp::default(), number);
        let all: Vec<_> = [0, 5, 0, 7, 0].into_iter().zip(1..).map(|(value, number)| (value, id(number))).collect();
        for (descending, expected) in [(true, [4, 2, 5, 3, 1]), (false, [1, 3, 5, 2, 4])] {
            let mut seen: Vec<(i64, OrganizationId)> = Vec::new();
            loop {
                let after = seen.last().map(|(value, id)| (*value, id.as_str()));
                let rest = sorted(all.clone(), descending, after);
                if rest.is_empty() {
                    break;
                }
                seen.extend(rest.into_iter().take(2));
            }
            assert!(seen.iter().map(|(_, id)| id).eq(&expected.map(id)), "{seen:?}");
        }
    }
}
