//! Sign-in with e-mail address and password.
//!
//! An attempt is counted before the password is checked, so that concurrent attempts cannot exceed the limit: by account
//! and origin, so that guesses do not lock out a user who is elsewhere, by address, and by account unless the user has
//! signed in from there before. An unknown account is counted and takes as long as a known one.

use crate::command_error::CommandError;
use crate::sessions::{self, ActiveSession, SessionCommand};
use crate::{known_origins, passwords};
use domain::user::Email;
use domain::{Timestamp, User, attempts};
use store::users::{self, Credentials};
use store::{StoreError, Tx};

/// Checks e-mail address and password, and starts a session.
pub async fn sign_in(command: SessionCommand<'_>, email: &str, password: &str) -> Result<ActiveSession, CommandError> {
    let (store, email) = (command.store, Email::parse(email)?);
    let checked = check(command, &email, password).await?;
    let user = users::by_id(store, &checked.user).await?.ok_or(CommandError::BadCredentials)?;
    let context = sessions::first_context(store, &user).await?;
    let mut tx = store.begin().await?;
    lock_unchanged(&mut tx, &checked).await?;
    let signed = sessions::start(command, &mut tx, user, context).await?;
    tx.commit().await?;
    Ok(signed)
}

/// The account that has this password, of those that share an address. Without an account it takes as long as with one.
async fn find_matching(accounts: Vec<Credentials>, password: &str) -> Result<Option<Credentials>, CommandError> {
    if accounts.is_empty() {
        passwords::verify(password, None).await?;
    }
    for account in accounts {
        if passwords::verify(password, account.password_hash.as_deref()).await? {
            return Ok(Some(account));
        }
    }
    Ok(None)
}

/// The error of an attempt that was not counted.
pub(crate) fn too_many_attempts(error: StoreError, now: Timestamp) -> CommandError {
    match error {
        StoreError::TooManyAttempts { wait } => CommandError::TooManyAttempts { wait, now },
        other => other.into(),
    }
}

/// Locks the account that a password was checked against. Fails if the password has changed since: a session that starts
/// now would survive the change, which ends all others.
async fn lock_unchanged(tx: &mut Tx, checked: &Credentials) -> Result<(), CommandError> {
    if users::lock_unchanged(tx, checked).await? { Ok(()) } else { Err(CommandError::BadCredentials) }
}

/// Checks the password of the accounts with an address within the limits on attempts.
pub(crate) async fn check(
    command: SessionCommand<'_>,
    email: &Email,
    password: &str,
) -> Result<Credentials, CommandError> {
    let accounts = users::credentials(command.store, email).await?;
    check_accounts(command, email, accounts, password).await
}

/// Checks the password of one user, within the same limits. Another account may have the same address.
pub(crate) async fn check_user(command: SessionCommand<'_>, user: &User, password: &str) -> Result<(), CommandError> {
    let mut accounts = users::credentials(command.store, &user.email).await?;
    accounts.retain(|account| account.user == user.id);
    check_accounts(command, &user.email, accounts, password).await.map(drop)
}

async fn check_accounts(
    command: SessionCommand<'_>,
    email: &Email,
    accounts: Vec<Credentials>,
    password: &str,
) -> Result<Credentials, CommandError> {
    let SessionCommand { store, now, .. } = command;
    let counters = known_origins::counters(command, email, &accounts).await?;
    let too_many = |error| too_many_attempts(error, now);
    let mut tx = store.begin().await?;
    let policy = &attempts::PER_ACCOUNT_AND_ORIGIN;
    store::attempts::take(&mut tx, &counters.own, policy, now).await.map_err(too_many)?;
    for (subject, policy) in &counters.shared {
        store::attempts::take(&mut tx, subject, policy, now).await.map_err(too_many)?;
    }
    tx.commit().await?;

    let Some(credentials) = find_matching(accounts, password).await? else {
        return Err(CommandError::BadCredentials);
    };
    let mut tx = store.begin().await?;
    store::attempts::forget(&mut tx, &counters.own).await?;
    for (subject, _) in &counters.shared {
        store::attempts::give_back(&mut tx, subject).await?;
    }
    tx.commit().await?;
    Ok(credentials)
}
