//! Where weights come from, as operators write it.

use std::path::PathBuf;
use weights::{HUB_PREFIX, HubReference};

const MAX_LEN: usize = 500;

/// The source of weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reference {
    Hub(HubReference),
    /// An absolute path.
    Path(PathBuf),
}

impl Reference {
    /// Reads a reference, an absolute path, or the address of a page of the hub.
    pub(super) fn parse(text: &str, hub: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.len() > MAX_LEN {
            return Err("has more than 500 characters");
        }
        if text.starts_with('/') {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        let page = text.strip_prefix(hub).and_then(|rest| rest.strip_prefix('/')).and_then(from_page);
        let reference = HubReference::parse(page.as_deref().unwrap_or(text)).map(Self::Hub);
        reference
            .ok_or("is neither a reference such as hf://owner/name or hf://owner/name/file.gguf nor an absolute path")
    }
}

/// `owner/name/blob/main/file.gguf` of an address is `owner/name@main/file.gguf` of a reference.
fn from_page(rest: &str) -> Option<String> {
    let rest = rest.split(['?', '#']).next()?.trim_end_matches('/');
    let parts: Vec<&str> = rest.split('/').collect();
    match parts[..] {
        [owner, name] => Some(format!("{HUB_PREFIX}{owner}/{name}")),
        [owner, name, "tree", revision] => Some(format!("{HUB_PREFIX}{owner}/{name}@{revision}")),
        [owner, name, "blob" | "resolve", revision, ref file @ ..] if !file.is_empty() => {
            Some(format!("{HUB_PREFIX}{owner}/{name}@{revision}/{}", file.join("/")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "https://huggingface.co";

    #[test]
    fn references_and_pages_of_the_hub_name_the_same() {
        let hub = |repository: &str, revision: &str, file: Option<&str>| {
            let (repository, revision) = (repository.to_owned(), revision.to_owned());
            Ok(Reference::Hub(HubReference { repository, revision, file: file.map(str::to_owned) }))
        };
        for (text, expected) in [
            ("hf://acme/tiny", hub("acme/tiny", "main", None)),
            (" hf://acme/tiny@v1/sub/t.gguf ", hub("acme/tiny", "v1", Some("sub/t.gguf"))),
            ("https://huggingface.co/acme/tiny", hub("acme/tiny", "main", None)),
            ("https://huggingface.co/acme/tiny/tree/main", hub("acme/tiny", "main", None)),
            ("https://huggingface.co/acme/tiny/blob/main/t.gguf?x=1", hub("acme/tiny", "main", Some("t.gguf"))),
            ("/srv/models/t.gguf", Ok(Reference::Path("/srv/models/t.gguf".into()))),
        ] {
            assert_eq!(Reference::parse(text, SITE), expected, "{text}");
        }
        for bad in
            ["", "acme/tiny", "hf://acme", "hf://acme/../x", "hf://a/b@/c", "hf://a/b c", "https://other/a/b", "t.gguf"]
        {
            assert!(Reference::parse(bad, SITE).is_err(), "{bad}");
        }
    }
}
