//! `[weights]`: models that run on this machine, and the hub that they are downloaded from.

use super::reader::Section;
use super::sections::http_url;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// The variables that `forebay-engine` and the tools of the hub read too.
const HUB_VARIABLE: &str = "HF_ENDPOINT";
const TOKEN_VARIABLE: &str = "HF_TOKEN";
const DEFAULT_HUB: &str = "https://huggingface.co";
const DOWNLOAD_RANGE: RangeInclusive<u64> = (1 << 20)..=(1 << 50);
const DEFAULT_MAX_DOWNLOAD: u64 = 256 << 30;

/// `Debug` omits the token and the proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct WeightsConfig {
    /// The folder of model files that the console offers; `None` for `models` in the data directory.
    pub models_dir: Option<PathBuf>,
    /// Most bytes of one download.
    pub max_download: u64,
    /// Without a trailing slash.
    pub hub: String,
    pub hub_token: Option<String>,
    /// The proxy of connections to the hub by https, as the environment names it. It may contain a password.
    pub https_proxy: Option<String>,
    /// Hosts that are reached without it.
    pub no_proxy: Option<String>,
}

impl WeightsConfig {
    pub(super) fn read(section: &Section<'_>) -> Self {
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
        Self {
            models_dir: models_dir.map(|text| section.reader.path(text)),
            max_download: section.size("max_download", DOWNLOAD_RANGE).unwrap_or(DEFAULT_MAX_DOWNLOAD),
            hub: hub.unwrap_or_else(|| DEFAULT_HUB.to_owned()),
            hub_token,
            https_proxy: variable(section, "HTTPS_PROXY"),
            no_proxy: variable(section, "NO_PROXY"),
        }
    }
}

/// A variable that other programs read in lower case, too.
fn variable(section: &Section<'_>, name: &str) -> Option<String> {
    section.reader.variable(name).or_else(|| section.reader.variable(&name.to_ascii_lowercase()))
}

impl fmt::Debug for WeightsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { models_dir, max_download, hub, hub_token: _, https_proxy: _, no_proxy: _ } = self;
        write!(f, "WeightsConfig({models_dir:?}, {max_download}, {hub})")
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
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
