//! Results and their table.

pub(crate) mod figures;
pub(crate) mod table;
