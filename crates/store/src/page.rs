//! A page of a list. Ids sort by their creation time, so the last id of a page is the cursor.

/// At most `limit` rows after the id `after` (from the start if empty).
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    after: &'a str,
    limit: u32,
}

impl<'a> Page<'a> {
    pub const MAX_LIMIT: u32 = 1_000;

    pub fn first(limit: u32) -> Self {
        Self::after("", limit)
    }

    pub fn after(id: &'a str, limit: u32) -> Self {
        Self { after: id, limit: limit.clamp(1, Self::MAX_LIMIT) }
    }

    pub(crate) const fn cursor(&self) -> &'a str {
        self.after
    }

    pub(crate) fn limit(&self) -> i64 {
        i64::from(self.limit)
    }
}

/// The largest page.
impl Default for Page<'_> {
    fn default() -> Self {
        Self::first(Self::MAX_LIMIT)
    }
}
