//! The names of attributes, in one place: those for generative AI still change.

/// The last stable version of the conventions.
pub(super) const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.0";

pub(super) const SERVICE_NAME: &str = "service.name";
pub(super) const SERVICE_VERSION: &str = "service.version";
pub(super) const SERVICE_INSTANCE: &str = "service.instance.id";

pub(super) const HTTP_METHOD: &str = "http.request.method";
pub(super) const HTTP_ROUTE: &str = "http.route";
pub(super) const HTTP_STATUS: &str = "http.response.status_code";
pub(super) const ERROR_TYPE: &str = "error.type";
pub(super) const SERVER_ADDRESS: &str = "server.address";
pub(super) const SERVER_PORT: &str = "server.port";

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const OUTPUT_TYPE: &str = "gen_ai.output.type";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const REQUEST_STREAM: &str = "gen_ai.request.stream";
pub(super) const REQUEST_CHOICES: &str = "gen_ai.request.choice.count";
pub(super) const REQUEST_SEED: &str = "gen_ai.request.seed";
pub(super) const REQUEST_MAX_TOKENS: &str = "gen_ai.request.max_tokens";
pub(super) const REQUEST_TEMPERATURE: &str = "gen_ai.request.temperature";
pub(super) const REQUEST_TOP_P: &str = "gen_ai.request.top_p";
pub(super) const REQUEST_TOP_K: &str = "gen_ai.request.top_k";
pub(super) const REQUEST_FREQUENCY_PENALTY: &str = "gen_ai.request.frequency_penalty";
pub(super) const REQUEST_PRESENCE_PENALTY: &str = "gen_ai.request.presence_penalty";
pub(super) const REQUEST_STOP_SEQUENCES: &str = "gen_ai.request.stop_sequences";
pub(super) const REQUEST_ENCODING_FORMATS: &str = "gen_ai.request.encoding_formats";
pub(super) const EMBEDDING_DIMENSIONS: &str = "gen_ai.embeddings.dimension.count";
pub(super) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const RESPONSE_FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(super) const RESPONSE_FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
pub(super) const USAGE_INPUT: &str = "gen_ai.usage.input_tokens";
pub(super) const USAGE_OUTPUT: &str = "gen_ai.usage.output_tokens";
pub(super) const USAGE_CACHED: &str = "gen_ai.usage.cache_read.input_tokens";

/// Content, only if the operator enabled it.
pub(super) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub(super) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(super) const TOOL_DEFINITIONS: &str = "gen_ai.tool.definitions";

/// Forebay's own attributes.
pub(super) const FOREBAY_REQUEST: &str = "forebay.request.id";
pub(super) const FOREBAY_WORKSPACE: &str = "forebay.workspace.id";
pub(super) const FOREBAY_REPLICA: &str = "forebay.replica.name";
pub(super) const FOREBAY_HELD: &str = "forebay.held_seconds";
pub(super) const FOREBAY_CERTAINTY: &str = "forebay.usage.certainty";
