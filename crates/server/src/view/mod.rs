//! Records as they leave: `/api` sends them and `forebay admin --json` prints them, in the same words.

mod allotments;
mod keys;
mod people;
mod workspaces;

pub(crate) use allotments::AllotmentView;
pub(crate) use keys::KeyView;
pub(crate) use people::{InvitationView, MemberView, OrganizationView, RoleView, SessionView, UserView};
pub(crate) use workspaces::WorkspaceView;
