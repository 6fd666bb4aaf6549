//! Parts of the tests in which one tenant attacks the gateway while another one calls it: `memory_test` and
//! `isolation_test`. All load goes to the loopback network.

pub(crate) mod bystander;
pub(crate) mod gateway;
pub(crate) mod host;
pub(crate) mod http2;
pub(crate) mod requests;
