//! Addresses and browsers from which a user has signed in before. Wrong passwords from elsewhere do not lock them out.

use crate::command_error::CommandError;
use crate::sessions::{ActiveSession, Origin, SessionCommand};
use domain::UserId;
use domain::attempts::{self, Policy};
use domain::session::BrowserToken;
use domain::user::Email;
use std::net::{IpAddr, Ipv6Addr};
use store::known_origins;
use store::users::Credentials;

/// How long a browser keeps its token.
pub const BROWSER_MAX_AGE_SECS: i64 = known_origins::KEPT_MILLIS / 1_000;

/// Whether the user has signed in from an origin before.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Familiarity {
    Browser,
    Address,
    Unknown,
}

/// The counters of wrong passwords that an attempt is counted in.
pub(crate) struct Counters {
    /// The counter of this account and this origin: reset by a successful attempt.
    pub(crate) own: String,
    /// Shared with other accounts or origins, in the order in which they are locked. A successful attempt is taken back.
    pub(crate) shared: Vec<(String, Policy)>,
}

/// The counters for an attempt at the accounts with an address; there may be none.
pub(crate) async fn counters(
    command: SessionCommand<'_>,
    email: &Email,
    accounts: &[Credentials],
) -> Result<Counters, CommandError> {
    for account in accounts {
        match familiarity(command, &account.user).await? {
            Familiarity::Unknown => {}
            known => return Ok(decide(email, command.origin, &known)),
        }
    }
    Ok(decide(email, command.origin, &Familiarity::Unknown))
}

async fn familiarity(command: SessionCommand<'_>, user: &UserId) -> Result<Familiarity, CommandError> {
    let SessionCommand { store, origin, now, .. } = command;
    if let Some(browser) = &origin.browser
        && known_origins::is_known(store, user, &browser_text(browser), now).await?
    {
        return Ok(Familiarity::Browser);
    }
    let known = known_origins::is_known(store, user, &address_text(origin), now).await?;
    Ok(if known { Familiarity::Address } else { Familiarity::Unknown })
}

fn decide(email: &Email, origin: &Origin, familiarity: &Familiarity) -> Counters {
    let address = address_text(origin);
    let per_address = (address.clone(), attempts::PER_ADDRESS);
    let own = match (familiarity, &origin.browser) {
        (Familiarity::Browser, Some(browser)) => format!("account {email} {}", browser_text(browser)),
        _ => format!("account {email} {address}"),
    };
    let shared = match familiarity {
        Familiarity::Browser => vec![],
        Familiarity::Address => vec![per_address],
        Familiarity::Unknown => vec![per_address, (format!("account {email}"), attempts::PER_ACCOUNT)],
    };
    Counters { own, shared }
}

/// Records a sign-in. A browser without a token is known by that of its session from now on.
pub async fn remember(command: SessionCommand<'_>, signed: &ActiveSession) -> Result<(), CommandError> {
    let SessionCommand { store, origin, now, .. } = command;
    let user = &signed.user.id;
    let browser = origin.browser.clone().unwrap_or_else(|| signed.token.browser());
    let mut tx = store.begin().await?;
    known_origins::remember(&mut tx, user, &address_text(origin), now).await?;
    known_origins::remember(&mut tx, user, &browser_text(&browser), now).await?;
    Ok(tx.commit().await?)
}

fn browser_text(browser: &BrowserToken) -> String {
    format!("browser {}", browser.reveal())
}

/// The address for counting. A client can use every address of its IPv6 network, so those count as one.
fn address_text(origin: &Origin) -> String {
    let network = match origin.address.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(IpAddr::V6(address)) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_string()
        }
        Ok(IpAddr::V4(address)) => address.to_string(),
        Err(_) => origin.address.clone(),
    };
    format!("address {network}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_origins_have_counters_that_others_cannot_fill() {
        let email = Email::parse("ada@example.com").unwrap();
        let browser = BrowserToken::parse(&"b".repeat(43));
        let origin = Origin::new("192.0.2.7".into(), "", browser);
        let subjects = |familiarity| {
            let Counters { own, shared } = decide(&email, &origin, &familiarity);
            (own, shared.into_iter().map(|(subject, _)| subject).collect::<Vec<_>>().join(", "))
        };
        let (here, address) = ("account ada@example.com address 192.0.2.7".to_owned(), "address 192.0.2.7".to_owned());
        let in_browser = format!("account ada@example.com browser {}", "b".repeat(43));
        assert_eq!(subjects(Familiarity::Browser), (in_browser, String::new()));
        assert_eq!(subjects(Familiarity::Address), (here.clone(), address.clone()));
        assert_eq!(subjects(Familiarity::Unknown), (here, format!("{address}, account ada@example.com")));
    }

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let text = |address: &str| address_text(&Origin::new(address.into(), "", None));
        assert_eq!(text("2001:db8:1:2:3:4:5:6"), text("2001:db8:1:2::9"));
        assert_ne!(text("2001:db8:1:2::1"), text("2001:db8:1:3::1"));
        assert_eq!(text("::ffff:192.0.2.7"), text("192.0.2.7"));
        assert_ne!(text("192.0.2.7"), text("192.0.2.8"));
    }
}
