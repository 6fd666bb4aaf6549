//! Single sign-on by OpenID Connect: authorization code with PKCE, at any provider that can be discovered.
//!
//! The protocol is `openidconnect`'s; here is what is asked of it. The provider's description and keys are fetched when
//! they are first needed and again when they are old, or when a token is signed with a key that is not among them.

use crate::config::OidcConfig;
use crate::outbound;
use control::single_sign_on::Identity;
use fleet::Connector;
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreErrorResponseType, CoreGenderClaim, CoreJsonWebKey,
    CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreProviderMetadata, CoreRevocableToken,
    CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::{
    AdditionalClaims, AuthorizationCode, Client, ClientId, ClientSecret, CsrfToken, EmptyExtraTokenFields,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, IdTokenFields, IssuerUrl, Nonce, OAuth2TokenResponse,
    PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope, StandardErrorResponse, StandardTokenResponse,
    TokenResponse, UserInfoClaims,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How long the provider's description and keys are believed.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// How soon they may be fetched again for the sake of an unknown key.
const AGAIN: Duration = Duration::from_secs(5);

/// Why nobody was signed in; the cause is for our log.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The provider cannot be asked, or says something that does not hold.
    Provider(anyhow::Error),
    /// The provider does not vouch for the address of e-mail.
    EmailNotVerified,
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Provider(error.into())
    }
}

/// What the browser is sent to, and what must be remembered until it comes back.
pub(crate) struct Departure {
    pub nonce: String,
    pub verifier: String,
}

pub(crate) struct Provider {
    config: OidcConfig,
    connector: Connector,
    redirect_url: String,
    known: Mutex<Option<(CoreProviderMetadata, Instant)>>,
}

/// Claims beside the standard ones: the groups are among them, under a name that the configuration tells.
#[derive(Debug, Default, Serialize, Deserialize)]
struct OtherClaims(Map<String, Value>);

impl AdditionalClaims for OtherClaims {}

type Tokens = StandardTokenResponse<
    IdTokenFields<
        OtherClaims,
        EmptyExtraTokenFields,
        CoreGenderClaim,
        CoreJweContentEncryptionAlgorithm,
        CoreJwsSigningAlgorithm,
    >,
    CoreTokenType,
>;

type OidcClient = Client<
    OtherClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

impl Provider {
    pub(crate) fn new(config: OidcConfig, connector: Connector, console_url: &str) -> Self {
        let redirect_url = format!("{console_url}/api/session/oidc/callback");
        Self { config, connector, redirect_url, known: Mutex::new(None) }
    }

    /// What people may choose on the sign-in page.
    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    pub(crate) fn mapping(&self) -> &control::single_sign_on::Mapping {
        &self.config.mapping
    }

    /// Secrets for one sign-in.
    pub(crate) fn depart() -> Departure {
        let (_, verifier) = PkceCodeChallenge::new_random_sha256();
        Departure { nonce: Nonce::new_random().secret().clone(), verifier: verifier.into_secret() }
    }

    /// Where to send the browser.
    pub(crate) async fn authorization_url(&self, state: &str, departure: &Departure) -> Result<String, Failure> {
        let client = self.client(FRESH).await?;
        let challenge =
            PkceCodeChallenge::from_code_verifier_sha256(&PkceCodeVerifier::new(departure.verifier.clone()));
        let (state, nonce) = (state.to_owned(), departure.nonce.clone());
        let mut request = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                move || CsrfToken::new(state),
                move || Nonce::new(nonce),
            )
            .set_pkce_challenge(challenge);
        for scope in &self.config.scopes {
            request = request.add_scope(Scope::new(scope.clone()));
        }
        Ok(request.url().0.to_string())
    }

    /// Turns the code that the browser brought back into somebody the provider vouches for.
    pub(crate) async fn identify(&self, code: String, departure: Departure) -> Result<Identity, Failure> {
        let client = self.client(FRESH).await?;
        let call = |request| outbound::call(self.connector.clone(), request);
        let tokens = client
            .exchange_code(AuthorizationCode::new(code))?
            .set_pkce_verifier(PkceCodeVerifier::new(departure.verifier))
            .request_async(&call)
            .await?;
        let id_token = tokens.id_token().ok_or_else(|| anyhow::anyhow!("the provider sent no ID token"))?;
        let nonce = Nonce::new(departure.nonce);
        // The provider may have new keys since they were fetched.
        let newer;
        let claims = match id_token.claims(&client.id_token_verifier(), &nonce) {
            Ok(claims) => claims,
            Err(_) => {
                newer = self.client(AGAIN).await?;
                id_token.claims(&newer.id_token_verifier(), &nonce)?
            }
        };
        let mut told = Told {
            email: claims.email().map(|email| email.as_str().to_owned()),
            verified: claims.email_verified(),
            groups: self.groups(claims.additional_claims()),
        };
        if told.lacks_something(!self.config.groups_claim.is_empty()) && client.user_info_url().is_some() {
            let request = client.user_info(tokens.access_token().clone(), Some(claims.subject().clone()))?;
            let more: UserInfoClaims<OtherClaims, CoreGenderClaim> = request.request_async(&call).await?;
            let email = more.email().map(|email| email.as_str().to_owned());
            told.complete(email, more.email_verified(), self.groups(more.additional_claims()));
        }
        let (Some(email), Some(true)) = (told.email, told.verified) else { return Err(Failure::EmailNotVerified) };
        Ok(Identity {
            issuer: claims.issuer().to_string(),
            subject: claims.subject().to_string(),
            email,
            groups: told.groups.unwrap_or_default(),
        })
    }

    /// A list of texts, or one text.
    fn groups(&self, claims: &OtherClaims) -> Option<Vec<String>> {
        match claims.0.get(&self.config.groups_claim)? {
            Value::Array(values) => Some(values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()),
            Value::String(text) => Some(vec![text.clone()]),
            _ => None,
        }
    }

    /// A client with a description of the provider that is not older than this.
    async fn client(&self, max_age: Duration) -> Result<OidcClient, Failure> {
        let mut known = self.known.lock().await;
        let metadata = match &*known {
            Some((metadata, at)) if at.elapsed() < max_age => metadata.clone(),
            _ => {
                let call = |request| outbound::call(self.connector.clone(), request);
                let issuer = IssuerUrl::new(self.config.issuer.clone())?;
                let metadata = CoreProviderMetadata::discover_async(issuer, &call).await?;
                *known = Some((metadata.clone(), Instant::now()));
                metadata
            }
        };
        let secret = self.config.client_secret.clone().map(ClientSecret::new);
        let client = Client::from_provider_metadata(metadata, ClientId::new(self.config.client_id.clone()), secret);
        Ok(client.set_redirect_uri(RedirectUrl::new(self.redirect_url.clone())?))
    }
}

/// What is known of somebody so far.
struct Told {
    email: Option<String>,
    verified: Option<bool>,
    groups: Option<Vec<String>>,
}

impl Told {
    fn lacks_something(&self, groups_matter: bool) -> bool {
        self.email.is_none() || self.verified.is_none() || (groups_matter && self.groups.is_none())
    }

    /// What the ID token says is not replaced.
    fn complete(&mut self, email: Option<String>, verified: Option<bool>, groups: Option<Vec<String>>) {
        if self.email.is_none() {
            (self.email, self.verified) = (email, verified);
        } else if self.email == email {
            self.verified = self.verified.or(verified);
        }
        self.groups = self.groups.take().or(groups);
    }
}
