//! Signing in and out, and the sessions that result.

pub(super) mod browser_cookie;
pub(super) mod current;
pub(super) mod own;
pub(super) mod single_sign_on;
