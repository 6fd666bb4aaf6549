//! Where the next page of a list begins: opaque to clients, and good only where it was handed out.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use control::endpoints::EndpointError;
use domain::endpoint::{FieldError, FieldErrorCode};
use domain::{Timestamp, WorkspaceId};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use store::Store;

const SECRET: &str = "endpoint cursors";
const KEY_LEN: usize = 32;
const MAC_LEN: usize = 16;
/// The longest cursor of ours is far shorter.
const MAX_LEN: usize = 256;

/// Which list a cursor is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    Endpoints,
    Events,
}

impl Of {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Endpoints => "endpoints",
            Self::Events => "events",
        }
    }
}

/// What cursors are sealed with: the same on every node, so that a page may come from another one.
#[derive(Clone)]
pub(crate) struct CursorKey([u8; KEY_LEN]);

impl CursorKey {
    pub(crate) async fn load(store: &Store) -> anyhow::Result<Self> {
        let mut fresh = [0; KEY_LEN];
        getrandom::fill(&mut fresh).map_err(|error| anyhow::anyhow!("no randomness from the system: {error}"))?;
        let shared = store::secrets::share(store, SECRET, &URL_SAFE_NO_PAD.encode(fresh)).await?;
        let bytes = URL_SAFE_NO_PAD.decode(shared)?;
        Ok(Self(bytes.try_into().map_err(|_| anyhow::anyhow!("the secret of cursors has another length"))?))
    }

    /// The last one of this page, sealed.
    pub(crate) fn seal(
        &self,
        of: Of,
        workspace: &WorkspaceId,
        at: Timestamp,
        id: &str,
    ) -> Result<String, EndpointError> {
        let place = format!("{}.{id}", at.millis());
        let mac = self.mac(of, workspace, &place).ok_or_else(|| EndpointError::Internal { cause: "no MAC".into() })?;
        let mac = mac.finalize().into_bytes();
        Ok(URL_SAFE_NO_PAD.encode([&mac[..MAC_LEN], place.as_bytes()].concat()))
    }

    pub(crate) fn open(&self, of: Of, workspace: &WorkspaceId, text: &str) -> Result<(Timestamp, String), FieldError> {
        let bad = || FieldError::new("cursor", FieldErrorCode::InvalidCursor, "is not a cursor of this list");
        self.opened(of, workspace, text).ok_or_else(bad)
    }

    fn opened(&self, of: Of, workspace: &WorkspaceId, text: &str) -> Option<(Timestamp, String)> {
        let bytes = (text.len() <= MAX_LEN).then(|| URL_SAFE_NO_PAD.decode(text).ok())??;
        let (mac, place) = bytes.split_at_checked(MAC_LEN)?;
        let place = std::str::from_utf8(place).ok()?;
        self.mac(of, workspace, place)?.verify_truncated_left(mac).ok()?;
        let (millis, id) = place.split_once('.')?;
        Some((Timestamp::from_millis(millis.parse().ok()?), id.to_owned()))
    }

    fn mac(&self, of: Of, workspace: &WorkspaceId, place: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        for part in [of.as_str(), workspace.as_str(), place] {
            mac.update(part.as_bytes());
            mac.update(b"\0");
        }
        Some(mac)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_good_for_its_list_and_workspace_alone() {
        let now = Timestamp::from_millis(1_700_000_000_000);
        let (one, other) = (WorkspaceId::new(now, 1), WorkspaceId::new(now, 2));
        let key = CursorKey([7; KEY_LEN]);
        let cursor = key.seal(Of::Endpoints, &one, now, "ep_1").unwrap();
        assert_eq!(key.open(Of::Endpoints, &one, &cursor).unwrap(), (now, "ep_1".to_owned()));
        assert!(key.open(Of::Events, &one, &cursor).is_err());
        assert!(key.open(Of::Endpoints, &other, &cursor).is_err());
        assert!(CursorKey([8; KEY_LEN]).open(Of::Endpoints, &one, &cursor).is_err());
        for bad in ["", "x", "AAAA", &cursor[1..], &format!("{cursor}A"), &"A".repeat(300)] {
            assert_eq!(key.open(Of::Endpoints, &one, bad).unwrap_err().code, FieldErrorCode::InvalidCursor, "{bad}");
        }
    }
}
