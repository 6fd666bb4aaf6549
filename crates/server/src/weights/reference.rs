//! Where weights come from, as operators write it.

use crate::config::is_hub_source;
use std::path::PathBuf;

const HUB: &str = "hf://";
const DEFAULT_REVISION: &str = "main";
const MAX_LEN: usize = 500;
/// Of a commit in hexadecimal.
const COMMIT_LEN: usize = 40;

/// The source of weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reference {
    Hub(HubReference),
    /// An absolute path.
    Path(PathBuf),
}

/// `hf://owner/name[@revision][/file]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HubReference {
    /// `owner/name`.
    pub repository: String,
    pub revision: String,
    pub file: Option<String>,
}

impl Reference {
    /// Reads a reference, an absolute path, or the address of a page of the hub.
    pub(crate) fn parse(text: &str, hub: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.len() > MAX_LEN {
            return Err("has more than 500 characters");
        }
        if text.starts_with('/') {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        let page = text.strip_prefix(hub).and_then(|rest| rest.strip_prefix('/')).and_then(from_page);
        let source = page.or_else(|| text.strip_prefix(HUB).map(str::to_owned));
        let reference = source.as_deref().and_then(HubReference::parse).map(Self::Hub);
        reference
            .ok_or("is neither a reference such as hf://owner/name or hf://owner/name/file.gguf nor an absolute path")
    }
}

/// `owner/name/blob/main/file.gguf` of an address is `owner/name@main/file.gguf` of a reference.
fn from_page(rest: &str) -> Option<String> {
    let rest = rest.split(['?', '#']).next()?.trim_end_matches('/');
    let parts: Vec<&str> = rest.split('/').collect();
    match parts[..] {
        [owner, name] => Some(format!("{owner}/{name}")),
        [owner, name, "tree", revision] => Some(format!("{owner}/{name}@{revision}")),
        [owner, name, "blob" | "resolve", revision, ref file @ ..] if !file.is_empty() => {
            Some(format!("{owner}/{name}@{revision}/{}", file.join("/")))
        }
        _ => None,
    }
}

impl HubReference {
    fn parse(source: &str) -> Option<Self> {
        if !is_hub_source(source) {
            return None;
        }
        let mut parts = source.splitn(3, '/');
        let (owner, name, file) = (parts.next()?, parts.next()?, parts.next());
        let (name, revision) = name.split_once('@').unwrap_or((name, DEFAULT_REVISION));
        let is_valid = !owner.contains('@') && !name.is_empty() && !revision.is_empty() && !revision.contains('@');
        let (repository, revision, file) = (format!("{owner}/{name}"), revision.to_owned(), file.map(str::to_owned));
        is_valid.then_some(Self { repository, revision, file })
    }
}

/// Whether a model with these weights may run the files of a download. It may name a branch or a tag, whose commit can be
/// that of the download, or the repository as a whole.
pub(crate) fn may_use(weights: &str, downloaded: &str) -> bool {
    let read = |text: &str| text.strip_prefix(HUB).and_then(HubReference::parse);
    let overlap = |(used, own): (HubReference, HubReference)| {
        let is_same_revision = used.revision == own.revision || !is_commit(&used.revision);
        used.repository == own.repository && is_same_revision && (used.file.is_none() || used.file == own.file)
    };
    weights == downloaded || read(weights).zip(read(downloaded)).is_some_and(overlap)
}

fn is_commit(revision: &str) -> bool {
    revision.len() == COMMIT_LEN && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The text for `weights` of an engine: it names the commit, so that every node runs the same files.
pub(crate) fn pinned(repository: &str, commit: &str, file: Option<&str>) -> String {
    match file {
        Some(file) => format!("{HUB}{repository}@{commit}/{file}"),
        None => format!("{HUB}{repository}@{commit}"),
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
        assert_eq!(pinned("acme/tiny", "abc", Some("t.gguf")), "hf://acme/tiny@abc/t.gguf");
        assert_eq!(pinned("acme/tiny", "abc", None), "hf://acme/tiny@abc");
    }

    #[test]
    fn a_model_may_use_a_download_by_another_name() {
        let (commit, other) = ("a".repeat(40), "b".repeat(40));
        let own = format!("hf://acme/tiny@{commit}/t.gguf");
        for used in [own.as_str(), "hf://acme/tiny/t.gguf", "hf://acme/tiny@v1/t.gguf", "hf://acme/tiny"] {
            assert!(may_use(used, &own), "{used}");
        }
        let another_commit = format!("hf://acme/tiny@{other}/t.gguf");
        for unrelated in [another_commit.as_str(), "hf://acme/tiny/u.gguf", "hf://acme/big/t.gguf", "/srv/t.gguf"] {
            assert!(!may_use(unrelated, &own), "{unrelated}");
        }
    }
}
