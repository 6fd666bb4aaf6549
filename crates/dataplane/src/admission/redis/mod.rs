//! Rate limits in Redis, shared by all nodes.

mod connection;
mod limiter;
mod node_views;
mod ping;
mod protocol;
mod settler;

pub(super) use limiter::RedisLimiter;
pub use limiter::RedisLimits;
pub use ping::{PING_PERIOD, RedisPing, redis_time};
