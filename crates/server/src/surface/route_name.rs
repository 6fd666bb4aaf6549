//! The names of routes in logs and metrics.

use domain::named_enum;

named_enum! {
    /// A label value: `docs/metrics.md` lists all of them.
    pub(crate) enum RouteName {
        Chat = "chat",
        Completions = "completions",
        Rerank = "rerank",
        Score = "score",
        Tokenize = "tokenize",
        Responses = "responses",
        InputTokens = "input_tokens",
        StoredResponses = "stored_responses",
        Messages = "messages",
        CountTokens = "count_tokens",
        Embeddings = "embeddings",
        Files = "files",
        Batches = "batches",
        MessageBatches = "message_batches",
        /// A line of a batch.
        Batch = "batch",
        Models = "models",
        Endpoints = "endpoints",
        Console = "console",
        Unknown = "unknown",
        /// A request whose head was rejected.
        Unreadable = "unreadable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_documented_and_every_documented_route_exists() {
        let page = include_str!("../../../../docs/metrics.md");
        let row = page.lines().find_map(|line| line.strip_prefix("| `forebay_requests_total` | `route` | ")).unwrap();
        let documented: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        assert_eq!(documented, RouteName::ALL.map(RouteName::as_str));
    }
}
