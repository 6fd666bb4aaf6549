//! `[weights]`: models that run on this machine, and the hub that they are downloaded from.

use super::reader::Section;
use super::sections::http_url;
use fleet::weights::WeightsConfig;
use std::ops::RangeInclusive;
use weights::{DEFAULT_HUB, HUB_VARIABLE, TOKEN_VARIABLE};

/// Prefix of weights that the engine downloads from the Hugging Face hub; anything else is a path.
pub(super) const HUB_REFERENCE: &str = "hf://";
const DOWNLOAD_RANGE: RangeInclusive<u64> = (1 << 20)..=(1 << 50);
const DEFAULT_MAX_DOWNLOAD: u64 = 256 << 30;

pub(super) fn read(section: &Section<'_>) -> WeightsConfig {
    let models_dir = section.parsed("models_dir", "a path", |text| (!text.is_empty()).then_some(text));
    let named = section.reader.variable(HUB_VARIABLE);
    let hub = named.as_deref().and_then(http_url);
    if named.is_some() && hub.is_none() {
        let what = "is not an http:// or https:// URL with a host and without credentials or query";
        section.reader.report(None, format!("{HUB_VARIABLE}: {what}"));
    }
    let hub_token = section.reader.variable(TOKEN_VARIABLE);
    if hub_token.as_deref().is_some_and(|token| http::HeaderValue::from_str(token).is_err()) {
        let what = "contains characters that are invalid in an HTTP header";
        section.reader.report(None, format!("{TOKEN_VARIABLE}: {what}"));
    }
    WeightsConfig {
        models_dir: models_dir.map(|text| section.reader.path(text)),
        max_download: section.size("max_download", DOWNLOAD_RANGE).unwrap_or(DEFAULT_MAX_DOWNLOAD),
        hub: hub.unwrap_or_else(|| DEFAULT_HUB.to_owned()),
        hub_token,
        https_proxy: variable(section, "HTTPS_PROXY"),
        no_proxy: variable(section, "NO_PROXY"),
    }
}

/// A variable that other programs read in lower case, too.
fn variable(section: &Section<'_>, name: &str) -> Option<String> {
    section.reader.variable(name).or_else(|| section.reader.variable(&name.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use crate::Config;
    use std::path::{Path, PathBuf};

    fn parse(text: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Config::parse(text, Path::new("/etc/forebay"), &find).map_err(|problems| problems.to_string())
    }

    #[test]
    fn the_hub_is_named_by_the_variables_of_its_tools() {
        let default = parse("", &[]).unwrap().weights;
        assert_eq!(
            (default.hub.as_str(), default.hub_token, default.models_dir),
            ("https://huggingface.co", None, None)
        );
        let set = parse(
            "[weights]\nmodels_dir = \"models\"\nmax_download = \"2GiB\"\n",
            &[("HF_ENDPOINT", "http://mirror:8080/"), ("HF_TOKEN", "hf_secret")],
        );
        let weights = set.unwrap().weights;
        assert_eq!((weights.hub.as_str(), weights.max_download), ("http://mirror:8080", 2 << 30));
        assert_eq!(weights.models_dir, Some(PathBuf::from("/etc/forebay/models")));
        assert!(weights.hub_token.is_some() && !format!("{weights:?}").contains("hf_secret"));
        let proxied = parse("", &[("https_proxy", "http://user:secret@proxy:3128"), ("NO_PROXY", "mirror")]).unwrap();
        assert_eq!(proxied.weights.no_proxy.as_deref(), Some("mirror"));
        assert!(proxied.weights.https_proxy.is_some() && !format!("{:?}", proxied.weights).contains("secret"));
        for (name, value) in [("HF_ENDPOINT", "mirror"), ("HF_TOKEN", "a\nb")] {
            assert!(parse("", &[(name, value)]).unwrap_err().contains(name), "{name}");
        }
    }
}
