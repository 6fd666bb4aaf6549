//! Finds the members of a request in another API than chat.

use crate::writer::write_member;
use bytes::Bytes;
use json::{Checks, ParseError, RawStr, Reader, ValueKind, read_members, without_bom};
use std::ops::RangeInclusive;

/// A member that an API has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    name: &'static str,
    /// Engines that speak the API get it, too.
    is_passed_on: bool,
}

/// A member that engines which speak the API get as the client sent it.
pub(super) const fn passed_on(name: &'static str) -> Member {
    Member { name, is_passed_on: true }
}

/// A member that such engines do not get, or not as the client sent it.
pub(super) const fn kept_back(name: &'static str) -> Member {
    Member { name, is_passed_on: false }
}

/// The body of a request, and the values of its members.
#[derive(Debug)]
pub(super) struct RequestMembers<const N: usize> {
    known: &'static [Member; N],
    body: Bytes,
    /// In the order of `known`; empty for absent and null ones.
    values: [Bytes; N],
}

impl<const N: usize> RequestMembers<N> {
    /// Other members than `known` are ignored.
    pub(super) fn read(body: Bytes, known: &'static [Member; N]) -> Result<Self, ParseError> {
        let body = without_bom(body);
        let mut values = [const { Bytes::new() }; N];
        read_members(&body, &known.map(|member| member.name), |reader, name| {
            let is_null = reader.kind()? == ValueKind::Null;
            let span = reader.span()?;
            if let Some(place) = known.iter().position(|member| name == member.name.as_bytes())
                && !is_null
            {
                values[place] = body.slice(span);
            }
            Ok(())
        })?;
        Ok(Self { known, body, values })
    }

    /// The first of these members that is absent is an error.
    pub(super) fn require(&self, names: &[&str]) -> Result<(), ParseError> {
        match names.iter().find(|name| self.value(name).is_empty()) {
            Some(missing) => Err(ParseError::Missing { param: (*missing).to_owned() }),
            None => Ok(()),
        }
    }

    pub(super) fn body_bytes(&self) -> usize {
        self.body.len()
    }

    /// The member as JSON; empty if it is absent or null.
    pub(super) fn value(&self, name: &str) -> &[u8] {
        self.place(name).map_or(&[][..], |place| &self.values[place][..])
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.known.iter().position(|member| member.name == name)
    }

    /// `None` if the member is absent or not a string.
    pub(super) fn string(&self, name: &str) -> Result<Option<String>, ParseError> {
        let Some(mut reader) = self.reader(name) else { return Ok(None) };
        if reader.kind()? != ValueKind::String {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&reader.string()?.decoded()).into_owned()))
    }

    /// A member that must be a string.
    pub(super) fn text(&self, name: &'static str, checks: &mut Checks) -> Result<Option<RawStr<'_>>, ParseError> {
        self.reader(name).map_or(Ok(None), |mut reader| Ok(checks.text(&mut reader, &name)?))
    }

    pub(super) fn boolean(&self, name: &'static str, checks: &mut Checks) -> Result<Option<bool>, ParseError> {
        self.reader(name).map_or(Ok(None), |mut reader| Ok(checks.boolean(&mut reader, &name)?))
    }

    pub(super) fn integer(
        &self,
        name: &'static str,
        range: RangeInclusive<i64>,
        checks: &mut Checks,
    ) -> Result<Option<u64>, ParseError> {
        let Some(mut reader) = self.reader(name) else { return Ok(None) };
        Ok(checks.integer(&mut reader, &name, range)?.map(i64::unsigned_abs))
    }

    /// Copies numbers that have the same name and meaning in chat.
    pub(super) fn write_numbers(
        &self,
        ranges: &[(&'static str, RangeInclusive<f64>)],
        checks: &mut Checks,
        out: &mut Vec<u8>,
    ) -> Result<(), ParseError> {
        for (name, range) in ranges {
            if let Some(mut reader) = self.reader(name) {
                checks.number(&mut reader, name, range.clone())?;
                write_member(name, self.value(name), out);
            }
        }
        Ok(())
    }

    /// Asks for the flex tier in chat, too, if the model has it. Returns whether it does so.
    pub(super) fn write_tier(&self, has_flex: bool, out: &mut Vec<u8>) -> Result<bool, ParseError> {
        let is_flex = has_flex && self.string("service_tier")?.as_deref() == Some("flex");
        if is_flex {
            write_member("service_tier", self.value("service_tier"), out);
        }
        Ok(is_flex)
    }

    /// `None` if the member is absent.
    fn reader(&self, name: &str) -> Option<Reader<'_>> {
        Some(self.value(name)).filter(|value| !value.is_empty()).map(Reader::again)
    }

    /// The members for engines that speak the API, sharing memory with the body.
    pub(super) fn passed_on(&self) -> Vec<(&'static str, Bytes)> {
        let members = self.known.iter().zip(&self.values);
        let members = members.filter(|(member, value)| member.is_passed_on && !value.is_empty());
        members.map(|(member, value)| (member.name, value.clone())).collect()
    }
}
