//! W3C Trace Context, and the sampling of calls.

use dataplane::TRACEPARENT;
use http::{HeaderName, HeaderValue};
use http1::Headers;
use std::fmt::Write as _;

pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
const SAMPLED: u8 = 1;
/// The longest `tracestate` that is kept with a span.
const MAX_TRACESTATE: usize = 512;

/// The caller's span, from its `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) trace_id: u128,
    pub(super) span_id: u64,
    pub(super) sampled: bool,
}

impl Parent {
    /// `None` if there is no header, more than one, or an invalid one.
    pub(super) fn of(headers: &Headers) -> Option<Self> {
        let mut all = headers.all(TRACEPARENT);
        let (Some(value), None) = (all.next(), all.next()) else { return None };
        Self::parse(std::str::from_utf8(value).ok()?)
    }

    /// `00-<32 hex>-<16 hex>-<2 hex>`; later versions may append more.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split('-');
        let version = hex(fields.next()?, 2)?;
        let (trace_id, span_id) = (hex(fields.next()?, 32)?, hex(fields.next()?, 16)?);
        let flags = hex(fields.next()?, 2)?;
        let is_known = version != 0xff && (version != 0 || fields.next().is_none());
        let span_id = u64::try_from(span_id).ok()?;
        let is_valid = is_known && trace_id != 0 && span_id != 0;
        is_valid.then_some(Self { trace_id, span_id, sampled: flags & u128::from(SAMPLED) != 0 })
    }
}

/// Exactly `length` lower-case hexadecimal digits.
fn hex(text: &str, length: usize) -> Option<u128> {
    let is_valid = text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_valid.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

/// The header for a model server: its parent is the span of the attempt.
pub(super) fn traceparent(trace_id: u128, span_id: u64) -> HeaderValue {
    let mut text = String::with_capacity(55);
    let _ = write!(text, "00-{trace_id:032x}-{span_id:016x}-{SAMPLED:02x}");
    HeaderValue::from_str(&text).expect("digits and dashes are valid in a header")
}

/// The caller's `tracestate`, for our spans.
pub(super) fn tracestate(headers: &Headers) -> String {
    let joined = headers.texts(TRACESTATE).collect::<Vec<_>>().join(",");
    if joined.len() > MAX_TRACESTATE { String::new() } else { joined }
}

/// Decides which calls are traced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampling {
    /// From 0 to 1.
    pub(super) ratio: f64,
    pub(super) follow_parent: bool,
}

impl Sampling {
    /// Whether a call is traced. With a parent, the trace id decides, so that all nodes agree; otherwise `chance`, a
    /// random number.
    pub(super) fn includes(self, parent: Option<&Parent>, chance: u64) -> bool {
        match parent {
            Some(parent) if self.follow_parent => parent.sampled,
            Some(parent) => self.is_below(parent.trace_id as u64),
            None => self.is_below(chance),
        }
    }

    fn is_below(self, chance: u64) -> bool {
        // The fraction of all numbers below the bound: 0 includes none and 1 all.
        (chance as f64) < self.ratio * (u64::MAX as f64) || self.ratio >= 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderMap;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_parent_is_parsed_and_written_as_in_the_standard() {
        let parent = Parent::parse(GOOD).unwrap();
        assert_eq!(
            parent,
            Parent {
                trace_id: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
                span_id: 0xb7ad_6b71_6920_3331,
                sampled: true
            }
        );
        assert_eq!(traceparent(parent.trace_id, parent.span_id), GOOD);
        assert!(!Parent::parse(&GOOD.replace("-01", "-00")).unwrap().sampled);
        assert!(Parent::parse(&GOOD.replacen("00-", "01-", 1)).is_some(), "a later version");
        assert!(Parent::parse(&format!("{}-more", GOOD.replacen("00-", "01-", 1))).is_some(), "with more fields");
        for bad in [
            "",
            "garbage",
            &format!("{GOOD}-more"),
            &GOOD.replacen("00-", "ff-", 1),
            &GOOD.to_uppercase(),
            &GOOD.replace("0af7651916cd43dd8448eb211c80319c", "00000000000000000000000000000000"),
            &GOOD.replace("b7ad6b7169203331", "0000000000000000"),
            &GOOD.replace("b7ad6b7169203331", "b7ad6b716920333"),
        ] {
            assert_eq!(Parent::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn two_parents_are_ignored() {
        let mut headers = HeaderMap::new();
        headers.append(TRACEPARENT, HeaderValue::from_static(GOOD));
        assert!(Parent::of(&Headers::from(&headers)).is_some());
        headers.append(TRACEPARENT, HeaderValue::from_static(GOOD));
        assert_eq!(Parent::of(&Headers::from(&headers)), None);
    }

    #[test]
    fn a_ratio_includes_its_share_and_a_parent_decides_if_followed() {
        let taken = |ratio| {
            let sampling = Sampling { ratio, follow_parent: true };
            (0..1_000_u64).filter(|step| sampling.includes(None, step * (u64::MAX / 1_000))).count()
        };
        assert_eq!((taken(0.0), taken(1.0)), (0, 1_000));
        assert!((249..=251).contains(&taken(0.25)), "{}", taken(0.25));
        assert!(Sampling { ratio: 1.0, follow_parent: true }.includes(None, u64::MAX));

        let parent = |sampled, trace_id| Parent { trace_id, span_id: 1, sampled };
        let following = Sampling { ratio: 0.5, follow_parent: true };
        assert!(
            following.includes(Some(&parent(true, u128::MAX)), 0) && !following.includes(Some(&parent(false, 0)), 0)
        );
        let own = Sampling { ratio: 0.5, follow_parent: false };
        assert!(!own.includes(Some(&parent(true, u128::MAX)), 0) && own.includes(Some(&parent(false, 0)), u64::MAX));
    }
}
