//! The files that `make console` built. A debug build reads the folder each time; a release build embeds it.

use bytes::Bytes;
use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt::Write;

/// Bytes of the hash in an `ETag`.
const TAG_BYTES: usize = 12;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Built;

pub(super) struct File {
    pub bytes: Bytes,
    hash: [u8; 32],
}

/// Finds a file. Hidden files, such as the folder's .gitignore, are not served.
pub(super) fn find(name: &str) -> Option<File> {
    if name.split('/').any(|piece| piece.is_empty() || piece.starts_with('.')) {
        return None;
    }
    let found = Built::get(name)?;
    let bytes = match found.data {
        Cow::Borrowed(inside) => Bytes::from_static(inside),
        Cow::Owned(read) => read.into(),
    };
    Some(File { bytes, hash: found.metadata.sha256_hash() })
}

impl File {
    pub(super) fn fixed(text: &'static str) -> Self {
        Self { bytes: Bytes::from_static(text.as_bytes()), hash: Sha256::digest(text).into() }
    }

    /// The value of `ETag`.
    pub(super) fn tag(&self) -> String {
        let mut tag = String::from("\"");
        for byte in &self.hash[..TAG_BYTES] {
            let _ = write!(tag, "{byte:02x}");
        }
        tag.push('"');
        tag
    }
}
