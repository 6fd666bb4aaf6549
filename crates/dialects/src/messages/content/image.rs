//! Turns an image block into an address that chat accepts.

use super::block::Block;
use crate::values::required;
use json::{Checks, ParseError, Path, RawStr, Reader, ValueKind};

/// An image as chat has it.
pub(super) struct Image {
    /// The address, or the image itself as a `data:` URL, escaped.
    pub(super) raw_url: Vec<u8>,
}

#[derive(Default)]
struct ImageSource<'a> {
    kind: Option<RawStr<'a>>,
    media_type: Option<RawStr<'a>>,
    data: Option<RawStr<'a>>,
    url: Option<RawStr<'a>>,
}

impl Image {
    pub(super) fn read(block: &Block<'_>, path: &Path<'_>, checks: &mut Checks) -> Result<Option<Self>, ParseError> {
        let path = Path::Member(path, "source");
        let Some(json) = block.source else {
            checks.missing(&path);
            return Ok(None);
        };
        let mut reader = Reader::new(json);
        if !checks.is(&mut reader, &path, ValueKind::Object)? {
            return Ok(None);
        }
        let mut source = ImageSource::default();
        reader.object(|reader, name, _| {
            match &*name.decoded() {
                b"type" => source.kind = checks.text(reader, &Path::Member(&path, "type"))?,
                b"media_type" => source.media_type = checks.text(reader, &Path::Member(&path, "media_type"))?,
                b"data" => source.data = checks.text(reader, &Path::Member(&path, "data"))?,
                b"url" => source.url = checks.text(reader, &Path::Member(&path, "url"))?,
                _ => reader.skip()?,
            }
            Ok::<(), ParseError>(())
        })?;
        let Some(kind) = source.kind else {
            checks.missing(&Path::Member(&path, "type"));
            return Ok(None);
        };
        let kind = checks.word(kind, &Path::Member(&path, "type"), &["base64", "url"]);
        if kind == Some("url") {
            let url = required(source.url, "url", &path, checks);
            if url.is_some_and(|url| !url.starts_with(b"data:")) {
                checks.remote_media(&Path::Member(&path, "url"));
            }
            return Ok(url.map(|url| Self { raw_url: url.to_vec() }));
        }
        if kind.is_none() {
            return Ok(None);
        }
        let media_type = required(source.media_type, "media_type", &path, checks);
        let data = required(source.data, "data", &path, checks);
        let (Some(media_type), Some(data)) = (media_type, data) else { return Ok(None) };
        Ok(Some(Self { raw_url: [b"data:", media_type, b";base64,", data].concat() }))
    }
}
