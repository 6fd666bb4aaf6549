//! `/api/session/oidc`: to the provider and back.

use super::Console;
use super::caller::{Asked, Visitor};
use super::error::Refused;
use super::list::Params;
use crate::edge::session_cookie;
use crate::oidc::{Departure, Failure, Provider};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use control::sessions::ActiveSession;
use control::{CommandErrorKind, single_sign_on};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Binds a sign-in to the browser that began it, for as long as it may take.
const STATE_COOKIE: &str = "forebay_oidc";
const STATE_MAX_AGE_SECS: u32 = 600;

/// How people may sign in.
#[derive(Serialize, ToSchema)]
pub(super) struct SignInMethods {
    password: bool,
    oidc: Option<OidcMethod>,
}

#[derive(Serialize, ToSchema)]
struct OidcMethod {
    /// What to call it on a button.
    name: String,
    /// Where the button leads.
    url: String,
}

/// What the provider sends the browser back with.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Returned {
    #[param(required = false, nullable = false)]
    code: Option<String>,
    #[param(required = false, nullable = false)]
    state: Option<String>,
    #[param(required = false, nullable = false)]
    error: Option<String>,
}

/// How people may sign in.
#[utoipa::path(get, path = "/api/sign-in-methods", tag = "session", security(()),
    responses((status = 200, body = SignInMethods)))]
pub(super) async fn methods(State(console): State<Console>) -> Json<SignInMethods> {
    let oidc = console
        .provider
        .as_ref()
        .map(|provider| OidcMethod { name: provider.name().to_owned(), url: "/api/session/oidc".to_owned() });
    Json(SignInMethods { password: true, oidc })
}

/// Go to the provider to sign in.
#[utoipa::path(get, path = "/api/session/oidc", tag = "session", security(()),
    responses((status = 303, description = "to the provider, or back to the console with `error`")))]
pub(super) async fn depart(State(console): State<Console>, asked: Asked) -> Result<Response, Refused> {
    let provider = console.provider.as_ref().ok_or(Refused::NotFound)?;
    let departure = Provider::depart();
    let (nonce, verifier) = (departure.nonce.clone(), departure.verifier.clone());
    let state = single_sign_on::begin(&console.people.store, nonce, verifier, asked.now).await?;
    match provider.authorization_url(&state, &departure).await {
        Ok(url) => Ok(redirect(&url, vec![state_cookie(&console, &state, STATE_MAX_AGE_SECS)])),
        Err(failure) => Ok(give_up(&console, failure)),
    }
}

/// Come back from the provider.
#[utoipa::path(get, path = "/api/session/oidc/callback", tag = "session", security(()), params(Returned),
    responses((status = 303, description = "to the console, signed in, or with `error`")))]
pub(super) async fn come_back(
    State(console): State<Console>,
    visitor: Visitor,
    headers: HeaderMap,
    Params(returned): Params<Returned>,
) -> Result<Response, Refused> {
    let provider = console.provider.as_ref().ok_or(Refused::NotFound)?;
    let people = &console.people;
    let (Some(code), Some(state)) = (returned.code, returned.state) else {
        let told = returned.error.unwrap_or_default();
        return Ok(give_up(&console, anyhow::anyhow!("the provider sent no code but `{told:.100}`").into()));
    };
    // A code that somebody else began to ask for would sign this browser in as them.
    if state_of(&headers).as_deref() != Some(state.as_str()) {
        return Ok(give_up(&console, anyhow::anyhow!("the state is not this browser's").into()));
    }
    let Some(pending) = single_sign_on::resume(&people.store, &state, visitor.asked.now).await? else {
        return Ok(give_up(&console, anyhow::anyhow!("the state is unknown, used or too old").into()));
    };
    let departure = Departure { nonce: pending.nonce, verifier: pending.verifier };
    let identity = match provider.identify(code, departure).await {
        Ok(identity) => identity,
        Err(failure) => return Ok(give_up(&console, failure)),
    };
    let (origin, now) = (&visitor.asked.origin, visitor.asked.now);
    let entered =
        single_sign_on::enter(&people.store, &identity, provider.mapping(), origin, &people.lifetimes, now).await;
    match entered {
        Ok(signed) => Ok(arrive(&console, visitor, &signed).await),
        Err(refusal) if refusal.kind() == CommandErrorKind::Forbidden => Ok(home(&console, refusal.code())),
        Err(refusal) => Err(refusal.into()),
    }
}

/// ActiveSession in: the new session takes the place of the browser's old one.
async fn arrive(console: &Console, visitor: Visitor, signed: &ActiveSession) -> Response {
    let people = &console.people;
    if let Some(before) = visitor.signed {
        // It may have ended at the same moment.
        let _ = control::sessions::sign_out(&people.store, &before, &visitor.asked.origin, visitor.asked.now).await;
    }
    let max_age_secs = people.lifetimes.absolute_millis / 1_000;
    let cookie = session_cookie::hand_out(&signed.token, max_age_secs, people.is_https());
    redirect(&format!("{}/", people.console_url), vec![cookie, state_cookie(console, "", 0)])
}

fn give_up(console: &Console, failure: Failure) -> Response {
    match failure {
        Failure::EmailNotVerified => home(console, "email_not_verified"),
        Failure::Provider(cause) => {
            tracing::warn!(error = format!("{cause:#}"), "a sign-in by way of the provider failed");
            home(console, "sign_in_failed")
        }
    }
}

/// Back to the sign-in page, which tells people why.
fn home(console: &Console, error: &str) -> Response {
    let url = format!("{}/sign-in?error={error}", console.people.console_url);
    redirect(&url, vec![state_cookie(console, "", 0)])
}

fn redirect(url: &str, cookies: Vec<HeaderValue>) -> Response {
    let Ok(location) = HeaderValue::from_str(url) else { return Refused::Internal.into_response() };
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response();
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

fn state_cookie(console: &Console, state: &str, max_age_secs: u32) -> HeaderValue {
    let secure = if console.people.is_https() { "; Secure" } else { "" };
    let path = "/api/session/oidc";
    let text = format!("{STATE_COOKIE}={state}; Path={path}; HttpOnly; SameSite=Lax; Max-Age={max_age_secs}{secure}");
    HeaderValue::from_str(&text).expect("states are made of letters and digits")
}

fn state_of(headers: &HeaderMap) -> Option<String> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == STATE_COOKIE).map(|(_, value)| value.to_owned())
}
