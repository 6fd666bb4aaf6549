//! The proxy between Forebay and the hub, as `HTTPS_PROXY` and `NO_PROXY` name it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use outbound::{Address, Proxy};
use percent_encoding::percent_decode_str;

/// The setting cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("HTTPS_PROXY is not of the form http://host:port or http://user:password@host:port")]
pub struct ProxyError;

/// Which connections take the proxy.
#[derive(Debug, Default)]
pub struct ProxyRules {
    setting: Setting,
    /// Hosts and domains that are reached directly, in lower case.
    exceptions: Vec<String>,
}

#[derive(Debug, Default)]
enum Setting {
    #[default]
    Direct,
    Through(Proxy),
    /// It is reported when it is needed: the variable is not only for Forebay.
    Unusable,
}

impl ProxyRules {
    pub fn read(https_proxy: Option<&str>, no_proxy: Option<&str>) -> Self {
        let setting = match https_proxy {
            Some(text) => parse(text).map_or(Setting::Unusable, Setting::Through),
            None => Setting::Direct,
        };
        let exceptions = no_proxy.unwrap_or_default().split([',', ' ']).map(exception);
        Self { setting, exceptions: exceptions.filter(|name| !name.is_empty()).collect() }
    }

    /// The proxy of a connection; `None` if it is direct. Those without TLS always are.
    pub fn of(&self, address: &Address) -> Result<Option<&Proxy>, ProxyError> {
        if !address.tls || self.is_exception(&address.host) {
            return Ok(None);
        }
        match &self.setting {
            Setting::Direct => Ok(None),
            Setting::Through(proxy) => Ok(Some(proxy)),
            Setting::Unusable => Err(ProxyError),
        }
    }

    fn is_exception(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let is_below =
            |domain: &str| host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'));
        self.exceptions.iter().any(|name| name == "*" || is_below(name))
    }
}

/// `.Example.com:443` and `*.example.com` are `example.com`, and `[::1]:443` is `::1`.
fn exception(text: &str) -> String {
    let name = text.trim().to_ascii_lowercase();
    if let Some((address, _)) = name.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address.to_owned();
    }
    let name = name.strip_prefix('*').filter(|rest| !rest.is_empty()).unwrap_or(&name).trim_start_matches('.');
    match name.split_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host.to_owned(),
        Some(_) | None => name.to_owned(),
    }
}

fn parse(text: &str) -> Option<Proxy> {
    let rest = match text.trim().split_once("://") {
        Some(("http", rest)) => rest,
        Some(_) => return None,
        None => text.trim(),
    };
    let (credentials, place) = match rest.rsplit_once('@') {
        Some((credentials, place)) => (Some(credentials), place),
        None => (None, rest),
    };
    let address = Address::parse(&format!("http://{place}")).ok()?;
    let authorization = match credentials {
        Some(credentials) => Some(basic(credentials)?),
        None => None,
    };
    Some(Proxy { address, authorization })
}

/// A colon follows the name, also without a password (RFC 7617).
fn basic(credentials: &str) -> Option<HeaderValue> {
    let mut decoded: Vec<u8> = percent_decode_str(credentials).collect();
    if !credentials.contains(':') {
        decoded.push(b':');
    }
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(decoded))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(rules: &ProxyRules, url: &str) -> Option<String> {
        let found = rules.of(&Address::parse(url).unwrap()).unwrap();
        found.map(|proxy| format!("{}:{}", proxy.address.host, proxy.address.port))
    }

    #[test]
    fn connections_by_tls_take_the_proxy_unless_excepted() {
        let no_proxy = ".Internal.example, mirror:443 10.0.0.1,*.lan,::1,[fd00::1]:443";
        let rules = ProxyRules::read(Some("http://proxy.example:3128/"), Some(no_proxy));
        for (url, expected) in [
            ("https://huggingface.co", true),
            ("https://notinternal.example", true),
            ("https://hub.internal.example", false),
            ("https://INTERNAL.example", false),
            ("https://mirror:8443", false),
            ("https://10.0.0.1", false),
            ("https://[::1]", false),
            ("https://[fd00::1]:8443", false),
            ("https://[fd00::2]", true),
            ("https://a.lan", false),
            ("http://huggingface.co", false),
        ] {
            let expected = expected.then(|| "proxy.example:3128".to_owned());
            assert_eq!(place(&rules, url), expected, "{url}");
        }
        assert_eq!(place(&ProxyRules::read(Some("proxy:8"), Some("*")), "https://huggingface.co"), None);
        assert_eq!(place(&ProxyRules::read(None, None), "https://huggingface.co"), None);
    }

    #[test]
    fn credentials_are_sent_and_not_shown() {
        let hub = Address::parse("https://huggingface.co").unwrap();
        for (credentials, expected) in [("user:p%40ss", "user:p@ss"), ("user", "user:")] {
            let rules = ProxyRules::read(Some(&format!("http://{credentials}@proxy:3128")), None);
            let sent = rules.of(&hub).unwrap().unwrap().authorization.clone().unwrap();
            assert_eq!(sent, format!("Basic {}", STANDARD.encode(expected)));
            let shown = format!("{rules:?}");
            assert!(!shown.contains("Basic") && !shown.contains(credentials), "{shown}");
        }
        for bad in ["https://proxy:3128", "socks5://proxy", "http://", "http://a b"] {
            assert!(ProxyRules::read(Some(bad), None).of(&hub).is_err(), "{bad}");
        }
    }
}
