//! Cost of a call depending on the number of keys and models.

use bytes::Bytes;

use crate::proxy_bench::load::requests;
use crate::proxy_bench::options::Amounts;
use crate::proxy_bench::phases::{Bench, in_turn, served};
use crate::proxy_bench::report::figures;
use crate::proxy_bench::setup::gateways::{Gateway, Setup};

const KIB: usize = 1024;
const FEW: usize = 10;
const MANY: usize = 10_000;
const MOST: usize = 1_000_000;
const MODELS: usize = 500;

impl Bench<'_> {
    pub(crate) async fn size(&mut self) -> anyhow::Result<()> {
        let setup = self.setup;
        let Some(few) = KeyRing::start(setup, FEW, FEW).await? else { return Ok(()) };
        let Some(many) = KeyRing::start(setup, MANY, FEW).await? else { return Ok(()) };
        let Some(most) = KeyRing::start(setup, MOST, FEW).await? else { return Ok(()) };
        let Some(busy) = KeyRing::start(setup, MANY, MANY).await? else { return Ok(()) };
        let Some(people) = KeyRing::of_end_users(setup, MANY).await? else { return Ok(()) };
        let Some((_models, models)) = setup.start_with_models(MODELS).await? else { return Ok(()) };
        let to_each_model: Vec<Bytes> = (2..=MODELS)
            .map(|number| requests::chat_with_model(&models, KIB, &format!("bench/chat{number}")))
            .collect();
        for round in 0..self.amounts.rounds {
            eprintln!("sizes, round {} of {}", round + 1, self.amounts.rounds);
            let Amounts { small_prompts: count, calls_in_turn, .. } = self.amounts;
            let baseline = few.cost(count).await?;
            self.figures.add(figures::KEYS_10_000, baseline, many.cost(count).await?);
            self.figures.add(figures::KEYS_1_000_000, baseline, most.cost(count).await?);
            self.figures.add(figures::MODELS_500, baseline, served(&models, KIB, count).await?.microseconds_each);
            let baseline = few.cost(calls_in_turn).await?;
            self.figures.add(figures::KEYS_IN_TURN, baseline, busy.cost(calls_in_turn).await?);
            self.figures.add(figures::END_USERS_IN_TURN, baseline, people.cost(calls_in_turn).await?);
            let all = in_turn(&models, &to_each_model, calls_in_turn).await?;
            self.figures.add(figures::MODELS_IN_TURN, baseline, all.microseconds_each);
        }
        self.figures.note(format!(
            "Keys and models: the first column is Forebay with {FEW} keys, used in turn, and 2 models. With more keys, also \
             {FEW} of them are used unless all are, {} times each; of many models the last is called unless all are.",
            self.amounts.calls_in_turn / MANY
        ));
        Ok(())
    }
}

/// A Forebay with many keys, and a request for each key in use.
struct KeyRing {
    gateway: Gateway,
    requests: Vec<Bytes>,
    _forebay: testkit::process::Forebay,
}

impl KeyRing {
    /// Starts a Forebay with `keys` keys, of which `callers` are used.
    async fn start(setup: &Setup, keys: usize, callers: usize) -> anyhow::Result<Option<Self>> {
        let Some((forebay, gateway, keys)) = setup.start_with_keys(keys, callers).await? else { return Ok(None) };
        let requests = keys.iter().map(|key| requests::chat_with_key(&gateway, KIB, key)).collect();
        Ok(Some(Self { gateway, requests, _forebay: forebay }))
    }

    /// Starts a Forebay with a key whose calls name this many people.
    async fn of_end_users(setup: &Setup, people: usize) -> anyhow::Result<Option<Self>> {
        let Some((forebay, gateway, key)) = setup.start_with_end_users().await? else { return Ok(None) };
        let requests = (0..people).map(|user| requests::chat_of_user(&gateway, KIB, &key, user)).collect();
        Ok(Some(Self { gateway, requests, _forebay: forebay }))
    }

    async fn cost(&self, count: usize) -> anyhow::Result<f64> {
        Ok(in_turn(&self.gateway, &self.requests, count).await?.microseconds_each)
    }
}
