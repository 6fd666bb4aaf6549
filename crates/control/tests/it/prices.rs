use crate::NOW;
use crate::databases::on_both;
use control::{CommandErrorKind, prices};
use domain::model::Model;
use domain::{Catalogue, ModelId, NanoUsd, Price, Timestamp};
use store::Store;
use store::prices::PriceVersion;
use tokio::task::JoinSet;

fn later(millis: i64) -> Timestamp {
    Timestamp::from_millis(NOW.millis() + millis)
}

fn catalogue(prices: &[(&str, i64)]) -> Catalogue {
    let model = |(id, input): &(&str, i64)| Model {
        price: Price { input_per_1m: NanoUsd::from_nanos(*input), ..Price::default() },
        ..Model::plain(ModelId::parse(id).unwrap())
    };
    Catalogue::new(prices.iter().map(model).collect(), "hash")
}

/// `model price since`, with `since` in milliseconds after the first.
async fn history(store: &Store, model: Option<&str>) -> Vec<String> {
    let model = model.map(|model| ModelId::parse(model).unwrap());
    let versions = prices::history(store, model.as_ref()).await.unwrap();
    let line = |version: &PriceVersion| {
        let since = version.valid_from.millis() - NOW.millis();
        format!("{} {} {since}", version.model, version.price.input_per_1m.nanos())
    };
    versions.iter().map(line).collect()
}

#[tokio::test]
async fn a_changed_price_opens_a_version_and_the_same_price_does_not() {
    on_both(async |_, store| {
        let (both, changed) = (catalogue(&[("acme/b", 5), ("Acme/a", 7)]), catalogue(&[("acme/b", 6)]));
        assert_eq!(prices::declare(&store, &both, NOW).await.unwrap().len(), 2);
        assert_eq!(prices::declare(&store, &both, later(1)).await.unwrap(), []);
        assert_eq!(prices::declare(&store, &changed, later(2)).await.unwrap().len(), 1);
        assert_eq!(prices::declare(&store, &both, later(3)).await.unwrap().len(), 1);
        assert_eq!(history(&store, None).await, ["Acme/a 7 0", "acme/b 5 0", "acme/b 6 2", "acme/b 5 3"]);
        assert_eq!(history(&store, Some("Acme/a")).await, ["Acme/a 7 0"]);
        let unknown = ModelId::parse("acme/none").unwrap();
        assert_eq!(prices::history(&store, Some(&unknown)).await.unwrap_err().kind(), CommandErrorKind::Missing);
    })
    .await;
}

#[tokio::test]
async fn versions_stay_in_order_if_a_clock_was_set_back() {
    on_both(async |_, store| {
        for (price, since) in [(1, 10), (2, 10), (3, -5_000)] {
            prices::declare(&store, &catalogue(&[("acme/a", price)]), later(since)).await.unwrap();
        }
        assert_eq!(history(&store, None).await, ["acme/a 1 10", "acme/a 2 11", "acme/a 3 12"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_reload_concurrently_open_one_version() {
    on_both(async |database, store| {
        for round in 0..5 {
            let mut nodes = JoinSet::new();
            for node in 0..4 {
                let store = database.open().await;
                nodes.spawn(async move {
                    let declared = catalogue(&[("acme/a", round), ("acme/b", round)]);
                    prices::declare(&store, &declared, later(round * 1_000 + node)).await.unwrap().len()
                });
            }
            assert_eq!(nodes.join_all().await.into_iter().sum::<usize>(), 2);
        }
        assert_eq!(history(&store, Some("acme/b")).await.len(), 5);
    })
    .await;
}
