//! What the operator named as weights: a path, or something on the Hugging Face hub.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

const HUB: &str = "hf://";
const USUAL_REVISION: &str = "main";

/// Where the weights are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Path(PathBuf),
    Hub(Reference),
}

/// `hf://owner/name[@revision][/file]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// `owner/name`.
    pub repository: String,
    pub revision: String,
    /// `None`: whatever the repository has that this engine can load.
    pub file: Option<String>,
}

impl Source {
    /// A name for the model where the operator gives none: that of the file, the folder or the repository.
    pub(crate) fn short_name(&self) -> String {
        let path = match self {
            Self::Path(path) => path.clone(),
            Self::Hub(Reference { repository, file, .. }) => file.as_ref().unwrap_or(repository).into(),
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
                "a reference to the hub is hf://owner/name, hf://owner/name/file.gguf or hf://owner/name@revision/…"
                    .to_owned()
            }),
        }
    }
}

fn reference(rest: &str) -> Option<Reference> {
    let mut parts = rest.splitn(3, '/');
    let (owner, name, file) = (parts.next()?, parts.next()?, parts.next());
    let (name, revision) = name.split_once('@').unwrap_or((name, USUAL_REVISION));
    // What becomes a path must not lead out of its folder.
    let plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\\');
    let fine = [owner, name, revision].into_iter().all(plain) && file.is_none_or(|file| file.split('/').all(plain));
    let (repository, revision, file) = (format!("{owner}/{name}"), revision.to_owned(), file.map(str::to_owned));
    fine.then_some(Reference { repository, revision, file })
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{HUB}{}", self.repository)?;
        if self.revision != USUAL_REVISION {
            write!(formatter, "@{}", self.revision)?;
        }
        self.file.as_ref().map_or(Ok(()), |file| write!(formatter, "/{file}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn references_and_paths_are_told_apart() {
        for (text, repository, revision, file, name) in [
            ("hf://acme/tiny-GGUF/tiny.Q4_K_M.gguf", "acme/tiny-GGUF", "main", Some("tiny.Q4_K_M.gguf"), "tiny.Q4_K_M"),
            ("hf://acme/tiny@v1.0/sub/t.gguf", "acme/tiny", "v1.0", Some("sub/t.gguf"), "t"),
            ("hf://acme/embed", "acme/embed", "main", None, "embed"),
        ] {
            let source: Source = text.parse().unwrap();
            assert_eq!(source.short_name(), name);
            let Source::Hub(reference) = source else { panic!("{text} is no path") };
            assert_eq!((reference.repository.as_str(), reference.revision.as_str()), (repository, revision));
            assert_eq!((reference.file.as_deref(), reference.to_string().as_str()), (file, text));
        }
        assert_eq!("models/a.gguf".parse(), Ok(Source::Path("models/a.gguf".into())));
    }

    #[test]
    fn a_reference_that_leads_elsewhere_is_refused() {
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
