//! Finds out which person behind a trusted key makes a call.

use bytes::Bytes;
use dataplane::CallError;
use dataplane::request::EndUserMembers;
use domain::end_user::{EndUser, EndUserSecret};
use domain::{Caller, EndUserId};
use edge::Headers;
use edge::memory_budget::MemoryGrant;
use edge::request_body::{BodyBounds, WholeBody};
use std::ops::Range;
use std::sync::Arc;

/// How end users are named, on all surfaces.
pub(crate) struct EndUserNames {
    pub(crate) secret: EndUserSecret,
    /// In lower case; the first one of a request that is not empty counts.
    pub(crate) headers: Vec<String>,
    /// Whether engines get the members that name them.
    pub(crate) are_sent: bool,
}

/// The end user of a call, and the members of its body that engines do not get.
#[derive(Default)]
pub(in crate::surface) struct NamedEndUser {
    pub(in crate::surface) end_user: Option<Arc<EndUser>>,
    pub(in crate::surface) hidden: Vec<Range<usize>>,
}

impl EndUserNames {
    /// The end user that the body or else a header names. To be called for keys that are trusted with it.
    pub(in crate::surface) async fn find(
        &self,
        caller: &Caller,
        headers: &Headers,
        whole: &WholeBody,
        bounds: &BodyBounds,
    ) -> Result<NamedEndUser, CallError> {
        let members = members(whole.bytes.clone(), &whole.memory, whole.is_large(), bounds).await;
        let named = |header: &String| headers.text(header).map(str::trim).filter(|name| !name.is_empty());
        let name = members.name()?.or_else(|| self.headers.iter().find_map(named));
        let end_user = name.and_then(|name| self.end_user(caller, name)).map(Arc::new);
        Ok(NamedEndUser { end_user, hidden: if self.are_sent { Vec::new() } else { members.values } })
    }

    fn end_user(&self, caller: &Caller, name: &str) -> Option<EndUser> {
        let id: EndUserId = self.secret.id(&caller.workspace, name)?;
        let keeps_text = caller.end_users.as_ref().is_some_and(|policy| policy.settings.keep_text);
        Some(EndUser { id, text: keeps_text.then(|| EndUser::text_of(name)) })
    }
}

async fn members(bytes: Bytes, memory: &MemoryGrant, is_large: bool, bounds: &BodyBounds) -> EndUserMembers {
    if is_large { bounds.parse(bytes, memory, EndUserMembers::find).await } else { EndUserMembers::find(bytes) }
}
