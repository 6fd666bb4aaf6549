//! Results, their table, and their data file.

pub(crate) mod data;
pub(crate) mod figures;
pub(crate) mod table;
