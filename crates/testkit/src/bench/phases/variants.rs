//! Cost of a call with settings that are common in production: several upstreams, and limits in Redis.

use crate::bench::phases::{Bench, served};
use crate::bench::report::figures;
use crate::bench::setup::redis::Redis;

const KIB: usize = 1024;
const UPSTREAMS: usize = 4;

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
            eprintln!("variants, round {} of {}", round + 1, self.amounts.rounds);
            let count = self.amounts.small_prompts;
            let cost = served(&baseline, KIB, count).await?.microseconds_each;
            let several = served(&upstreams, KIB, count).await?.microseconds_each;
            self.figures.add(figures::UPSTREAMS_4, cost, several);
            if let Some((_, gateway)) = &limits {
                let shared = served(gateway, KIB, count).await?.microseconds_each;
                self.figures.add(figures::LIMITS_IN_REDIS, cost, shared);
            }
        }
        self.figures
            .note("Upstreams and Redis: the first column is Forebay with one upstream and limits in memory.".into());
        Ok(())
    }
}
