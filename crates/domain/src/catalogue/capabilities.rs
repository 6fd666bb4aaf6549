//! What the engines of a model can do, as far as it was observed.
//!
//! There are three states: an engine has shown that it can, it has shown that it cannot, or it is not known. A call is rejected
//! only for what is known to be missing at every replica.

use crate::named_enum;
use std::collections::BTreeMap;

named_enum! {
    /// An operation of a model, or a property of its chats.
    #[derive(PartialOrd, Ord)]
    pub enum Capability {
        Chat = "chat",
        Completions = "completions",
        Embeddings = "embeddings",
        Rerank = "rerank",
        Score = "score",
        Tokenize = "tokenize",
        Tools = "tools",
        /// Arguments of tool calls are complete in streams, too.
        StreamedTools = "streamed_tools",
        ParallelTools = "parallel_tools",
        /// Its reasoning is apart from its text.
        Reasoning = "reasoning",
        /// Reasoning of earlier messages is a part of the prompt.
        ReasoningRead = "reasoning_read",
        JsonSchema = "json_schema",
        /// Also while it thinks.
        JsonSchemaThinking = "json_schema_thinking",
        Images = "images",
        Logprobs = "logprobs",
        StreamUsage = "stream_usage",
        CachedTokens = "cached_tokens",
        /// A prompt that is too long is rejected, rather than cut.
        OverflowErrors = "overflow_errors",
        /// An invalid stream fails visibly.
        StreamErrors = "stream_errors",
        NativeMessages = "native_messages",
        NativeResponses = "native_responses",
    }
}

/// A set of capabilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CapabilitySet(u32);

impl CapabilitySet {
    pub const EMPTY: Self = Self(0);

    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        Self(self.0 | Self::bit(capability))
    }

    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn contains(self, capability: Capability) -> bool {
        self.0 & Self::bit(capability) != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn first(self) -> Option<Capability> {
        if self.is_empty() { None } else { self.iter().next() }
    }

    /// In the order of their declaration.
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        Capability::ALL.into_iter().filter(move |capability| self.contains(*capability))
    }

    const fn bit(capability: Capability) -> u32 {
        1 << capability as u32
    }
}

/// Whether an engine can do something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Support {
    Yes,
    No,
    #[default]
    Unknown,
}

/// What is known of an engine. No capability is both there and missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    present: CapabilitySet,
    missing: CapabilitySet,
    /// What was seen, in words: the name of the reasoning, the message of an error.
    notes: BTreeMap<Capability, String>,
}

/// The most characters of a note, which may be an engine's own words.
const MAX_NOTE_CHARS: usize = 200;

impl Capabilities {
    pub fn set(&mut self, capability: Capability, support: Support) {
        let this = CapabilitySet::EMPTY.with(capability);
        self.present = self.present.without(this);
        self.missing = self.missing.without(this);
        match support {
            Support::Yes => self.present = self.present.or(this),
            Support::No => self.missing = self.missing.or(this),
            Support::Unknown => {}
        }
    }

    /// Adds what was seen. Empty texts are left out, long ones cut.
    pub fn note(&mut self, capability: Capability, text: &str) {
        let text: String = text.chars().filter(|letter| !letter.is_control()).take(MAX_NOTE_CHARS).collect();
        if !text.is_empty() {
            self.notes.insert(capability, text);
        }
    }

    pub fn get(&self, capability: Capability) -> Support {
        match (self.present.contains(capability), self.missing.contains(capability)) {
            (true, _) => Support::Yes,
            (false, true) => Support::No,
            (false, false) => Support::Unknown,
        }
    }

    pub fn note_of(&self, capability: Capability) -> Option<&str> {
        self.notes.get(&capability).map(String::as_str)
    }

    pub const fn present(&self) -> CapabilitySet {
        self.present
    }

    pub const fn missing(&self) -> CapabilitySet {
        self.missing
    }

    /// Whether nothing is known.
    pub const fn is_empty(&self) -> bool {
        self.present.is_empty() && self.missing.is_empty()
    }

    /// Without what is missing: an engine that has restarted may have other options.
    #[must_use]
    pub fn without_missing(&self) -> Self {
        Self { missing: CapabilitySet::EMPTY, ..self.clone() }
    }

    /// The findings of `newer`, and these where it has found nothing.
    #[must_use]
    pub fn updated_by(&self, newer: &Self) -> Self {
        let mut updated = self.clone();
        for capability in newer.present.or(newer.missing).iter() {
            updated.set(capability, newer.get(capability));
            updated.notes.remove(&capability);
        }
        updated.notes.extend(newer.notes.clone());
        updated
    }

    /// What replicas together can do. A capability is there if one replica has it and none lacks it, and missing if all
    /// lack it: a call may come to any of them.
    pub fn of_all<'a>(replicas: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut replicas = replicas.into_iter();
        let Some(first) = replicas.next() else { return Self::default() };
        let (mut any_present, mut any_missing, mut all_missing) = (first.present, first.missing, first.missing);
        let mut notes = first.notes.clone();
        for replica in replicas {
            any_present = any_present.or(replica.present);
            any_missing = any_missing.or(replica.missing);
            all_missing = all_missing.and(replica.missing);
            for (capability, note) in &replica.notes {
                notes.entry(*capability).or_insert_with(|| note.clone());
            }
        }
        Self { present: any_present.without(any_missing), missing: all_missing, notes }
    }

    /// What has changed since `before`, one line each, such as `tools: missing, was unknown`.
    pub fn changes_since(&self, before: &Self) -> Vec<String> {
        let change = |capability: Capability| {
            let (was, is) = (before.get(capability), self.get(capability));
            (was != is).then(|| format!("{capability}: {}, was {}", in_words(is), in_words(was)))
        };
        Capability::ALL.into_iter().filter_map(change).collect()
    }
}

const fn in_words(support: Support) -> &'static str {
    match support {
        Support::Yes => "there",
        Support::No => "missing",
        Support::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(present: &[Capability], missing: &[Capability]) -> Capabilities {
        let mut capabilities = Capabilities::default();
        present.iter().for_each(|capability| capabilities.set(*capability, Support::Yes));
        missing.iter().for_each(|capability| capabilities.set(*capability, Support::No));
        capabilities
    }

    #[test]
    fn every_capability_has_a_bit_of_its_own() {
        let all = Capability::ALL.into_iter().fold(CapabilitySet::EMPTY, CapabilitySet::with);
        assert!(all.iter().eq(Capability::ALL));
        assert!(Capability::ALL.len() <= 32);
    }

    #[test]
    fn replicas_lack_only_what_all_lack_and_have_only_what_none_lacks() {
        use Capability::{Chat, Images, Logprobs, Tools};
        let one = known(&[Chat, Tools], &[Images, Logprobs]);
        let other = known(&[Chat], &[Tools, Images]);
        let unknown = Capabilities::default();
        let both = Capabilities::of_all([&one, &other]);
        assert_eq!([Chat, Tools, Images, Logprobs].map(|one| both.get(one)), {
            [Support::Yes, Support::Unknown, Support::No, Support::Unknown]
        });
        let with_unknown = Capabilities::of_all([&one, &unknown]);
        assert_eq!(with_unknown.get(Chat), Support::Yes);
        assert_eq!(with_unknown.missing(), CapabilitySet::EMPTY, "the other one may have them");
        assert!(Capabilities::of_all([]).is_empty());
    }

    #[test]
    fn newer_findings_replace_older_ones_and_leave_the_others() {
        use Capability::{Chat, Images, Tools};
        let mut before = known(&[Chat, Tools], &[Images]);
        before.note(Images, "text only");
        let after = before.updated_by(&known(&[Images], &[Tools]));
        assert_eq!(after, known(&[Chat, Images], &[Tools]), "with no note of what is outdated");
        assert_eq!(before.updated_by(&Capabilities::default()), before);
        assert!(before.without_missing().missing().is_empty());
        assert_eq!(before.without_missing().get(Images), Support::Unknown);
    }

    #[test]
    fn a_change_says_what_is_and_what_was() {
        let before = known(&[Capability::Chat], &[Capability::Tools]);
        let after = known(&[Capability::Chat, Capability::Tools], &[Capability::Images]);
        assert_eq!(after.changes_since(&before), ["tools: there, was missing", "images: missing, was unknown"]);
        assert!(after.changes_since(&after).is_empty());
    }

    #[test]
    fn a_note_is_short_and_on_one_line() {
        let mut capabilities = Capabilities::default();
        capabilities.note(Capability::OverflowErrors, &format!("a\nb{}", "x".repeat(300)));
        capabilities.note(Capability::Chat, "");
        assert_eq!(capabilities.note_of(Capability::OverflowErrors).unwrap().len(), MAX_NOTE_CHARS);
        assert_eq!(capabilities.note_of(Capability::Chat), None);
    }
}
