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

    fn response(&self) -> &Response<Self::Body>;
    fn response_mut(&mut self) -> &mut Response<Self::Body>;
    fn into_body(self) -> Self::Body;

    /// Adds header lines that are not in the map, each with its line end.
    fn write_lines(&self, out: &mut Vec<u8>);
}

impl<B: Body<Data = Bytes, Error = io::Error> + Unpin> HandlerResponse for Response<B> {
    type Body = B;

    fn response(&self) -> &Response<B> {
        self
    }

    fn response_mut(&mut self) -> &mut Response<B> {
        self
    }

    fn into_body(self) -> B {
        Response::into_body(self)
    }

    fn write_lines(&self, _: &mut Vec<u8>) {}
}
