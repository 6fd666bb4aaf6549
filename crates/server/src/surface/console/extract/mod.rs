//! Extractors of the console's handlers: caller and role, ids in the path, query, body, page of a list.

pub(super) mod bounds;
mod caller;
mod list;
mod path;
mod payload;
pub(super) mod query;
mod unique_members;

pub(super) use caller::{
    Admin, Caller, Member, Operator, RequestContext, SessionOwner, Visitor, WorkspaceAdmin, WorkspaceCaller,
};
pub(super) use list::{List, PageRequest, Params, Search, WholeOrPage, invalid_cursor, order};
pub(super) use path::{Id, NodeId, PathParam};
pub(super) use payload::Payload;
