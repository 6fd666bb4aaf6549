//! Checks where per-minute limits are counted.

use super::finding::Finding;
use crate::clock;
use crate::state::ALIVE_MILLIS;
use config::Config;
use dataplane::admission::redis_time;
use store::{Store, StoreError, nodes};

const CHECK: &str = "limits";

/// The difference between this machine's clock and Redis'.
pub(super) struct RedisClock {
    pub(super) ahead_millis: i64,
}

pub(super) async fn check(config: &Config, store: Option<&Store>) -> (Option<RedisClock>, Finding) {
    if config.limits.url == "memory:" {
        let alive = match store {
            Some(store) => count_alive(store).await.unwrap_or(0),
            None => 0,
        };
        return (None, judge_memory(alive));
    }
    let asked = clock::machine_time();
    match redis_time(&config.limits.url).await {
        Ok(there) => {
            let ahead_millis = clock::ahead_of(there, asked, clock::machine_time());
            (Some(RedisClock { ahead_millis }), Finding::ok(CHECK, "Redis responds"))
        }
        // The URL may contain a password, and an error may quote it.
        Err(error) => {
            let what = format!("Redis does not respond ({})", error.category());
            let remedy = "check that it runs, and that limits.url (or FOREBAY_LIMITS_URL) has the correct address and \
                          password; until then each node enforces its share of the limits";
            (None, Finding::problem(CHECK, what, remedy))
        }
    }
}

async fn count_alive(store: &Store) -> Result<u64, StoreError> {
    clock::follow(store).await?;
    nodes::count_alive(store, clock::now().plus_millis(-ALIVE_MILLIS)).await
}

fn judge_memory(alive_nodes: u64) -> Finding {
    match alive_nodes {
        0 | 1 => Finding::ok(CHECK, "counted in memory of this node"),
        several => Finding::warning(
            CHECK,
            format!("counted in memory, but {several} nodes serve: each grants every limit in full"),
            "give all nodes one Redis: limits.url = \"redis://host:6379/0\"",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn several_nodes_without_a_shared_counter_are_reported() {
        assert_eq!(judge_memory(0).level, Level::Ok);
        assert_eq!(judge_memory(1).level, Level::Ok);
        assert_eq!(judge_memory(3).level, Level::Warning);
    }
}
