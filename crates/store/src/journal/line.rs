//! How an event is written down: a checksum, a space, and an object on one line.

use crate::json_line::JsonLine;
use domain::usage::{Actor, Certainty, Tokens};
use domain::{
    Caller, KeyId, ModelId, NanoUsd, OrganizationId, Price, RequestId, Timestamp, UsageEvent, UserId, WorkspaceId,
};
use serde::Deserialize;
use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

/// Whether a call has ended, or this is what is known of it so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stage {
    Ended,
    Running,
}

impl Stage {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Running => "running",
        }
    }
}

/// A line as it is read; [`write`] writes it.
#[derive(Deserialize)]
struct Line<'a> {
    stage: Stage,
    request: Cow<'a, str>,
    organization: Cow<'a, str>,
    workspace: Cow<'a, str>,
    #[serde(default)]
    key: Option<Cow<'a, str>>,
    #[serde(default)]
    user: Option<Cow<'a, str>>,
    model: Cow<'a, str>,
    replica: Cow<'a, str>,
    streamed: bool,
    status: u16,
    code: Cow<'a, str>,
    tokens: [u64; 3],
    certainty: Cow<'a, str>,
    price: [i64; 3],
    cost: i64,
    started_at: i64,
    first_byte_micros: Option<u64>,
    duration_micros: u64,
    #[serde(default)]
    held_micros: Option<u64>,
    #[serde(default)]
    sent_micros: Option<u64>,
}

const CHECKSUM_LEN: usize = 8;

/// The line of an event, with its end.
pub(super) fn written(event: &UsageEvent, stage: Stage) -> Vec<u8> {
    let mut text = Vec::with_capacity(512);
    write(event, stage, &mut text);
    text
}

/// Replaces `text` by the line of an event, with its end.
pub(super) fn write(event: &UsageEvent, stage: Stage, text: &mut Vec<u8>) {
    text.clear();
    text.resize(CHECKSUM_LEN, b'0');
    text.push(b' ');
    let mut line = JsonLine::begin(text);
    line.plain("stage", stage.as_str());
    line.plain("request", event.request.as_bytes());
    line.plain("organization", event.caller.organization.as_bytes());
    line.plain("workspace", event.caller.workspace.as_bytes());
    match &event.caller.actor {
        Actor::Key(key) => line.plain("key", key.as_bytes()),
        Actor::User(user) => line.plain("user", user.as_bytes()),
    }
    line.text("model", event.model.as_str());
    line.text("replica", &event.replica);
    line.boolean("streamed", event.streamed);
    line.number("status", event.status);
    line.text("code", &event.code);
    line.numbers("tokens", &[event.tokens.prompt, event.tokens.completion, event.tokens.cached]);
    line.plain("certainty", event.certainty.as_str());
    let Price { input_per_1m, cached_input_per_1m, output_per_1m } = event.price;
    line.numbers("price", &[input_per_1m.nanos(), cached_input_per_1m.nanos(), output_per_1m.nanos()]);
    line.number("cost", event.cost.nanos());
    line.number("started_at", event.started_at.millis());
    line.number_or_null("first_byte_micros", event.first_byte_micros);
    line.number("duration_micros", event.duration_micros);
    line.number_or_null("held_micros", event.held_micros);
    line.number_or_null("sent_micros", event.sent_micros);
    line.end();
    let checksum = crc32fast::hash(&text[CHECKSUM_LEN + 1..text.len() - 1]);
    write!(&mut text[..CHECKSUM_LEN], "{checksum:08x}").expect("eight digits fit");
}

/// Reads a line without its end; `None` when it is not as it was written.
pub(super) fn read(text: &[u8]) -> Option<(UsageEvent, Stage)> {
    let (checksum, object) = text.split_at_checked(CHECKSUM_LEN)?;
    let object = object.strip_prefix(b" ")?;
    let checksum = u32::from_str_radix(std::str::from_utf8(checksum).ok()?, 16).ok()?;
    if crc32fast::hash(object) != checksum {
        return None;
    }
    let line: Line<'_> = serde_json::from_slice(object).ok()?;
    let actor = match (&line.key, &line.user) {
        (Some(key), None) => Actor::Key(KeyId::parse(key).ok()?),
        (None, Some(user)) => Actor::User(UserId::parse(user).ok()?),
        _ => return None,
    };
    let [prompt, completion, cached] = line.tokens;
    let [input, cached_input, output] = line.price.map(NanoUsd::from_nanos);
    let event = UsageEvent {
        request: RequestId::parse(&line.request).ok()?,
        caller: Arc::new(Caller::new(
            OrganizationId::parse(&line.organization).ok()?,
            WorkspaceId::parse(&line.workspace).ok()?,
            actor,
        )),
        model: ModelId::parse(&line.model).ok()?,
        replica: line.replica.as_ref().into(),
        streamed: line.streamed,
        status: line.status,
        code: line.code.into_owned().into(),
        tokens: Tokens { prompt, completion, cached },
        certainty: Certainty::parse(&line.certainty)?,
        price: Price { input_per_1m: input, cached_input_per_1m: cached_input, output_per_1m: output },
        cost: NanoUsd::from_nanos(line.cost),
        started_at: Timestamp::from_millis(line.started_at),
        first_byte_micros: line.first_byte_micros,
        duration_micros: line.duration_micros,
        held_micros: line.held_micros,
        sent_micros: line.sent_micros,
    };
    Some((event, line.stage))
}
