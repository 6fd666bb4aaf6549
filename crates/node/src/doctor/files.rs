//! Checks the bucket of files, if one is configured.

use super::finding::Finding;
use crate::clock;
use bucket::{Bucket, BucketError, BucketLocation};
use config::Config;
use fleet::Connector;
use store::{Store, files};

const CHECK: &str = "files";

/// Writes, reads and deletes an object in the bucket.
pub(super) async fn check(config: &Config, connector: &Connector, store: Option<&Store>) -> Option<Finding> {
    if let Some(bucket) = &config.files.bucket {
        let found = Bucket::new(bucket.clone(), connector.clone(), clock::now).check().await;
        return Some(judge(&bucket.location, found));
    }
    // A database without a schema has no files.
    let has_objects = files::any_in_bucket(store?).await.unwrap_or(false);
    let remedy =
        "set files.url to the bucket again until they are deleted or expire, with the credentials in the environment";
    has_objects.then(|| Finding::problem(CHECK, "files are in a bucket, and files.url is not set", remedy))
}

fn judge(location: &BucketLocation, found: Result<(), BucketError>) -> Finding {
    match found {
        Ok(()) => Finding::ok(CHECK, format!("{location} can be written and read")),
        Err(error) => Finding::problem(
            CHECK,
            format!("{location} cannot be used: {error}"),
            "check files.url, the credentials in the environment, and that they may put, get and delete objects; until then \
             uploads and downloads of files get 503, and batches wait",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn a_bucket_that_cannot_be_used_is_a_problem() {
        let location = BucketLocation::parse("s3://acme-files/x", None).unwrap();
        assert_eq!(judge(&location, Ok(())).level, Level::Ok);
        let denied = BucketError::Status { status: 403, code: "AccessDenied".to_owned() };
        let found = judge(&location, Err(denied));
        assert_eq!(found.level, Level::Problem);
        assert!(found.what.ends_with("cannot be used: the bucket responded with 403 AccessDenied"), "{}", found.what);
    }
}
