-- The size of the lines of a batch that have not ended, and of its results that are not in files yet, for the bounds of lines.
ALTER TABLE batches ADD COLUMN line_bytes BIGINT NOT NULL DEFAULT 0;
UPDATE batches SET line_bytes = (SELECT CAST(COALESCE(SUM(LENGTH(l.content)), 0) AS BIGINT) FROM batch_lines l
    WHERE l.batch_id = batches.id) + (SELECT CAST(COALESCE(SUM(LENGTH(r.content)), 0) AS BIGINT) FROM batch_results r
    WHERE r.batch_id = batches.id)
WHERE is_open = 1;
