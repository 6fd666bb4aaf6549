//! Money: whole nano-dollars internally, decimal text in USD on the wire, never a float.

use crate::tokens::Tokens;
use std::fmt;

/// A billionth of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NanoUsd(i64);

const NANOS_PER_USD: i64 = 1_000_000_000;
const TOKENS_PER_PRICE: i128 = 1_000_000;

/// A text is not an amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an amount in USD such as \"0.10\" (digits, at most nine after the point)")]
pub struct AmountError(pub String);

impl NanoUsd {
    pub const ZERO: Self = Self(0);

    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Parses decimal text such as `0.10`.
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        let bad = || AmountError(text.chars().take(64).collect());
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
            return Err(bad());
        }
        let whole: i64 = whole.parse().map_err(|_| bad())?;
        let nanos: i64 = format!("{fraction:0<9}").parse().map_err(|_| bad())?;
        whole.checked_mul(NANOS_PER_USD).and_then(|usd| usd.checked_add(nanos)).map(Self).ok_or_else(bad)
    }
}

/// Saturates at the largest amount, about nine billion dollars.
impl std::ops::AddAssign for NanoUsd {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

/// With at least two decimals and no more than needed: `0.10`, `0.000001`.
impl fmt::Display for NanoUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        let per_usd = NANOS_PER_USD.unsigned_abs();
        let fraction = format!("{:09}", nanos % per_usd);
        let needed = fraction.trim_end_matches('0').len().max(2);
        write!(f, "{sign}{}.{}", nanos / per_usd, &fraction[..needed])
    }
}

impl serde::Serialize for NanoUsd {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Prices per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Price {
    pub input_per_1m: NanoUsd,
    pub cached_input_per_1m: NanoUsd,
    pub output_per_1m: NanoUsd,
}

impl Price {
    /// The cost of a call, rounded once, half up, to a nano-dollar.
    pub fn charge(&self, tokens: Tokens) -> NanoUsd {
        let part = |count: u64, price: NanoUsd| i128::from(count) * i128::from(price.0);
        let millionths = part(tokens.prompt.saturating_sub(tokens.cached), self.input_per_1m)
            + part(tokens.cached.min(tokens.prompt), self.cached_input_per_1m)
            + part(tokens.completion, self.output_per_1m);
        let nanos = (millionths + TOKENS_PER_PRICE / 2) / TOKENS_PER_PRICE;
        NanoUsd(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_decimal_text() {
        for (text, nanos, shown) in [
            ("0.10", 100_000_000, "0.10"),
            ("3", 3_000_000_000, "3.00"),
            ("0.000000001", 1, "0.000000001"),
            ("12.345", 12_345_000_000, "12.345"),
        ] {
            let amount = NanoUsd::parse(text).unwrap();
            assert_eq!((amount.nanos(), amount.to_string().as_str()), (nanos, shown));
        }
        for bad in ["", "-1", "1.", ".5", "1e3", "0.0000000001", "1,5", "99999999999999999999"] {
            assert!(NanoUsd::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_cost_of_a_call_is_rounded_once() {
        let usd = |text| NanoUsd::parse(text).unwrap();
        let price = Price { input_per_1m: usd("0.10"), cached_input_per_1m: usd("0.05"), output_per_1m: usd("0.40") };
        let cost = price.charge(Tokens { prompt: 1_000, completion: 500, cached: 200 });
        assert_eq!(cost, NanoUsd::from_nanos(80_000 + 10_000 + 200_000));

        let tiny = Price { input_per_1m: NanoUsd::from_nanos(250_000), ..Price::default() };
        assert_eq!(tiny.charge(Tokens { prompt: 1, completion: 0, cached: 0 }), NanoUsd::ZERO);
        assert_eq!(tiny.charge(Tokens { prompt: 2, completion: 0, cached: 0 }), NanoUsd::from_nanos(1));
    }
}
