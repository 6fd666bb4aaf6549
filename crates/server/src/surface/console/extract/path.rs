//! Ids in paths: what is no id of the right kind names nothing.

use crate::surface::console::error::ConsoleError;
use axum::extract::{FromRequestParts, RawPathParams};
use domain::ids::IdError;
use domain::{InvitationId, KeyId, OrganizationId, SessionId, UserId, WorkspaceId};
use http::request::Parts;

/// An id that the path carries under the name of its kind.
pub(crate) struct Id<T>(pub T);

pub(crate) trait PathParam: Sized {
    const PARAM: &'static str;

    fn read(text: &str) -> Result<Self, IdError>;
}

macro_rules! in_path {
    ($($id:ident $param:literal),* $(,)?) => {$(
        impl PathParam for $id {
            const PARAM: &'static str = $param;

            fn read(text: &str) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }
    )*};
}

in_path!(
    OrganizationId "organizationId",
    WorkspaceId "workspaceId",
    UserId "userId",
    KeyId "keyId",
    SessionId "sessionId",
    InvitationId "invitationId",
);

/// A node's name is not of our making.
pub(crate) struct NodeId(pub String);

impl PathParam for NodeId {
    const PARAM: &'static str = "nodeId";

    fn read(text: &str) -> Result<Self, IdError> {
        // PostgreSQL does not even want to compare a zero byte.
        if text.contains('\0') {
            return Err(IdError { text: text.chars().take(64).collect(), prefix: "node_" });
        }
        Ok(Self(text.to_owned()))
    }
}

impl<T: PathParam, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ConsoleError> {
        let text = param(parts, state, T::PARAM).await.ok_or(ConsoleError::NotFound)?;
        Ok(Self(T::read(&text)?))
    }
}

/// What the path has in a place, if it has that place and it can be read.
pub(crate) async fn param<S: Send + Sync>(parts: &mut Parts, state: &S, name: &str) -> Option<String> {
    let params = RawPathParams::from_request_parts(parts, state).await.ok()?;
    params.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}
