//! Cost of rejected calls compared with served ones.

use crate::proxy_bench::load::closed_loop::cost_of;
use crate::proxy_bench::load::connection::Connection;
use crate::proxy_bench::load::requests;
use crate::proxy_bench::phases::{Bench, CONNECTIONS, Calls, served};
use crate::proxy_bench::report::figures;

const KIB: usize = 1024;

impl Bench<'_> {
    /// 401 with an unknown key, and 429 from a second Forebay with a limit of one call per minute.
    pub(crate) async fn rejections(&mut self) -> anyhow::Result<()> {
        let Some((_limited, limited)) = self.setup.start_limited().await? else { return Ok(()) };
        self.figures.note("401 and 429: the first column is a served call of Forebay.".into());
        let gateway = &self.setup.contender;
        let count = self.amounts.small_prompts / 2;
        let served = served(gateway, KIB, count).await?.microseconds_each;
        let unknown_key = requests::chat_with_unknown_key(gateway, KIB);
        let rejected = Calls { request: |_: &_| unknown_key.clone(), connections: CONNECTIONS, count, status: 401 };
        let unknown_key = cost_of(gateway, &rejected).await?.microseconds_each;
        self.figures.add(figures::REJECTED_401, served, unknown_key);
        let request = requests::chat(&limited, KIB);
        let mut connection = Connection::open(limited.address).await?;
        // The one allowed call of this minute, and one beyond the limit.
        connection.exchange(&request, 200).await?;
        if connection.exchange(&request, 429).await.is_err() {
            self.figures.note("429 was not measured: a second call within the minute was not rejected.".into());
            return Ok(());
        }
        let rejected = Calls { request: |_: &_| request.clone(), connections: CONNECTIONS, count, status: 429 };
        let over_limit = cost_of(&limited, &rejected).await?.microseconds_each;
        self.figures.add(figures::REJECTED_429, served, over_limit);
        Ok(())
    }
}
