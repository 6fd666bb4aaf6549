//! Sign-in with e-mail address and password.
//!
//! An attempt is counted against its account and its IP address before the password is checked, so that concurrent
//! attempts cannot exceed the limit. An unknown account is counted and takes as long as a known one.

use crate::command_error::CommandError;
use crate::passwords;
use crate::sessions::{self, ActiveSession, Origin};
use domain::session::Lifetimes;
use domain::user::Email;
use domain::{Timestamp, attempts};
use store::users::{self, Credentials};
use store::{Store, StoreError, Tx};

/// Checks e-mail address and password, and starts a session.
pub async fn sign_in(
    store: &Store,
    email: &str,
    password: &str,
    origin: &Origin,
    lifetimes: &Lifetimes,
    now: Timestamp,
) -> Result<ActiveSession, CommandError> {
    let email = Email::parse(email)?;
    let checked = check(store, &email, password, origin, now).await?;
    let user = users::by_id(store, &checked.user).await?.ok_or(CommandError::BadCredentials)?;
    let context = sessions::first_context(store, &user).await?;
    let mut tx = store.begin().await?;
    lock_unchanged(&mut tx, &checked).await?;
    let signed = sessions::start(&mut tx, user, context, origin, lifetimes, now).await?;
    tx.commit().await?;
    Ok(signed)
}

/// Locks the account that a password was checked against. Fails if the password has changed since: a session that starts
/// now would survive the change, which ends all others.
pub(crate) async fn lock_unchanged(tx: &mut Tx, checked: &Credentials) -> Result<(), CommandError> {
    if users::lock_unchanged(tx, checked).await? { Ok(()) } else { Err(CommandError::BadCredentials) }
}

/// Checks the password within the limits on attempts.
pub(crate) async fn check(
    store: &Store,
    email: &Email,
    password: &str,
    origin: &Origin,
    now: Timestamp,
) -> Result<Credentials, CommandError> {
    let (account, address) = (format!("account {email}"), format!("address {}", origin.address));
    let too_many = |error| match error {
        StoreError::TooManyAttempts { wait } => CommandError::TooManyAttempts { wait, now },
        other => CommandError::from(other),
    };
    let mut tx = store.begin().await?;
    store::attempts::take(&mut tx, &account, &attempts::PER_ACCOUNT, now).await.map_err(too_many)?;
    store::attempts::take(&mut tx, &address, &attempts::PER_ADDRESS, now).await.map_err(too_many)?;
    tx.commit().await?;

    let credentials = users::credentials(store, email).await?;
    let hash = credentials.as_ref().and_then(|found| found.password_hash.as_deref());
    let good = passwords::verify(password, hash).await?;
    let Some(credentials) = credentials.filter(|_| good) else {
        return Err(CommandError::BadCredentials);
    };
    let mut tx = store.begin().await?;
    store::attempts::forget(&mut tx, &account).await?;
    store::attempts::give_back(&mut tx, &address).await?;
    tx.commit().await?;
    Ok(credentials)
}
