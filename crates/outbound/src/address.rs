//! The address of a service: `http://127.0.0.1:9001/v1`.

use http::uri::{Authority, PathAndQuery, Scheme};

/// Address of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub host: String,
    pub port: u16,
    pub tls: bool,
    /// Host and port, as in the `Host` header.
    pub authority: String,
    /// Without a trailing slash, such as `/v1`.
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address such as http://127.0.0.1:9001/v1")]
pub struct AddressError(String);

impl AddressError {
    /// The error of an address that cannot be used.
    pub fn of(url: &str) -> Self {
        Self(url.chars().take(200).collect())
    }
}

impl Address {
    pub fn parse(url: &str) -> Result<Self, AddressError> {
        let invalid = || AddressError::of(url);
        let uri: http::Uri = url.parse().map_err(|_| invalid())?;
        let tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(invalid()),
        };
        let authority: &Authority = uri.authority().ok_or_else(invalid)?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let path = uri.path_and_query().map_or("", PathAndQuery::path).trim_end_matches('/').to_owned();
        Ok(Self { host, port, tls, authority: authority.as_str().to_owned(), path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_with_default_ports() {
        let address = Address::parse("https://models.example/v1/").unwrap();
        assert_eq!((address.host.as_str(), address.port, address.tls), ("models.example", 443, true));
        assert_eq!(address.path, "/v1");
        let address = Address::parse("http://[::1]:9001").unwrap();
        assert_eq!((address.host.as_str(), address.port, address.path.as_str()), ("::1", 9001, ""));
        for bad in ["", "127.0.0.1:80", "ftp://x/v1", "http://"] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }
}
