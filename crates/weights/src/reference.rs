//! References to files of a hub.

use std::fmt;

pub const HUB_PREFIX: &str = "hf://";
const DEFAULT_REVISION: &str = "main";
/// The length of a commit in hexadecimal.
const COMMIT_LEN: usize = 40;

/// `hf://owner/name[@revision][/file]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubReference {
    /// `owner/name`.
    pub repository: String,
    pub revision: String,
    /// `None` for the model of the repository.
    pub file: Option<String>,
}

impl HubReference {
    /// Reads a reference; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let source = text.strip_prefix(HUB_PREFIX).filter(|source| is_hub_source(source))?;
        let mut parts = source.splitn(3, '/');
        let (owner, name, file) = (parts.next()?, parts.next()?, parts.next());
        let (name, revision) = name.split_once('@').unwrap_or((name, DEFAULT_REVISION));
        let is_valid = !owner.contains('@') && !name.is_empty() && !revision.is_empty() && !revision.contains('@');
        let (repository, revision, file) = (format!("{owner}/{name}"), revision.to_owned(), file.map(str::to_owned));
        is_valid.then_some(Self { repository, revision, file })
    }
}

impl fmt::Display for HubReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{HUB_PREFIX}{}", self.repository)?;
        if self.revision != DEFAULT_REVISION {
            write!(formatter, "@{}", self.revision)?;
        }
        self.file.as_ref().map_or(Ok(()), |file| write!(formatter, "/{file}"))
    }
}

/// Whether the text after `hf://` is safe in a command and in a path: such as `owner/model` or `owner/model@v1/file.gguf`,
/// without white space and quotes, and no part can be an option or `..`.
pub fn is_hub_source(source: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_part = |part: &str| {
        part.bytes().next().is_some_and(is_first) && part.bytes().all(|byte| is_first(byte) || b"-.@".contains(&byte))
    };
    source.contains('/') && source.split('/').all(is_part)
}

/// Whether a model with these weights may run the files of a download. It may name a branch or a tag, whose commit can be
/// that of the download, or the repository as a whole.
pub fn may_use(weights: &str, downloaded: &str) -> bool {
    let overlap = |(used, own): (HubReference, HubReference)| {
        let is_same_revision = used.revision == own.revision || !is_commit(&used.revision);
        used.repository == own.repository && is_same_revision && (used.file.is_none() || used.file == own.file)
    };
    weights == downloaded || HubReference::parse(weights).zip(HubReference::parse(downloaded)).is_some_and(overlap)
}

fn is_commit(revision: &str) -> bool {
    revision.len() == COMMIT_LEN && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The text for `weights` of an engine: it names the commit, so that every node runs the same files.
pub fn pinned(repository: &str, commit: &str, file: Option<&str>) -> String {
    match file {
        Some(file) => format!("{HUB_PREFIX}{repository}@{commit}/{file}"),
        None => format!("{HUB_PREFIX}{repository}@{commit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_name_a_repository_a_revision_and_a_file() {
        for (text, repository, revision, file) in [
            ("hf://acme/tiny", "acme/tiny", "main", None),
            ("hf://acme/tiny@v1.0/sub/t.gguf", "acme/tiny", "v1.0", Some("sub/t.gguf")),
        ] {
            let reference = HubReference::parse(text).unwrap();
            assert_eq!((reference.repository.as_str(), reference.revision.as_str()), (repository, revision));
            assert_eq!((reference.file.as_deref(), reference.to_string().as_str()), (file, text));
        }
        for bad in [
            "hf://",
            "hf://acme",
            "hf://acme/",
            "hf://acme/x/",
            "hf://../x/y.gguf",
            "hf://a/b/../c.gguf",
            "hf://a/b@/c",
            "hf://a/b c",
            "hf://a/b/-x",
            "acme/tiny",
        ] {
            assert_eq!(HubReference::parse(bad), None, "{bad}");
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
