//! The reader against serde_json.

use crate::Reader;
use fuzz::Fuzz;
use serde_json::Value;

const JSON_WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1e400",
    "1.5",
    "\\u0000",
    "\\ud83d\\ude00",
    "\\ud800",
    "\\\"",
    "\\",
    "\u{feff}",
    "\u{e9}",
    "\u{1f642}",
    " ",
    "\n",
    "\r",
    "\t",
    "{}",
    "[]",
    "\"\"",
    ",\"x\":1",
];

#[test]
fn json() {
    Fuzz::new("json").words(JSON_WORDS).executions(30_000).run(|bytes| {
        let mut reader = Reader::new(bytes);
        let is_accepted = reader.skip().and_then(|()| reader.end()).is_ok();
        // The reader leaves UTF-8 to its callers, and reports whether there is anything to check.
        let is_accepted = is_accepted && (reader.is_ascii() || std::str::from_utf8(bytes).is_ok());
        match serde_json::from_slice(bytes) {
            Ok(value) => {
                assert!(is_accepted);
                if let Value::String(text) = value {
                    assert_eq!(*Reader::new(bytes).string().unwrap().decoded(), *text.as_bytes());
                }
            }
            Err(error) => {
                // Valid JSON, but too deep or with a number that is too large for serde_json.
                let error = error.to_string();
                let is_unknown = error.contains("out of range") || error.contains("recursion limit");
                assert!(!is_accepted || is_unknown);
            }
        }
    });
}
