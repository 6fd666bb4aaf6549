//! Cost of a call with settings that are common in production: several upstreams, limits in Redis, and streams of another
//! API.

use crate::bench::load::closed_loop::cost_of;
use crate::bench::load::requests;
use crate::bench::phases::{Bench, UnpacedStreams, served, unpaced};
use crate::bench::report::figures;
use crate::bench::setup::gateways::Gateway;
use crate::bench::setup::redis::Redis;
use crate::fake_engine::Script;

const KIB: usize = 1024;
const UPSTREAMS: usize = 8;
/// A conversation of 12,000 tokens.
const LONG_PROMPT: usize = 48 * KIB;

impl Bench<'_> {
    pub(crate) async fn variants(&mut self) -> anyhow::Result<()> {
        let setup = self.setup;
        let Some((_baseline, baseline)) = setup.start_with_upstreams(1).await? else { return Ok(()) };
        let Some((_upstreams, upstreams)) = setup.start_with_upstreams(UPSTREAMS).await? else { return Ok(()) };
        let scratch = tempfile::tempdir()?;
        let redis = Redis::start(setup.engine_core, scratch.path()).await;
        let limits = match &redis {
            Ok(redis) => setup.start_with_redis(&redis.url).await?,
            Err(error) => {
                self.figures.note(format!("Limits in Redis were not measured: {error:#}."));
                None
            }
        };
        for round in 0..self.amounts.rounds {
            self.translated(&baseline).await?;
            eprintln!("variants, round {} of {}", round + 1, self.amounts.rounds);
            let count = self.amounts.small_prompts;
            let cost = served(&baseline, KIB, count).await?.microseconds_each;
            let several = served(&upstreams, KIB, count).await?.microseconds_each;
            self.figures.add(figures::UPSTREAMS_8, cost, several);
            let count = self.amounts.medium_prompts;
            let long = served(&baseline, LONG_PROMPT, count).await?.microseconds_each;
            let long_several = served(&upstreams, LONG_PROMPT, count).await?.microseconds_each;
            self.figures.add(figures::UPSTREAMS_8_LARGE, long, long_several);
            if let Some((_, gateway)) = &limits {
                let shared = served(gateway, KIB, count).await?.microseconds_each;
                self.figures.add(figures::LIMITS_IN_REDIS, cost, shared);
            }
        }
        self.figures.note(
            "Messages and Responses: the first column is a stream of chat. Both columns are CPU per event sent.".into(),
        );
        self.figures
            .note("Upstreams and Redis: the first column is Forebay with one upstream and limits in memory.".into());
        Ok(())
    }

    /// Streams that are translated, against those that are passed on.
    async fn translated(&mut self, gateway: &Gateway) -> anyhow::Result<()> {
        self.setup.script(&unpaced()).await?;
        let count = self.amounts.unpaced_streams;
        let chat = cost_of(gateway, &UnpacedStreams { request: requests::stream, count }).await?;
        let messages = cost_of(gateway, &UnpacedStreams { request: requests::message_stream, count }).await?;
        self.figures.add(figures::MESSAGES_EVENT, chat.microseconds_each, messages.microseconds_each);
        let responses = cost_of(gateway, &UnpacedStreams { request: requests::response_stream, count }).await?;
        self.figures.add(figures::RESPONSES_EVENT, chat.microseconds_each, responses.microseconds_each);
        self.setup.script(&Script::default()).await
    }
}
