//! A sign-in that has begun, and why it may fail.

/// Why a sign-in failed; the cause is for the log.
#[derive(Debug)]
pub(crate) enum SignInError {
    /// The provider cannot be reached, or its response is invalid.
    Provider(anyhow::Error),
    /// The provider has not verified the e-mail address.
    #[cfg_attr(not(feature = "single-sign-on"), expect(dead_code, reason = "only a provider makes it"))]
    EmailNotVerified,
}

impl<E: Into<anyhow::Error>> From<E> for SignInError {
    fn from(error: E) -> Self {
        Self::Provider(error.into())
    }
}

/// Secrets of one sign-in, kept until the browser comes back from the provider.
pub(crate) struct PendingSignIn {
    pub nonce: String,
    pub verifier: String,
}
