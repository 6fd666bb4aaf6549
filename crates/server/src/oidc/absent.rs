//! Stands for single sign-on in a build without the feature `single-sign-on`, such as that of `make run`: no value of a
//! provider exists.

mod sign_in;

use config::OidcConfig;
use control::single_sign_on::{Identity, Mapping};
use fleet::Connector;
pub(crate) use sign_in::{PendingSignIn, SignInError};

pub(crate) enum Provider {}

impl Provider {
    pub(crate) fn new(_config: OidcConfig, _connector: Connector, _console_url: &str) -> anyhow::Result<Self> {
        anyhow::bail!(
            "[oidc]: this program was built without its feature `single-sign-on`; packages and `cargo build` have it"
        )
    }

    pub(crate) fn name(&self) -> &str {
        match *self {}
    }

    pub(crate) fn mapping(&self) -> &Mapping {
        match *self {}
    }

    pub(crate) fn begin(&self) -> PendingSignIn {
        match *self {}
    }

    pub(crate) async fn authorization_url(
        &self,
        _state: &str,
        _pending: &PendingSignIn,
    ) -> Result<String, SignInError> {
        match *self {}
    }

    pub(crate) async fn identify(&self, _code: String, _pending: PendingSignIn) -> Result<Identity, SignInError> {
        match *self {}
    }
}
