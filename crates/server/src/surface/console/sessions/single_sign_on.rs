//! `/api/session/oidc`: sign-in by way of an OpenID Connect provider.

use crate::credential::session_cookie;
use crate::oidc::{PendingSignIn, SignInError};
use crate::surface::console::Console;
use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{Params, RequestContext, Visitor};
use crate::surface::console::sessions::browser_cookie;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use control::sessions::ActiveSession;
use control::{CommandErrorKind, single_sign_on};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Binds a sign-in to the browser that began it.
const STATE_COOKIE: &str = "forebay_oidc";
/// Only this very host can set a cookie with this prefix.
const STATE_COOKIE_ON_HTTPS: &str = "__Host-forebay_oidc";
const STATE_MAX_AGE_SECS: i64 = 600;

/// The ways to sign in.
#[derive(Serialize, ToSchema)]
pub(crate) struct SignInMethods {
    password: bool,
    oidc: Option<OidcMethod>,
}

#[derive(Serialize, ToSchema)]
struct OidcMethod {
    /// The label of the button.
    name: String,
    /// The target of the button.
    url: String,
}

/// The query with which the provider sends the browser back.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Returned {
    #[param(required = false, nullable = false)]
    code: Option<String>,
    #[param(required = false, nullable = false)]
    state: Option<String>,
    #[param(required = false, nullable = false)]
    error: Option<String>,
}

/// The ways to sign in.
#[utoipa::path(get, path = "/api/sign-in-methods", tag = "session", security(()),
    responses((status = 200, body = SignInMethods)))]
pub(crate) async fn methods(State(console): State<Console>) -> Json<SignInMethods> {
    let oidc = console
        .provider
        .as_ref()
        .map(|provider| OidcMethod { name: provider.name().to_owned(), url: "/api/session/oidc".to_owned() });
    Json(SignInMethods { password: true, oidc })
}

/// Redirect to the provider to sign in.
#[utoipa::path(get, path = "/api/session/oidc", tag = "session", security(()),
    responses((status = 303, description = "to the provider, or back to the console with `error`")))]
pub(crate) async fn begin(State(console): State<Console>, request: RequestContext) -> Result<Response, ConsoleError> {
    let provider = console.provider.as_ref().ok_or(ConsoleError::NotFound)?;
    let pending = provider.begin();
    let (nonce, verifier) = (pending.nonce.clone(), pending.verifier.clone());
    let state = single_sign_on::begin(&console.context.store, nonce, verifier, request.now).await?;
    match provider.authorization_url(&state, &pending).await {
        Ok(url) => Ok(redirect(&url, vec![state_cookie(&console, &state, STATE_MAX_AGE_SECS)])),
        Err(error) => Ok(failed(&console, error)),
    }
}

/// The provider sends the browser back here.
#[utoipa::path(get, path = "/api/session/oidc/callback", tag = "session", security(()), params(Returned),
    responses((status = 303, description = "to the console, signed in, or with `error`")))]
pub(crate) async fn callback(
    State(console): State<Console>,
    visitor: Visitor,
    headers: HeaderMap,
    Params(returned): Params<Returned>,
) -> Result<Response, ConsoleError> {
    let provider = console.provider.as_ref().ok_or(ConsoleError::NotFound)?;
    let context = &console.context;
    let (Some(code), Some(state)) = (returned.code, returned.state) else {
        let error = returned.error.unwrap_or_default();
        return Ok(failed(&console, anyhow::anyhow!("the provider sent no code but `{error:.100}`").into()));
    };
    // A code that another browser requested would sign this one in as another user.
    if session_cookie::value(&headers, state_cookie_name(&console)) != Some(state.as_str()) {
        return Ok(failed(&console, anyhow::anyhow!("the state belongs to another browser").into()));
    }
    let Some(pending) = single_sign_on::resume(&context.store, &state, visitor.request.now).await? else {
        return Ok(failed(&console, anyhow::anyhow!("the state is unknown, used or too old").into()));
    };
    let pending = PendingSignIn { nonce: pending.nonce, verifier: pending.verifier };
    let identity = match provider.identify(code, pending).await {
        Ok(identity) => identity,
        Err(error) => return Ok(failed(&console, error)),
    };
    let command = visitor.request.session_command(context);
    match single_sign_on::enter(command, &identity, provider.mapping()).await {
        Ok(signed) => Ok(finish(&console, &visitor, &signed).await),
        Err(error) if error.kind() == CommandErrorKind::Forbidden => Ok(sign_in_page(&console, error.code())),
        Err(error) => Err(error.into()),
    }
}

/// Replaces the browser's old session with the new one.
async fn finish(console: &Console, visitor: &Visitor, signed: &ActiveSession) -> Response {
    let context = &console.context;
    let command = visitor.request.session_command(context);
    if let Some(before) = &visitor.signed {
        // It may have ended meanwhile.
        let _ = control::sessions::sign_out(command, before).await;
    }
    let max_age_secs = context.lifetimes.absolute_millis / 1_000;
    context.throttles.learn_session(signed.token.hash());
    browser_cookie::remember(command, signed).await;
    let cookie = session_cookie::set(&signed.token, max_age_secs, context.is_https());
    redirect(&format!("{}/", context.console_url), vec![cookie, state_cookie(console, "", 0)])
}

fn failed(console: &Console, error: SignInError) -> Response {
    match error {
        SignInError::EmailNotVerified => sign_in_page(console, "email_not_verified"),
        SignInError::Provider(cause) => {
            tracing::warn!(error = format!("{cause:#}"), "a sign-in with the identity provider failed");
            sign_in_page(console, "sign_in_failed")
        }
    }
}

/// Redirects to the sign-in page, which shows the error.
fn sign_in_page(console: &Console, error: &str) -> Response {
    let url = format!("{}/sign-in?error={error}", console.context.console_url);
    redirect(&url, vec![state_cookie(console, "", 0)])
}

fn redirect(url: &str, cookies: Vec<HeaderValue>) -> Response {
    let Ok(location) = HeaderValue::from_str(url) else { return ConsoleError::INTERNAL.into_response() };
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response();
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

fn state_cookie(console: &Console, state: &str, max_age_secs: i64) -> HeaderValue {
    session_cookie::assemble(state_cookie_name(console), state, max_age_secs, console.context.is_https())
}

fn state_cookie_name(console: &Console) -> &'static str {
    if console.context.is_https() { STATE_COOKIE_ON_HTTPS } else { STATE_COOKIE }
}
