//! Money: whole nano-dollars internally, decimal text in USD on the wire, never a float.

use crate::tokens::Tokens;
use std::fmt;

/// A billionth of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NanoUsd(i64);

const NANOS_PER_USD: i64 = 1_000_000_000;
const TOKENS_PER_PRICE: i128 = 1_000_000;
const SEARCHES_PER_PRICE: i64 = 1_000;

/// A text is not an amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an amount in USD such as \"0.10\" (digits, at most nine after the point)")]
pub struct AmountError(pub String);

impl NanoUsd {
    pub const ZERO: Self = Self(0);

    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// An unsigned amount, such as one of an account; at most the largest one.
    pub fn from_unsigned(nanos: u64) -> Self {
        Self(i64::try_from(nanos).unwrap_or(i64::MAX))
    }

    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// The cost of one search at this price per 1,000 of them, rounded half up to a nano-dollar.
    #[must_use]
    pub const fn of_one_search(self) -> Self {
        Self(self.0.saturating_add(SEARCHES_PER_PRICE / 2) / SEARCHES_PER_PRICE)
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

impl<'de> serde::Deserialize<'de> for NanoUsd {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
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
    /// This share of each part of the price.
    #[must_use]
    pub fn at(&self, share: PriceShare) -> Self {
        Self {
            input_per_1m: share.of(self.input_per_1m),
            cached_input_per_1m: share.of(self.cached_input_per_1m),
            output_per_1m: share.of(self.output_per_1m),
        }
    }

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

/// The price of one call: that of its tokens, and a fixed amount if it is a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallPrice {
    pub tokens: Price,
    /// Zero for other calls.
    pub search: NanoUsd,
}

impl CallPrice {
    /// The cost of a call. A call that is billed no tokens has failed, and is not billed a search either.
    pub fn charge(&self, tokens: Tokens) -> NanoUsd {
        let mut cost = self.tokens.charge(tokens);
        if tokens.total() > 0 {
            cost += self.search;
        }
        cost
    }
}

impl From<Price> for CallPrice {
    fn from(tokens: Price) -> Self {
        Self { tokens, search: NanoUsd::ZERO }
    }
}

/// A share of the normal price, from 0 to 1, in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceShare(u32);

/// A text is not a share of a price.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a share from \"0\" to \"1\" such as \"0.5\" (digits, at most nine after the point)")]
pub struct PriceShareError(String);

impl PriceShare {
    pub const WHOLE: Self = Self(1_000_000_000);

    pub fn parse(text: &str) -> Result<Self, PriceShareError> {
        let amount = NanoUsd::parse(text).map_err(|AmountError(text)| PriceShareError(text))?;
        let share = u32::try_from(amount.nanos()).ok().filter(|share| *share <= Self::WHOLE.0);
        share.map(Self).ok_or_else(|| PriceShareError(text.chars().take(64).collect()))
    }

    /// This share of a price, rounded half up to a nano-dollar.
    #[must_use]
    pub fn of(self, price: NanoUsd) -> NanoUsd {
        let nanos = i128::from(price.0) * i128::from(self.0) + i128::from(Self::WHOLE.0) / 2;
        NanoUsd(i64::try_from(nanos / i128::from(Self::WHOLE.0)).unwrap_or(price.0))
    }
}

impl Default for PriceShare {
    fn default() -> Self {
        Self::WHOLE
    }
}

/// As short as possible: `0.5`, `1`.
impl fmt::Display for PriceShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = NanoUsd(self.0.into()).to_string();
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl serde::Serialize for PriceShare {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
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
    fn an_unsigned_amount_ends_at_the_largest_one() {
        assert_eq!(NanoUsd::from_unsigned(7), NanoUsd::from_nanos(7));
        assert_eq!(NanoUsd::from_unsigned(u64::MAX), NanoUsd::from_nanos(i64::MAX));
    }

    #[test]
    fn a_share_of_a_price_is_decimal_text_from_0_to_1() {
        for (text, shown) in
            [("0.5", "0.5"), ("0.50", "0.5"), ("1", "1"), ("1.000", "1"), ("0", "0"), ("0.125", "0.125")]
        {
            assert_eq!(PriceShare::parse(text).unwrap().to_string(), shown);
        }
        for bad in ["", "1.000000001", "2", "-0.5", "50%", "0.0000000001", "99"] {
            assert!(PriceShare::parse(bad).is_err(), "{bad}");
        }
        let nanos = NanoUsd::from_nanos;
        let price = Price { input_per_1m: nanos(100), cached_input_per_1m: nanos(51), output_per_1m: nanos(400) };
        let half = Price { input_per_1m: nanos(50), cached_input_per_1m: nanos(26), output_per_1m: nanos(200) };
        assert_eq!(price.at(PriceShare::parse("0.5").unwrap()), half);
        assert_eq!(price.at(PriceShare::WHOLE), price);
        assert_eq!(price.at(PriceShare::parse("0").unwrap()), Price::default());
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

    #[test]
    fn a_search_costs_a_fixed_amount_beside_its_tokens() {
        for (per_1k, nanos) in [("2.00", 2_000_000), ("0", 0), ("0.000000499", 0), ("0.0000005", 1), ("0.0000015", 2)] {
            assert_eq!(NanoUsd::parse(per_1k).unwrap().of_one_search().nanos(), nanos, "{per_1k}");
        }
        assert!(NanoUsd::from_nanos(i64::MAX).of_one_search().nanos() > 0);
        let tokens = Price { input_per_1m: NanoUsd::parse("0.10").unwrap(), ..Price::default() };
        let price = CallPrice { tokens, search: NanoUsd::from_nanos(2_000_000) };
        let used = Tokens { prompt: 10, completion: 0, cached: 0 };
        assert_eq!(price.charge(used).nanos(), 2_001_000);
        assert_eq!(CallPrice { tokens: Price::default(), ..price }.charge(used).nanos(), 2_000_000);
        assert_eq!(CallPrice::from(tokens).charge(used), tokens.charge(used));
        assert_eq!(price.charge(Tokens::default()), NanoUsd::ZERO, "a call that has failed");
    }
}
