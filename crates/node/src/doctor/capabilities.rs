//! Lists what the current engines of models can do, and warns of what can be improved.

use super::finding::Finding;
use domain::capabilities::{Capabilities, Capability, CapabilitySet, Support};
use domain::{Catalogue, Model, Timestamp, engine_key};
use store::Store;
use store::capabilities::{self, EngineRecord};

const CHECK: &str = "capabilities";
/// Models with a line of their own.
const MAX_LINES: usize = 50;

/// One line per model that was probed.
pub(super) async fn check(catalogue: &Catalogue, store: Option<&Store>) -> Vec<Finding> {
    let Some(store) = store else { return Vec::new() };
    // A store that was not migrated yet has no results; its own check says so.
    let Ok(records) = capabilities::list_since(store, Timestamp::from_millis(0)).await else { return Vec::new() };
    let of_model = |model: &Model| {
        let keys = engine_key::of_model(model);
        let is_own = |record: &&EngineRecord| keys.iter().any(|key| engine_key::is_of(&record.engine, key));
        let own: Vec<&EngineRecord> = records.iter().filter(is_own).collect();
        judge(model, &own)
    };
    catalogue
        .iter()
        .filter(|model| model.probe != Some(false))
        .filter_map(|model| of_model(model))
        .take(MAX_LINES)
        .collect()
}

fn judge(model: &Model, records: &[&EngineRecord]) -> Option<Finding> {
    let last = records.last()?;
    let known = Capabilities::of_all(records.iter().map(|record| &record.capabilities));
    if known.is_empty() {
        return None;
    }
    let version = last.version.as_ref().map(|version| format!(" ({version})")).unwrap_or_default();
    let batch = if known.missing().contains(model.modality.purpose()) { "" } else { ", batch" };
    let (present, missing) = (listed(known.present()), listed(known.missing()));
    let what = format!("{}{version} can {present}{batch}; cannot {missing}", model.id);
    let remedy = remedy(model, &known);
    Some(if remedy.is_empty() { Finding::ok(CHECK, what) } else { Finding::warning(CHECK, what, remedy) })
}

/// How calls would be served better.
fn remedy<'a>(model: &Model, known: &'a Capabilities) -> &'a str {
    let lacks = |capability| known.get(capability) == Support::No;
    if lacks(Capability::StreamedTools) && !lacks(Capability::Tools) && !model.chat.gathers_tools {
        return "set `stream_tools = false` of the model: its engine loses arguments of tool calls in streams";
    }
    if lacks(Capability::Reasoning) {
        return known.note_of(Capability::Reasoning).unwrap_or_default();
    }
    ""
}

fn listed(set: CapabilitySet) -> String {
    match set.is_empty() {
        true => "nothing known".to_owned(),
        false => set.iter().map(Capability::as_str).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;
    use domain::ModelId;

    #[test]
    fn a_model_has_a_line_and_lost_arguments_are_a_warning() {
        let mut model = Model::plain(ModelId::parse("acme/x").unwrap());
        let mut known = Capabilities::default();
        known.set(Capability::Chat, Support::Yes);
        known.set(Capability::StreamedTools, Support::No);
        let record = EngineRecord {
            engine: "e".to_owned(),
            model: model.id.clone(),
            version: Some("0.32.0".to_owned()),
            capabilities: known,
            failures: 0,
            fatal_calls: Vec::new(),
            probed_at: Timestamp::from_millis(0),
        };
        let found = judge(&model, &[&record]).unwrap();
        assert_eq!(
            (found.level, &*found.what),
            (Level::Warning, "acme/x (0.32.0) can chat, batch; cannot streamed_tools")
        );
        model.chat.gathers_tools = true;
        assert_eq!(judge(&model, &[&record]).unwrap().level, Level::Ok);
        assert_eq!(judge(&model, &[]), None);
        let mut known = record.capabilities.clone();
        known.set(Capability::Reasoning, Support::No);
        known.note(Capability::Reasoning, "responses are taken for thoughts");
        let thinking = EngineRecord { capabilities: known, ..record.clone() };
        let found = judge(&model, &[&thinking]).unwrap();
        assert_eq!((found.level, &*found.remedy), (Level::Warning, "responses are taken for thoughts"));
        let failed = EngineRecord { capabilities: Capabilities::default(), failures: 1, ..record };
        assert_eq!(judge(&model, &[&failed]), None, "a probe that has found nothing");
    }
}
