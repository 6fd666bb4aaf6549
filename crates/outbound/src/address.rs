//! The address of a service: `http://127.0.0.1:9001/v1`, or `unix:/run/engine.sock:9001/v1`.

use http::uri::{Authority, PathAndQuery, Scheme};
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Begins the address of a service at a socket of this machine, which has a port only as its name.
pub const UNIX_SCHEME: &str = "unix:";

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
    /// The socket that it is reached at instead of host and port.
    pub socket: Option<PathBuf>,
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
        if let Some(rest) = url.strip_prefix(UNIX_SCHEME) {
            let (socket, rest) = rest.rsplit_once(':').ok_or_else(invalid)?;
            let (port, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let port = port.parse().map_err(|_| invalid())?;
            if !Path::new(socket).is_absolute() {
                return Err(invalid());
            }
            let path = path.trim_end_matches('/').to_owned();
            let local = Self::from(SocketAddr::from(([127, 0, 0, 1], port)));
            return Ok(Self { path, socket: Some(socket.into()), ..local });
        }
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
        Ok(Self { host, port, tls, authority: authority.as_str().to_owned(), path, socket: None })
    }
}

/// As in a configuration.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.socket {
            Some(socket) => write!(f, "{UNIX_SCHEME}{}:{}{}", socket.display(), self.port, self.path),
            None => write!(f, "{}://{}{}", if self.tls { "https" } else { "http" }, self.authority, self.path),
        }
    }
}

/// Plain HTTP, without a path.
impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        let (host, port) = (address.ip().to_string(), address.port());
        Self { host, port, tls: false, authority: address.to_string(), path: String::new(), socket: None }
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
        let address = Address::parse("unix:/data/rep_1/a:b.sock:20010/v1").unwrap();
        assert_eq!(address.socket.as_deref(), Some(Path::new("/data/rep_1/a:b.sock")));
        assert_eq!((address.authority.as_str(), address.path.as_str()), ("127.0.0.1:20010", "/v1"));
        for text in ["https://models.example/v1", "http://[::1]:9001", "unix:/data/a:b.sock:20010/v1"] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        for bad in ["", "127.0.0.1:80", "ftp://x/v1", "http://", "unix:/a.sock", "unix:a.sock:1/v1", "unix:/a.sock:x"] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }
}
