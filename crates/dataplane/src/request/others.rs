//! The members that the gateway does not know and forwards.

use domain::model::RequestRules;
use json::{JsonError, Reader, ValueKind, folds_to, shorten};

/// The names of members with a value. Null counts as absent, and false asks for nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct OtherMembers {
    names: Vec<String>,
}

impl OtherMembers {
    /// Returns the size of the value in bytes: a chat template can print all of it.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, name: &[u8]) -> Result<u64, JsonError> {
        let start = reader.position();
        let has_value = match reader.kind()? {
            ValueKind::Null => reader.skip().map(|()| false)?,
            ValueKind::Bool => reader.boolean()?,
            ValueKind::Number | ValueKind::String | ValueKind::Array | ValueKind::Object => {
                reader.skip().map(|()| true)?
            }
        };
        if has_value {
            self.names.push(shorten(name).to_owned());
        }
        Ok((reader.position() - start) as u64)
    }

    /// The first member that the rules do not allow, in any case: not every model server distinguishes it.
    pub(super) fn refused_by(&self, rules: &RequestRules) -> Option<&str> {
        let is_refused = |name: &&String| rules.refused().any(|refused| folds_to(name.as_bytes(), refused));
        self.names.iter().find(is_refused).map(String::as_str)
    }
}
