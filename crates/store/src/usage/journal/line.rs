//! A line of the journal: a checksum, a space, and a usage event as a JSON object.
//!
//! `5f0c1a2b {"stage":"ended","request":"req_…","organization":"org_…",…}`
//!
//! A new field of [`UsageEvent`] is added to [`write`] and [`read`]. Lines of an older version lack it, so [`read`] must
//! not require it.

use domain::budget::ReservedIn;
use domain::named_enum;
use domain::usage::{Actor, CallOrigin, CallSurface, Certainty, Tokens};
use domain::{
    CallClass, Caller, EndUser, EndUserId, ModelId, NanoUsd, OrganizationId, Price, RequestId, Timestamp, UsageEvent,
    WorkspaceId,
};
use json_line::JsonLine;
use serde_json::Value;
use std::io::Write;
use std::sync::Arc;

named_enum! {
    /// Whether the call has ended, or the line is a mark of what a running call has used so far.
    pub(super) enum Stage {
        Ended = "ended",
        Running = "running",
    }
}

const CHECKSUM_LEN: usize = 8;
/// No line is longer, with its line break: every number has its most digits, every id its longest form.
pub(super) const MAX_LINE_BYTES: u64 = 2048;
/// Longer names of replicas are cut. They consist of a model's id and a number, or are names of Pods, so none is.
const MAX_REPLICA_BYTES: usize = 256;

/// The line of an event, with its line break.
pub(super) fn encode(event: &UsageEvent, stage: Stage) -> Vec<u8> {
    let mut text = Vec::with_capacity(512);
    write(event, stage, &mut text);
    text
}

/// Replaces `text` with the line of an event, with its line break.
pub(super) fn write(event: &UsageEvent, stage: Stage, text: &mut Vec<u8>) {
    let UsageEvent {
        request,
        caller,
        model,
        replica,
        streamed,
        status,
        code,
        tokens,
        certainty,
        price,
        cost,
        started_at,
        first_byte_micros,
        duration_micros,
        held_micros,
        sent_micros,
        // The events of batches are written with their results, and not by the journal.
        origin: CallOrigin { surface, requested_model, batch: _, class },
        failovers,
        end_user,
        reserved_in,
    } = event;
    text.clear();
    text.resize(CHECKSUM_LEN, b'0');
    text.push(b' ');
    let mut line = JsonLine::begin(text);
    line.plain("stage", stage.as_str());
    line.plain("request", request.as_bytes());
    line.plain("organization", caller.organization.as_bytes());
    line.plain("workspace", caller.workspace.as_bytes());
    match &caller.actor {
        Actor::Key(key) => line.plain("key", key.as_bytes()),
        Actor::User(user) => line.plain("user", user.as_bytes()),
    }
    line.text("model", model.as_str());
    line.text("replica", cut(replica));
    line.boolean("streamed", *streamed);
    line.number("status", *status);
    line.text("code", code);
    line.numbers("tokens", &[tokens.prompt, tokens.completion, tokens.cached]);
    line.plain("certainty", certainty.as_str());
    let Price { input_per_1m, cached_input_per_1m, output_per_1m } = price;
    line.numbers("price", &[input_per_1m.nanos(), cached_input_per_1m.nanos(), output_per_1m.nanos()]);
    line.number("cost", cost.nanos());
    line.number("started_at", started_at.millis());
    line.number_or_null("first_byte_micros", *first_byte_micros);
    line.number("duration_micros", *duration_micros);
    line.number_or_null("held_micros", *held_micros);
    line.number_or_null("sent_micros", *sent_micros);
    if let Some(surface) = surface {
        line.plain("surface", surface.as_str());
    }
    if *class != CallClass::Interactive {
        line.plain("class", class.as_str());
    }
    if let Some(requested) = requested_model {
        line.text("requested_model", requested);
    }
    if *failovers > 0 {
        line.number("failovers", *failovers);
    }
    if let Some(end_user) = end_user {
        line.plain("end_user", end_user.id.as_str());
        if let Some(name) = &end_user.text {
            line.text("end_user_text", name);
        }
    }
    if !reserved_in.is_empty() {
        line.number("reserved_in", reserved_in.bits());
    }
    line.end();
    let checksum = crc32fast::hash(&text[CHECKSUM_LEN + 1..text.len() - 1]);
    write!(&mut text[..CHECKSUM_LEN], "{checksum:08x}").expect("eight digits fit");
}

fn cut(replica: &str) -> &str {
    &replica[..replica.floor_char_boundary(MAX_REPLICA_BYTES)]
}

/// Reads a line with its line break; `None` if it is damaged.
pub(super) fn read_with_break(text: &[u8]) -> Option<(UsageEvent, Stage)> {
    read(text.strip_suffix(b"\n")?)
}

/// Reads a line without its line break; `None` if it is damaged.
pub(super) fn read(text: &[u8]) -> Option<(UsageEvent, Stage)> {
    let (checksum, object) = text.split_at_checked(CHECKSUM_LEN)?;
    let object = object.strip_prefix(b" ")?;
    let checksum = u32::from_str_radix(std::str::from_utf8(checksum).ok()?, 16).ok()?;
    if crc32fast::hash(object) != checksum {
        return None;
    }
    let line: Value = serde_json::from_slice(object).ok()?;
    let text = |name: &str| line[name].as_str();
    let amount = |value: &Value| value.as_i64().map(NanoUsd::from_nanos);
    let (tokens, price) = (&line["tokens"], &line["price"]);
    let caller = Caller::new(
        OrganizationId::parse(text("organization")?).ok()?,
        WorkspaceId::parse(text("workspace")?).ok()?,
        Actor::parse(text("key").or_else(|| text("user"))?)?,
    );
    let event = UsageEvent {
        request: RequestId::parse(text("request")?).ok()?,
        caller: Arc::new(caller),
        model: ModelId::parse(text("model")?).ok()?,
        replica: cut(text("replica")?).into(),
        streamed: line["streamed"].as_bool()?,
        status: line["status"].as_u64()?.try_into().ok()?,
        code: text("code")?.to_owned().into(),
        tokens: Tokens { prompt: tokens[0].as_u64()?, completion: tokens[1].as_u64()?, cached: tokens[2].as_u64()? },
        certainty: Certainty::parse(text("certainty")?)?,
        price: Price {
            input_per_1m: amount(&price[0])?,
            cached_input_per_1m: amount(&price[1])?,
            output_per_1m: amount(&price[2])?,
        },
        cost: amount(&line["cost"])?,
        started_at: Timestamp::from_millis(line["started_at"].as_i64()?),
        first_byte_micros: line["first_byte_micros"].as_u64(),
        duration_micros: line["duration_micros"].as_u64()?,
        held_micros: line["held_micros"].as_u64(),
        sent_micros: line["sent_micros"].as_u64(),
        origin: CallOrigin {
            surface: text("surface").and_then(CallSurface::parse),
            requested_model: text("requested_model").map(Into::into),
            batch: None,
            class: text("class").and_then(CallClass::parse).unwrap_or_default(),
        },
        failovers: line["failovers"].as_u64().map_or(Some(0), |count| count.try_into().ok())?,
        end_user: text("end_user")
            .and_then(EndUserId::parse)
            .map(|id| Arc::new(EndUser { id, text: text("end_user_text").map(Into::into) })),
        reserved_in: line["reserved_in"]
            .as_u64()
            .and_then(|bits| bits.try_into().ok())
            .map_or_else(ReservedIn::default, ReservedIn::from_bits),
    };
    Some((event, Stage::parse(text("stage")?)?))
}
