//! `[files]`: files and batches.

use super::reader::Section;
use super::sections::{BOUND_RANGE, DAY, KEPT_RANGE, RESPONSES_RANGE};
use bucket::{BucketConfig, BucketCredentials, BucketLocation};
use std::ops::RangeInclusive;
use std::time::Duration;

const FILE_RANGE: RangeInclusive<u64> = 1..=(1 << 40);

const REGION_VARIABLE: &str = "AWS_REGION";
const KEY_ID_VARIABLE: &str = "AWS_ACCESS_KEY_ID";
const SECRET_VARIABLE: &str = "AWS_SECRET_ACCESS_KEY";
const SESSION_TOKEN_VARIABLE: &str = "AWS_SESSION_TOKEN";

/// Bounds of files and batches, and where the content of files is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesConfig {
    /// `None` for the store.
    pub bucket: Option<BucketConfig>,
    pub max_file_bytes: u64,
    pub max_lines_per_file: u64,
    /// The files of a workspace.
    pub max_bytes_per_workspace: u64,
    /// The files of all workspaces.
    pub max_total_bytes: u64,
    pub retention: Duration,
    pub max_open_batches_per_workspace: u64,
    pub max_queued_lines_per_workspace: u64,
}

impl FilesConfig {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let count = |key: &str, default: u64| section.integer(key, BOUND_RANGE).unwrap_or(default);
        Self {
            bucket: read_bucket(section),
            max_file_bytes: section.size("max_file_bytes", FILE_RANGE).unwrap_or(200 << 20),
            max_lines_per_file: count("max_lines_per_file", 50_000),
            max_bytes_per_workspace: section.size("max_bytes_per_workspace", RESPONSES_RANGE).unwrap_or(2 << 30),
            max_total_bytes: section.size("max_total_bytes", RESPONSES_RANGE).unwrap_or(32 << 30),
            retention: section.duration("retention", KEPT_RANGE).unwrap_or(30 * DAY),
            max_open_batches_per_workspace: count("max_open_batches_per_workspace", 100),
            max_queued_lines_per_workspace: count("max_queued_lines_per_workspace", 500_000),
        }
    }
}

/// The bucket of `url`, with the region and the credentials of the variables that S3's tools read.
fn read_bucket(section: &Section<'_>) -> Option<BucketConfig> {
    const KEY: &str = "url";
    let url = section.text(KEY)?;
    let variable = |name: &str| section.reader.variable(name);
    let parsed = BucketLocation::parse(url, variable(REGION_VARIABLE).as_deref());
    let location = parsed.map_err(|error| section.report(section.line(KEY), KEY, error)).ok()?;
    let required = |name: &str| {
        let value = variable(name);
        let is_good = value.as_deref().is_some_and(|value| value.bytes().all(|byte| byte.is_ascii_graphic()));
        if !is_good {
            let what = if value.is_none() { "is not set" } else { "contains characters that no credential has" };
            section.report(section.line(KEY), KEY, format_args!("the environment variable {name} {what}"));
        }
        value.filter(|_| is_good)
    };
    let (key_id, secret) = (required(KEY_ID_VARIABLE), required(SECRET_VARIABLE));
    let session_token = match variable(SESSION_TOKEN_VARIABLE) {
        Some(_) => Some(required(SESSION_TOKEN_VARIABLE)?),
        None => None,
    };
    Some(BucketConfig { location, credentials: BucketCredentials { key_id: key_id?, secret: secret?, session_token } })
}
