//! Rate limits in Redis, shared by all nodes.

mod connection;
mod limiter;
mod limits;
mod node_views;
mod ping;
mod protocol;
mod settler;

pub(super) use limiter::RedisLimiter;
pub use limits::RedisLimits;
pub use ping::{PING_PERIOD, RedisPing, redis_time};
