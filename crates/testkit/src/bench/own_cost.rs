//! Figures that hold Forebay against itself: refused calls against served ones.

use super::closed_loop::cost_of;
use super::connection::Connection;
use super::figures;
use super::phases::{Bench, Calls, served};
use super::requests;

const KIB: usize = 1024;

impl Bench<'_> {
    /// 401 with an unknown key; 429 from a second Forebay whose workspace may call once a minute.
    pub(super) async fn refusals(&mut self) -> anyhow::Result<()> {
        let Some((_limited, limited)) = self.setup.start_limited().await? else { return Ok(()) };
        self.figures.note("401 and 429: the first column is Forebay's own served call.".into());
        let gateway = &self.setup.contender;
        let count = self.amounts.small_prompts / 2;
        let served = served(gateway, KIB, count).await?.microseconds_each;
        let unknown_key = requests::chat_with_unknown_key(gateway, KIB);
        let refused = Calls { request: |_: &_| unknown_key.clone(), count, status: 401 };
        let unknown_key = cost_of(gateway, &refused).await?.microseconds_each;
        self.figures.add(figures::REFUSED_401, served, unknown_key);
        let request = requests::chat(&limited, KIB);
        let mut connection = Connection::open(limited.address).await?;
        // The one call of this minute, and one too many.
        connection.exchange(&request, 200).await?;
        if connection.exchange(&request, 429).await.is_err() {
            self.figures.note("429 is not measured: a second call within the limit's minute was not refused.".into());
            return Ok(());
        }
        let over_limit =
            cost_of(&limited, &Calls { request: |_: &_| request.clone(), count, status: 429 }).await?.microseconds_each;
        self.figures.add(figures::REFUSED_429, served, over_limit);
        Ok(())
    }
}
