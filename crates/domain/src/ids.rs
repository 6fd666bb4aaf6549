//! Prefixed, sortable identifiers: `org_…`, `ws_…`, `usr_…`, `key_…`, `req_…`, `ep_…` and so on.
//!
//! The part after the prefix is a lower-case ULID: 48 bits of milliseconds, then 80 random bits, so identifiers sort by
//! creation time.

use crate::shown_as_text;
use crate::time::Timestamp;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ULID_LEN: usize = 26;

/// The 26 characters of a ULID. Only the low 80 bits of `entropy` are used.
fn ulid(at: Timestamp, entropy: u128) -> [u8; ULID_LEN] {
    let millis = u128::from(at.millis().max(0).unsigned_abs());
    let mut bits = (millis << 80) | (entropy & ((1 << 80) - 1));
    let mut text = [0; ULID_LEN];
    for slot in text.iter_mut().rev() {
        *slot = ALPHABET[(bits & 31) as usize];
        bits >>= 5;
    }
    text
}

/// The creation time, from the first ten characters of a ULID.
fn millis_of(ulid: &str) -> Timestamp {
    let digit = |byte: u8| ALPHABET.iter().position(|letter| *letter == byte).unwrap_or(0);
    let millis = ulid.bytes().take(10).fold(0_i64, |millis, byte| (millis << 5) | (digit(byte) as i64));
    Timestamp::from_millis(millis)
}

/// A text is not an identifier of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id of the form {prefix}…")]
pub struct IdError {
    pub text: String,
    pub prefix: &'static str,
}

fn is_ulid(text: &[u8; ULID_LEN]) -> bool {
    text.iter().all(|byte| ALPHABET.contains(byte))
}

/// Identifiers are stored inline rather than on the heap: every call creates one and copies those of its caller.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; $prefix.len() + ULID_LEN]);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            pub fn new(at: Timestamp, entropy: u128) -> Self {
                Self::with_tail(&ulid(at, entropy))
            }

            pub fn parse(text: &str) -> Result<Self, IdError> {
                let tail = text.strip_prefix($prefix).and_then(|tail| tail.as_bytes().try_into().ok());
                match tail {
                    Some(tail) if is_ulid(tail) => Ok(Self::with_tail(tail)),
                    _ => Err(IdError { text: text.chars().take(64).collect(), prefix: $prefix }),
                }
            }

            fn with_tail(tail: &[u8; ULID_LEN]) -> Self {
                let mut text = [0; $prefix.len() + ULID_LEN];
                let (start, rest) = text.split_at_mut($prefix.len());
                start.copy_from_slice($prefix.as_bytes());
                rest.copy_from_slice(tail);
                Self(text)
            }

            pub fn as_str(&self) -> &str {
                std::str::from_utf8(&self.0).expect("letters and digits")
            }

            /// The same as bytes, without the UTF-8 check.
            pub fn as_bytes(&self) -> &[u8] {
                &self.0
            }

            /// Its creation time.
            pub fn made_at(&self) -> Timestamp {
                millis_of(&self.as_str()[$prefix.len()..])
            }
        }

        shown_as_text!($name);

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

id!(
    /// Holds GPU allotments and workspaces.
    OrganizationId,
    "org_"
);
id!(
    /// The unit of keys, limits, quota and billing.
    WorkspaceId,
    "ws_"
);
id!(UserId, "usr_");
id!(KeyId, "key_");
id!(
    /// One signed-in browser.
    SessionId,
    "ses_"
);
id!(InvitationId, "inv_");
id!(
    /// One call, as named in `x-request-id`.
    RequestId,
    "req_"
);
id!(
    /// One run of a node, from start to end.
    RunId,
    "run_"
);
id!(
    /// A dedicated endpoint.
    EndpointId,
    "ep_"
);
id!(
    /// One instance of an endpoint's engine, from its creation to its end.
    ReplicaId,
    "rep_"
);
id!(
    /// A download of weights.
    DownloadId,
    "dl_"
);
id!(
    /// An event in the life of an endpoint.
    EventId,
    "evt_"
);

id!(
    /// A file of a workspace.
    FileId,
    "file-"
);
id!(BatchId, "batch_");

impl BatchId {
    const MESSAGES_PREFIX: &'static str = "msgbatch_";

    /// The id as clients of Anthropic's API see it.
    pub fn as_messages_id(&self) -> String {
        format!("{}{}", Self::MESSAGES_PREFIX, self.tail())
    }

    pub fn parse_messages_id(text: &str) -> Option<Self> {
        let tail = text.strip_prefix(Self::MESSAGES_PREFIX)?;
        Self::parse(&format!("{}{tail}", Self::PREFIX)).ok()
    }

    fn tail(&self) -> &str {
        &self.as_str()[Self::PREFIX.len()..]
    }

    /// The id of the call of a line, the same whenever the line runs.
    pub fn request_of(&self, line: u64) -> RequestId {
        // The random part of the batch, with the number of the line mixed in: two lines of a batch always differ.
        let random = self.tail().bytes().skip(10).fold(0_u128, |bits, byte| {
            let digit = ALPHABET.iter().position(|letter| *letter == byte).unwrap_or(0);
            (bits << 5) | digit as u128
        });
        RequestId::new(self.made_at(), random.wrapping_add(u128::from(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_parse_back() {
        let early = WorkspaceId::new(Timestamp::from_millis(1_000), u128::MAX);
        let late = WorkspaceId::new(Timestamp::from_millis(1_001), 0);
        assert!(early < late);
        assert_eq!((early.made_at().millis(), late.made_at().millis()), (1_000, 1_001));
        assert_eq!(WorkspaceId::parse(early.as_str()).as_ref(), Ok(&early));
        assert_eq!(early.as_str().len(), "ws_".len() + ULID_LEN);
    }

    #[test]
    fn the_calls_of_a_batch_have_ids_of_their_own_which_stay_the_same() {
        let [one, other] = [7, 1 << 40].map(|entropy| BatchId::new(Timestamp::from_millis(5_000), entropy));
        let mut all: Vec<_> = (1..=1_000).flat_map(|line| [one.request_of(line), other.request_of(line)]).collect();
        assert!(all.iter().all(|id| id.made_at().millis() == 5_000));
        assert_eq!(one.request_of(17), all[32]);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 2_000);
    }

    #[test]
    fn a_batch_has_a_name_in_both_apis() {
        let id = BatchId::new(Timestamp::from_millis(5), 7);
        assert_eq!(BatchId::parse_messages_id(&id.as_messages_id()), Some(id.clone()));
        assert!(BatchId::parse_messages_id(id.as_str()).is_none() && BatchId::parse(&id.as_messages_id()).is_err());
    }

    #[test]
    fn ids_of_another_kind_are_rejected() {
        let key = KeyId::new(Timestamp::from_millis(5), 7);
        assert!(WorkspaceId::parse(key.as_str()).is_err());
        assert!(KeyId::parse("key_").is_err());
        assert!(KeyId::parse("key_0000000000000000000000000u").is_err());
    }
}
