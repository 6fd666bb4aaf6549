//! The platform as its operator sees it: nodes, GPU allotments, and the audit log.

pub(super) mod allotments;
pub(super) mod audit;
pub(super) mod nodes;
