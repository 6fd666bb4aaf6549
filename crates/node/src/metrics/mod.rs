//! The page of metrics: the counters of calls, and all that is read from other parts when Prometheus scrapes.
//! `docs/metrics.md` explains each metric.

mod rows;

pub use rows::{REFRESH_PERIOD, Rows};

use crate::health::Health;
use control::batches::BatchStorage;
use control::bill_check::Monitor;
use control::reconciler;
use control::responses::ResponseStorage;
use control::usage::QuarantinedEvents;
use dataplane::admission::Quota;
use dataplane::keys::KeyDirectory;
use domain::CallClass;
use edge::limits::ConnectionFigures;
use edge::memory_budget::MemoryBudget;
use edge::peers::PeerTable;
use edge::throttle::Throttles;
use fleet::backend::Health as ReplicaHealth;
use fleet::{Availability, Endpoints, Routes};
use rows::bounded;
use std::sync::Arc;
use telemetry::access_log::AccessLog;
use telemetry::metrics::{Calls, Page, families, process, routing};
use telemetry::traces::{SpanFigures, Tracer};

/// All sources of metrics.
pub struct Metrics {
    pub calls: Arc<Calls>,
    pub routes: Routes,
    pub endpoints: Endpoints,
    pub health: Arc<Health>,
    pub quota: Quota,
    pub keys: Arc<KeyDirectory>,
    pub throttles: Arc<Throttles>,
    pub log: Arc<AccessLog>,
    pub control: Arc<reconciler::Metrics>,
    pub bill: Arc<Monitor>,
    pub rows: Arc<Rows>,
    pub quarantined: Arc<QuarantinedEvents>,
    pub memory: Arc<MemoryBudget>,
    pub peers: Arc<PeerTable>,
    pub connections: Arc<ConnectionFigures>,
    pub responses: ResponseStorage,
    pub batches: BatchStorage,
    pub tracer: Option<Arc<Tracer>>,
    /// Most label sets per family.
    pub max_label_sets: usize,
}

impl Metrics {
    /// All metrics as text.
    pub fn encode(&self) -> String {
        let mut page = Page::default();
        self.calls.write(&mut page);
        self.write_models(&mut page);
        self.write_endpoints(&mut page);
        routing::write(&mut page, &self.routes, &self.endpoints, self.max_label_sets);
        self.rows.write(&mut page);
        self.write_control(&mut page);
        self.write_parts(&mut page);
        self.write_telemetry(&mut page);
        page.family(&families::BUILD).whole(&[env!("CARGO_PKG_VERSION")], 1);
        process::write(&mut page);
        page.finish()
    }

    fn write_models(&self, page: &mut Page) {
        let table = self.routes.table();
        let mut samples = page.family(&families::MODEL_UP);
        for route in table.iter() {
            let is_up = route.pool.availability() != Availability::Unavailable;
            samples.whole(&[route.model.id.as_str()], u64::from(is_up));
        }
        let mut samples = page.family(&families::REPLICA_UP);
        for (model, replica) in table.replicas() {
            samples.whole(&[model.as_str(), &replica.name], u64::from(replica.health() != ReplicaHealth::Down));
        }
        let mut samples = page.family(&families::REPLICA_IN_FLIGHT);
        for (model, replica) in table.replicas() {
            samples.whole(&[model.as_str(), &replica.name], replica.in_flight().into());
        }
        let each = || table.iter().flat_map(|route| CallClass::ALL.map(|class| (route, class)));
        let mut samples = page.family(&families::CALLS_WAITING);
        for (route, class) in each() {
            samples.whole(&[route.model.id.as_str(), class.as_str()], route.pool.queue().totals(class).0 as u64);
        }
        let mut samples = page.family(&families::TOKENS_WAITING);
        for (route, class) in each() {
            samples.whole(&[route.model.id.as_str(), class.as_str()], route.pool.queue().totals(class).1);
        }
    }

    fn write_endpoints(&self, page: &mut Page) {
        let all = self.endpoints.all();
        let each = all.iter().map(|endpoint| {
            let model = endpoint.view().route.model.id.to_string();
            ((endpoint.workspace.to_string(), model), [endpoint.open_calls(), endpoint.held()].map(u64::from))
        });
        let sums = bounded(each, self.max_label_sets);
        for (family, number) in [(&families::ENDPOINT_IN_FLIGHT, 0), (&families::ENDPOINT_HELD, 1)] {
            let mut samples = page.family(family);
            for ((workspace, model), numbers) in &sums {
                samples.whole(&[workspace, model], numbers[number]);
            }
        }
    }

    fn write_control(&self, page: &mut Page) {
        let mut samples = page.family(&families::AUTOSCALER_DECISIONS);
        self.control.scalings().iter().for_each(|(direction, count)| samples.whole(&[direction], *count));
        let mut samples = page.family(&families::RECONCILE_ROUNDS);
        self.control.rounds().iter().for_each(|(outcome, count)| samples.whole(&[outcome], *count));
        page.real(&families::RECONCILE_SECONDS, self.control.round_time().as_secs_f64());
        page.whole(&families::LEDGER_DIFFERENCES, self.control.ledger_differences());
        // No sample before the first check, which is not the same as no difference.
        let bill = self.bill.summary();
        let mut write = |family, value: Option<u64>| {
            let mut samples = page.family(family);
            value.into_iter().for_each(|value| samples.whole(&[], value));
        };
        write(&families::BILL_BILLED, bill.map(|bill| bill.billed.total()));
        write(&families::BILL_COUNTED, bill.map(|bill| bill.counted.total()));
        write(&families::BILL_OVERBILLED, bill.map(|bill| bill.overbilled_replicas));
    }

    fn write_parts(&self, page: &mut Page) {
        let (seen, report) = self.health.check();
        page.flag(&families::LEADER, seen.leads());
        page.flag(&families::RATE_LIMIT_DEGRADED, seen.limits_are_degraded);
        page.whole(&families::ALIVE_NODES, seen.alive_nodes.into());
        page.whole(&families::QUOTA_OVERRUN, self.quota.overrun_tokens());
        let mut samples = page.family(&families::CREDENTIAL_LOOKUPS);
        self.keys.lookups().iter().for_each(|(gate, count)| samples.whole(&[gate], *count));
        let mut samples = page.family(&families::THROTTLED);
        self.throttles.rejected().iter().for_each(|(reason, count)| samples.whole(&[reason.as_str()], *count));
        page.whole(&families::JOURNAL_WAITING, seen.journal.level.waiting);
        page.whole(&families::JOURNAL_ROOM, seen.journal.level.room);
        page.whole(&families::JOURNAL_UNSYNCED, seen.journal.level.unsynced);
        page.whole(&families::JOURNAL_UNWRITTEN, seen.journal.level.unwritten);
        page.whole(&families::JOURNAL_MAX, seen.journal.max);
        page.flag(&families::JOURNAL_FULL, !seen.journal.has_room);
        page.whole(&families::USAGE_SET_ASIDE, self.quarantined.count());
        page.whole(&families::BODY_MEMORY, self.memory.used());
        page.whole(&families::BODY_MEMORY_MAX, self.memory.limit());
        let mut samples = page.family(&families::CALLS_CUT_OFF);
        self.connections.cut_off().iter().for_each(|(reason, count)| samples.whole(&[reason], *count));
        let mut samples = page.family(&families::RESPONSES_NOT_STORED);
        self.responses.not_stored().iter().for_each(|(reason, count)| samples.whole(&[reason], *count));
        page.whole(&families::STORED_RESPONSES, self.responses.total());
        page.whole(&families::STORED_RESPONSES_MAX, self.responses.max_total());
        page.whole(&families::STORED_FILES, self.batches.total());
        page.whole(&families::STORED_FILES_MAX, self.batches.bounds().max_bytes.total);
        page.whole(&families::CONNECTIONS_REJECTED, self.peers.rejected());
        page.flag(&families::STORE_UP, seen.store_away_for.is_none());
        let mut samples = page.family(&families::CLOCK_SKEW);
        seen.clock_skew_millis.into_iter().for_each(|skew| samples.real(&[], skew as f64 / 1_000.0));
        page.whole(&families::CATALOGUE_DIFFERING, seen.differing_nodes.len() as u64);
        page.flag(&families::READY, report.is_ready());
        let mut samples = page.family(&families::PART_STATUS);
        report.parts().for_each(|(name, part)| samples.whole(&[name], u64::from(part.is_ok())));
    }

    fn write_telemetry(&self, page: &mut Page) {
        let figures = self.tracer.as_ref().map(|tracer| tracer.figures());
        page.whole(&families::SPANS_EXPORTED, figures.map_or(0, SpanFigures::exported));
        let mut samples = page.family(&families::SPANS_DROPPED);
        let dropped = figures.map(SpanFigures::dropped).unwrap_or_default();
        dropped.iter().for_each(|(reason, count)| samples.whole(&[reason], *count));
        page.whole(&families::LOG_LINES_LOST, self.log.lost_lines());
    }
}
