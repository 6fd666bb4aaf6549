//! What runs the files of a download.

use crate::catalogue_keeper::Snapshot;
use domain::Model;
use domain::model::Serving;
use std::borrow::Cow;
use store::endpoints::{self, StoredShape};
use store::{Store, StoreError};
use weights::may_use;

/// Models of the catalogue, and endpoints that keep a flavor which it no longer has, with the weights that they run.
pub struct WeightsUsers(Vec<(String, Vec<String>)>);

impl WeightsUsers {
    pub async fn read(store: &Store, catalogue: &Snapshot) -> Result<Self, StoreError> {
        let shapes = endpoints::list_shapes(store).await?;
        let merged = catalogue.merged();
        let kept = shapes.into_iter().filter_map(|StoredShape { name, model, shape }| {
            let is_kept = matches!(shape.effective(&model, &merged), Cow::Borrowed(_));
            is_kept.then(|| (name.model_id().to_string(), shape.flavor.weights.into_iter().collect()))
        });
        let of_file = catalogue.file_models().map(|model| &**model);
        let of_store = catalogue.models.iter().filter_map(|entry| entry.model.as_ref());
        let models = of_file.chain(of_store).map(|model| (model.id.to_string(), weights_of(model)));
        Ok(Self(models.chain(kept).collect()))
    }

    /// The names of those that may run the files of this download.
    pub fn of(&self, downloaded: &str) -> Vec<String> {
        let uses = |weights: &[String]| weights.iter().any(|weights| may_use(weights, downloaded));
        let names = self.0.iter().filter(|(_, weights)| uses(weights)).map(|(name, _)| name.clone());
        let mut names: Vec<String> = names.collect();
        // Endpoints of several organizations may have the same name.
        names.dedup();
        names
    }
}

fn weights_of(model: &Model) -> Vec<String> {
    let of_engine = match &model.serving {
        Serving::Engine(pool) => Some(&pool.weights),
        Serving::Upstreams(_) => None,
    };
    of_engine.into_iter().chain(model.flavors.iter().filter_map(|flavor| flavor.weights.as_ref())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_any_of_its_weights() {
        let all = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let own = "hf://acme/tiny@0123456789abcdef0123456789abcdef01234567/tiny.gguf";
        let users = WeightsUsers(vec![
            ("acme/one".to_owned(), all(&["/srv/x.gguf", own])),
            ("acme/two".to_owned(), all(&["hf://acme/other"])),
            ("acme/none".to_owned(), Vec::new()),
            ("dedicated/three".to_owned(), all(&["hf://acme/tiny"])),
            ("dedicated/three".to_owned(), all(&["hf://acme/tiny"])),
        ]);
        assert_eq!(users.of(own), ["acme/one", "dedicated/three"]);
    }
}
