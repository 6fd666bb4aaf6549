//! Lists that are searched and sorted by the database, page by page.
//!
//! A cursor is the id of a page's last row in any order: the values that it is sorted by are read from that row again. Example
//! of a page by name: `… AND (LOWER(k.name), k.id) > (SELECT LOWER(k.name), k.id FROM api_keys k WHERE k.id = $cursor)`.

use crate::page::Page;

/// What a list can be sorted by.
pub trait SortBy: Copy + Send + Sync + 'static {
    const ALL: &'static [Self];
    /// The name for callers.
    fn name(self) -> &'static str;
}

/// Columns of a table that a list can be sorted by.
pub trait SortColumn: SortBy {
    /// The table with the alias that expressions use, such as `api_keys k`.
    const TABLE: &'static str;
    /// The id of a row, by which rows of equal value are sorted.
    const ID: &'static str;
    /// The condition that a row is found, in which `$search` is a pattern for `LIKE` in lower case.
    const FOUND: &'static str;
    /// Its value, which must not be NULL: NULL is neither before nor after anything.
    fn expression(self) -> &'static str;
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order<C> {
    pub by: C,
    pub descending: bool,
}

impl<C: SortBy> Order<C> {
    /// Reads `name`, or `-name` for descending.
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.strip_prefix('-');
        let by = C::ALL.iter().copied().find(|column| column.name() == name.unwrap_or(text))?;
        Some(Self { by, descending: name.is_some() })
    }
}

/// A page of the rows that a search finds. Oldest first without an order.
#[derive(Debug, Clone, Copy)]
pub struct Listing<'a, C> {
    pub page: Page<'a>,
    /// A part of a name; everything if empty.
    pub search: &'a str,
    pub order: Option<Order<C>>,
}

impl<'a, C> From<Page<'a>> for Listing<'a, C> {
    fn from(page: Page<'a>) -> Self {
        Self { page, search: "", order: None }
    }
}

impl<C: SortColumn> Listing<'_, C> {
    /// The conditions, the order and the limit. Needs [`Self::pattern`], the cursor and the limit as parameters, `first` and
    /// the next two.
    pub(crate) fn clauses(&self, first: usize) -> String {
        let (found, id, table) = (Self::found(first), C::ID, C::TABLE);
        let (cursor, limit) = (first + 1, first + 2);
        let Some(Order { by, descending }) = self.order else {
            return format!("{found} AND {id} > ${cursor} ORDER BY {id} LIMIT ${limit}");
        };
        let (after, direction, by) =
            if descending { ("<", "DESC", by.expression()) } else { (">", "ASC", by.expression()) };
        format!(
            "{found} AND (${cursor} = '' OR ({by}, {id}) {after} (SELECT {by}, {id} FROM {table} WHERE {id} = ${cursor})) \
             ORDER BY {by} {direction}, {id} {direction} LIMIT ${limit}"
        )
    }

    /// The condition that a row is found, whose pattern is the parameter `number`.
    pub(crate) fn found(number: usize) -> String {
        // Only PostgreSQL has a default for the character that escapes.
        format!("({})", C::FOUND.replace("$search", &format!("${number} ESCAPE '\\'")))
    }

    pub(crate) fn pattern(&self) -> String {
        pattern(self.search)
    }
}

/// Matches texts that contain `search`.
fn pattern(search: &str) -> String {
    let mut pattern = String::from("%");
    for letter in search.to_lowercase().chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    if !search.is_empty() {
        pattern.push('%');
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Name;

    impl SortBy for Name {
        const ALL: &'static [Self] = &[Self];

        fn name(self) -> &'static str {
            "name"
        }
    }

    impl SortColumn for Name {
        const TABLE: &'static str = "rows r";
        const ID: &'static str = "r.id";
        const FOUND: &'static str = "LOWER(r.name) LIKE $search OR r.id LIKE $search";

        fn expression(self) -> &'static str {
            "LOWER(r.name)"
        }
    }

    #[test]
    fn an_order_is_a_name_with_a_minus_for_descending() {
        assert_eq!(Order::parse("name"), Some(Order { by: Name, descending: false }));
        assert_eq!(Order::parse("-name"), Some(Order { by: Name, descending: true }));
        for bad in ["", "-", "--name", "Name", "name desc"] {
            assert_eq!(Order::<Name>::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_sorted_page_begins_after_the_row_of_its_cursor() {
        let order = Order::parse("-name");
        let listing = Listing::<Name> { order, ..Page::first(5).into() };
        assert_eq!(
            listing.clauses(2),
            "(LOWER(r.name) LIKE $2 ESCAPE '\\' OR r.id LIKE $2 ESCAPE '\\') AND ($3 = '' OR \
             (LOWER(r.name), r.id) < (SELECT LOWER(r.name), r.id FROM rows r WHERE r.id = $3)) \
             ORDER BY LOWER(r.name) DESC, r.id DESC LIMIT $4"
        );
    }

    #[test]
    fn wildcards_in_a_search_are_letters() {
        assert_eq!(pattern(""), "%");
        assert_eq!(pattern("Ab"), "%ab%");
        assert_eq!(pattern("5%_\\"), "%5\\%\\_\\\\%");
    }
}
