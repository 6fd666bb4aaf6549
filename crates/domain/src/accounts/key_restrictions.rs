//! What a key may do, which models it may call and from where, and its labels. A key without restrictions may do all that its
//! workspace may.

use crate::endpoint::labels::{self, Labels};
use crate::network::Network;
pub use crate::restriction_error::RestrictionError;
use crate::{named_enum, shown_as_text};
use core::net::IpAddr;
use serde::{Deserialize, Serialize};

pub const MAX_MODELS: usize = 100;
pub const MAX_NETWORKS: usize = 64;
pub const MAX_LABELS: usize = 16;
const MAX_PATTERN_LEN: usize = 200;
const WILDCARD: char = '*';

named_enum! {
    /// What a key may be used for.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Permission {
        /// Calling models.
        #[serde(rename = "inference")]
        Inference = "inference",
        /// Reading dedicated endpoints.
        #[serde(rename = "endpoints:read")]
        ReadEndpoints = "endpoints:read",
        /// Changing dedicated endpoints, and reading them.
        #[serde(rename = "endpoints:write")]
        WriteEndpoints = "endpoints:write",
    }
}

/// The name of models that a key may call: the id or an alias of a model, or a prefix of such names followed by `*`.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelPattern(Box<str>);

impl ModelPattern {
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:@/".contains(&byte);
        let name = text.strip_suffix(WILDCARD).unwrap_or(text);
        let is_pattern = (1..=MAX_PATTERN_LEN).contains(&text.len()) && name.bytes().all(is_plain);
        is_pattern.then(|| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `None` if it is a single name.
    pub fn prefix(&self) -> Option<&str> {
        self.0.strip_suffix(WILDCARD)
    }

    pub fn matches(&self, name: &str) -> bool {
        match self.prefix() {
            Some(prefix) => name.starts_with(prefix),
            None => *self.0 == *name,
        }
    }
}

shown_as_text!(ModelPattern);

/// The restrictions of a key. An absent member restricts nothing; a present one has at least one entry.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct KeyRestrictions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Vec<Permission>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_models: Option<Vec<ModelPattern>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_ips: Option<Vec<Network>>,
}

impl KeyRestrictions {
    pub fn permits(&self, permission: Permission) -> bool {
        let has = |wanted| self.permissions.as_ref().is_none_or(|own| own.contains(&wanted));
        match permission {
            Permission::ReadEndpoints => has(Permission::ReadEndpoints) || has(Permission::WriteEndpoints),
            Permission::Inference | Permission::WriteEndpoints => has(permission),
        }
    }

    pub fn allows_address(&self, address: IpAddr) -> bool {
        self.allowed_ips.as_ref().is_none_or(|networks| networks.iter().any(|network| network.contains(address)))
    }
}

/// Reads the permissions of a key, in the order in which they are shown.
pub fn permissions(texts: &[impl AsRef<str>]) -> Result<Vec<Permission>, RestrictionError> {
    const KNOWN: &str = "a permission is one of inference, endpoints:read and endpoints:write";
    let mut all = entries("permissions", texts, Permission::ALL.len(), Permission::parse, KNOWN)?;
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// Reads the models that a key may call.
pub fn allowed_models(texts: &[impl AsRef<str>]) -> Result<Vec<ModelPattern>, RestrictionError> {
    const SPELLING: &str = "a model is an id, an alias, or the beginning of one with a * at its end";
    entries("allowedModels", texts, MAX_MODELS, ModelPattern::parse, SPELLING)
}

/// Reads the addresses that a key may be used from.
pub fn allowed_ips(texts: &[impl AsRef<str>]) -> Result<Vec<Network>, RestrictionError> {
    entries("allowedIps", texts, MAX_NETWORKS, Network::parse, "must be an address or a range such as 10.0.0.0/8")
}

/// Checks the labels of a key.
pub fn key_labels(labels: Labels) -> Result<Labels, RestrictionError> {
    let invalid = |why| RestrictionError { field: "labels", why };
    if labels.len() > MAX_LABELS {
        return Err(invalid(format!("a key has at most {MAX_LABELS} labels")));
    }
    for (name, value) in &labels {
        labels::check_pair(name, value).map_err(|error| invalid(error.to_string()))?;
    }
    Ok(labels)
}

fn entries<T>(
    field: &'static str,
    texts: &[impl AsRef<str>],
    max: usize,
    parse: impl Fn(&str) -> Option<T>,
    expected: &str,
) -> Result<Vec<T>, RestrictionError> {
    if !(1..=max).contains(&texts.len()) {
        return Err(RestrictionError { field, why: format!("1 to {max} entries; leave it out to restrict nothing") });
    }
    let read = |text: &str| {
        let shown = || text.chars().take(64).collect::<String>();
        parse(text).ok_or_else(|| RestrictionError { field, why: format!("`{}`: {expected}", shown()) })
    };
    texts.iter().map(|text| read(text.as_ref())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_may_do_what_it_lists_and_writing_endpoints_includes_reading() {
        let permits = |texts: &[&str]| {
            let restrictions = KeyRestrictions { permissions: Some(permissions(texts).unwrap()), ..Default::default() };
            Permission::ALL.map(|permission| restrictions.permits(permission))
        };
        assert_eq!(permits(&["inference"]), [true, false, false]);
        assert_eq!(permits(&["endpoints:read"]), [false, true, false]);
        assert_eq!(permits(&["endpoints:write", "endpoints:write"]), [false, true, true]);
        assert_eq!(Permission::ALL.map(|permission| KeyRestrictions::default().permits(permission)), [true; 3]);
    }

    #[test]
    fn patterns_are_names_or_prefixes() {
        let matches = |pattern: &str, name: &str| ModelPattern::parse(pattern).unwrap().matches(name);
        assert!(matches("acme/tiny", "acme/tiny") && !matches("acme/tiny", "acme/tiny-2"));
        assert!(matches("acme/*", "acme/tiny") && !matches("acme/*", "acme2/tiny") && matches("*", "acme/tiny"));
        assert!(matches("dedicated/*", "dedicated/chat") && !matches("acme/*", "dedicated/chat"));
        for bad in ["", "a**", "a*b", "a b", "é", "a\n", &"a".repeat(201)] {
            assert_eq!(ModelPattern::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn errors_name_the_member_and_the_entry() {
        let field = |error: RestrictionError| (error.field, error.to_string());
        let (name, why) = field(permissions(&["inference", "admin"]).unwrap_err());
        assert!(name == "permissions" && why.contains("`admin`"), "{why}");
        assert_eq!(permissions(&[] as &[&str]).unwrap_err().field, "permissions");
        assert_eq!(allowed_models(&["a b"]).unwrap_err().field, "allowedModels");
        assert_eq!(allowed_models(&vec!["a"; MAX_MODELS + 1]).unwrap_err().field, "allowedModels");
        assert_eq!(allowed_ips(&["10.0.0.0/40"]).unwrap_err().field, "allowedIps");
        let labels =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        assert_eq!(key_labels(labels(&[("a b", "x")])).unwrap_err().field, "labels");
        assert_eq!(key_labels(labels(&[("a", "x\ny")])).unwrap_err().field, "labels");
        let many = (0..=MAX_LABELS).map(|number| (number.to_string(), String::new())).collect();
        assert_eq!(key_labels(many).unwrap_err().field, "labels");
        assert!(key_labels(labels(&[("team", "search")])).is_ok());
    }

    #[test]
    fn restrictions_are_read_back_as_they_were_stored() {
        let all = KeyRestrictions {
            permissions: Some(permissions(&["endpoints:read", "inference"]).unwrap()),
            allowed_models: Some(allowed_models(&["acme/*", "gpt-6"]).unwrap()),
            allowed_ips: Some(allowed_ips(&["10.1.1.1/8", "::1"]).unwrap()),
        };
        let text = serde_json::to_string(&all).unwrap();
        let expected = r#"{"permissions":["inference","endpoints:read"],"allowedModels":["acme/*","gpt-6"],"allowedIps":["10.0.0.0/8","::1"]}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<KeyRestrictions>(&text).unwrap(), all);
        assert_eq!(serde_json::from_str::<KeyRestrictions>("{}").unwrap(), KeyRestrictions::default());
        assert!(serde_json::from_str::<KeyRestrictions>(r#"{"unknown":1}"#).is_err(), "not silently unrestricted");
    }
}
