-- Whether the chunks of a file are objects in a bucket: its rows in `file_chunks` then have empty content. Bytes of a file that
-- was given up may still arrive there, so its objects are deleted later.
ALTER TABLE files ADD COLUMN is_in_bucket BIGINT NOT NULL DEFAULT 0;
