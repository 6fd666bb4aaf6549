use super::*;
use proptest::prelude::*;

fn accepts(text: &[u8]) -> bool {
    let mut reader = Reader::new(text);
    reader.skip().and_then(|()| reader.end()).is_ok()
}

#[test]
fn invalid_json_is_rejected() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for good in ["0", "-0.5e+3", " {\"a\" : [ 1 , \"\\ud83d\\ude00\" ] } ", "\"\\u0000\"", "1e400", &deep(128)] {
        assert!(accepts(good.as_bytes()), "{good}");
    }
    for bad in [
        "",
        "01",
        "1.",
        "1e",
        "+1",
        "NaN",
        "nul",
        "[1,]",
        "{\"a\"}",
        "{a:1}",
        "\"\n\"",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "1 2",
        "\"abc",
        "[",
        "{\"a\":1,}",
        &deep(129),
        &deep(20_000),
    ] {
        assert!(!accepts(bad.as_bytes()), "{bad}");
    }
}

#[test]
fn names_are_compared_without_their_escapes() {
    let mut reader = Reader::new(br#""mod\u0065l""#);
    let text = reader.string().unwrap();
    assert!(text.is("model") && !text.is("mode"));
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::vec((any::<String>(), inner), 0..8)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_valid_text_is_accepted(value in any_json()) {
        prop_assert!(accepts(value.to_string().as_bytes()));
        prop_assert!(accepts(serde_json::to_string_pretty(&value).unwrap().as_bytes()));
    }

    #[test]
    fn strings_are_decoded_like_serde_json(text in any::<String>()) {
        let quoted = serde_json::to_string(&text).unwrap();
        let read = Reader::new(quoted.as_bytes()).string().unwrap();
        prop_assert_eq!(&*read.decoded(), text.as_bytes());
        let ours = quote(&text);
        prop_assert_eq!(serde_json::from_slice::<String>(&ours).unwrap(), text);
    }

    #[test]
    fn damaged_texts_are_accepted_or_rejected_like_serde_json(value in any_json(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut text = value.to_string().into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        if let Ok(text) = std::str::from_utf8(&text) {
            // A number too large for a double is valid JSON, but serde_json rejects it.
            let expected = serde_json::from_str::<serde_json::Value>(text);
            if let Err(error) = &expected && error.to_string().contains("out of range") {
                return Ok(());
            }
            prop_assert_eq!(accepts(text.as_bytes()), expected.is_ok(), "{}", text);
        }
    }

    #[test]
    fn strings_end_at_their_closing_quote(
        pieces in prop::collection::vec(
            prop_oneof![20 => "[ -!#-Z^-~]", 1 => "é", 2 => Just("\\\"".into()), 1 => Just("\\ud83d\\ude00".into())],
            0..200),
        rest in "[ -~]{0,70}",
    ) {
        let text = pieces.concat();
        let quoted = format!("\"{text}\"{rest}");
        let mut reader = Reader::new(quoted.as_bytes());
        prop_assert_eq!(reader.string().unwrap().raw(), text.as_bytes());
        prop_assert_eq!((reader.position(), reader.is_ascii()), (text.len() + 2, text.is_ascii()));
        let cut = format!("\"{text}");
        let malformed = JsonError { why: "the text ends inside a string", at: cut.len() };
        prop_assert_eq!(Reader::new(cut.as_bytes()).string(), Err(malformed));
        let malformed = JsonError { why: "a control character in a string", at: cut.len() };
        let text = format!("{cut}\n{rest}");
        prop_assert_eq!(Reader::new(text.as_bytes()).string(), Err(malformed));
    }

    #[test]
    fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        accepts(&bytes);
    }
}
