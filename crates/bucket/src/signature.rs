//! Signature Version 4 of AWS.
//!
//! ```text
//! canonical request = method ⏎ path ⏎ query ⏎ headers ⏎ names of the headers ⏎ hash of the body
//! key               = HMAC(HMAC(HMAC(HMAC("AWS4" + secret, day), region), "s3"), "aws4_request")
//! signature         = HMAC(key, "AWS4-HMAC-SHA256" ⏎ moment ⏎ day/region/s3/aws4_request ⏎ hash of the canonical request)
//! ```

use crate::BucketCredentials;
use domain::Timestamp;
use ring::{digest, hmac};
use std::fmt::Write;

/// A request before it is signed.
pub(crate) struct Unsigned<'a> {
    pub(crate) method: &'a str,
    /// With escapes.
    pub(crate) path: &'a str,
    /// Sorted, with escapes.
    pub(crate) query: &'a str,
    /// With names in lower case, sorted.
    pub(crate) headers: &'a [(&'a str, &'a str)],
    /// The hash of the body.
    pub(crate) payload: &'a str,
}

/// The value of `Authorization`.
pub(crate) fn authorization(
    request: &Unsigned<'_>,
    credentials: &BucketCredentials,
    region: &str,
    moment: &str,
) -> String {
    let Unsigned { method, path, query, headers, payload } = request;
    let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{payload}");
    let day = moment.get(..8).unwrap_or_default();
    let scope = format!("{day}/{region}/s3/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{}", hash(canonical.as_bytes()));
    let first = format!("AWS4{}", credentials.secret).into_bytes();
    let key = [day, region, "s3", "aws4_request"].iter().fold(first, |key, part| keyed(&key, part));
    let signature = hex(&keyed(&key, &text));
    format!("AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={names},Signature={signature}", credentials.key_id)
}

/// A moment such as `20130524T000000Z`.
pub(crate) fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    let seconds = text.split('.').next().unwrap_or_default();
    seconds.chars().filter(|letter| !matches!(letter, '-' | ':')).chain(['Z']).collect()
}

/// SHA-256 in hexadecimal digits.
pub(crate) fn hash(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn keyed(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of "Signature Calculations for the Authorization Header" in the reference of Amazon S3.
    #[test]
    fn the_published_examples_are_signed_as_documented() {
        const MOMENT: &str = "20130524T000000Z";
        let credentials = BucketCredentials {
            key_id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: None,
        };
        let host = ("host", "examplebucket.s3.amazonaws.com");
        let date = ("x-amz-date", MOMENT);
        let (empty, text) = (hash(b""), hash(b"Welcome to Amazon S3."));
        let (of_empty, of_text) = (("x-amz-content-sha256", empty.as_str()), ("x-amz-content-sha256", text.as_str()));
        let put: [(&str, &str); 5] = [
            ("date", "Fri, 24 May 2013 00:00:00 GMT"),
            host,
            of_text,
            date,
            ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ];
        let get: [(&str, &str); 4] = [host, ("range", "bytes=0-9"), of_empty, date];
        let plain: [(&str, &str); 3] = [host, of_empty, date];
        for (method, path, query, headers, payload, signature) in [
            (
                "GET",
                "/test.txt",
                "",
                &get[..],
                &empty,
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            ),
            (
                "PUT",
                "/test%24file.text",
                "",
                &put[..],
                &text,
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            ),
            (
                "GET",
                "/",
                "lifecycle=",
                &plain[..],
                &empty,
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ),
            (
                "GET",
                "/",
                "max-keys=2&prefix=J",
                &plain[..],
                &empty,
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ] {
            let request = Unsigned { method, path, query, headers, payload };
            let signed = authorization(&request, &credentials, "us-east-1", MOMENT);
            assert!(signed.ends_with(&format!(",Signature={signature}")), "{method} {path}?{query}: {signed}");
        }
    }

    #[test]
    fn moments_are_written_in_the_basic_format() {
        assert_eq!(moment(Timestamp::parse("2013-05-24T01:02:03.999Z").unwrap()), "20130524T010203Z");
    }
}
