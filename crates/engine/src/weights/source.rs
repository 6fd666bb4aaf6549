//! Source of weights: a path, or a reference to the Hugging Face hub.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

const HUB: &str = "hf://";
const DEFAULT_REVISION: &str = "main";

/// Location of the weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Path(PathBuf),
    Hub(HubReference),
}

/// `hf://owner/name[@revision][/file]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HubReference {
    /// `owner/name`.
    pub repository: String,
    pub revision: String,
    /// `None` selects the model of the repository automatically.
    pub file: Option<String>,
}

impl Source {
    /// Default model name: that of the file, folder or repository.
    pub(crate) fn short_name(&self) -> String {
        let path = match self {
            Self::Path(path) => path.clone(),
            Self::Hub(HubReference { repository, file, .. }) => file.as_ref().unwrap_or(repository).into(),
        };
        path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix(HUB) {
            None => Ok(Self::Path(text.into())),
            Some(rest) => reference(rest).map(Self::Hub).ok_or_else(|| {
                "a hub reference has the form hf://owner/name, hf://owner/name/file.gguf or hf://owner/name@revision/…"
                    .to_owned()
            }),
        }
    }
}

fn reference(rest: &str) -> Option<HubReference> {
    let mut parts = rest.splitn(3, '/');
    let (owner, name, file) = (parts.next()?, parts.next()?, parts.next());
    let (name, revision) = name.split_once('@').unwrap_or((name, DEFAULT_REVISION));
    // Prevents path traversal.
    let is_safe = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\\');
    let valid =
        [owner, name, revision].into_iter().all(is_safe) && file.is_none_or(|file| file.split('/').all(is_safe));
    let (repository, revision, file) = (format!("{owner}/{name}"), revision.to_owned(), file.map(str::to_owned));
    valid.then_some(HubReference { repository, revision, file })
}

impl fmt::Display for HubReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{HUB}{}", self.repository)?;
        if self.revision != DEFAULT_REVISION {
            write!(formatter, "@{}", self.revision)?;
        }
        self.file.as_ref().map_or(Ok(()), |file| write!(formatter, "/{file}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn references_are_distinguished_from_paths() {
        for (text, repository, revision, file, name) in [
            ("hf://acme/tiny-GGUF/tiny.Q4_K_M.gguf", "acme/tiny-GGUF", "main", Some("tiny.Q4_K_M.gguf"), "tiny.Q4_K_M"),
            ("hf://acme/tiny@v1.0/sub/t.gguf", "acme/tiny", "v1.0", Some("sub/t.gguf"), "t"),
            ("hf://acme/embed", "acme/embed", "main", None, "embed"),
        ] {
            let source: Source = text.parse().unwrap();
            assert_eq!(source.short_name(), name);
            let Source::Hub(reference) = source else { panic!("{text} was parsed as a path") };
            assert_eq!((reference.repository.as_str(), reference.revision.as_str()), (repository, revision));
            assert_eq!((reference.file.as_deref(), reference.to_string().as_str()), (file, text));
        }
        assert_eq!("models/a.gguf".parse(), Ok(Source::Path("models/a.gguf".into())));
    }

    #[test]
    fn invalid_references_are_rejected() {
        for text in [
            "hf://",
            "hf://acme",
            "hf://acme/",
            "hf://acme/x/",
            "hf://../x/y.gguf",
            "hf://a/b/../c.gguf",
            "hf://a/b@/c",
        ] {
            assert!(text.parse::<Source>().is_err(), "{text}");
        }
    }
}
