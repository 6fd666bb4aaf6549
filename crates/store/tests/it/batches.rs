use crate::databases::on_both;
use crate::outside::outside;
use crate::people::{self, NOW, entropy, later};
use domain::batches::{
    Batch, BatchEndpoint, BatchProblem, BatchStatus, FilePurpose, LineCounts, LineOutcome, LineUsage, OutputExpiry,
};
use domain::usage::Actor;
use domain::{BatchId, FileId, KeyId, NanoUsd, RunId, Timestamp, Workspace, WorkspaceId};
use sqlx::Executor;
use std::collections::BTreeMap;
use store::batches::{self, BatchQuery, Deferral, EndedLine, NewLine, StoredContent};
use store::files::{self, Deletion, FileBound, FilePart, FileQuery, FullStorage, NewFile};
use store::stored_bytes::MaxBytes;
use store::{Store, Tx};

const ALL: FileQuery<'static> = FileQuery { purpose: None, after: None, newest_first: true, limit: 100 };
const MAX: MaxBytes = MaxBytes { workspace: 20_000, organization: 30_000, total: 30_000 };

pub(crate) fn content(text: &str) -> StoredContent {
    StoredContent { key: Some("k1".to_owned()), bytes: text.as_bytes().to_vec() }
}

fn new_batch(workspace: &Workspace, number: u128) -> Batch {
    Batch {
        id: BatchId::new(NOW, number),
        organization: workspace.organization.clone(),
        workspace: workspace.id.clone(),
        actor: Actor::Key(KeyId::new(NOW, 1)),
        endpoint: BatchEndpoint::Chat,
        status: BatchStatus::Validating,
        model: None,
        input_file: Some(FileId::new(NOW, 1)),
        output_file: None,
        error_file: None,
        output_expiry: Some(OutputExpiry { seconds: 3_600 }),
        metadata: Some(BTreeMap::from([("a".to_owned(), "b".to_owned())])),
        problems: Vec::new(),
        counts: LineCounts::default(),
        usage: LineUsage::default(),
        cost: NanoUsd::ZERO,
        created_at: NOW,
        in_progress_at: None,
        expires_at: later(1_000_000),
        finalizing_at: None,
        completed_at: None,
        failed_at: None,
        expired_at: None,
        cancelling_at: None,
        cancelled_at: None,
    }
}

pub(crate) async fn change<T>(store: &Store, change: impl AsyncFnOnce(&mut Tx) -> T) -> T {
    let mut tx = store.begin().await.unwrap();
    let done = change(&mut tx).await;
    tx.commit().await.unwrap();
    done
}

/// A batch that runs, with this many lines.
async fn running(store: &Store, workspace: &Workspace, lines: u64) -> Batch {
    let batch = new_batch(workspace, entropy());
    let all: Vec<NewLine> = (1..=lines)
        .map(|number| NewLine { number, custom_id: format!("line-{number}"), content: content("body") })
        .collect();
    change(store, async |tx| {
        batches::insert(tx, &batch).await.unwrap();
        batches::insert_lines(tx, &batch.id, &all).await.unwrap();
        batches::start(tx, &batch.id, Some("acme/tiny"), lines, NOW).await.unwrap();
    })
    .await;
    batch
}

fn run(number: u128) -> RunId {
    RunId::new(NOW, number)
}

async fn claim(store: &Store, batch: &Batch, by: &RunId, at: i64, limit: u32) -> Vec<u64> {
    change(store, async |tx| {
        let claimed = batches::claim(tx, &batch.id, by, (later(at), later(at + 1_000)), limit).await.unwrap();
        let mut numbers: Vec<u64> = claimed.iter().map(|line| line.number).collect();
        numbers.sort_unstable();
        numbers
    })
    .await
}

async fn end(store: &Store, batch: &Batch, number: u64, outcome: LineOutcome) -> bool {
    let line = EndedLine {
        status: 200,
        content: Some(content("response")),
        usage: LineUsage { input: 10, cached: 4, output: 3, reasoning: 1 },
        cost: NanoUsd::from_nanos(5),
        ..EndedLine::without_response(batch.id.clone(), number, format!("line-{number}"), outcome)
    };
    change(store, async |tx| batches::end_lines(tx, &[line]).await.unwrap()[0]).await
}

/// Which bound the lines of open batches exceed with this many bytes more.
async fn full_lines(store: &Store, batch: &Batch, more: u64) -> Option<FileBound> {
    let max = MaxBytes { workspace: 20, organization: 30, total: 40 };
    let full = change(store, async |tx| batches::lines_exceed(tx, batch, more, max).await.unwrap()).await;
    full.map(|full| full.bound)
}

#[tokio::test]
async fn lines_count_until_they_end_and_results_until_they_are_in_files() {
    on_both(async |_, store| {
        let first = people::workspace(&store).await;
        let second = Workspace { id: WorkspaceId::new(NOW, entropy()), ..first.clone() };
        let third = Workspace { id: WorkspaceId::new(NOW, entropy()), ..first.clone() };
        let stranger = people::workspace(&store).await;
        // Four bytes a line.
        let batch = running(&store, &first, 4).await;
        assert_eq!(full_lines(&store, &batch, 4).await, None);
        assert_eq!(full_lines(&store, &batch, 5).await, Some(FileBound::Workspace));
        let of_second = running(&store, &second, 3).await;
        assert_eq!(full_lines(&store, &of_second, 2).await, None);
        assert_eq!(full_lines(&store, &of_second, 3).await, Some(FileBound::Organization));
        let of_stranger = running(&store, &stranger, 2).await;
        assert_eq!(full_lines(&store, &of_stranger, 4).await, None);
        assert_eq!(full_lines(&store, &of_stranger, 5).await, Some(FileBound::Total));

        // Eight bytes a response, past the bound of the organization, which leaves the stranger its room.
        for number in 1..=4 {
            assert!(end(&store, &batch, number, LineOutcome::Succeeded).await);
        }
        let of_third = running(&store, &third, 1).await;
        assert_eq!(full_lines(&store, &of_third, 0).await, Some(FileBound::Organization));
        assert_eq!(full_lines(&store, &of_stranger, 2).await, None);
        assert_eq!(full_lines(&store, &of_stranger, 3).await, Some(FileBound::Total));

        change(&store, async |tx| {
            batches::finish(tx, &batch.id, (None, None), BatchStatus::Completed, 0, NOW).await.unwrap();
            assert!(!batches::clear_lines(tx, &of_second.id).await.unwrap());
        })
        .await;
        assert_eq!(full_lines(&store, &of_third, 16).await, None);
        assert_eq!(full_lines(&store, &of_third, 17).await, Some(FileBound::Workspace));
    })
    .await;
}

#[tokio::test]
async fn lines_that_were_stored_without_their_bytes_never_count_less_than_nothing() {
    on_both(async |database, store| {
        let batch = running(&store, &people::workspace(&store).await, 2).await;
        let mut connection = outside(database).await;
        connection.execute("UPDATE batches SET line_bytes = 0").await.unwrap();
        assert!(end(&store, &batch, 1, LineOutcome::Succeeded).await);
        assert_eq!(full_lines(&store, &batch, 12).await, None, "the response has eight bytes");
        assert_eq!(full_lines(&store, &batch, 13).await, Some(FileBound::Workspace));
        connection.execute("UPDATE batches SET line_bytes = -1").await.unwrap();
        assert_eq!(full_lines(&store, &batch, 20).await, None);
        assert_eq!(full_lines(&store, &batch, 21).await, Some(FileBound::Workspace));
    })
    .await;
}

async fn find(store: &Store, batch: &Batch) -> Batch {
    batches::find_any(store, &batch.id).await.unwrap().unwrap()
}

/// Deletes what is to be deleted in the store, and returns in how many steps.
pub(crate) async fn clear(store: &Store, now: Timestamp) -> usize {
    let mut steps = 0;
    while let Some(deletion) = files::next_deletion(store, false, now).await.unwrap() {
        files::remove(store, &deletion).await.unwrap();
        steps += 1;
    }
    steps
}

pub(crate) fn input_file<'a>(id: &'a FileId, workspace: &'a WorkspaceId) -> NewFile<'a> {
    let purpose = FilePurpose::Batch;
    NewFile { id, workspace, purpose, created_at: NOW, is_listed: true, is_in_bucket: false }
}

#[tokio::test]
async fn a_file_is_seen_once_it_is_complete_and_until_it_expires() {
    on_both(async |_, store| {
        let (own, other) = (people::workspace(&store).await.id, people::workspace(&store).await.id);
        let id = FileId::new(NOW, entropy());
        let new = input_file(&id, &own);
        change(&store, async |tx| files::begin(tx, new, None).await.unwrap()).await;
        for number in 0..20 {
            let added = change(&store, async |tx| {
                files::append(tx, new, number, &content(&number.to_string()), 1_000, (Some(MAX), NOW)).await.unwrap()
            });
            assert_eq!(added.await, None);
        }
        let mut full = store.begin().await.unwrap();
        let expected = FullStorage { bound: FileBound::Workspace, limit: MAX.workspace };
        let added = files::append(&mut full, new, 20, &content("x"), 1, (Some(MAX), NOW)).await.unwrap();
        assert_eq!(added, Some(expected));
        drop(full);
        assert_eq!(files::find(&store, &own, &id, NOW).await.unwrap(), None, "not complete");
        change(&store, async |tx| files::complete(tx, &id, "a.jsonl", later(100)).await.unwrap()).await;
        let found = files::find(&store, &own, &id, NOW).await.unwrap().unwrap();
        assert_eq!((found.bytes, found.filename.as_str(), found.expires_at), (20_000, "a.jsonl", later(100)));
        assert_eq!(files::list(&store, &own, ALL, NOW).await.unwrap(), [found]);
        let of_results = FileQuery { purpose: Some(FilePurpose::BatchOutput), ..ALL };
        assert_eq!(files::list(&store, &own, of_results, NOW).await.unwrap(), []);
        assert_eq!(files::find(&store, &other, &id, NOW).await.unwrap(), None, "of another workspace");
        assert_eq!(files::find(&store, &own, &id, later(100)).await.unwrap(), None, "expired");
        let part = async |number| files::part(&store, &id, number).await.unwrap();
        assert_eq!(part(7).await, Some(FilePart { total: 20_000, is_in_bucket: false, content: Some(content("7")) }));
        assert_eq!(part(20).await, Some(FilePart { total: 20_000, is_in_bucket: false, content: None }), "the end");

        let delete =
            async |workspace| change(&store, async |tx| files::delete(tx, workspace, &id, NOW).await.unwrap()).await;
        assert!(!delete(&other).await && delete(&own).await && !delete(&own).await);
        assert_eq!(part(7).await, None, "a file that is deleted has no end");
        assert_eq!(clear(&store, NOW).await, 3, "a few chunks at a time");
        assert_eq!(part(0).await, None);
    })
    .await;
}

#[tokio::test]
async fn a_file_that_is_not_completed_is_given_up() {
    const HOUR: i64 = 3_600_000;
    on_both(async |_, store| {
        let own = people::workspace(&store).await.id;
        let id = FileId::new(NOW, entropy());
        let new = input_file(&id, &own);
        change(&store, async |tx| files::begin(tx, new, None).await.unwrap()).await;
        let append = async |number, at| {
            let mut tx = store.begin().await.unwrap();
            files::append(&mut tx, new, number, &content("x"), 5_000, (Some(MAX), later(at))).await?;
            tx.commit().await
        };
        append(0, HOUR).await.unwrap();
        change(&store, async |tx| files::renew(tx, &id, later(2 * HOUR)).await.unwrap()).await;
        assert_eq!(clear(&store, later(4 * HOUR - 1)).await, 0, "its writer lives");
        let counted = async |at| change(&store, async |tx| files::bytes_of(tx, &own, later(at)).await.unwrap()).await;
        assert_eq!((counted(4 * HOUR - 1).await, counted(4 * HOUR).await), (5_000, 0));
        append(1, 3 * HOUR).await.unwrap();
        assert_eq!((clear(&store, later(4 * HOUR)).await, clear(&store, later(5 * HOUR)).await), (0, 1));
        append(2, 5 * HOUR).await.expect_err("it was given up");
    })
    .await;
}

#[tokio::test]
async fn rows_of_objects_remain_until_the_objects_are_deleted() {
    const MINUTE: i64 = 60_000;
    on_both(async |_, store| {
        let own = people::workspace(&store).await.id;
        let (complete, given_up) = (FileId::new(NOW, entropy()), FileId::new(NOW, entropy()));
        assert!(!files::any_in_bucket(&store).await.unwrap());
        for id in [&complete, &given_up] {
            let new = NewFile { is_in_bucket: true, ..input_file(id, &own) };
            change(&store, async |tx| {
                files::begin(tx, new, None).await.unwrap();
                files::append(tx, new, 0, &content(""), 7, (Some(MAX), NOW)).await.unwrap();
            })
            .await;
        }
        assert!(files::any_in_bucket(&store).await.unwrap());
        change(&store, async |tx| {
            files::complete(tx, &complete, "a", later(100)).await.unwrap();
            files::discard(tx, &given_up, NOW).await.unwrap();
        })
        .await;
        let part = files::part(&store, &complete, 0).await.unwrap().unwrap();
        assert_eq!((part.is_in_bucket, part.content), (true, Some(content(""))));

        let next = async |from_bucket, at| files::next_deletion(&store, from_bucket, later(at)).await.unwrap();
        assert_eq!((next(true, 99).await, next(false, 100).await), (None, None));
        let expired = next(true, 100).await.unwrap();
        assert_eq!(expired, Deletion { id: complete.clone(), is_in_bucket: true, chunks: vec![0] });
        files::postpone(&store, &complete, later(100)).await.unwrap();
        assert_eq!(next(true, 5 * MINUTE - 1).await, None, "an object of the other one may be on its way");
        let deletion = next(true, 5 * MINUTE).await.unwrap();
        assert_eq!(deletion.id, given_up);
        files::remove(&store, &deletion).await.unwrap();
        assert_eq!(next(true, 10 * MINUTE).await, None);
        assert_eq!(next(true, 10 * MINUTE + 100).await, Some(expired));
    })
    .await;
}

#[tokio::test]
async fn a_record_is_read_back_and_listed_by_workspace() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let all: Vec<Batch> = (1..=3).map(|number| new_batch(&workspace, number)).collect();
        change(&store, async |tx| {
            assert!(batches::insert_open(tx, &all[0], 2).await.unwrap());
            assert!(batches::insert_open(tx, &all[1], 2).await.unwrap());
            assert!(!batches::insert_open(tx, &all[2], 2).await.unwrap(), "too many are open");
        })
        .await;
        assert_eq!(batches::find(&store, &workspace.id, &all[0].id).await.unwrap().as_ref(), Some(&all[0]));
        let other = people::workspace(&store).await.id;
        assert_eq!(batches::find(&store, &other, &all[0].id).await.unwrap(), None);
        let query = BatchQuery { of_messages: Some(false), after: None, before: None, limit: 10 };
        let list = async |query| {
            let found = batches::list(&store, &workspace.id, query).await.unwrap();
            found.into_iter().map(|batch| batch.id).collect::<Vec<_>>()
        };
        let ids = [all[1].id.clone(), all[0].id.clone()];
        assert_eq!(list(query).await, ids);
        assert_eq!(list(BatchQuery { after: Some(&ids[0]), ..query }).await, ids[1..]);
        assert_eq!(list(BatchQuery { before: Some(&ids[1]), ..query }).await, ids[..1]);
        assert_eq!(list(BatchQuery { of_messages: Some(true), ..query }).await, []);
        let problem = BatchProblem { code: "x".into(), line: Some(3), message: "m".into(), param: None };
        change(&store, async |tx| {
            batches::fail(tx, &all[0].id, std::slice::from_ref(&problem), later(5)).await.unwrap();
        })
        .await;
        let failed = find(&store, &all[0]).await;
        assert_eq!(
            (failed.status, failed.failed_at, failed.problems),
            (BatchStatus::Failed, Some(later(5)), vec![problem])
        );
        let open = batches::open(&store, NOW).await.unwrap();
        let open: Vec<_> = open.into_iter().map(|open| open.batch).collect();
        assert_eq!(open, [Batch { metadata: None, ..all[1].clone() }]);
    })
    .await;
}

#[tokio::test]
async fn a_line_is_claimed_by_one_run_until_its_lease_ends() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let batch = running(&store, &workspace, 5).await;
        let [one, other] = [run(1), run(2)];
        assert_eq!(claim(&store, &batch, &one, 0, 3).await, [1, 2, 3]);
        assert_eq!(claim(&store, &batch, &other, 0, 10).await, [4, 5]);
        assert_eq!(claim(&store, &batch, &other, 999, 10).await, [0; 0]);
        batches::renew(&store, &other, &batch.id, &[4], later(5_000)).await.unwrap();
        let found = claim(&store, &batch, &other, 1_000, 10).await;
        assert_eq!(found, [1, 2, 3, 5], "those of the run that died, and one that its run does not keep");
        batches::release(&store, &other).await.unwrap();
        assert_eq!(claim(&store, &batch, &one, 1_000, 2).await.len(), 2);
        let deferred = async |by: &RunId, until: i64, counts: bool| {
            let deferral = Deferral { available_at: later(until), code: "bad_gateway".into(), counts };
            change(&store, async |tx| batches::defer(tx, (&batch.id, 1), by, &deferral).await.unwrap()).await;
        };
        assert_eq!(claim(&store, &batch, &other, 3_000, 10).await, [1, 2, 3, 4, 5]);
        deferred(&one, 9_000, true).await;
        assert_eq!(claim(&store, &batch, &one, 3_500, 10).await, [0; 0], "only its run lets a line wait");
        deferred(&other, 9_000, true).await;
        assert_eq!(claim(&store, &batch, &one, 8_999, 10).await, [2, 3, 4, 5]);
        for at in [9_000, 9_100] {
            let mut tx = store.begin().await.unwrap();
            let again = batches::claim(&mut tx, &batch.id, &one, (later(at), later(at + 500)), 1).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(again[0].attempts, 1);
            deferred(&one, at + 100, false).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_line_ends_once_and_is_counted_with_its_usage() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let batch = running(&store, &workspace, 4).await;
        claim(&store, &batch, &run(1), 0, 10).await;
        assert!(end(&store, &batch, 1, LineOutcome::Succeeded).await);
        assert!(!end(&store, &batch, 1, LineOutcome::Failed).await, "the first result stays");
        assert!(end(&store, &batch, 3, LineOutcome::Failed).await);
        let found = find(&store, &batch).await;
        assert_eq!((found.counts.total, found.counts.succeeded, found.counts.failed), (4, 1, 1));
        assert_eq!(found.usage, LineUsage { input: 20, cached: 8, output: 6, reasoning: 2 });
        assert_eq!(found.cost.nanos(), 10);
        let results = async |after, only_failed| {
            let found = batches::results(&store, &batch.id, after, 10, only_failed).await.unwrap();
            found.into_iter().map(|result| (result.number, result.outcome, result.content)).collect::<Vec<_>>()
        };
        let response = Some(content("response"));
        let failed = (3, LineOutcome::Failed, response.clone());
        assert_eq!(results(0, false).await, [(1, LineOutcome::Succeeded, response), failed.clone()]);
        assert_eq!(results(0, true).await, std::slice::from_ref(&failed));
        assert_eq!(results(1, false).await, [failed]);
    })
    .await;
}

#[tokio::test]
async fn results_are_read_by_their_size() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let batch = running(&store, &workspace, 4).await;
        let sizes = [5_usize << 20, 1 << 20, 2 << 20, 2 << 20];
        let ended: Vec<_> = (1_u64..)
            .zip(sizes)
            .map(|(number, size)| EndedLine {
                content: Some(StoredContent { key: None, bytes: vec![b'x'; size] }),
                ..EndedLine::without_response(batch.id.clone(), number, number.to_string(), LineOutcome::Succeeded)
            })
            .collect();
        change(&store, async |tx| batches::end_lines(tx, &ended).await.unwrap()).await;
        let page = async |after| {
            let found = batches::results(&store, &batch.id, after, 10, false).await.unwrap();
            found.iter().map(|result| result.number).collect::<Vec<_>>()
        };
        assert_eq!((page(0).await, page(1).await, page(3).await), (vec![1], vec![2, 3], vec![4]));
    })
    .await;
}

#[tokio::test]
async fn waiting_lines_end_with_their_batch_and_running_ones_with_their_lease() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let batch = running(&store, &workspace, 3).await;
        let by = run(1);
        claim(&store, &batch, &by, 0, 2).await;
        let deferral = Deferral { available_at: later(50_000), code: "upstream_timeout".into(), counts: true };
        change(&store, async |tx| batches::defer(tx, (&batch.id, 2), &by, &deferral).await.unwrap()).await;
        let end_waiting = async |outcome, at| {
            change(&store, async |tx| batches::end_waiting(tx, &batch.id, outcome, later(at)).await.unwrap()).await
        };
        assert!(!end_waiting(LineOutcome::Expired, 500).await);
        let found = batches::results(&store, &batch.id, 0, 10, false).await.unwrap();
        let outcomes: Vec<_> = found.iter().map(|result| (result.number, result.outcome)).collect();
        assert_eq!(outcomes, [(2, LineOutcome::Expired), (3, LineOutcome::Expired)], "the first one runs");
        end_waiting(LineOutcome::Cancelled, 1_000).await;
        let counts = find(&store, &batch).await.counts;
        assert_eq!((counts.ended(), counts.expired, counts.cancelled), (3, 2, 1));
    })
    .await;
}

#[tokio::test]
async fn one_run_owns_a_batch_until_it_is_done_or_its_claim_ends() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let batch = running(&store, &workspace, 1).await;
        let [one, other] = [run(1), run(2)];
        let own = async |by: &RunId, at: i64| {
            change(&store, async |tx| batches::own(tx, &batch.id, by, later(at), later(at + 100)).await.unwrap()).await
        };
        assert!(own(&one, 0).await && own(&one, 50).await && !own(&other, 149).await);
        assert!(!batches::open(&store, later(149)).await.unwrap()[0].is_free);
        assert!(own(&other, 150).await && !own(&one, 151).await);
        end(&store, &batch, 1, LineOutcome::Succeeded).await;
        let output = FileId::new(NOW, 9);
        change(&store, async |tx| {
            batches::start_finalizing(tx, &batch.id, later(160)).await.unwrap();
            batches::finish(tx, &batch.id, (Some(&output), None), BatchStatus::Completed, 0, later(170)).await.unwrap();
        })
        .await;
        let done = find(&store, &batch).await;
        assert_eq!(
            (done.status, done.finalizing_at, done.completed_at),
            (BatchStatus::Completed, Some(later(160)), Some(later(170)))
        );
        assert_eq!((done.output_file, done.error_file), (Some(output), None));
        assert!(!own(&one, 1_000).await, "there is nothing left to do");
        assert!(!batches::clear_ended(&store).await.unwrap());
        assert_eq!(batches::results(&store, &batch.id, 0, 10, false).await.unwrap(), []);
        let late = change(&store, async |tx| batches::cancel(tx, None, &batch.id, later(180)).await.unwrap()).await;
        assert_eq!(late.unwrap().status, BatchStatus::Completed);
    })
    .await;
}
