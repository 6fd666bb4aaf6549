//! Connections to other services: addresses, TLS, proxies, and single calls.

mod address;
mod call;
mod connector;
mod proxy;

pub use address::{Address, AddressError, UNIX_SCHEME};
pub use call::{OutboundError, call, call_at, in_words};
pub use connector::{CONNECT_TIMEOUT, Connector, Stream, is_local_failure};
pub use proxy::Proxy;
