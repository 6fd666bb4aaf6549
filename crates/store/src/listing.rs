//! Lists that are searched and sorted by the database, page by page.
//!
//! A cursor is the id of a page's last row and, if the list is sorted, the value that the row was sorted by: the next page
//! is found even if the row was changed or deleted since. Example of a page by name:
//! `… AND (LOWER(k.name), k.id) > (LOWER(CAST($value AS TEXT)), $id)`.

use crate::db::Query;
use crate::page::Page;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use std::fmt;

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
    fn expression(self) -> SortExpression;
}

/// The value of a column, as SQL. It must not be NULL, which is neither before nor after anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortExpression {
    Number(&'static str),
    Text(&'static str),
    /// A text whose upper and lower case are equal.
    IgnoringCase(&'static str),
}

impl SortExpression {
    fn column(self) -> String {
        match self {
            Self::Number(sql) | Self::Text(sql) => sql.to_owned(),
            Self::IgnoringCase(sql) => format!("LOWER({sql})"),
        }
    }

    fn parameter(self, number: usize) -> String {
        match self {
            Self::Number(_) | Self::Text(_) => format!("${number}"),
            // PostgreSQL has several functions of this name.
            Self::IgnoringCase(_) => format!("LOWER(CAST(${number} AS TEXT))"),
        }
    }

    /// Reads a value of this type from a cursor.
    pub fn parse(self, text: &str) -> Option<SortValue<'_>> {
        match self {
            Self::Number(_) => text.parse().ok().map(SortValue::Number),
            Self::Text(_) | Self::IgnoringCase(_) => Some(SortValue::Text(text)),
        }
    }
}

/// The value of a row in its sorted list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortValue<'a> {
    Number(i64),
    Text(&'a str),
}

/// A row of a list that is sorted by `C`.
pub trait SortedRow<C> {
    /// Its [`SortColumn::expression`], which [`SortExpression::parse`] reads.
    fn sort_value(&self, by: C) -> String;
}

/// The last row of a page: `usr_01h…`, or `usr_01h….em9lQGV4YW1wbGUuY29t` with the value that it was sorted by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor {
    pub id: String,
    pub value: Option<String>,
}

impl Cursor {
    pub fn parse(text: &str) -> Option<Self> {
        // Ids of models have dots; an encoded value has none.
        let Some((id, value)) = text.rsplit_once('.') else { return Some(Self { id: text.to_owned(), value: None }) };
        let value = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(value).ok()?).ok()?;
        // PostgreSQL rejects zero bytes in texts.
        (!value.contains('\0')).then(|| Self { id: id.to_owned(), value: Some(value) })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.id)?;
        let Some(value) = &self.value else { return Ok(()) };
        write!(formatter, ".{}", BASE64_URL_SAFE_NO_PAD.encode(value))
    }
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
    /// What the last row of the page before was sorted by. Without it, the value is read from the row, which must then still
    /// exist.
    pub after: Option<SortValue<'a>>,
}

impl<'a, C> From<Page<'a>> for Listing<'a, C> {
    fn from(page: Page<'a>) -> Self {
        Self { page, search: "", order: None, after: None }
    }
}

impl<'a, C: SortColumn> Listing<'a, C> {
    /// The conditions, the order and the limit, whose parameters [`Self::bind`] binds from the number `first` on.
    pub(crate) fn clauses(&self, first: usize) -> String {
        let (found, id, table) = (Self::found(first), C::ID, C::TABLE);
        let (cursor, limit, value) = (first + 1, first + 2, first + 3);
        let Some(Order { by, descending }) = self.order else {
            return format!("{found} AND {id} > ${cursor} ORDER BY {id} LIMIT ${limit}");
        };
        let (after, direction) = if descending { ("<", "DESC") } else { (">", "ASC") };
        let column = by.expression().column();
        let last = match self.after {
            Some(_) => format!("({}, ${cursor})", by.expression().parameter(value)),
            None => format!("(SELECT {column}, {id} FROM {table} WHERE {id} = ${cursor})"),
        };
        format!(
            "{found} AND (${cursor} = '' OR ({column}, {id}) {after} {last}) \
             ORDER BY {column} {direction}, {id} {direction} LIMIT ${limit}"
        )
    }

    /// Binds the parameters of [`Self::clauses`]: three, and a fourth if there is a value to begin after.
    pub(crate) fn bind<'q>(&self, query: Query<'q>) -> Query<'q>
    where
        'a: 'q,
    {
        let query = query.bind(self.pattern()).bind(self.page.cursor()).bind(self.page.limit());
        match self.after.filter(|_| self.order.is_some()) {
            Some(SortValue::Number(number)) => query.bind(number),
            Some(SortValue::Text(text)) => query.bind(text),
            None => query,
        }
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

        fn expression(self) -> SortExpression {
            SortExpression::IgnoringCase("r.name")
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
    fn a_sorted_page_begins_after_the_value_of_its_cursor() {
        let order = Order::parse("-name");
        let after = SortExpression::IgnoringCase("r.name").parse("Zoe");
        let listing = Listing::<Name> { order, after, ..Page::after("row_1", 5).into() };
        assert_eq!(
            listing.clauses(2),
            "(LOWER(r.name) LIKE $2 ESCAPE '\\' OR r.id LIKE $2 ESCAPE '\\') AND ($3 = '' OR \
             (LOWER(r.name), r.id) < (LOWER(CAST($5 AS TEXT)), $3)) ORDER BY LOWER(r.name) DESC, r.id DESC LIMIT $4"
        );
        let listing = Listing::<Name> { order, ..Page::first(5).into() };
        assert_eq!(
            listing.clauses(2),
            "(LOWER(r.name) LIKE $2 ESCAPE '\\' OR r.id LIKE $2 ESCAPE '\\') AND ($3 = '' OR \
             (LOWER(r.name), r.id) < (SELECT LOWER(r.name), r.id FROM rows r WHERE r.id = $3)) \
             ORDER BY LOWER(r.name) DESC, r.id DESC LIMIT $4"
        );
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for (value, text) in [
            (None, "usr_1"),
            (Some("1767225600000"), "usr_1.MTc2NzIyNTYwMDAwMA"),
            (Some("zoë / 50 %"), "usr_1.em_DqyAvIDUwICU"),
            (Some(""), "usr_1."),
        ] {
            let cursor = Cursor { id: "usr_1".to_owned(), value: value.map(str::to_owned) };
            assert_eq!(cursor.to_string(), text);
            assert_eq!(Cursor::parse(text), Some(cursor));
        }
        let of_model = Cursor { id: "acme/m-2.5".to_owned(), value: Some("1".to_owned()) };
        assert_eq!(Cursor::parse("acme/m-2.5.MQ"), Some(of_model), "ids of models have dots");
        for bad in ["usr_1.%", "usr_1.AA", "usr_1._w", "usr_1.MQ=="] {
            assert_eq!(Cursor::parse(bad), None, "{bad}");
        }
        assert_eq!(SortExpression::Number("k.created_at").parse("-5"), Some(SortValue::Number(-5)));
        assert_eq!(SortExpression::Number("k.created_at").parse("x"), None);
    }

    #[test]
    fn wildcards_in_a_search_are_letters() {
        assert_eq!(pattern(""), "%");
        assert_eq!(pattern("Ab"), "%ab%");
        assert_eq!(pattern("5%_\\"), "%5\\%\\_\\\\%");
    }
}
