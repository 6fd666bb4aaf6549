//! Items of stored responses: JSON objects, of which only their ids and types matter here.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use serde_json::json;
use serde_json::value::RawValue;
use std::fmt;

/// An item as JSON.
pub type Item = Box<RawValue>;

/// A stored output item.
#[derive(Debug, Clone)]
pub struct FoundItem {
    pub item: Item,
    /// The model of its response, by the name that the client sent.
    pub model: String,
}

/// Output items of a response that can be referred to.
const MAX_INDEXED: usize = 1_024;
/// The type of items without one.
const MESSAGE: &str = "message";

/// The order of a list of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemOrder {
    OldestFirst,
    NewestFirst,
}

/// Which items to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemQuery {
    pub limit: usize,
    pub order: ItemOrder,
    /// Starts after the item with this id.
    pub after: Option<String>,
}

/// A part of the items that a response was generated from.
#[derive(Debug, Clone)]
pub struct ItemPage {
    pub items: Vec<Item>,
    pub first_id: Option<String>,
    pub last_id: Option<String>,
    pub has_more: bool,
}

/// A stored response with its input.
#[derive(Debug)]
pub(super) struct StoredTurn {
    pub(super) id: String,
    pub(super) input: Vec<Item>,
    pub(super) output: Vec<Item>,
}

#[derive(Deserialize)]
struct ResponseOutput {
    #[serde(default)]
    output: Vec<Item>,
}

#[derive(Deserialize)]
struct ResponseModel {
    model: String,
}

#[derive(Deserialize)]
struct ItemId {
    #[serde(default)]
    id: Option<String>,
}

impl StoredTurn {
    pub(super) fn parse(id: &str, input: &[u8], response: &[u8]) -> Result<Self, serde_json::Error> {
        let input = serde_json::from_slice(input)?;
        Ok(Self { id: id.to_owned(), input, output: output(response)? })
    }

    fn listed_input(&self) -> impl Iterator<Item = ListedItem<'_>> {
        let id = self.id.as_str();
        self.input.iter().enumerate().map(move |(index, item)| ListedItem { item, input_of: Some((id, index)) })
    }

    fn listed_output(&self) -> impl Iterator<Item = ListedItem<'_>> {
        self.output.iter().map(|item| ListedItem { item, input_of: None })
    }
}

/// The ids of the output items of a response.
pub(super) fn output_ids(response: &[u8]) -> Result<Vec<String>, serde_json::Error> {
    let ids = output(response)?.into_iter().filter_map(|item| id_of(&item));
    Ok(ids.take(MAX_INDEXED).collect())
}

pub(super) fn output_by_id(response: &[u8]) -> Result<Vec<(String, FoundItem)>, serde_json::Error> {
    let model = serde_json::from_slice(response).map_or_else(|_| String::new(), |of: ResponseModel| of.model);
    let found = |item: Item| Some((id_of(&item)?, FoundItem { item, model: model.clone() }));
    Ok(output(response)?.into_iter().filter_map(found).collect())
}

fn output(response: &[u8]) -> Result<Vec<Item>, serde_json::Error> {
    Ok(serde_json::from_slice::<ResponseOutput>(response)?.output)
}

fn id_of(item: &Item) -> Option<String> {
    serde_json::from_str::<ItemId>(item.get()).ok()?.id
}

/// A page of the items that the last turn was generated from: all earlier turns, and its own input. A conversation may be
/// large, so only the items of the page are copied.
pub(super) fn input_page(turns: &[StoredTurn], query: &ItemQuery) -> Result<ItemPage, serde_json::Error> {
    let (last, earlier) = match turns.split_last() {
        Some((last, earlier)) => (Some(last), earlier),
        None => (None, turns),
    };
    let earlier = earlier.iter().flat_map(|turn| turn.listed_input().chain(turn.listed_output()));
    let mut listed: Vec<ListedItem<'_>> = earlier.chain(last.into_iter().flat_map(StoredTurn::listed_input)).collect();
    if query.order == ItemOrder::NewestFirst {
        listed.reverse();
    }
    if let Some(after) = &query.after {
        let position = listed.iter().position(|item| item.id().as_ref() == Some(after));
        listed.drain(..position.map_or(listed.len(), |position| position + 1));
    }
    let has_more = listed.len() > query.limit;
    listed.truncate(query.limit);
    Ok(ItemPage {
        items: listed.iter().map(ListedItem::shown).collect::<Result<_, _>>()?,
        first_id: listed.first().and_then(ListedItem::id),
        last_id: listed.last().and_then(ListedItem::id),
        has_more,
    })
}

/// An item of a conversation.
struct ListedItem<'a> {
    item: &'a Item,
    /// For an input item its response and its index there; `None` for an output item.
    input_of: Option<(&'a str, usize)>,
}

impl ListedItem<'_> {
    /// The own id of an input item is ignored, so it gets one that follows from its place.
    fn id(&self) -> Option<String> {
        match self.input_of {
            Some((response, index)) => Some(ItemHead::read(self.item).input_id(response, index)),
            None => id_of(self.item),
        }
    }

    /// The item as clients see it. Values are copied as they are: not all of them fit into the types of this process.
    fn shown(&self) -> Result<Item, serde_json::Error> {
        let Some((response, index)) = self.input_of else { return Ok(self.item.clone()) };
        let head = ItemHead::read(self.item);
        let mut out = format!("{{\"id\":{}", json!(head.input_id(response, index)));
        let mut replaced = vec!["id"];
        if head.kind() == MESSAGE {
            out.push_str(",\"type\":\"message\",\"status\":\"completed\"");
            replaced.extend(["type", "status"]);
            if let Some(content) = head.text_content() {
                out.push_str(",\"content\":");
                out.push_str(&content);
                replaced.push("content");
            }
        }
        let copied = each_member(self.item, |name, value| {
            if !replaced.contains(&name.as_str()) {
                out.push(',');
                out.push_str(&json!(name).to_string());
                out.push(':');
                out.push_str(value.get());
            }
        });
        if copied.is_err() {
            return Ok(self.item.clone());
        }
        out.push('}');
        RawValue::from_string(out)
    }
}

/// The members of an input item that decide how it is shown.
#[derive(Default)]
struct ItemHead<'a> {
    kind: Option<String>,
    role: Option<String>,
    content: Option<&'a RawValue>,
}

impl<'a> ItemHead<'a> {
    /// Without the members after one that cannot be read.
    fn read(item: &'a RawValue) -> Self {
        let mut head = Self::default();
        let text = |value: &RawValue| serde_json::from_str::<String>(value.get()).ok();
        let _ = each_member(item, |name, value| match name.as_str() {
            "type" => head.kind = text(value),
            "role" => head.role = text(value),
            "content" => head.content = Some(value),
            _ => {}
        });
        head
    }

    fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or(MESSAGE)
    }

    fn input_id(&self, response: &str, index: usize) -> String {
        let prefix = match self.kind() {
            MESSAGE => "msg",
            "function_call" => "fc",
            "reasoning" => "rs",
            _ => "item",
        };
        let tail = response.strip_prefix("resp_").unwrap_or(response);
        format!("{prefix}_{tail}i{index}")
    }

    /// The content of a message as a list of parts, if it is a text.
    fn text_content(&self) -> Option<String> {
        let text = self.content?.get();
        if !text.starts_with('"') {
            return None;
        }
        Some(if self.role.as_deref() == Some("assistant") {
            format!("[{{\"type\":\"output_text\",\"text\":{text},\"annotations\":[]}}]")
        } else {
            format!("[{{\"type\":\"input_text\",\"text\":{text}}}]")
        })
    }
}

/// Reads the members of an object one by one, without keeping them.
fn each_member<'a>(object: &'a RawValue, take: impl FnMut(String, &'a RawValue)) -> Result<(), serde_json::Error> {
    serde_json::Deserializer::from_str(object.get()).deserialize_map(EachMember(take))
}

struct EachMember<F>(F);

impl<'de, F: FnMut(String, &'de RawValue)> Visitor<'de> for EachMember<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some((name, value)) = members.next_entry::<String, &'de RawValue>()? {
            (self.0)(name, value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod fuzz_tests {
    use super::*;
    use fuzz::Fuzz;
    use serde_json::Value;

    const WORDS: &[&str] = &[
        ",{\"role\":\"user\",\"content\":\"a\"}",
        ",\"id\":\"x\"",
        ",\"type\":\"message\"",
        ",\"type\":\"function_call\"",
        ",\"role\":\"assistant\"",
        ",\"content\":\"a\"",
        ",\"content\":[]",
        ",\"status\":null",
        "null",
        "1e400",
        "\\u0022",
        "\u{e9}",
    ];

    /// A stored input is split into its items, and each object is shown with an id of its own and its other members.
    #[test]
    fn stored_items() {
        Fuzz::new("stored-items").words(WORDS).run(|bytes| {
            let Ok(turn) = StoredTurn::parse("resp_a", bytes, b"{}") else { return };
            let query = ItemQuery { limit: usize::MAX, order: ItemOrder::OldestFirst, after: None };
            let page = input_page(std::slice::from_ref(&turn), &query).expect("items are JSON");
            assert_eq!(page.items.len(), turn.input.len());
            let values = |items: &[Item]| -> Vec<Option<Value>> {
                items.iter().map(|item| serde_json::from_str(item.get()).ok()).collect()
            };
            for (stored, shown) in values(&turn.input).into_iter().zip(values(&page.items)) {
                let (Some(stored), Some(shown)) = (stored, shown) else { continue };
                let Some(members) = stored.as_object() else {
                    assert_eq!(stored, shown);
                    continue;
                };
                assert!(shown["id"].as_str().is_some_and(|id| id.ends_with(|last: char| last.is_ascii_digit())));
                let is_written = |name: &str| ["id", "type", "status", "content"].contains(&name);
                for (name, value) in members.iter().filter(|(name, _)| !is_written(name)) {
                    assert_eq!(&shown[name], value, "{name}");
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn turn(id: &str, input: &Value, output: &Value) -> StoredTurn {
        let response = json!({ "id": id, "output": output });
        StoredTurn::parse(id, input.to_string().as_bytes(), response.to_string().as_bytes()).unwrap()
    }

    fn ids(page: &ItemPage) -> Vec<String> {
        page.items.iter().map(|item| id_of(item).unwrap()).collect()
    }

    #[test]
    fn the_input_of_a_response_is_its_conversation_and_its_own_input() {
        let first = turn("resp_a", &json!([{ "role": "user", "content": "hi" }]), &json!([{ "id": "msg_1" }]));
        let second = turn(
            "resp_b",
            &json!([{ "type": "function_call_output", "id": "mine", "call_id": "c", "output": "1" }]),
            &json!([{ "id": "msg_2" }]),
        );
        let turns = [first, second];
        let page = |limit, order, after: Option<&str>| {
            let query = ItemQuery { limit, order, after: after.map(str::to_owned) };
            input_page(&turns, &query).unwrap()
        };
        let all = page(20, ItemOrder::OldestFirst, None);
        assert_eq!(ids(&all), ["msg_ai0", "msg_1", "item_bi0"]);
        assert!(!all.has_more);
        assert_eq!((all.first_id.as_deref(), all.last_id.as_deref()), (Some("msg_ai0"), Some("item_bi0")));
        let message = json!({ "id": "msg_ai0", "type": "message", "status": "completed",
            "content": [{ "type": "input_text", "text": "hi" }], "role": "user" });
        assert_eq!(all.items[0].get(), message.to_string());
        let output = json!({ "id": "item_bi0", "type": "function_call_output", "call_id": "c", "output": "1" });
        assert_eq!(all.items[2].get(), output.to_string());

        let newest = page(2, ItemOrder::NewestFirst, None);
        assert_eq!(ids(&newest), ["item_bi0", "msg_1"]);
        assert!(newest.has_more);
        let rest = page(2, ItemOrder::NewestFirst, Some("msg_1"));
        assert_eq!(ids(&rest), ["msg_ai0"]);
        assert!(!rest.has_more);
        assert_eq!(ids(&page(2, ItemOrder::NewestFirst, Some("unknown"))), [""; 0]);
    }

    #[test]
    fn values_that_cannot_be_read_are_listed_as_they_are() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let input = format!(
            r#"[{{"type":"function_call","id":"mine","n":1e999,"id":2}},
                {{"role":"assistant","content":"\ud800","deep":{deep}}},{{"\ud800":1}}]"#
        );
        let turns = [StoredTurn::parse("resp_a", input.as_bytes(), b"{}").unwrap()];
        let page = input_page(&turns, &ItemQuery { limit: 9, order: ItemOrder::OldestFirst, after: None }).unwrap();
        let shown: Vec<&str> = page.items.iter().map(|item| item.get()).collect();
        let message = format!(
            r#"{{"id":"msg_ai1","type":"message","status":"completed","content":[{{"type":"output_text","text":"\ud800","annotations":[]}}],"role":"assistant","deep":{deep}}}"#
        );
        assert_eq!(shown, [r#"{"id":"fc_ai0","type":"function_call","n":1e999}"#, &message, r#"{"\ud800":1}"#]);
    }

    #[test]
    fn output_items_are_found_by_id() {
        let response =
            br#"{"model":"m","output":[{"type":"message","id":"msg_1"},{"type":"reasoning"},{"id":"fc_1","x":1}]}"#;
        assert_eq!(output_ids(response).unwrap(), ["msg_1", "fc_1"]);
        let found = output_by_id(response).unwrap();
        assert_eq!((found[1].1.item.get(), found[1].1.model.as_str()), (r#"{"id":"fc_1","x":1}"#, "m"));
        assert_eq!(output_ids(b"{}").unwrap(), [""; 0]);
    }
}
