//! Password hashing with Argon2id. The parameters are part of the hash, so they can change without a migration.

use crate::command_error::CommandError;
use argon2::password_hash::{Error, PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use std::time::Duration;
use tokio::sync::Semaphore;

const MIN_LEN: usize = 8;
/// Bounds the work, which is linear in the length.
const MAX_LEN: usize = 1_024;
const MEMORY_KIB: u32 = 19 * 1_024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// Passwords hashed at the same time: each takes [`MEMORY_KIB`] and a core.
const AT_ONCE: usize = 4;
/// Passwords that are hashed or wait for it. On an ordinary core, the last one waits for half a second.
const MAX_PENDING: usize = 64;
/// How long a password waits for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);

static WORK: Semaphore = Semaphore::const_new(AT_ONCE);
static PENDING: Semaphore = Semaphore::const_new(MAX_PENDING);

/// Checks the length of a new password.
pub fn check(password: &str) -> Result<&str, CommandError> {
    let length = password.chars().count();
    if (MIN_LEN..=MAX_LEN).contains(&length) {
        return Ok(password);
    }
    Err(CommandError::BadValue { field: "password", why: "a password must have 8 to 1024 characters" })
}

/// The hash to store: `$argon2id$v=19$m=…,t=…,p=…$salt$hash`.
pub async fn hash(password: &str) -> Result<String, CommandError> {
    let password = password.to_owned();
    on_a_worker(move || Ok(argon2id()?.hash_password(password.as_bytes())?.to_string())).await
}

/// Whether the password matches the stored hash. Without a hash it returns `false` after the same time.
pub async fn verify(password: &str, stored: Option<&str>) -> Result<bool, CommandError> {
    if password.len() > MAX_LEN * 4 {
        return Ok(false);
    }
    let password = password.to_owned();
    let stored = stored.map(ToOwned::to_owned);
    on_a_worker(move || {
        let Some(stored) = stored else {
            argon2id()?.hash_password(password.as_bytes())?;
            return Ok(false);
        };
        match argon2id()?.verify_password(password.as_bytes(), stored.as_str()) {
            Ok(()) => Ok(true),
            Err(Error::PasswordInvalid) => Ok(false),
            Err(other) => Err(other),
        }
    })
    .await
}

fn argon2id() -> Result<Argon2<'static>, Error> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

async fn on_a_worker<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, CommandError> {
    let _pending = PENDING.try_acquire().map_err(|_| CommandError::Busy)?;
    let turn = tokio::time::timeout(TURN_TIMEOUT, WORK.acquire()).await.map_err(|_| CommandError::Busy)?;
    let _turn = turn.map_err(internal)?;
    // At the priority of calls: a tenant that keeps all cores busy would otherwise keep people from signing in.
    tokio::task::spawn_blocking(work).await.map_err(internal)?.map_err(internal)
}

fn internal(cause: impl std::error::Error + Send + Sync + 'static) -> CommandError {
    CommandError::Internal { cause: Box::new(cause) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_verified_against_its_hash() {
        let stored = hash("correct horse").await.unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(verify("correct horse", Some(&stored)).await.unwrap());
        assert!(!verify("correct horsf", Some(&stored)).await.unwrap());
        assert!(!verify("correct horse", None).await.unwrap());
        assert_ne!(stored, hash("correct horse").await.unwrap());
    }

    #[tokio::test]
    async fn a_password_does_not_wait_behind_many_others() {
        let places = PENDING.acquire_many(u32::try_from(MAX_PENDING).unwrap()).await.unwrap();
        assert!(matches!(hash("correct horse").await, Err(CommandError::Busy)));
        drop(places);
        assert!(hash("correct horse").await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_password_does_not_wait_for_long() {
        let _others = WORK.acquire_many(u32::try_from(AT_ONCE).unwrap()).await.unwrap();
        assert!(matches!(verify("correct horse", None).await, Err(CommandError::Busy)));
    }

    #[test]
    fn short_and_long_passwords_are_rejected() {
        assert!(check("1234567").is_err());
        assert!(check("12345678").is_ok());
        assert!(check(&"x".repeat(1_025)).is_err());
    }
}
