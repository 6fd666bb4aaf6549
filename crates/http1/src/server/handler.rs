//! What a handler returns to the server.

use bytes::Bytes;
use http::Response;
use http_body::Body;
use std::io;

/// What a handler returns: a response, perhaps with header lines beside those in its map.
///
/// Lines that every response carries are cheaper to write than to keep in a map first.
pub trait HandlerResponse {
    type Body: Body<Data = Bytes, Error = io::Error> + Unpin;
    type Backlog: Backlog;

    fn response(&self) -> &Response<Self::Body>;
    fn response_mut(&mut self) -> &mut Response<Self::Body>;
    fn into_parts(self) -> (Self::Body, Self::Backlog);

    /// Adds header lines that are not in the map, each with its line end.
    fn write_lines(&self, out: &mut Vec<u8>);
}

/// Memory for a response whose client does not keep up.
///
/// What waits for such a client is mostly in the kernel: in the socket to the client, and in that from which the body
/// comes. So the server cannot see how much it is, and asks for a fixed amount.
pub trait Backlog {
    /// Takes memory until it is given back; `false` if there is none left, and the call is cut off.
    fn take(&mut self) -> bool;

    /// The client has caught up.
    fn give_back(&mut self);
}

/// Without a bound.
impl Backlog for () {
    fn take(&mut self) -> bool {
        true
    }

    fn give_back(&mut self) {}
}

impl<B: Body<Data = Bytes, Error = io::Error> + Unpin> HandlerResponse for Response<B> {
    type Body = B;
    type Backlog = ();

    fn response(&self) -> &Response<B> {
        self
    }

    fn response_mut(&mut self) -> &mut Response<B> {
        self
    }

    fn into_parts(self) -> (B, ()) {
        (self.into_body(), ())
    }

    fn write_lines(&self, _: &mut Vec<u8>) {}
}
