//! Counts and timings of the calls of one span.

use crate::sketch::Sketch;
use crate::time::Timestamp;
use crate::usage::UsageEvent;
use std::time::Duration;

/// A longer call is spread over this number of minutes, and the rest is counted in the last one.
const MAX_SPREAD_MINUTES: i64 = 24 * 60;
const MINUTE: i64 = 60_000;

/// A duration that is measured for each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    Ttft,
    TimePerOutputToken,
    Latency,
    Hold,
    Queue,
}

/// Counts and sketches. The tally of a span is the sum of the tallies of its parts.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub requests: u64,
    pub errors: u64,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    pub cached_tokens: u64,
    /// The total time that calls were running in the span.
    pub busy_micros: u64,
    pub ttft: Sketch,
    pub time_per_output_token: Sketch,
    pub latency: Sketch,
    pub hold: Sketch,
    pub queue: Sketch,
}

impl Tally {
    /// Adds a call that reached a replica, without its running time, see [`spread`].
    pub fn count(&mut self, event: &UsageEvent) {
        let micros = Duration::from_micros;
        self.requests = self.requests.saturating_add(1);
        self.errors = self.errors.saturating_add(u64::from(!event.code.is_empty()));
        self.prompt_tokens = self.prompt_tokens.saturating_add(event.tokens.prompt);
        self.completion_tokens = self.completion_tokens.saturating_add(event.tokens.completion);
        self.cached_tokens = self.cached_tokens.saturating_add(event.tokens.cached);
        if event.code.is_empty() {
            self.latency.add(micros(event.duration_micros));
        }
        if let Some(first_byte) = event.first_byte_micros.filter(|_| event.streamed) {
            self.ttft.add(micros(first_byte));
            if event.tokens.completion > 1 {
                let rest = event.duration_micros.saturating_sub(first_byte);
                self.time_per_output_token.add(micros(rest / (event.tokens.completion - 1)));
            }
        }
        if let Some(held) = event.held_micros {
            self.hold.add(micros(held));
        }
        if let Some(sent) = event.sent_micros {
            self.queue.add(micros(sent.saturating_sub(event.held_micros.unwrap_or(0))));
        }
    }

    /// Adds calls that did not reach a replica.
    pub fn add_rejected(&mut self, calls: u64) {
        self.requests = self.requests.saturating_add(calls);
        self.errors = self.errors.saturating_add(calls);
    }

    pub fn merge(&mut self, other: &Self) {
        let pairs = [
            (&mut self.requests, other.requests),
            (&mut self.errors, other.errors),
            (&mut self.prompt_tokens, other.prompt_tokens),
            (&mut self.completion_tokens, other.completion_tokens),
            (&mut self.cached_tokens, other.cached_tokens),
            (&mut self.busy_micros, other.busy_micros),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
        self.ttft.merge(&other.ttft);
        self.time_per_output_token.merge(&other.time_per_output_token);
        self.latency.merge(&other.latency);
        self.hold.merge(&other.hold);
        self.queue.merge(&other.queue);
    }

    pub const fn timing(&self, timing: Timing) -> &Sketch {
        match timing {
            Timing::Ttft => &self.ttft,
            Timing::TimePerOutputToken => &self.time_per_output_token,
            Timing::Latency => &self.latency,
            Timing::Hold => &self.hold,
            Timing::Queue => &self.queue,
        }
    }
}

impl Tally {
    pub const fn timing_mut(&mut self, timing: Timing) -> &mut Sketch {
        match timing {
            Timing::Ttft => &mut self.ttft,
            Timing::TimePerOutputToken => &mut self.time_per_output_token,
            Timing::Latency => &mut self.latency,
            Timing::Hold => &mut self.hold,
            Timing::Queue => &mut self.queue,
        }
    }
}

/// The minutes in which a call was running, with the microseconds in each. They add up to its duration. Example: a call of
/// 62 s that starts at 10:00:59 gives 1 s in 10:00, 60 s in 10:01 and 1 s in 10:02.
pub fn spread(started_at: Timestamp, duration_micros: u64) -> impl Iterator<Item = (Timestamp, u64)> {
    let start_of = |millis: i64| millis - millis.rem_euclid(MINUTE);
    let first = start_of(started_at.millis());
    let mut next = Some((started_at.millis(), duration_micros));
    std::iter::from_fn(move || {
        let (from, rest) = next?;
        let minute = start_of(from);
        let room = (minute + MINUTE - from).unsigned_abs() * 1_000;
        let is_last = minute - first >= MAX_SPREAD_MINUTES * MINUTE;
        let part = if is_last { rest } else { rest.min(room) };
        next = (part < rest).then(|| (minute + MINUTE, rest - part));
        Some((Timestamp::from_millis(minute), part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Caller;
    use crate::ids::{KeyId, OrganizationId, RequestId, WorkspaceId};
    use crate::model::ModelId;
    use crate::money::{NanoUsd, Price};
    use crate::usage::{Actor, CallOrigin, Certainty, Tokens};
    use proptest::prelude::*;

    fn event() -> UsageEvent {
        let now = Timestamp::from_millis(0);
        let actor = Actor::Key(KeyId::new(now, 1));
        UsageEvent {
            request: RequestId::new(now, 1),
            caller: Caller::new(OrganizationId::new(now, 1), WorkspaceId::new(now, 1), actor).into(),
            model: ModelId::parse("acme/tiny").unwrap(),
            replica: "r".into(),
            streamed: true,
            status: 200,
            code: "".into(),
            tokens: Tokens { prompt: 10, completion: 5, cached: 2 },
            certainty: Certainty::Exact,
            price: Price::default(),
            cost: NanoUsd::ZERO,
            started_at: now,
            first_byte_micros: Some(200_000),
            duration_micros: 600_000,
            held_micros: None,
            sent_micros: Some(1_000),
            origin: CallOrigin::default(),
            failovers: 0,
            end_user: None,
            reserved_in: Default::default(),
        }
    }

    fn about(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() <= expected * 0.021)
    }

    #[test]
    fn a_stream_has_a_first_token_and_the_time_between_the_others() {
        let mut tally = Tally::default();
        tally.count(&event());
        assert!(about(tally.ttft.quantile(0.5), 0.2) && about(tally.time_per_output_token.quantile(0.5), 0.1));
        assert!(about(tally.latency.quantile(0.5), 0.6) && about(tally.queue.quantile(0.5), 0.001));
        assert_eq!((tally.requests, tally.errors, tally.hold.count()), (1, 0, 0));
    }

    #[test]
    fn a_response_without_streaming_has_only_a_latency_and_a_failed_one_has_none() {
        let mut tally = Tally::default();
        tally.count(&UsageEvent { streamed: false, ..event() });
        assert_eq!((tally.ttft.count(), tally.time_per_output_token.count(), tally.latency.count()), (0, 0, 1));
        tally.count(&UsageEvent { code: "bad_gateway".into(), ..event() });
        assert_eq!((tally.requests, tally.errors, tally.latency.count(), tally.ttft.count()), (2, 1, 1, 1));
    }

    #[test]
    fn the_hold_is_not_in_the_queue() {
        let mut tally = Tally::default();
        tally.count(&UsageEvent { held_micros: Some(5_000_000), sent_micros: Some(5_002_000), ..event() });
        assert!(about(tally.hold.quantile(0.5), 5.0) && about(tally.queue.quantile(0.5), 0.002));
    }

    #[test]
    fn a_call_is_spread_over_the_minutes_that_it_touched() {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let spread = spread(at("2026-11-01T10:00:59Z"), 62_000_000);
        let shown: Vec<_> = spread.map(|(at, micros)| (at.to_string()[14..19].to_owned(), micros)).collect();
        assert_eq!(shown, [("00:00".into(), 1_000_000), ("01:00".into(), 60_000_000), ("02:00".into(), 1_000_000)]);
    }

    proptest! {
        #[test]
        fn the_parts_add_up_and_are_bounded(start in 0_i64..4_000_000_000_000, micros in 0_u64..10_000_000_000_000) {
            let parts: Vec<_> = spread(Timestamp::from_millis(start), micros).collect();
            prop_assert_eq!(parts.iter().map(|(_, part)| part).sum::<u64>(), micros);
            prop_assert!(parts.len() <= 1_441);
        }
    }
}
