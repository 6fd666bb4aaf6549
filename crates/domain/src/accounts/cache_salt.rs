//! Salts that keep the prefix caches of workspaces apart.
//!
//! Engines that serve several workspaces add the salt to what they cache of a prompt. Without it, a tenant could test
//! guesses of another's prompt by `cached_tokens` and by the time to the first token.

use crate::ids::WorkspaceId;
use crate::mac::hmac_hex;
use std::fmt;
use std::sync::Arc;

/// The secret that salts are derived from, the same on all nodes of an installation.
#[derive(Clone)]
pub struct SaltSecret(Arc<str>);

impl SaltSecret {
    pub fn new(secret: &str) -> Self {
        Self(secret.into())
    }

    /// The salt of a workspace: an HMAC of its id, so that it cannot be guessed from the id.
    pub fn salt(&self, workspace: &WorkspaceId) -> CacheSalt {
        CacheSalt(hmac_hex(&self.0, workspace.as_str()).into())
    }
}

impl fmt::Debug for SaltSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SaltSecret")
    }
}

/// The salt of one workspace. All have the same length, so no text that a client appends to its own salt makes it that
/// of another workspace.
#[derive(Clone, PartialEq, Eq)]
pub struct CacheSalt(Box<str>);

impl CacheSalt {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for CacheSalt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CacheSalt")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    #[test]
    fn every_workspace_and_every_installation_has_its_own_salt() {
        let workspace = |number| WorkspaceId::new(Timestamp::from_millis(1_000), number);
        let salt = |secret: &str, number| SaltSecret::new(secret).salt(&workspace(number));
        assert_eq!(salt("a", 1), salt("a", 1), "nodes agree");
        assert_ne!(salt("a", 1), salt("a", 2));
        assert_ne!(salt("a", 1), salt("b", 1));
        assert_eq!(salt("a", 1).as_str().len(), crate::mac::HEX_LEN);
        assert!(salt("a", 1).as_str().bytes().all(|byte| byte.is_ascii_hexdigit()), "needs no escaping");
    }
}
