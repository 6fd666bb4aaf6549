//! All metric families of `/metrics`: name, kind, labels and help text.
//!
//! Names are a promise to dashboards and alerts. `docs/metrics.md` lists the same names, and a test compares the two.

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricType {
    Counter,
    Gauge,
    Histogram,
}

impl MetricType {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

#[derive(Debug)]
pub struct Family {
    pub name: &'static str,
    pub kind: MetricType,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

macro_rules! families {
    ($($constant:ident: $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(pub const $constant: Family =
            Family { name: $name, kind: MetricType::$kind, labels: &[$($label),*], help: $help };)*
    };
}

families! {
    REQUESTS: Counter "forebay_requests_total" ["route", "workspace", "model", "status", "code"]
        "Calls by route, workspace, model and outcome; code is empty unless the call failed";
    TOKENS: Counter "forebay_tokens_total" ["workspace", "model", "kind"]
        "Tokens by kind: prompt, completion and cached, which is a part of prompt";
    FAILOVERS: Counter "forebay_failovers_total" ["workspace", "model", "outcome"]
        "Streams that lost their replica, at models with failover: continued at another one, or why not";
    DURATION: Histogram "forebay_request_duration_seconds" ["model"]
        "From the request to the end of its response, of calls that reached a replica";
    TIME_TO_FIRST_TOKEN: Histogram "forebay_time_to_first_token_seconds" ["model"]
        "From the request to the first event of its stream";
    TIME_PER_OUTPUT_TOKEN: Histogram "forebay_time_per_output_token_seconds" ["model"]
        "Between the first event of a stream and its end, for each token after the first";
    HOLD: Histogram "forebay_hold_duration_seconds" ["model"]
        "How long calls to dedicated endpoints were held for a replica, and others for room, including those that timed out";
    LABEL_SETS: Gauge "forebay_metrics_label_sets" []
        "Pairs of workspace and model that are counted separately; further ones are counted as other";
    MODEL_UP: Gauge "forebay_model_up" ["model"]
        "1 while a replica of a model of the catalogue takes calls";
    REPLICA_UP: Gauge "forebay_replica_up" ["model", "replica"]
        "1 while a replica of a model of the catalogue takes calls";
    REPLICA_IN_FLIGHT: Gauge "forebay_replica_in_flight" ["model", "replica"]
        "Running calls at a replica of a model of the catalogue";
    CALLS_WAITING: Gauge "forebay_calls_waiting" ["model", "class"]
        "Calls of this node that wait for room at the replicas of a model of the catalogue";
    TOKENS_WAITING: Gauge "forebay_tokens_waiting" ["model", "class"]
        "What these calls will probably cost, in tokens";
    ROUTING_DECISIONS: Counter "forebay_routing_decisions_total" ["workspace", "model", "reason"]
        "Replicas chosen for calls: only, cached, least_loaded and session; workspace is empty for models of the catalogue";
    PREFILL_TOKENS: Gauge "forebay_prefill_tokens_in_flight" ["workspace", "model", "replica"]
        "Uncached prompt tokens of calls at a replica without an event so far, from all nodes, as routing estimates them";
    CACHED_PREDICTED: Counter "forebay_cached_tokens_predicted_total" ["workspace", "model", "replica"]
        "Prompt tokens that routing expected in the cache of a replica, of calls whose engine reported the real number";
    CACHED_REPORTED: Counter "forebay_cached_tokens_reported_total" ["workspace", "model", "replica"]
        "Prompt tokens that the engine found in its cache, of the same calls";
    INDEX_ENTRIES: Gauge "forebay_prefix_index_entries" ["workspace", "model", "replica"]
        "Prompt prefixes that routing expects in the cache of a replica";
    INDEX_EVICTIONS: Counter "forebay_prefix_index_evictions_total" ["workspace", "model", "replica"]
        "Prompt prefixes that made room for newer ones";
    ENDPOINT_IN_FLIGHT: Gauge "forebay_endpoint_in_flight" ["workspace", "model"]
        "Running calls of this node at a dedicated endpoint, including held ones";
    ENDPOINT_HELD: Gauge "forebay_endpoint_held" ["workspace", "model"]
        "Calls of this node that are held for a replica of a dedicated endpoint";
    ENDPOINT_REPLICAS: Gauge "forebay_endpoint_replicas" ["workspace", "model", "state"]
        "Replicas of a dedicated endpoint: desired, pending, starting, ready and draining";
    ENDPOINTS: Gauge "forebay_endpoints" ["state"]
        "Dedicated endpoints by state";
    AUTOSCALER_DECISIONS: Counter "forebay_autoscaler_decisions_total" ["direction"]
        "Changes of the number of replicas that this node decided while it led: up, down and to_zero";
    LEADER: Gauge "forebay_leader" []
        "1 while this node leads the control plane";
    RECONCILE_ROUNDS: Counter "forebay_reconcile_rounds_total" ["outcome"]
        "Rounds of the reconciler on this node while it led: finished and failed";
    RECONCILE_SECONDS: Counter "forebay_reconcile_seconds_total" []
        "Time that this node spent in rounds of the reconciler";
    LEDGER_ALLOTMENT: Gauge "forebay_allotment_gpus" ["organization", "gpu_type"]
        "GPUs that an organization may commit";
    LEDGER_COMMITTED: Gauge "forebay_committed_gpus" ["organization", "gpu_type"]
        "GPUs that the dedicated endpoints of an organization commit";
    LEDGER_DIFFERENCES: Gauge "forebay_ledger_differences" []
        "Endpoints whose stored commitment was wrong when the leader last checked";
    BILL_BILLED: Gauge "forebay_billed_tokens_last_day" []
        "Tokens billed in the hours of the last day whose engine counters were read to the end";
    BILL_COUNTED: Gauge "forebay_engine_counted_tokens_last_day" []
        "Tokens that the engines counted in the same hours";
    BILL_OVERBILLED: Gauge "forebay_overbilled_replicas" []
        "Replicas for which clearly more was billed in the last day than their engine counted";
    RATE_LIMIT_DEGRADED: Gauge "forebay_rate_limit_degraded" []
        "1 while the limits store does not respond and each node enforces its share of the limits";
    ALIVE_NODES: Gauge "forebay_alive_nodes" []
        "Nodes with a recent heartbeat, including this one";
    QUOTA_USED: Gauge "forebay_quota_used_tokens" ["workspace"]
        "Tokens of the monthly quota that are used or reserved";
    QUOTA_CAP: Gauge "forebay_quota_cap_tokens" ["workspace"]
        "The monthly quota of workspaces with usage in this month";
    QUOTA_OVERRUN: Counter "forebay_quota_overrun_tokens_total" []
        "Tokens that engines reported above the upper bound of a call, the only way above a quota";
    CREDENTIAL_LOOKUPS: Counter "forebay_credential_lookups_total" ["gate"]
        "API keys looked up in the store: expected ones, and others such as guesses";
    THROTTLED: Counter "forebay_throttled_requests_total" ["reason"]
        "Requests that a limit of this node rejected before any work was done for them";
    JOURNAL_WAITING: Gauge "forebay_journal_waiting_bytes" []
        "Bytes of usage events that are not stored yet";
    JOURNAL_MAX: Gauge "forebay_journal_max_bytes" []
        "The bound of the journal; new calls are rejected when it is reached";
    JOURNAL_FULL: Gauge "forebay_journal_full" []
        "1 while new calls are rejected because the journal is full or cannot be written";
    JOURNAL_ROOM: Gauge "forebay_journal_room_bytes" []
        "Space on disk that is set aside for usage events and not reserved by a running call";
    JOURNAL_UNSYNCED: Gauge "forebay_journal_unsynced_bytes" []
        "Usage events kept in memory until they are synced to disk";
    JOURNAL_UNWRITTEN: Gauge "forebay_journal_unwritten_bytes" []
        "Usage events that are only in memory because the disk of the journal fails";
    USAGE_SET_ASIDE: Counter "forebay_usage_events_set_aside_total" []
        "Usage events that the store rejected permanently";
    BODY_MEMORY: Gauge "forebay_body_memory_bytes" []
        "Memory that the bodies of running requests take from the budget";
    BODY_MEMORY_MAX: Gauge "forebay_body_memory_max_bytes" []
        "The budget for request bodies; calls are rejected when it is used up";
    CALLS_CUT_OFF: Counter "forebay_calls_cut_off_total" ["reason"]
        "Calls that were ended: stalled by their client, no_memory for a client that does not keep up, or timed_out";
    RESPONSES_NOT_STORED: Counter "forebay_responses_not_stored_total" ["reason"]
        "Responses that could not be stored: too_large, full if their workspace or organization has no room, store_full if there is no room \
         for any, or failed by the store";
    STORED_RESPONSES: Gauge "forebay_stored_response_bytes" []
        "Stored responses of all workspaces, as this node counted them within the last minute";
    STORED_RESPONSES_MAX: Gauge "forebay_stored_response_max_bytes" []
        "The most bytes of stored responses of all workspaces";
    STORED_FILES: Gauge "forebay_stored_file_bytes" []
        "Files of all workspaces, as this node counted them within the last minute";
    STORED_FILES_MAX: Gauge "forebay_stored_file_max_bytes" []
        "The most bytes of files of all workspaces";
    CONNECTIONS_REJECTED: Counter "forebay_connections_rejected_total" []
        "Connections of client addresses that had too many";
    STORE_UP: Gauge "forebay_store_up" []
        "1 while the store accepts the heartbeat of this node";
    CLOCK_SKEW: Gauge "forebay_clock_skew_seconds" []
        "How far this node's clock is ahead of the store's";
    CATALOGUE_DIFFERING: Gauge "forebay_catalogue_differing_nodes" []
        "Nodes that serve another catalogue than this one";
    READY: Gauge "forebay_ready" []
        "1 while /readyz responds with 200";
    PART_STATUS: Gauge "forebay_part_ok" ["part"]
        "1 while a part of /readyz is ok, 0 while it is degraded or unavailable";
    SPANS_EXPORTED: Counter "forebay_trace_spans_exported_total" []
        "Spans that the trace receiver accepted";
    SPANS_DROPPED: Counter "forebay_trace_spans_dropped_total" ["reason"]
        "Dropped spans by reason: queue_full, refused by the receiver, or unreachable";
    LOG_LINES_LOST: Counter "forebay_access_log_lines_lost_total" []
        "Lines of the access log that could not be written to standard output";
    BUILD: Gauge "forebay_build_info" ["version"]
        "Always 1; the version that runs";
    PROCESS_CPU: Counter "process_cpu_seconds_total" []
        "CPU time of the process, user and system";
    PROCESS_RESIDENT: Gauge "process_resident_memory_bytes" []
        "Memory of the process that is in RAM";
    PROCESS_VIRTUAL: Gauge "process_virtual_memory_bytes" []
        "Address space of the process";
    PROCESS_OPEN_FDS: Gauge "process_open_fds" []
        "File descriptors that are open";
    PROCESS_MAX_FDS: Gauge "process_max_fds" []
        "File descriptors that may be open";
    PROCESS_THREADS: Gauge "process_threads" []
        "Threads of the process";
    PROCESS_START: Gauge "process_start_time_seconds" []
        "When the process started, in seconds since 1970";
}
