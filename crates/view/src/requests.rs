use domain::usage::{Actor, CallSurface, Certainty};
use domain::{NanoUsd, Timestamp, UsageEvent};
use serde::Serialize;
use store::requests::{LoggedCall, RejectedCall};
use utoipa::ToSchema;

/// One call. Prompts and responses are not stored.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Request)]
pub struct RequestView {
    /// The `x-request-id` of the response.
    id: String,
    /// When it was received.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// Null if the call named an unknown model.
    model: Option<String>,
    /// The name that the client sent, if it is an alias of the model; else null.
    requested_model: Option<String>,
    /// The API of the call: `chat`, `messages`, `embeddings` and so on; null for calls of older versions.
    surface: Option<&'static str>,
    /// `interactive`, `flex` for calls with `service_tier: "flex"`, or `batch` for lines of batches. The class decides which
    /// waiting calls are served first, and at which price.
    #[schema(example = "interactive")]
    class: &'static str,
    /// The key of the call, or null if a user called.
    key: Option<String>,
    /// The user who called in the Playground.
    user: Option<String>,
    /// The id of the person behind the key, or null if the call did not name one.
    end_user: Option<String>,
    /// The status of the response; 499 if the client disconnected.
    status: u16,
    /// The code of an error, else empty. A broken stream has a code and status 200.
    code: String,
    /// The replica that served it, the last one if there were several, or null.
    replica: Option<String>,
    /// How often the stream went on at another replica after its replica was lost.
    failovers: u32,
    streamed: bool,
    prompt_tokens: u64,
    completion_tokens: u64,
    cached_tokens: u64,
    /// How the tokens are known: `exact`, `estimated` or `void`.
    #[schema(example = "exact")]
    certainty: String,
    /// Decimal text in USD. Calls to dedicated endpoints cost nothing by themselves.
    cost_usd: String,
    /// Until the first byte of the response.
    first_byte_millis: Option<f64>,
    /// How long it was held until a replica was ready; null if not held.
    hold_millis: Option<f64>,
    /// Until it was sent to a replica, without the hold.
    queue_millis: Option<f64>,
    duration_millis: f64,
    /// The batch whose line it is, or null.
    batch: Option<String>,
}

impl From<LoggedCall> for RequestView {
    fn from(call: LoggedCall) -> Self {
        match call {
            LoggedCall::Served(event) => event.into(),
            LoggedCall::Rejected(call) => call.into(),
        }
    }
}

impl From<UsageEvent> for RequestView {
    fn from(event: UsageEvent) -> Self {
        let (key, user) = key_or_user(&event.caller.actor);
        Self {
            id: event.request.to_string(),
            at: event.started_at,
            model: Some(event.model.to_string()),
            requested_model: event.origin.requested_model.map(Into::into),
            surface: event.origin.surface.map(CallSurface::as_str),
            class: event.origin.class.as_str(),
            key,
            user,
            end_user: event.end_user.map(|end_user| end_user.id.to_string()),
            status: event.status,
            code: event.code.into_owned(),
            replica: Some(event.replica.to_string()),
            failovers: event.failovers,
            streamed: event.streamed,
            prompt_tokens: event.tokens.prompt,
            completion_tokens: event.tokens.completion,
            cached_tokens: event.tokens.cached,
            certainty: event.certainty.as_str().to_owned(),
            cost_usd: event.cost.to_string(),
            first_byte_millis: event.first_byte_micros.map(millis),
            hold_millis: event.held_micros.map(millis),
            queue_millis: event.sent_micros.map(|sent| millis(sent.saturating_sub(event.held_micros.unwrap_or(0)))),
            duration_millis: millis(event.duration_micros),
            batch: event.origin.batch.map(|batch| batch.to_string()),
        }
    }
}

impl From<RejectedCall> for RequestView {
    fn from(call: RejectedCall) -> Self {
        let (key, user) = key_or_user(&call.actor);
        Self {
            id: call.request.to_string(),
            at: call.started_at,
            model: call.model.map(|model| model.to_string()),
            requested_model: call.origin.requested_model.map(Into::into),
            surface: call.origin.surface.map(CallSurface::as_str),
            class: call.origin.class.as_str(),
            key,
            user,
            end_user: call.end_user.map(|id| id.to_string()),
            status: call.status,
            code: call.code,
            replica: None,
            failovers: 0,
            streamed: false,
            prompt_tokens: 0,
            completion_tokens: 0,
            cached_tokens: 0,
            certainty: Certainty::Void.as_str().to_owned(),
            cost_usd: NanoUsd::ZERO.to_string(),
            first_byte_millis: None,
            hold_millis: call.held_micros.map(millis),
            queue_millis: None,
            duration_millis: millis(call.duration_micros),
            batch: None,
        }
    }
}

fn key_or_user(actor: &Actor) -> (Option<String>, Option<String>) {
    match actor {
        Actor::Key(key) => (Some(key.to_string()), None),
        Actor::User(user) => (None, Some(user.to_string())),
    }
}

#[expect(clippy::cast_precision_loss, reason = "whole microseconds of any call are exact")]
fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

impl RequestView {
    pub const HEADER: [&'static str; 24] = [
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
        "requestedModel",
        "surface",
        "failovers",
        "endUser",
        "batch",
        "class",
    ];

    /// In the order of the header.
    pub fn cells(self) -> [String; 24] {
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
            self.cost_usd,
            time(self.first_byte_millis),
            time(self.hold_millis),
            time(self.queue_millis),
            self.duration_millis.to_string(),
            text(self.requested_model),
            self.surface.unwrap_or_default().to_owned(),
            self.failovers.to_string(),
            text(self.end_user),
            text(self.batch),
            self.class.to_owned(),
        ]
    }
}
