//! The members that the gateway forwards as they are.

use domain::model::RequestRules;
use json::{Checks, JsonError, Reader, ValueKind, folds_to, shorten};
use std::fmt::Display;

/// Members with grammars and schemas, which engines compile before they generate anything.
const GRAMMARS: [&str; 11] = [
    "ebnf",
    "grammar",
    "guided_choice",
    "guided_grammar",
    "guided_json",
    "guided_regex",
    "guided_structural_tag",
    "json_schema",
    "regex",
    "structural_tag",
    "structured_outputs",
];
/// The most bytes of a grammar. Compiling takes an engine far longer than reading it.
const MAX_GRAMMAR_BYTES: u64 = 256 << 10;

/// Checks the size of a member, which is invalid if it is a grammar that is too large.
pub(super) fn check_grammar(name: &[u8], bytes: u64, checks: &mut Checks) {
    let is_grammar = || name == b"response_format" || GRAMMARS.iter().any(|grammar| folds_to(name, grammar));
    if bytes > MAX_GRAMMAR_BYTES && is_grammar() {
        reject_grammar(&shorten(name), checks);
    }
}

/// Checks the size of the parameters of all tools, which engines compile if one of the tools must be called.
pub(super) fn check_parameters(bytes: u64, checks: &mut Checks) {
    if bytes > MAX_GRAMMAR_BYTES {
        reject_grammar(&"tools", checks);
    }
}

fn reject_grammar(param: &dyn Display, checks: &mut Checks) {
    checks.invalid(param, || format!("has more than {MAX_GRAMMAR_BYTES} bytes"));
}

/// The names of members with a value. Null counts as absent, and false asks for nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct OtherMembers {
    names: Vec<String>,
    /// `service_tier` is `flex`. Engines get it, too, and do nothing with it.
    pub(super) is_flex: bool,
    /// Members that the gateway knows and that cost an engine more than the text. Only a model's own list refuses them.
    costly: Vec<&'static str>,
}

impl OtherMembers {
    /// Returns the size of the value in bytes: a chat template can print all of it.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, name: &[u8]) -> Result<u64, JsonError> {
        let start = reader.position();
        let has_value = match reader.kind()? {
            ValueKind::Null => reader.skip().map(|()| false)?,
            ValueKind::Bool => reader.boolean()?,
            ValueKind::String if name == b"service_tier" => {
                self.is_flex = reader.string()?.is("flex");
                true
            }
            ValueKind::Number | ValueKind::String | ValueKind::Array | ValueKind::Object => {
                reader.skip().map(|()| true)?
            }
        };
        if has_value {
            self.names.push(shorten(name).to_owned());
        }
        Ok((reader.position() - start) as u64)
    }

    /// Reads `service_tier`, of which only `flex` has an effect.
    pub(super) fn read_tier(&mut self, reader: &mut Reader<'_>, checks: &mut Checks) -> Result<(), JsonError> {
        if let Some(tier) = checks.text(reader, &"service_tier")? {
            checks.word(tier, &"service_tier", &["auto", "default", "flex", "scale", "priority", "fast"]);
            self.is_flex = tier.is("flex");
        }
        Ok(())
    }

    /// Adds members that the gateway knows, each with whether the request asks for it.
    pub(super) fn add_costly<const N: usize>(&mut self, members: [(&'static str, bool); N]) {
        self.costly.extend(members.into_iter().filter_map(|(name, is_asked)| is_asked.then_some(name)));
    }

    /// The first member that the rules do not allow, in any case: not every model server distinguishes it.
    pub(super) fn refused_by(&self, rules: &RequestRules) -> Option<&str> {
        let is_refused = |name: &&String| rules.refused().any(|refused| folds_to(name.as_bytes(), refused));
        let own = || rules.refused_members.iter().flatten();
        let is_refused_here = |name: &&'static str| own().any(|refused| refused == name);
        let other = self.names.iter().find(is_refused).map(String::as_str);
        other.or_else(|| self.costly.iter().copied().find(is_refused_here))
    }
}
