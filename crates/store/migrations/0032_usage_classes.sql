-- Daily sums of the calls that are not interactive, to models of the catalogue. They are in the sums of all calls, too.
CREATE TABLE usage_classes (
    workspace_id TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    -- `flex` or `batch`.
    class TEXT NOT NULL,
    model TEXT NOT NULL,
    requests BIGINT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, starts_at, class, model)
);
