//! Tables of models, TOML or JSON, as entries. Members of a wrong type are reported by their path, all of them.

use super::entry::CatalogueEntry;
use crate::weights::HUB_REFERENCE;
use domain::model::DriverKind;
use domain::{NanoUsd, PriceShare};
use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};
use std::fmt;
use toml_edit::{Item, TableLike};

/// More are not looked for in one table.
const MAX_INVALID_MEMBERS: usize = 100;
const TABLE: &str = "a table";
const LIST_OF_TABLES: &str = "a list of tables";
/// Members of the API that no table has.
const API_MEMBERS: [&str; 2] = ["api_key", "has_key"];

/// A problem of an entry, with the path of its member, such as `upstreams[0].url`.
#[derive(Debug)]
pub struct EntryProblem {
    pub path: String,
    pub why: Why,
}

/// The path and the description.
impl fmt::Display for EntryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.why.describe("the value"))
    }
}

#[derive(Debug)]
pub enum Why {
    /// The value is not what is expected, such as `true or false`.
    Not(String),
    /// The member is required; with an example.
    Missing(&'static str),
    /// There is no such member; with those that there are.
    Unknown(Vec<String>),
    Other(String),
}

impl Why {
    /// The description of the problem of a value that is shown like this.
    pub fn describe(&self, shown: &str) -> String {
        match self {
            Self::Not(expected) => format!("{shown} is not {expected}"),
            Self::Missing(example) => format!("is missing, for instance {example}"),
            Self::Unknown(names) => format!("unknown key; known here: {}", names.join(", ")),
            Self::Other(why) => why.clone(),
        }
    }
}

/// Reads a table without its id. A member of a wrong type is reported and then read as if it were absent.
pub(super) fn read(table: Map<String, Value>) -> (CatalogueEntry, Vec<EntryProblem>) {
    let mut table = Value::Object(table);
    remove_nulls(&mut table);
    let mut problems = remove_non_tables(&mut table);
    while problems.len() < MAX_INVALID_MEMBERS {
        match serde_path_to_error::deserialize::<_, CatalogueEntry>(&table) {
            Ok(entry) => return (entry, problems),
            Err(error) => {
                let path = error.path().to_string();
                let why = why_of(&error.inner().to_string(), !path.contains('.'));
                problems.push(EntryProblem { path, why });
                if !remove(&mut table, error.path()) {
                    break;
                }
            }
        }
    }
    (CatalogueEntry::default(), problems)
}

/// serde would accept an array with the members of a table in order.
fn remove_non_tables(table: &mut Value) -> Vec<EntryProblem> {
    let is_list_of_tables = |value: &Value| value.as_array().is_some_and(|list| list.iter().all(Value::is_object));
    let mut problems = Vec::new();
    for (key, expected) in [("upstreams", LIST_OF_TABLES), ("engine", TABLE), ("flavors", LIST_OF_TABLES)] {
        let is_valid = |value: &Value| if expected == TABLE { value.is_object() } else { is_list_of_tables(value) };
        if table.get(key).is_some_and(|value| !is_valid(value)) {
            table.as_object_mut().map(|members| members.remove(key));
            problems.push(EntryProblem { path: key.to_owned(), why: Why::Not(expected.to_owned()) });
        }
    }
    problems
}

/// Removes the member; false if there is none.
fn remove(table: &mut Value, path: &Path) -> bool {
    let mut place = Some(table);
    let mut segments = path.iter().peekable();
    while let Some(segment) = segments.next() {
        place = match (segment, place) {
            (Segment::Map { key }, Some(Value::Object(members))) if segments.peek().is_none() => {
                return members.remove(key).is_some();
            }
            (Segment::Map { key }, Some(found)) => found.get_mut(key),
            (Segment::Seq { index }, Some(found)) => found.get_mut(index),
            (Segment::Enum { .. } | Segment::Unknown, _) | (_, None) => None,
        };
    }
    false
}

/// The kinds of serde's errors differ only in their messages.
fn why_of(message: &str, is_top: bool) -> Why {
    let expected = message.rsplit_once(", expected ").map(|(_, expected)| expected);
    match expected {
        Some(expected) if message.starts_with("unknown field ") => {
            let names = expected.split('`').skip(1).step_by(2).filter(|name| !API_MEMBERS.contains(name));
            Why::Unknown(is_top.then_some("id").into_iter().chain(names).map(str::to_owned).collect())
        }
        Some("a boolean") => Why::Not("true or false".into()),
        Some("a string") => Why::Not("text in quotes".into()),
        Some("u64") => Why::Not("a whole number".into()),
        Some(expected) => Why::Not(expected.to_owned()),
        None => Why::Other(message.to_owned()),
    }
}

/// Null means absent.
pub fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_nulls);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

pub(super) fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NanoUsd>, D::Error> {
    decimal(deserializer, "amounts", NanoUsd::parse)
}

pub(super) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PriceShare>, D::Error> {
    decimal(deserializer, "shares", PriceShare::parse)
}

/// Decimal text, because a float would lose precision.
fn decimal<'de, D: Deserializer<'de>, T, E: fmt::Display>(
    deserializer: D,
    what: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => parse(&text).map(Some).map_err(D::Error::custom),
        Value::Number(number) => {
            Err(D::Error::custom(format_args!("{number} is a number; {what} are text: write \"{number}\"")))
        }
        _ => Err(D::Error::invalid_type(Unexpected::Other("value"), &"a string")),
    }
}

pub(super) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let list = value.as_array().and_then(|list| list.iter().map(|text| text.as_str().map(str::to_owned)).collect());
    list.map(Some).ok_or_else(|| D::Error::invalid_type(Unexpected::Other("value"), &"a list of texts in quotes"))
}

/// For members that no table has.
pub(super) fn api_only<'de, D: Deserializer<'de>, T>(_: D) -> Result<T, D::Error> {
    Err(D::Error::custom("is a member of the API only"))
}

/// The tables of a list; none if it is absent.
pub(super) fn tables_of<'a>(
    table: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> + use<'a> {
    let list = table.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Makes the paths of weights and chat templates on this machine absolute; those in a Pod are relative to the mount of its weights.
pub(super) fn resolve_paths(table: &mut Map<String, Value>, folder: &std::path::Path) {
    let is_local = |driver: Option<&Value>| driver.and_then(Value::as_str) != Some(DriverKind::Kubernetes.as_str());
    let resolve = |part: &mut Map<String, Value>| {
        for key in ["weights", "chat_template"] {
            if let Some(Value::String(path)) = part.get_mut(key)
                && !path.is_empty()
                && !path.starts_with(HUB_REFERENCE)
            {
                *path = folder.join(&*path).to_string_lossy().into_owned();
            }
        }
    };
    let driver = table.get("driver").cloned();
    if let Some(engine) = table.get_mut("engine").and_then(Value::as_object_mut).filter(|_| is_local(driver.as_ref())) {
        resolve(engine);
    }
    tables_of(table, "flavors").filter(|flavor| is_local(flavor.get("driver").or(driver.as_ref()))).for_each(resolve);
}

pub(super) fn from_toml(table: &dyn TableLike) -> Map<String, Value> {
    table.iter().map(|(key, item)| (key.to_owned(), item_from_toml(item))).collect()
}

fn item_from_toml(item: &Item) -> Value {
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().map(|table| Value::Object(from_toml(table))).collect();
    }
    match (item.as_table_like(), item.as_value()) {
        (Some(table), _) => Value::Object(from_toml(table)),
        (None, Some(value)) => value_from_toml(value),
        (None, None) => Value::Null,
    }
}

fn value_from_toml(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(flag) => (*flag.value()).into(),
        toml_edit::Value::Datetime(moment) => moment.value().to_string().into(),
        toml_edit::Value::Array(values) => values.iter().map(value_from_toml).collect(),
        toml_edit::Value::InlineTable(table) => Value::Object(from_toml(table)),
    }
}
