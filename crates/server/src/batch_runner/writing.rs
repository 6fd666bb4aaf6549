//! Stores what becomes of lines, several in a transaction.

use super::held::HeldLines;
use bytes::Bytes;
use control::batches::{DeferredLine, FinishedLine, LineWriter};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, oneshot};

/// Lines that one transaction ends.
const MAX_LINES: usize = 64;
/// It ends fewer if their responses have more bytes, because it copies them.
const MAX_BYTES: usize = 8 << 20;
/// Lines that wait to be stored. More lines run only when some are.
const QUEUED: usize = 256;
const RETRY_AFTER: Duration = Duration::from_millis(500);
/// A line that the store rejects this many times is given up; it runs again when its lease has ended.
const MAX_ATTEMPTS: u32 = 10;

/// What is to be stored.
pub(super) enum Write {
    End(Box<FinishedLine>),
    /// The line runs again later.
    Defer(DeferredLine),
    /// Confirms that all before is stored.
    Flush(oneshot::Sender<()>),
}

/// Starts the task that stores them. It ends with the sender.
pub(super) fn start(
    background: &Handle,
    mut writer: LineWriter,
    held: HeldLines,
    nudge: Arc<Notify>,
) -> mpsc::Sender<Write> {
    let (sender, mut queued) = mpsc::channel(QUEUED);
    background.spawn(async move {
        let mut taken = Vec::with_capacity(MAX_LINES);
        while queued.recv_many(&mut taken, MAX_LINES).await > 0 {
            let (mut ended, mut deferred, mut flushes) = (Vec::new(), Vec::new(), Vec::new());
            for write in taken.drain(..) {
                match write {
                    Write::End(line) => ended.push(*line),
                    Write::Defer(line) => deferred.push(line),
                    Write::Flush(confirmed) => flushes.push(confirmed),
                }
            }
            let mut rest = &ended[..];
            while !rest.is_empty() {
                let (now, later) = rest.split_at(fitting(rest));
                end(&mut writer, now).await;
                rest = later;
            }
            if let Err(error) = writer.defer(&deferred).await {
                tracing::debug!(%error, "lines wait until their leases have ended");
            }
            ended.iter().for_each(|line| held.remove(&line.batch, line.number));
            deferred.iter().for_each(|line| held.remove(&line.batch, line.number));
            for confirmed in flushes {
                let _ = confirmed.send(());
            }
            // The last line of a batch may have ended.
            if queued.is_empty() && !ended.is_empty() {
                nudge.notify_one();
            }
        }
    });
    sender
}

/// The lines that one transaction ends, at least one of these.
fn fitting(lines: &[FinishedLine]) -> usize {
    let mut bytes = 0;
    let fits = |line: &&FinishedLine| {
        bytes += line.body.as_ref().map_or(0, Bytes::len);
        bytes <= MAX_BYTES
    };
    lines.iter().take_while(fits).count().max(1)
}

async fn end(writer: &mut LineWriter, lines: &[FinishedLine]) {
    let mut attempts = 0;
    while !lines.is_empty()
        && let Err(error) = writer.end(lines).await
    {
        attempts += 1;
        if attempts == 1 {
            tracing::warn!(%error, "results of batches wait for the store");
        }
        if !error.is_unavailable() && attempts >= MAX_ATTEMPTS {
            match lines.split_at_checked(1) {
                // One line must not keep the others.
                Some((first, rest)) if !rest.is_empty() => {
                    Box::pin(end(writer, first)).await;
                    Box::pin(end(writer, rest)).await;
                }
                _ => tracing::error!(?error, batch.id = %lines[0].batch, "the store rejects the result of a line"),
            }
            return;
        }
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::batches::LineOutcome;
    use domain::{BatchId, Timestamp};

    #[test]
    fn lines_are_ended_by_the_size_of_their_responses() {
        let line = |bytes: Option<usize>| FinishedLine {
            batch: BatchId::new(Timestamp::from_millis(1), 1),
            number: 1,
            custom_id: String::new(),
            outcome: LineOutcome::Succeeded,
            status: 200,
            body: bytes.map(|bytes| vec![b'x'; bytes].into()),
            reasoning_tokens: 0,
            event: None,
        };
        for (sizes, expected) in [
            (&[Some(MAX_BYTES + 1), None][..], 1),
            (&[None, Some(MAX_BYTES), None], 3),
            (&[Some(1), Some(MAX_BYTES), Some(1)], 1),
        ] {
            let lines: Vec<_> = sizes.iter().copied().map(line).collect();
            assert_eq!(fitting(&lines), expected, "{sizes:?}");
        }
    }
}
