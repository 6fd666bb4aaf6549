//! Items of stored responses: JSON objects, of which only their ids and types matter here.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// An item as JSON.
pub type Item = Box<RawValue>;

/// Output items of a response that can be referred to.
const MAX_INDEXED: usize = 1_024;

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
#[derive(Debug, Clone, PartialEq)]
pub struct ItemPage {
    pub items: Vec<Value>,
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
struct ItemId {
    #[serde(default)]
    id: Option<String>,
}

impl StoredTurn {
    pub(super) fn parse(id: &str, input: &[u8], response: &[u8]) -> Result<Self, serde_json::Error> {
        let input = serde_json::from_slice(input)?;
        Ok(Self { id: id.to_owned(), input, output: output(response)? })
    }

    /// The input items as clients see them, with the ids that they have here.
    fn shown_input(&self) -> impl Iterator<Item = Result<Value, serde_json::Error>> {
        self.input.iter().enumerate().map(|(index, item)| Ok(shown(&self.id, index, serde_json::from_str(item.get())?)))
    }
}

/// The ids of the output items of a response.
pub(super) fn output_ids(response: &[u8]) -> Result<Vec<String>, serde_json::Error> {
    let ids = output(response)?.into_iter().filter_map(|item| id_of(&item));
    Ok(ids.take(MAX_INDEXED).collect())
}

pub(super) fn output_by_id(response: &[u8]) -> Result<Vec<(String, Item)>, serde_json::Error> {
    Ok(output(response)?.into_iter().filter_map(|item| Some((id_of(&item)?, item))).collect())
}

fn output(response: &[u8]) -> Result<Vec<Item>, serde_json::Error> {
    Ok(serde_json::from_slice::<ResponseOutput>(response)?.output)
}

fn id_of(item: &Item) -> Option<String> {
    serde_json::from_str::<ItemId>(item.get()).ok()?.id
}

/// A page of the items that the last turn was generated from: all earlier turns, and its own input.
pub(super) fn input_page(turns: &[StoredTurn], query: &ItemQuery) -> Result<ItemPage, serde_json::Error> {
    let Some((last, earlier)) = turns.split_last() else { return Ok(ItemPage { items: Vec::new(), has_more: false }) };
    let mut items = Vec::new();
    for turn in earlier {
        for item in turn.shown_input() {
            items.push(item?);
        }
        for item in &turn.output {
            items.push(serde_json::from_str(item.get())?);
        }
    }
    for item in last.shown_input() {
        items.push(item?);
    }
    if query.order == ItemOrder::NewestFirst {
        items.reverse();
    }
    if let Some(after) = &query.after {
        let position = items.iter().position(|item| item["id"] == after.as_str());
        items.drain(..position.map_or(items.len(), |position| position + 1));
    }
    let has_more = items.len() > query.limit;
    items.truncate(query.limit);
    Ok(ItemPage { items, has_more })
}

/// An input item as clients see it. Its own id is ignored, so it gets one that follows from its place.
fn shown(response: &str, index: usize, item: Value) -> Value {
    let Value::Object(mut members) = item else { return item };
    let kind = members.get("type").and_then(Value::as_str).unwrap_or("message").to_owned();
    let prefix = match kind.as_str() {
        "message" => "msg",
        "function_call" => "fc",
        "reasoning" => "rs",
        _ => "item",
    };
    let tail = response.strip_prefix("resp_").unwrap_or(response);
    let mut shown = Map::new();
    shown.insert("id".to_owned(), format!("{prefix}_{tail}i{index}").into());
    if kind == "message" {
        shown.insert("type".to_owned(), kind.into());
        shown.insert("status".to_owned(), "completed".into());
        let content = message_content(&members);
        shown.extend(content.map(|content| ("content".to_owned(), content)));
    }
    for member in shown.keys() {
        members.remove(member);
    }
    shown.extend(members);
    Value::Object(shown)
}

/// The content of a message as a list of parts, if it is a text.
fn message_content(members: &Map<String, Value>) -> Option<Value> {
    let text = members.get("content")?.as_str()?;
    let is_output = members.get("role").and_then(Value::as_str) == Some("assistant");
    Some(if is_output {
        json!([{ "type": "output_text", "text": text, "annotations": [] }])
    } else {
        json!([{ "type": "input_text", "text": text }])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(id: &str, input: &Value, output: &Value) -> StoredTurn {
        let response = json!({ "id": id, "output": output });
        StoredTurn::parse(id, input.to_string().as_bytes(), response.to_string().as_bytes()).unwrap()
    }

    fn ids(page: &ItemPage) -> Vec<&str> {
        page.items.iter().map(|item| item["id"].as_str().unwrap()).collect()
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
        let message = json!({ "id": "msg_ai0", "type": "message", "status": "completed",
            "content": [{ "type": "input_text", "text": "hi" }], "role": "user" });
        assert_eq!(all.items[0], message);
        assert_eq!(all.items[2]["output"], "1");

        let newest = page(2, ItemOrder::NewestFirst, None);
        assert_eq!((ids(&newest), newest.has_more), (vec!["item_bi0", "msg_1"], true));
        let rest = page(2, ItemOrder::NewestFirst, Some("msg_1"));
        assert_eq!((ids(&rest), rest.has_more), (vec!["msg_ai0"], false));
        assert_eq!(ids(&page(2, ItemOrder::NewestFirst, Some("unknown"))), [""; 0]);
    }

    #[test]
    fn output_items_are_found_by_id() {
        let response = br#"{"output":[{"type":"message","id":"msg_1"},{"type":"reasoning"},{"id":"fc_1","x":1}]}"#;
        assert_eq!(output_ids(response).unwrap(), ["msg_1", "fc_1"]);
        let found = output_by_id(response).unwrap();
        assert_eq!(found[1].1.get(), r#"{"id":"fc_1","x":1}"#);
        assert_eq!(output_ids(b"{}").unwrap(), [""; 0]);
    }
}
