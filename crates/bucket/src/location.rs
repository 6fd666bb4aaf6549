//! Where a bucket is: `s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-central-1`.

use outbound::Address;

const SCHEME: &str = "s3://";
const DEFAULT_REGION: &str = "us-east-1";
const MAX_PREFIX: usize = 512;
const MAX_REGION: usize = 64;

/// A bucket, addressed by path. Its names need no escapes in URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketLocation {
    pub(crate) address: Address,
    pub(crate) region: String,
    /// `/bucket/prefix/`
    pub(crate) path: String,
}

/// A text is not the location of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LocationError(String);

impl BucketLocation {
    /// Parses a URL. The region is `region` unless the URL names one.
    pub fn parse(url: &str, region: Option<&str>) -> Result<Self, LocationError> {
        let error = |why: &str| Err(LocationError(why.to_owned()));
        let Some(rest) = url.strip_prefix(SCHEME) else { return error("does not start with s3://") };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        if !is_bucket(bucket) {
            return error("its bucket is not a name of 3 to 63 lower-case letters, digits, `.` and `-`");
        }
        let prefix = prefix.trim_end_matches('/');
        if !is_prefix(prefix) {
            return error("its prefix is not made of letters, digits, `.`, `_`, `-` and single `/`");
        }
        let (mut endpoint, mut region) = (None, region);
        for (name, value) in query.split('&').filter(|part| !part.is_empty()).map(parameter) {
            match name {
                "endpoint" => endpoint = Some(value),
                "region" => region = Some(value),
                _ => return error("has a parameter other than endpoint and region"),
            }
        }
        let region = region.unwrap_or(DEFAULT_REGION);
        let is_label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if region.is_empty() || region.len() > MAX_REGION || !region.bytes().all(is_label) {
            return error("its region is not a name such as eu-central-1");
        }
        let endpoint = endpoint.map_or_else(|| format!("https://s3.{region}.amazonaws.com"), str::to_owned);
        let address = Address::parse(&endpoint).ok().filter(|address| address.path.is_empty());
        let is_plain = !endpoint.contains(['@', '?', '#']);
        let Some(address) = address.filter(|_| is_plain) else {
            return error("its endpoint is not a URL such as https://s3.example.com, without a path");
        };
        let separator = if prefix.is_empty() { "" } else { "/" };
        let path = format!("/{bucket}/{prefix}{separator}");
        Ok(Self { address, region: region.to_owned(), path })
    }
}

/// Bucket and prefix, and the host, for people.
impl std::fmt::Display for BucketLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "s3:/{} at {}", self.path.trim_end_matches('/'), self.address.authority)
    }
}

fn parameter(part: &str) -> (&str, &str) {
    part.split_once('=').unwrap_or((part, ""))
}

fn is_bucket(name: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
    (3..=63).contains(&name.len()) && name.bytes().all(is_good) && name.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

fn is_prefix(prefix: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && name.bytes().all(is_good);
    prefix.is_empty() || (prefix.len() <= MAX_PREFIX && prefix.split('/').all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_names_bucket_prefix_endpoint_and_region() {
        let parsed = |url: &str, region| BucketLocation::parse(url, region).map(|found| found.to_string());
        let plain = BucketLocation::parse("s3://acme-files", None).unwrap();
        assert_eq!((plain.path.as_str(), plain.region.as_str()), ("/acme-files/", "us-east-1"));
        assert_eq!((plain.address.host.as_str(), plain.address.tls), ("s3.us-east-1.amazonaws.com", true));
        let own = "s3://acme-files/forebay/a/?endpoint=http://127.0.0.1:9000&region=eu-west-1";
        let own = BucketLocation::parse(own, Some("us-west-2")).unwrap();
        assert_eq!((own.path.as_str(), own.region.as_str()), ("/acme-files/forebay/a/", "eu-west-1"));
        assert_eq!((own.address.authority.as_str(), own.address.tls), ("127.0.0.1:9000", false));
        assert_eq!(parsed("s3://abc/x", Some("us-west-2")).unwrap(), "s3://abc/x at s3.us-west-2.amazonaws.com");
        for (bad, why) in [
            ("https://acme-files", "s3://"),
            ("s3://", "bucket"),
            ("s3://Acme", "bucket"),
            ("s3://...", "bucket"),
            ("s3://acme/a//b", "prefix"),
            ("s3://acme/../b", "prefix"),
            ("s3://acme/a b", "prefix"),
            ("s3://acme?key=x", "parameter"),
            ("s3://acme?region=", "region"),
            ("s3://acme?region=eu west", "region"),
            ("s3://acme?endpoint=localhost", "endpoint"),
            ("s3://acme?endpoint=http://user@host", "endpoint"),
            ("s3://acme?endpoint=http://host/path", "endpoint"),
        ] {
            let error = parsed(bad, None).unwrap_err().to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
