//! The failed replicas of an endpoint that count.

use super::Replica;
use crate::endpoint::failure::Exit;
use crate::time::Timestamp;

/// A replica that was ready for this long resets the failure budget.
const HEALTHY_MILLIS: i64 = 10 * 60_000;

/// The failures that count towards the next decision, oldest first. Those before the last requested start are forgotten,
/// as are those before a replica had been healthy for ten minutes.
pub fn recent_exits(replicas: &[Replica], started_at: Timestamp, now: Timestamp) -> Vec<Exit> {
    let healthy_at = |replica: &Replica| {
        let healthy = replica.ready_at?.plus_millis(HEALTHY_MILLIS);
        (replica.ended_at.unwrap_or(now) >= healthy).then_some(healthy)
    };
    let since = replicas.iter().filter_map(healthy_at).max().map_or(started_at, |healed| healed.max(started_at));
    let exit = |replica: &Replica| {
        Some(Exit { at: replica.ended_at?, class: replica.failure?, has_served: replica.ready_at.is_some() })
    };
    let mut exits: Vec<Exit> = replicas.iter().filter_map(exit).filter(|exit| exit.at >= since).collect();
    exits.sort_by_key(|exit| exit.at);
    exits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::FailureClass;
    use crate::ids::{EndpointId, ReplicaId};

    #[test]
    fn a_requested_start_and_ten_healthy_minutes_reset_the_budget() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        let replica = |ready: Option<i64>| {
            let mut replica = Replica::new(ReplicaId::new(at(0), 1), EndpointId::new(at(0), 1), at(0));
            replica.ready_at = ready.map(at);
            replica
        };
        let crashed = |seconds, ready: Option<i64>| {
            let mut replica = replica(ready);
            (replica.ended_at, replica.failure) = (Some(at(seconds)), Some(FailureClass::Crash));
            replica
        };
        let serves_since = |seconds| replica(Some(seconds));
        let seconds = |replicas: &[Replica], started, now| {
            recent_exits(replicas, at(started), at(now)).iter().map(|exit| exit.at.seconds()).collect::<Vec<_>>()
        };
        let three = [crashed(200, None), crashed(100, None), crashed(300, None)];
        assert_eq!(seconds(&three, 0, 400), [100, 200, 300], "in the order of their ends");
        assert_eq!(seconds(&three, 200, 400), [200, 300], "a retry forgets what was before it");
        let healed = [crashed(100, None), crashed(1_000, Some(200)), crashed(1_500, Some(1_200))];
        assert_eq!(seconds(&healed, 0, 2_000), [1_000, 1_500], "its ten minutes were over at 800");
        assert_eq!(seconds(&[crashed(100, None), serves_since(200)], 0, 799), [100]);
        assert_eq!(seconds(&[crashed(100, None), serves_since(200)], 0, 800), [0; 0]);
    }
}
