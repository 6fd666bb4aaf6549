//! Cost of a call with settings that are common in production: several upstreams, limits in Redis, and streams of another
//! API.

use testkit::fake_engine::Script;

use crate::proxy_bench::load::closed_loop::{Load, cost_of, costs_of};
use crate::proxy_bench::load::requests;
use crate::proxy_bench::options::Amounts;
use crate::proxy_bench::phases::{Bench, Calls, TURNS, UnpacedStreams, chats, unpaced};
use crate::proxy_bench::report::figures::{self, FigureKind};
use crate::proxy_bench::setup::gateways::Gateway;
use crate::proxy_bench::setup::redis::Redis;

const KIB: usize = 1024;
/// A conversation of 12,000 tokens.
const LONG_PROMPT: usize = 48 * KIB;
/// More than one call at a time at each of eight upstreams.
const MANY_CONNECTIONS: usize = 64;

impl Bench<'_> {
    pub(crate) async fn variants(&mut self) -> anyhow::Result<()> {
        let setup = self.setup;
        let Some((_baseline, baseline)) = setup.start_with_upstreams(1).await? else { return Ok(()) };
        let Some((_eight, eight)) = setup.start_with_upstreams(8).await? else { return Ok(()) };
        let Some((_more, more)) = setup.start_with_upstreams(64).await? else { return Ok(()) };
        let Some((_most, most)) = setup.start_with_upstreams(256).await? else { return Ok(()) };
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
            let Amounts { small_prompts, medium_prompts, .. } = self.amounts;
            let small = chats(KIB, medium_prompts / TURNS);
            let large = Calls { connections: MANY_CONNECTIONS, ..chats(LONG_PROMPT, medium_prompts / TURNS) };
            self.compare(figures::UPSTREAMS_8, [&baseline, &eight], &chats(KIB, small_prompts / TURNS)).await?;
            self.compare(figures::UPSTREAMS_8_LARGE, [&baseline, &eight], &large).await?;
            self.compare(figures::UPSTREAMS_64, [&baseline, &more], &small).await?;
            self.compare(figures::UPSTREAMS_256, [&baseline, &most], &small).await?;
            if let Some((_, gateway)) = &limits {
                self.compare(figures::LIMITS_IN_REDIS, [&baseline, gateway], &small).await?;
            }
        }
        self.figures.note(
            "Messages and Responses: the first column is a stream of chat. Both columns are CPU per event sent.".into(),
        );
        self.figures
            .note("Upstreams and Redis: the first column is Forebay with one upstream and limits in memory.".into());
        Ok(())
    }

    /// Unary calls on both gateways, alternating, because a difference of microseconds is less than what the speed of the
    /// machine changes within seconds.
    async fn compare(&mut self, kind: FigureKind, gateways: [&Gateway; 2], load: &impl Load) -> anyhow::Result<()> {
        let costs = costs_of(gateways, TURNS, load).await?;
        let [baseline, variant] = costs.map(|cost| cost.microseconds_each);
        self.figures.add(kind, baseline, variant);
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
