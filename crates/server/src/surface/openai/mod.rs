//! The inference surface: `/v1/chat/completions`, `/v1/embeddings`, `/v1/models`.
//!
//! The order of checks: who asks, which route, which method, the body, and then what the call itself may be refused for.

mod chat;
pub(crate) mod describe;
pub(crate) mod error;
mod models;

use super::Surface;
use crate::credential;
use crate::edge::{Answered, Body, Head, Incoming, deadline, request_body};
use dataplane::Refusal;
use dataplane::usage_tap::{Outcome, UsageTap};
use domain::{Caller, Timestamp};
use error::Refused;
use http::{Method, Response};
use std::sync::Arc;

/// The most bytes of headers: names, values and what separates them.
const MAX_HEADER_BYTES: usize = 32 << 10;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route<'a> {
    Chat,
    Embeddings,
    Models,
    Model(&'a str),
    Unknown,
}

fn route(path: &str) -> Route<'_> {
    let trimmed = path.strip_suffix('/').unwrap_or(path);
    match trimmed {
        "/v1/chat/completions" => Route::Chat,
        "/v1/embeddings" => Route::Embeddings,
        "/v1/models" => Route::Models,
        other => match other.strip_prefix("/v1/models/") {
            Some(id) if !id.is_empty() => Route::Model(id),
            _ => Route::Unknown,
        },
    }
}

pub(super) fn is_route(path: &str) -> bool {
    route(path) != Route::Unknown
}

/// The name of a route in logs and metrics.
pub(crate) fn route_name(path: &str) -> &'static str {
    match route(path) {
        Route::Chat => "chat",
        Route::Embeddings => "embeddings",
        Route::Models | Route::Model(_) => "models",
        Route::Unknown => "unknown",
    }
}

impl Route<'_> {
    const fn allow(self) -> &'static str {
        match self {
            Self::Chat | Self::Embeddings => "POST",
            Self::Models | Self::Model(_) | Self::Unknown => "GET, HEAD",
        }
    }

    fn takes(self, method: &Method) -> bool {
        match self {
            Self::Chat | Self::Embeddings => method == Method::POST,
            Self::Models | Self::Model(_) | Self::Unknown => method == Method::GET || method == Method::HEAD,
        }
    }
}

/// Answers a request under `/v1`.
pub(crate) async fn answer(
    surface: &Surface,
    head: &mut Head,
    body: &mut Incoming,
    mut tap: UsageTap,
    now: Timestamp,
) -> Answered {
    let route = route(head.uri.path());
    let caller = match check(surface, head, route, &mut tap, now).await {
        Ok(caller) => caller,
        Err(refused) => {
            request_body::discard(&head.headers, body).await;
            return refuse(&refused, tap);
        }
    };
    match route {
        Route::Chat => chat::infer(surface, &mut head.headers, body, caller, tap, dataplane::probe::chat::probe).await,
        Route::Embeddings => {
            chat::infer(surface, &mut head.headers, body, caller, tap, dataplane::probe::embeddings::probe).await
        }
        Route::Models => serve(Ok(models::list(surface.dataplane.routes(), head.uri.query())), tap),
        Route::Model(model) => serve(models::show(&surface.dataplane, &caller, model), tap),
        Route::Unknown => refuse(&Refused::UnknownRoute, tap),
    }
}

async fn check(
    surface: &Surface,
    head: &Head,
    route: Route<'_>,
    tap: &mut UsageTap,
    now: Timestamp,
) -> Result<Arc<Caller>, Refused> {
    if head.headers.bytes() > MAX_HEADER_BYTES {
        return Err(Refused::HeadersTooLarge { limit: MAX_HEADER_BYTES });
    }
    if !head.uri.path().starts_with("/v1/") && head.uri.path() != "/v1" {
        return Err(Refused::UnknownRoute);
    }
    let caller = credential::identify(&surface.keys, &surface.people, head, now).await?;
    tap.note(|record| record.caller = Some(Arc::clone(&caller)));
    if route == Route::Unknown {
        return Err(Refused::UnknownRoute);
    }
    if !route.takes(&head.method) {
        return Err(Refused::MethodNotAllowed { allow: route.allow() });
    }
    Ok(caller)
}

fn serve(answer: Result<Response<Body>, Refused>, mut tap: UsageTap) -> Answered {
    match answer {
        Ok(response) => {
            tap.settle(Outcome::Served);
            response.into()
        }
        Err(refused) => refuse(&refused, tap),
    }
}

/// Dresses a refusal and closes its record.
fn refuse(refused: &Refused, mut tap: UsageTap) -> Answered {
    tap.note(|record| record.cause = record.cause.take().or_else(|| refused.cause()));
    let standings = tap.standings().or_else(|| refused.standings());
    tap.settle(Outcome::Refused { status: refused.status().as_u16(), code: refused.code() });
    let response = match refused {
        Refused::Call(Refusal::HoldTimeout) => deadline::answer(),
        _ => refused.dress(),
    };
    Answered { standings, ..response.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_found_with_and_without_a_slash_at_the_end() {
        assert_eq!(route("/v1/chat/completions"), Route::Chat);
        assert_eq!(route("/v1/embeddings/"), Route::Embeddings);
        assert_eq!(route("/v1/models/"), Route::Models);
        assert_eq!(route("/v1/models/acme/tiny"), Route::Model("acme/tiny"));
        assert_eq!(route("/v1/models/acme%2Ftiny"), Route::Model("acme%2Ftiny"));
        for unknown in ["/", "/v1", "/v1/completions", "/v2/models", "/v1/chat"] {
            assert_eq!(route(unknown), Route::Unknown, "{unknown}");
        }
    }
}
