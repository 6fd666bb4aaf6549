//! GPU types: `<vendor>/<gpu-type>`, such as `nvidia/h100-sxm-80gb` or `local/cpu`.

use crate::shown_as_text;
use std::borrow::Borrow;

/// A GPU type, such as `nvidia/h100-sxm-80gb`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct GpuType(Box<str>);

/// A text is not a GPU type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a GPU type of the form <vendor>/<gpu-type>")]
pub struct GpuTypeError(pub String);

impl GpuType {
    pub fn parse(text: &str) -> Result<Self, GpuTypeError> {
        let plain = |part: &str| {
            (1..=100).contains(&part.len())
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        };
        if text.split_once('/').is_some_and(|(vendor, kind)| plain(vendor) && plain(kind)) {
            return Ok(Self(text.into()));
        }
        Err(GpuTypeError(text.chars().take(64).collect()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for GpuType {
    fn borrow(&self) -> &str {
        &self.0
    }
}

shown_as_text!(GpuType);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_type_has_a_vendor_and_a_kind() {
        for good in ["nvidia/h100-sxm-80gb", "local/cpu", "amd/mi300x"] {
            assert_eq!(GpuType::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "cpu", "/cpu", "nvidia/", "a/b/c", "a b/c", "nvidia/h100 "] {
            assert!(GpuType::parse(bad).is_err(), "{bad}");
        }
    }
}
