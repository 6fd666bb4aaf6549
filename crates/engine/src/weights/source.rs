//! Source of weights: a path, or a reference to the Hugging Face hub.

use std::path::PathBuf;
use std::str::FromStr;
use weights::{HUB_PREFIX, HubReference};

/// Location of the weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Path(PathBuf),
    Hub(HubReference),
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
        if !text.starts_with(HUB_PREFIX) {
            return Ok(Self::Path(text.into()));
        }
        HubReference::parse(text).map(Self::Hub).ok_or_else(|| {
            "a hub reference has the form hf://owner/name, hf://owner/name/file.gguf or hf://owner/name@revision/…"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn references_are_distinguished_from_paths_and_name_the_model() {
        for (text, name) in [
            ("hf://acme/tiny-GGUF/tiny.Q4_K_M.gguf", "tiny.Q4_K_M"),
            ("hf://acme/tiny@v1.0/sub/t.gguf", "t"),
            ("hf://acme/embed", "embed"),
        ] {
            let source: Source = text.parse().unwrap();
            assert!(matches!(source, Source::Hub(_)), "{text} was parsed as a path");
            assert_eq!(source.short_name(), name);
        }
        assert_eq!("models/a.gguf".parse(), Ok(Source::Path("models/a.gguf".into())));
        assert!("hf://acme".parse::<Source>().is_err());
    }
}
