use domain::usage::Actor;
use domain::{NanoUsd, Timestamp};
use serde::Serialize;
use store::requests::Logged;
use utoipa::ToSchema;

/// One call. What was asked and answered is not kept anywhere.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Request)]
pub(crate) struct RequestView {
    /// What the answer's `x-request-id` said.
    id: String,
    /// When it was received.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// Null for calls that named none of ours.
    model: Option<String>,
    /// The key that called, or null where a person did.
    key: Option<String>,
    /// The person who called in the Playground.
    user: Option<String>,
    /// What the client saw; 499 when it left before the end.
    status: u16,
    /// Of an error, else empty. A stream that broke has one with status 200.
    code: String,
    /// Which replica served it; null when none did.
    replica: Option<String>,
    streamed: bool,
    prompt_tokens: u64,
    completion_tokens: u64,
    cached_tokens: u64,
    /// How the tokens are known: `exact`, `estimated` or `void`.
    #[schema(example = "exact")]
    certainty: String,
    /// Decimal text in USD. Calls to dedicated endpoints cost nothing by themselves.
    #[schema(value_type = String)]
    cost_usd: NanoUsd,
    /// Until the first byte of the answer.
    first_byte_millis: Option<f64>,
    /// How long it was held until a replica was ready; null when it was not.
    hold_millis: Option<f64>,
    /// Until it was sent to a replica, less the hold.
    queue_millis: Option<f64>,
    duration_millis: f64,
}

impl From<Logged> for RequestView {
    fn from(call: Logged) -> Self {
        let (key, user) = match &call.actor {
            Actor::Key(key) => (Some(key.to_string()), None),
            Actor::User(user) => (None, Some(user.to_string())),
        };
        let served = call.served.as_ref();
        let queue = served.and_then(|served| served.sent_micros);
        Self {
            id: call.request.to_string(),
            at: call.started_at,
            model: (!call.model.is_empty()).then(|| call.model.clone()),
            key,
            user,
            status: call.status,
            code: call.code,
            replica: served.map(|served| served.replica.clone()),
            streamed: served.is_some_and(|served| served.streamed),
            prompt_tokens: served.map_or(0, |served| served.tokens.prompt),
            completion_tokens: served.map_or(0, |served| served.tokens.completion),
            cached_tokens: served.map_or(0, |served| served.tokens.cached),
            certainty: served.map_or_else(|| "void".to_owned(), |served| served.certainty.clone()),
            cost_usd: served.map_or(NanoUsd::ZERO, |served| served.cost),
            first_byte_millis: served.and_then(|served| served.first_byte_micros).map(millis),
            hold_millis: call.held_micros.map(millis),
            queue_millis: queue.map(|sent| millis(sent.saturating_sub(call.held_micros.unwrap_or(0)))),
            duration_millis: millis(call.duration_micros),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "whole microseconds of any call are exact")]
fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

impl RequestView {
    pub(crate) const HEADER: [&'static str; 18] = [
        "id",
        "at",
        "model",
        "key",
        "user",
        "status",
        "code",
        "replica",
        "streamed",
        "promptTokens",
        "completionTokens",
        "cachedTokens",
        "certainty",
        "costUsd",
        "firstByteMillis",
        "holdMillis",
        "queueMillis",
        "durationMillis",
    ];

    /// In the order of the header.
    pub(crate) fn cells(self) -> [String; 18] {
        let text = |member: Option<String>| member.unwrap_or_default();
        let time = |millis: Option<f64>| millis.map_or_else(String::new, |millis| millis.to_string());
        [
            self.id,
            self.at.to_string(),
            text(self.model),
            text(self.key),
            text(self.user),
            self.status.to_string(),
            self.code,
            text(self.replica),
            self.streamed.to_string(),
            self.prompt_tokens.to_string(),
            self.completion_tokens.to_string(),
            self.cached_tokens.to_string(),
            self.certainty,
            self.cost_usd.to_string(),
            time(self.first_byte_millis),
            time(self.hold_millis),
            time(self.queue_millis),
            self.duration_millis.to_string(),
        ]
    }
}
