//! The prompt in the order in which a chat template writes it, as the hashes of its prefixes.
//!
//! Tools come first, then the messages, each with its role, its text and the rest. White space, the order of members and
//! `cache_control` make no difference. Text is hashed as it is written in the body, with its escapes; media and JSON values
//! count by a digest. All of this is read again from the body, and only for calls to a model with several replicas.

use super::{BYTES_PER_TOKEN, Operation, ParsedRequest, image};
use domain::model::ImageTokens;
use fleet::routing::fingerprint::{SessionName, seed};
use fleet::{Fingerprint, FingerprintBuilder};
use foldhash::quality::FixedState;
use json::{JsonError, LongStrings, RawStr, Reader, ValueKind};
use std::hash::{BuildHasher, Hash};
use std::ops::Range;

/// What a part other than text and images counts for at most, in bytes of text.
const MEDIA_BYTES: u64 = 1 << 10;
/// Ends a role or a text, so that they cannot run into each other.
const SEPARATOR: &[u8] = &[0];

/// The members that are read for the fingerprint, besides the prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FingerprintMembers {
    /// The value of `tools`.
    pub(super) tools: Range<usize>,
    /// The value of `prompt_cache_key`.
    pub(super) session: Range<usize>,
    /// How the model counts images.
    pub(super) images: ImageTokens,
    /// The long strings of the body.
    pub(super) long_strings: LongStrings,
}

/// What is known of the session of a call besides its body.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SessionContext<'a> {
    /// Names of sessions belong to it, also where workspaces share their caches.
    pub(crate) workspace: &'a str,
    /// The name of the session in a header, which counts unless the body has one.
    pub(crate) header: Option<&'a [u8]>,
}

impl ParsedRequest {
    /// The fingerprint of the prompt among those of `tenant`. Computed once; a call has one tenant and one session.
    pub(crate) fn fingerprint(&self, tenant: &str, session: SessionContext<'_>) -> &Fingerprint {
        self.fingerprint.get_or_init(|| self.compute_fingerprint(tenant, session))
    }

    fn compute_fingerprint(&self, tenant: &str, session: SessionContext<'_>) -> Fingerprint {
        let is_text = match self.operation {
            Operation::Chat { .. } => false,
            Operation::Completions(_) if self.prompt().starts_with(b"\"") => true,
            // The prompts are computed apart.
            Operation::Completions(_) | Operation::Embeddings(_) | Operation::Rerank(_) => {
                return Fingerprint::opaque(self.prompt.len() as u64);
            }
        };
        let SessionContext { workspace, header } = session;
        let FingerprintMembers { tools, session: own, images, long_strings } = &self.fingerprint_members;
        let salt = self.cache.salt_text().map_or(&[][..], |span| &self.body[span]);
        let builder = FingerprintBuilder::new(seed(tenant, salt), tools.len() + self.prompt.len());
        let mut prompt = Prompt { builder, images: *images };
        // The body was checked before, so that reading it again does not fail.
        let _ = prompt.tools(&self.body[tools.clone()]);
        let mut reader = long_strings.again(&self.body, self.prompt.clone());
        let _ = if is_text { prompt.content(&mut reader) } else { prompt.messages(&mut reader, self.prompt()) };
        let own = Some(self.body[own.clone()].trim_ascii()).filter(|key| key.len() > 2 && key.starts_with(b"\""));
        prompt.builder.finish(own.or(header).map(|name| SessionName { workspace, name }))
    }
}

struct Prompt {
    builder: FingerprintBuilder,
    images: ImageTokens,
}

type Read<T> = Result<T, JsonError>;

impl Prompt {
    fn tools(&mut self, text: &[u8]) -> Read<()> {
        let mut reader = Reader::again(text);
        if text.is_empty() || reader.kind()? != ValueKind::Array {
            return Ok(());
        }
        reader.array(|reader, _| {
            let Digest { hash, bytes } = digest(reader)?;
            self.builder.digest(hash, bytes);
            Ok(())
        })
    }

    fn messages(&mut self, reader: &mut Reader<'_>, text: &[u8]) -> Read<()> {
        if text.is_empty() || reader.kind()? != ValueKind::Array {
            return Ok(());
        }
        reader.array(|reader, _| self.message(reader, text))
    }

    /// Reads a message of `text`. Nearly always the role comes first; content before it is read twice.
    fn message(&mut self, reader: &mut Reader<'_>, text: &[u8]) -> Read<()> {
        if reader.kind()? != ValueKind::Object {
            return reader.skip();
        }
        let (mut has_role, mut early_content, mut others) = (false, None, Digest::default());
        reader.object(|reader, name, _| {
            match name.raw() {
                b"role" if reader.kind()? == ValueKind::String => {
                    has_role = true;
                    self.text(reader.string()?);
                }
                b"content" if has_role => self.content(reader)?,
                b"content" => early_content = Some(reader.span()?),
                b"cache_control" => reader.skip()?,
                _ => others.add_member(name, digest(reader)?),
            }
            Ok::<(), JsonError>(())
        })?;
        if let Some(span) = early_content {
            self.content(&mut Reader::again(&text[span]))?;
        }
        if others.bytes > 0 {
            self.builder.digest(others.hash, others.bytes);
        }
        Ok(())
    }

    fn content(&mut self, reader: &mut Reader<'_>) -> Read<()> {
        match reader.kind()? {
            ValueKind::String => self.text(reader.string()?),
            ValueKind::Array => reader.array(|reader, _| self.part(reader))?,
            ValueKind::Null | ValueKind::Bool | ValueKind::Number | ValueKind::Object => reader.skip()?,
        }
        Ok(())
    }

    /// A part is its text, so that it equals a string with the same text, or else its digest.
    fn part(&mut self, reader: &mut Reader<'_>) -> Read<()> {
        if reader.kind()? != ValueKind::Object {
            return reader.skip();
        }
        let start = reader.position();
        let (mut media, mut is_image) = (Digest::default(), false);
        reader.object(|reader, name, _| {
            match name.raw() {
                b"text" if reader.kind()? == ValueKind::String => self.text(reader.string()?),
                b"type" | b"cache_control" => reader.skip()?,
                other => {
                    is_image |= other == b"image_url";
                    media.add_member(name, digest(reader)?);
                }
            }
            Ok::<(), JsonError>(())
        })?;
        if media.bytes > 0 {
            // As many tokens as everywhere else, in bytes of text.
            let of_image = || self.images.of(image::size(reader.since(start))) * BYTES_PER_TOKEN;
            let bytes = if is_image { of_image() } else { media.bytes.min(MEDIA_BYTES) };
            self.builder.digest(media.hash, bytes);
        }
        Ok(())
    }

    fn text(&mut self, text: RawStr<'_>) {
        self.builder.text(text.raw());
        self.builder.text(SEPARATOR);
    }
}

/// A JSON value, whatever the order of its members and its white space.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Digest {
    hash: u64,
    /// The bytes of its names and values.
    bytes: u64,
}

impl Digest {
    fn of_string(text: RawStr<'_>) -> Self {
        Self { hash: hash((ValueKind::String.name(), text.raw())), bytes: text.raw().len() as u64 }
    }

    /// A number, a boolean or null.
    fn of_word(word: &[u8]) -> Self {
        Self { hash: hash(word), bytes: word.len() as u64 }
    }

    /// Sums do not depend on the order.
    fn add_member(&mut self, name: RawStr<'_>, value: Self) {
        self.hash = self.hash.wrapping_add(hash((name.raw(), value.hash)));
        self.bytes += name.raw().len() as u64 + value.bytes;
    }

    fn add_element(&mut self, value: Self) {
        self.hash = hash((self.hash, value.hash));
        self.bytes += value.bytes;
    }
}

fn digest(reader: &mut Reader<'_>) -> Read<Digest> {
    let mut sum = Digest::default();
    match reader.kind()? {
        ValueKind::String => return reader.string().map(Digest::of_string),
        ValueKind::Number => return reader.number().map(Digest::of_word),
        ValueKind::Bool => {
            return reader.boolean().map(|is_true| Digest::of_word(if is_true { &b"true"[..] } else { b"false" }));
        }
        ValueKind::Null => {
            reader.skip()?;
            return Ok(Digest::of_word(b"null"));
        }
        ValueKind::Array => {
            // Not an empty object.
            sum.hash = hash("array");
            reader.array(|reader, _| {
                sum.add_element(digest(reader)?);
                Ok::<(), JsonError>(())
            })?;
        }
        ValueKind::Object => reader.object(|reader, name, _| {
            if name.raw() == b"cache_control" {
                return reader.skip();
            }
            sum.add_member(name, digest(reader)?);
            Ok::<(), JsonError>(())
        })?,
    }
    Ok(sum)
}

fn hash(value: impl Hash) -> u64 {
    FixedState::default().hash_one(value)
}

#[cfg(test)]
mod tests {
    use super::super::chat;
    use super::*;
    use domain::model::ChatTraits;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn of(body: &str) -> Fingerprint {
        chat::parse(body.to_owned().into()).unwrap().fingerprint("", SessionContext::default()).clone()
    }

    fn with_messages(messages: &str) -> Fingerprint {
        of(&format!(r#"{{"model":"a/b","messages":{messages}}}"#))
    }

    /// How many hashes two prompts share.
    fn shared(one: &Fingerprint, other: &Fingerprint) -> usize {
        one.hashes().iter().zip(other.hashes()).take_while(|(one, other)| one == other).count()
    }

    fn long(letter: &str) -> String {
        letter.repeat(3_000)
    }

    #[test]
    fn the_order_of_members_white_space_and_cache_control_make_no_difference() {
        let (system, user) = (long("s"), long("u"));
        let tools = r#"[{"type":"function","function":{"name":"f","parameters":{"a":1,"b":[1,2]}}}]"#;
        let plain = of(&format!(
            r#"{{"model":"a/b","tools":{tools},"messages":[{{"role":"system","content":"{system}"}},{{"role":"user","content":"{user}"}}]}}"#
        ));
        let other_tools = r#"[ {"cache_control":{"type":"ephemeral"},"function": {"parameters":{"b":[1, 2],"a":1}, "name":"f"},"type":"function"}]"#;
        let other = of(&format!(
            r#"{{ "messages" : [{{"content":"{system}", "role":"system"}}, {{"role":"user","content":[{{"cache_control":{{"type":"ephemeral"}},"text":"{user}","type":"text"}}],"cache_control":null}}],
            "temperature":1, "tools":{other_tools},"model":"a/b"}}"#
        ));
        assert_eq!(plain, other);
        assert!(plain.hashes().len() >= 5, "{}", plain.hashes().len());
    }

    #[test]
    fn tools_roles_texts_media_and_salts_make_a_difference() {
        let message = |role: &str, content: &str| format!(r#"[{{"role":"{role}","content":{content}}}]"#);
        let text = format!("\"{}\"", long("x"));
        let base = with_messages(&message("user", &text));
        let image = |data: &str| {
            let parts = format!(
                r#"[{{"type":"image_url","image_url":{{"url":"data:{data}"}}}},{{"type":"text","text":{text}}}]"#
            );
            with_messages(&message("user", &parts))
        };
        let body = |rest: &str| of(&format!(r#"{{"model":"a/b","messages":{}{rest}}}"#, message("user", &text)));
        let others = [
            with_messages(&message("system", &text)),
            image("a"),
            image("b"),
            body(r#","tools":[{"type":"function","function":{"name":"f"}}]"#),
            body(r#","tools":[{"type":"function","function":{"name":"g"}}]"#),
            body(r#","cache_salt":"mine""#),
        ];
        for (at, one) in others.iter().enumerate() {
            assert_eq!(shared(&base, one), 0, "{at}");
            assert!(others[at + 1..].iter().all(|other| shared(one, other) == 0), "{at}");
        }
        assert_eq!(image("a"), image("a"));
        assert!(image(&"a".repeat(1 << 20)).bytes() < 8_000, "an image does not count for its bytes");
    }

    #[test]
    fn an_image_has_as_many_tokens_as_the_model_counts() {
        // 640 by 480 pixels.
        let part =
            r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAoAAAAHg"}}"#;
        let request = |content: &str, images| {
            let body = format!(r#"{{"model":"a/b","messages":[{{"role":"user","content":{content}}}]}}"#);
            let mut request = chat::parse(body.into()).unwrap();
            request.adapt_to(ChatTraits { images, ..ChatTraits::default() });
            request.fingerprint("", SessionContext::default()).bytes()
        };
        let usual = ImageTokens::default();
        for (images, tokens) in [(usual, 23 * 18), (ImageTokens { square: 14, most: 256 }, 256)] {
            let added = request(&format!("[{part}]"), images) - request("[]", images);
            assert_eq!(added, tokens * BYTES_PER_TOKEN);
        }
    }

    #[test]
    fn a_conversation_shares_the_prefix_before_its_new_turn() {
        let turn = |role: &str, letter: &str| format!(r#"{{"role":"{role}","content":"{}"}}"#, long(letter));
        let first = with_messages(&format!("[{},{}]", turn("system", "s"), turn("user", "u")));
        let next =
            format!("[{},{},{},{}]", turn("system", "s"), turn("user", "u"), turn("assistant", "a"), turn("user", "v"));
        let next = with_messages(&next);
        assert_eq!(shared(&first, &next), first.hashes().len());
        assert!(next.hashes().len() > first.hashes().len());
    }

    #[test]
    fn tenants_share_nothing() {
        let body = format!(r#"{{"model":"a/b","messages":[{{"role":"user","content":"{}"}}]}}"#, long("x"));
        let of_tenant = |tenant: &str| {
            let request = chat::parse(body.clone().into()).unwrap();
            request.fingerprint(tenant, SessionContext::default()).clone()
        };
        assert_eq!(shared(&of_tenant("a"), &of_tenant("b")), 0);
        assert_eq!(of_tenant("a"), of_tenant("a"));
    }

    #[test]
    fn a_session_is_that_of_the_body_or_else_of_the_headers() {
        let session_in = |workspace: &str, rest: &str, header: Option<&[u8]>| {
            let body = format!(r#"{{"model":"a/b","messages":[{{"role":"user","content":"hi"}}]{rest}}}"#);
            chat::parse(body.into()).unwrap().fingerprint("", SessionContext { workspace, header }).session()
        };
        let session = |rest: &str, header: Option<&[u8]>| session_in("ws_1", rest, header);
        assert_eq!(session("", None), None);
        assert_eq!(session(r#","prompt_cache_key":null"#, None), None);
        assert_eq!(session(r#","prompt_cache_key":"""#, None), None);
        let own = session(r#","prompt_cache_key":"k""#, None);
        assert!(own.is_some());
        assert_eq!(session(r#","prompt_cache_key":"k""#, Some(b"other")), own);
        assert_ne!(session("", Some(b"other")), own);
        assert!(session("", Some(b"other")).is_some());
        assert_ne!(session_in("ws_2", r#","prompt_cache_key":"k""#, None), own, "names belong to a workspace");
        assert_ne!(session_in("ws_2", "", Some(b"other")), session("", Some(b"other")));
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i32>().prop_map(Into::into),
            "\\PC{0,8}".prop_map(Into::into)
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::btree_map("[a-d]{1,3}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// The value with its members in reverse order and white space everywhere.
    fn rewritten(value: &Value) -> String {
        match value {
            Value::Object(members) => {
                let members: Vec<String> = members
                    .iter()
                    .rev()
                    .map(|(name, value)| format!(" {} : {} ", json!(name), rewritten(value)))
                    .collect();
                format!("{{{}}}", members.join(","))
            }
            Value::Array(values) => format!("[ {} ]", values.iter().map(rewritten).collect::<Vec<_>>().join(" ,\n")),
            other => other.to_string(),
        }
    }

    fn digest_of(text: &str) -> Digest {
        digest(&mut Reader::new(text.as_bytes())).unwrap()
    }

    proptest! {
        #[test]
        fn equal_values_have_equal_digests_however_they_are_written(one in any_value(), other in any_value()) {
            prop_assert_eq!(digest_of(&one.to_string()), digest_of(&rewritten(&one)));
            if one != other {
                prop_assert_ne!(digest_of(&one.to_string()).hash, digest_of(&other.to_string()).hash);
            }
        }
    }
}
