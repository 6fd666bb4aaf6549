//! Single sign-on by OpenID Connect: authorization code with PKCE, at any provider that can be discovered.
//!
//! The protocol is implemented by `openidconnect`. The provider's metadata and keys are fetched on first use, again when
//! they are old, and when a token is signed with an unknown key.

mod sign_in;

use config::OidcConfig;
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
pub(crate) use sign_in::{PendingSignIn, SignInError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How long the provider's metadata and keys are cached.
const METADATA_TTL: Duration = Duration::from_secs(60 * 60);
/// How soon they may be fetched again because of an unknown key.
const REFETCH_AFTER: Duration = Duration::from_secs(5);

pub(crate) struct Provider {
    config: OidcConfig,
    connector: Connector,
    redirect_url: String,
    metadata: Mutex<Option<(CoreProviderMetadata, Instant)>>,
}

/// Claims other than the standard ones, among them the groups under the configured name.
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
    /// Fails in a build without single sign-on.
    pub(crate) fn new(config: OidcConfig, connector: Connector, console_url: &str) -> anyhow::Result<Self> {
        let redirect_url = format!("{console_url}/api/session/oidc/callback");
        Ok(Self { config, connector, redirect_url, metadata: Mutex::new(None) })
    }

    /// The label of the button on the sign-in page.
    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    pub(crate) fn mapping(&self) -> &control::single_sign_on::Mapping {
        &self.config.mapping
    }

    /// New secrets for a sign-in.
    pub(crate) fn begin(&self) -> PendingSignIn {
        let (_, verifier) = PkceCodeChallenge::new_random_sha256();
        PendingSignIn { nonce: Nonce::new_random().secret().clone(), verifier: verifier.into_secret() }
    }

    /// Where to send the browser.
    pub(crate) async fn authorization_url(&self, state: &str, pending: &PendingSignIn) -> Result<String, SignInError> {
        let client = self.client(METADATA_TTL).await?;
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&PkceCodeVerifier::new(pending.verifier.clone()));
        let (state, nonce) = (state.to_owned(), pending.nonce.clone());
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

    /// Exchanges the code that the browser brought back for a verified identity.
    pub(crate) async fn identify(&self, code: String, pending: PendingSignIn) -> Result<Identity, SignInError> {
        let client = self.client(METADATA_TTL).await?;
        let call = |request| outbound::call(self.connector.clone(), request);
        let tokens = client
            .exchange_code(AuthorizationCode::new(code))?
            .set_pkce_verifier(PkceCodeVerifier::new(pending.verifier))
            .request_async(&call)
            .await?;
        let id_token = tokens.id_token().ok_or_else(|| anyhow::anyhow!("the provider sent no ID token"))?;
        let nonce = Nonce::new(pending.nonce);
        // The provider may have rotated its keys.
        let newer;
        let claims = match id_token.claims(&client.id_token_verifier(), &nonce) {
            Ok(claims) => claims,
            Err(_) => {
                newer = self.client(REFETCH_AFTER).await?;
                id_token.claims(&newer.id_token_verifier(), &nonce)?
            }
        };
        let mut found = FoundClaims {
            email: claims.email().map(|email| email.as_str().to_owned()),
            verified: claims.email_verified(),
            groups: self.groups(claims.additional_claims()),
        };
        if found.is_incomplete(!self.config.groups_claim.is_empty()) && client.user_info_url().is_some() {
            let request = client.user_info(tokens.access_token().clone(), Some(claims.subject().clone()))?;
            let more: UserInfoClaims<OtherClaims, CoreGenderClaim> = request.request_async(&call).await?;
            let email = more.email().map(|email| email.as_str().to_owned());
            found.complete(email, more.email_verified(), self.groups(more.additional_claims()));
        }
        let (Some(email), Some(true)) = (found.email, found.verified) else {
            return Err(SignInError::EmailNotVerified);
        };
        Ok(Identity {
            issuer: claims.issuer().to_string(),
            subject: claims.subject().to_string(),
            email,
            groups: found.groups.unwrap_or_default(),
        })
    }

    /// The groups claim: a list of texts, or one text.
    fn groups(&self, claims: &OtherClaims) -> Option<Vec<String>> {
        match claims.0.get(&self.config.groups_claim)? {
            Value::Array(values) => Some(values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()),
            Value::String(text) => Some(vec![text.clone()]),
            _ => None,
        }
    }

    /// A client with metadata of the provider not older than `max_age`.
    async fn client(&self, max_age: Duration) -> Result<OidcClient, SignInError> {
        let mut metadata_cache = self.metadata.lock().await;
        let metadata = match &*metadata_cache {
            Some((metadata, at)) if at.elapsed() < max_age => metadata.clone(),
            _ => {
                let call = |request| outbound::call(self.connector.clone(), request);
                let issuer = IssuerUrl::new(self.config.issuer.clone())?;
                let metadata = CoreProviderMetadata::discover_async(issuer, &call).await?;
                *metadata_cache = Some((metadata.clone(), Instant::now()));
                metadata
            }
        };
        let secret = self.config.client_secret.clone().map(ClientSecret::new);
        let client = Client::from_provider_metadata(metadata, ClientId::new(self.config.client_id.clone()), secret);
        Ok(client.set_redirect_uri(RedirectUrl::new(self.redirect_url.clone())?))
    }
}

/// Claims collected so far.
struct FoundClaims {
    email: Option<String>,
    verified: Option<bool>,
    groups: Option<Vec<String>>,
}

impl FoundClaims {
    fn is_incomplete(&self, groups_matter: bool) -> bool {
        self.email.is_none() || self.verified.is_none() || (groups_matter && self.groups.is_none())
    }

    /// Adds claims of the user info. Claims of the ID token are not replaced.
    fn complete(&mut self, email: Option<String>, verified: Option<bool>, groups: Option<Vec<String>>) {
        if self.email.is_none() {
            (self.email, self.verified) = (email, verified);
        } else if self.email == email {
            self.verified = self.verified.or(verified);
        }
        self.groups = self.groups.take().or(groups);
    }
}
