//! Content of files: read while it is deleted, and in a bucket that fails. Batches: how they use connections and files.

use crate::databases::on_both;
use crate::{DEFAULTS, NOW, command};
use bucket::{Bucket, BucketConfig, BucketCredentials, BucketLocation};
use control::batches::{
    BatchBounds, BatchError, BatchStorage, Claim, FileReader, FileWriter, FindModality, FinishedLine, LineWriter,
    NewBatch, clear_if_leading,
};
use control::{CommandError, bootstrap};
use domain::batches::{Batch, BatchEndpoint, BatchStatus, LineOutcome};
use domain::model::Modality;
use domain::usage::Actor;
use domain::{Caller, FileId, KeyId, OrganizationId, RunId, StoredFile, Timestamp, WorkspaceId};
use fleet::Connector;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::batches::{self, NewLine, StoredContent};
use store::stored_bytes::MaxBytes;
use store::{ContentKeys, PoolSizes, Store, files, leader};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const MINUTE: i64 = 60_000;
const NODE: &str = "node-a";
const BOUNDS: BatchBounds = BatchBounds {
    file_bytes: 10 << 20,
    file_lines: 100,
    max_bytes: MaxBytes { workspace: 20 << 20, organization: 100 << 20, total: 100 << 20 },
    retention: Duration::from_secs(3_600),
    open_batches: 1,
    queued_lines: 2,
    line_bytes: 1 << 20,
};

/// Two and a half chunks.
fn content() -> Vec<u8> {
    (0..5 << 19).map(|byte: u32| if byte.is_multiple_of(100_000) { b'\n' } else { b'a' + (byte % 23) as u8 }).collect()
}

fn workspace() -> WorkspaceId {
    WorkspaceId::new(NOW, 1)
}

async fn upload(storage: &BatchStorage) -> Result<StoredFile, BatchError> {
    upload_of(storage, workspace(), &content()).await
}

async fn upload_of(storage: &BatchStorage, owner: WorkspaceId, content: &[u8]) -> Result<StoredFile, BatchError> {
    let mut writer = FileWriter::upload(storage, owner, || NOW).await?;
    writer.write(content).await?;
    storage.complete_upload(writer.finish().await?, "a.jsonl", None).await
}

/// As when a batch is validated.
#[tokio::test]
async fn empty_lines_of_a_file_are_not_counted() {
    on_both(async |_, store| {
        let storage = BatchStorage::new(store.clone(), None, BOUNDS, None);
        for (content, fits) in [("{}\n".repeat(100) + " \r\n\n", true), ("\n{}".repeat(101), false)] {
            let mut writer = FileWriter::upload(&storage, workspace(), || NOW).await.unwrap();
            let mut written = Ok(());
            // The middle of a line may be the end of a piece.
            for piece in content.as_bytes().chunks(5) {
                written = writer.write(piece).await;
                if written.is_err() {
                    break;
                }
            }
            match fits {
                true => assert!(written.is_ok(), "{written:?}"),
                false => assert!(matches!(written, Err(BatchError::TooManyLines { limit: 100 })), "{written:?}"),
            }
        }
    })
    .await;
}

#[tokio::test]
async fn empty_files_are_bounded_too() {
    on_both(async |_, store| {
        let max_bytes = MaxBytes { workspace: 3 << 10, ..BOUNDS.max_bytes };
        let storage = BatchStorage::new(store.clone(), None, BatchBounds { max_bytes, ..BOUNDS }, None);
        for _ in 0..3 {
            upload_of(&storage, workspace(), b"").await.unwrap();
        }
        let full = FileWriter::upload(&storage, workspace(), || NOW).await.err();
        assert!(matches!(full, Some(BatchError::Full(_))), "before anything is read: {full:?}");
        let mut tx = store.begin().await.unwrap();
        assert_eq!(
            files::bytes_of(&mut tx, &workspace(), NOW).await.unwrap(),
            3 << 10,
            "what was rejected takes no room"
        );
    })
    .await;
}

async fn delete(storage: &BatchStorage, file: &FileId) {
    let key = KeyId::new(NOW, 1);
    let caller = Caller::new(OrganizationId::new(NOW, 1), workspace(), Actor::Key(key));
    storage.delete_file(command(storage.store()), &caller, file).await.unwrap();
}

async fn read(storage: &BatchStorage, file: &FileId) -> Result<Vec<u8>, BatchError> {
    let (mut reader, mut read) = (FileReader::new(storage, file.clone()), Vec::new());
    while let Some(part) = reader.next().await? {
        read.extend(part);
    }
    Ok(read)
}

#[tokio::test]
async fn a_file_that_is_deleted_while_it_is_read_is_an_error_and_no_shorter_file() {
    on_both(async |_, store| {
        let storage = BatchStorage::new(store.clone(), None, BOUNDS, None);
        let file = upload(&storage).await.unwrap().id;
        assert!(read(&storage, &file).await.unwrap() == content());
        let mut reader = FileReader::new(&storage, file.clone());
        reader.next().await.unwrap();
        delete(&storage, &file).await;
        assert!(matches!(reader.next().await, Err(BatchError::Missing { noun: "file", .. })));
    })
    .await;
}

/// A batch with this many lines, and a node that runs them.
async fn started_batch(storage: &BatchStorage, store: &Store, lines: usize) -> (Batch, Claim) {
    let workspace = bootstrap::first_start(store, &DEFAULTS, NOW).await.unwrap().unwrap().workspace;
    let key = KeyId::new(NOW, 1);
    let caller = Caller::new(workspace.organization, workspace.id.clone(), Actor::Key(key));
    let line = |number: usize| {
        format!(
            r#"{{"custom_id":"{number}","method":"POST","url":"/v1/chat/completions","body":{{"model":"acme/a"}}}}"#
        )
    };
    let input = (0..lines).map(line).collect::<Vec<_>>().join("\n");
    let new = NewBatch {
        endpoint: BatchEndpoint::Chat,
        input_file: upload_of(storage, workspace.id, input.as_bytes()).await.unwrap().id,
        output_expiry: None,
        metadata: None,
        idempotency: Some(("nightly".to_owned(), "digest".to_owned())),
    };
    let batch = storage.create(command(store), &caller, new.clone()).await.unwrap();
    assert_eq!(storage.create(command(store), &caller, new).await.unwrap().id, batch.id, "the same key");
    let claim = Claim { run: RunId::new(NOW, 1), now: || NOW };
    let find_modality: FindModality = Arc::new(|model| model.starts_with("acme/").then_some(Modality::Chat));
    let input = storage.read_input(&batch, &claim, find_modality).await.unwrap().unwrap();
    storage.start(&batch, &claim, input).await.unwrap();
    (batch, claim)
}

/// A batch whose lines have ended like this, with responses of these sizes, and the node that has run them.
async fn ended_batch(storage: &BatchStorage, store: &Store, lines: &[(LineOutcome, usize)]) -> (Batch, Claim) {
    let (batch, claim) = started_batch(storage, store, lines.len()).await;
    let claimed = storage.claim(&batch.id, &claim.run, (NOW, NOW.plus_millis(MINUTE)), 10).await.unwrap();
    assert_eq!(claimed.len(), lines.len());
    let ended = claimed.into_iter().map(|line| {
        let (outcome, size) = lines[line.number as usize - 1];
        FinishedLine {
            batch: batch.id.clone(),
            number: line.number,
            custom_id: line.custom_id,
            outcome,
            status: if outcome == LineOutcome::Succeeded { 200 } else { 400 },
            body: Some(format!("\"{}\"", "x".repeat(size)).into()),
            reasoning_tokens: 0,
            event: None,
        }
    });
    let ended: Vec<_> = ended.collect();
    LineWriter::new(storage, claim.run.clone()).end(&ended).await.unwrap();
    (batch, claim)
}

/// One that waits for a second connection while it has one would wait forever if all do.
#[tokio::test]
async fn no_step_of_a_batch_needs_two_connections_at_once() {
    on_both(async |database, store| {
        let sizes = PoolSizes { service: 1, people: 1 };
        let narrow = Store::open_sized(&database.url, database.data_dir(), sizes).await.unwrap();
        let storage = BatchStorage::new(narrow, None, BOUNDS, None);
        let (batch, claim) = ended_batch(&storage, &store, &[(LineOutcome::Succeeded, 1)]).await;
        let done = storage.finalize(&batch, &claim).await.unwrap();
        assert_eq!((done.status, done.counts.succeeded), (BatchStatus::Completed, 1));
    })
    .await;
}

#[tokio::test]
async fn a_batch_whose_lines_have_no_room_fails() {
    on_both(async |_, store| {
        let storage = BatchStorage::new(store.clone(), None, BOUNDS, None);
        let (batch, _) = started_batch(&storage, &store, 1).await;
        // Enough for the file.
        let max_bytes = MaxBytes { workspace: 2_000, ..BOUNDS.max_bytes };
        let narrow = BatchStorage::new(store.clone(), None, BatchBounds { max_bytes, open_batches: 2, ..BOUNDS }, None);
        let caller = Caller::new(batch.organization, batch.workspace, batch.actor);
        let new = NewBatch {
            endpoint: BatchEndpoint::Chat,
            input_file: batch.input_file.unwrap(),
            output_expiry: None,
            metadata: None,
            idempotency: None,
        };
        let claim = Claim { run: RunId::new(NOW, 2), now: || NOW };
        let find_modality: FindModality = Arc::new(|_| Some(Modality::Chat));
        let second = narrow.create(command(&store), &caller, new.clone()).await.unwrap();
        let input = narrow.read_input(&second, &claim, Arc::clone(&find_modality)).await.unwrap().unwrap();

        let content = StoredContent { key: None, bytes: vec![0; 2_000] };
        let long = NewLine { number: 2, custom_id: "long".to_owned(), content };
        let mut tx = store.begin().await.unwrap();
        batches::insert_lines(&mut tx, &batch.id, &[long]).await.unwrap();
        tx.commit().await.unwrap();
        narrow.start(&second, &claim, input).await.unwrap();
        let third = narrow.create(command(&store), &caller, new).await.unwrap();
        assert!(narrow.read_input(&third, &claim, find_modality).await.unwrap().is_none());
        for batch in [second, third] {
            let failed = narrow.find(&batch.workspace, &batch.id).await.unwrap();
            assert_eq!((failed.status, failed.problems[0].code.as_str()), (BatchStatus::Failed, "too_many_lines"));
        }
    })
    .await;
}

#[tokio::test]
async fn a_line_that_cannot_be_read_does_not_keep_the_others() {
    on_both(async |_, store| {
        let storage = BatchStorage::new(store.clone(), Some(ContentKeys::single([1; 32])), BOUNDS, None);
        let (batch, claim) = started_batch(&storage, &store, 2).await;
        let content = StoredContent { key: Some("gone".to_owned()), bytes: vec![0; 100] };
        let sealed = NewLine { number: 3, custom_id: "c".to_owned(), content };
        let mut tx = store.begin().await.unwrap();
        batches::insert_lines(&mut tx, &batch.id, &[sealed]).await.unwrap();
        tx.commit().await.unwrap();
        let claimed = storage.claim(&batch.id, &claim.run, (NOW, NOW.plus_millis(MINUTE)), 10).await.unwrap();
        let numbers: BTreeSet<u64> = claimed.iter().map(|line| line.number).collect();
        assert_eq!(numbers, BTreeSet::from([1, 2]));
    })
    .await;
}

#[tokio::test]
async fn a_result_that_cannot_be_read_until_its_file_would_expire_is_an_error_and_its_batch_ends() {
    on_both(async |_, store| {
        let storage = |key| BatchStorage::new(store.clone(), Some(ContentKeys::single([key; 32])), BOUNDS, None);
        let (batch, claim) = ended_batch(&storage(1), &store, &[(LineOutcome::Succeeded, 1)]).await;
        let other = storage(2);
        let error = other.finalize(&batch, &claim).await.unwrap_err();
        assert!(matches!(error, BatchError::Command(CommandError::Internal { .. })), "{error:?}");
        let batch = other.find(&batch.workspace, &batch.id).await.unwrap();
        let claim = Claim { now: || NOW.plus_millis(59 * MINUTE), ..claim };
        other.finalize(&batch, &claim).await.unwrap_err();
        let claim = Claim { now: || NOW.plus_millis(60 * MINUTE), ..claim };
        let done = other.finalize(&batch, &claim).await.unwrap();
        assert_eq!((done.status, done.output_file), (BatchStatus::Completed, None));
        assert_eq!((done.counts.succeeded, done.counts.failed), (0, 1), "as the files have it");
        let file = FileReader::new(&other, done.error_file.unwrap()).next().await.unwrap().unwrap();
        let line: serde_json::Value = serde_json::from_slice(&file).unwrap();
        assert!(line["response"].is_null() && line["error"]["code"] == "internal_error", "{line}");
    })
    .await;
}

#[tokio::test]
async fn results_that_cannot_all_be_stored_take_no_room() {
    fail_to_store_results([(LineOutcome::Failed, 3 << 19), (LineOutcome::Succeeded, 5 << 19)]).await;
}

#[tokio::test]
async fn results_whose_ends_cannot_be_stored_take_no_room() {
    fail_to_store_results([(LineOutcome::Failed, 3 << 19), (LineOutcome::Succeeded, 3 << 19)]).await;
}

async fn fail_to_store_results(lines: [(LineOutcome, usize); 2]) {
    on_both(async |_, store| {
        let (storage, bucket) = start(&store).await;
        let (batch, claim) = ended_batch(&storage, &store, &lines).await;
        bucket.set(Fault::FailLaterWrites);
        let error = storage.finalize(&batch, &claim).await.unwrap_err();
        assert!(matches!(error, BatchError::Command(CommandError::FilesUnavailable { .. })), "{error:?}");
        let mut tx = store.begin().await.unwrap();
        assert_eq!(files::bytes_of(&mut tx, &batch.workspace, NOW).await.unwrap(), 1 << 10, "only the input is left");
        drop(tx);
        let is_free = async |seconds: i64| storage.open(NOW.plus_millis(1_000 * seconds)).await.unwrap()[0].is_free;
        assert_eq!((is_free(59).await, is_free(60).await), (false, true), "it is repeated when the claim ends");
        bucket.set(Fault::None);
        let done = storage.finalize(&batch, &claim).await.unwrap();
        let has_files = (done.output_file.is_some(), done.error_file.is_some());
        assert_eq!((done.status, has_files), (BatchStatus::Completed, (true, true)));
    })
    .await;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// 500 to writes from the second chunk on.
    FailLaterWrites,
    /// The connection is closed in the middle of each object.
    CutReads,
    /// 500 to everything.
    FailAll,
}

/// A bucket in memory, which fails as a test says.
struct FaultyBucket {
    objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    fault: Arc<Mutex<Fault>>,
    bucket: Bucket,
    _serving: JoinSet<()>,
}

impl FaultyBucket {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("s3://acme-files?endpoint=http://{}", listener.local_addr().unwrap());
        let location = BucketLocation::parse(&url, None).unwrap();
        let credentials = BucketCredentials { key_id: "id".to_owned(), secret: "x".to_owned(), session_token: None };
        let bucket = Bucket::new(BucketConfig { location, credentials }, Connector::default(), || NOW);
        let (objects, fault) = (Arc::new(Mutex::new(BTreeMap::new())), Arc::new(Mutex::new(Fault::None)));
        let mut serving = JoinSet::new();
        let (shared, current) = (Arc::clone(&objects), Arc::clone(&fault));
        serving.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let fault = *current.lock().unwrap();
                respond(stream, &shared, fault).await;
            }
        });
        Self { objects, fault, bucket, _serving: serving }
    }

    fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    fn names(&self) -> Vec<String> {
        self.objects.lock().unwrap().keys().cloned().collect()
    }
}

async fn respond(mut stream: TcpStream, objects: &Mutex<BTreeMap<String, Vec<u8>>>, fault: Fault) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    let (method, rest) = head.split_once(' ').unwrap();
    let name = rest.split_once(' ').unwrap().0.trim_start_matches("/acme-files/").to_owned();
    let fails =
        fault == Fault::FailAll || (fault == Fault::FailLaterWrites && method == "PUT" && !name.ends_with("/0"));
    let (status, mut content) = match method {
        _ if fails => ("500 Internal Server Error", Vec::new()),
        "PUT" => {
            objects.lock().unwrap().insert(name, body);
            ("200 OK", Vec::new())
        }
        "DELETE" => {
            objects.lock().unwrap().remove(&name);
            ("204 No Content", Vec::new())
        }
        _ => match objects.lock().unwrap().get(&name) {
            Some(content) => ("200 OK", content.clone()),
            None => ("404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
        },
    };
    let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", content.len());
    if fault == Fault::CutReads {
        content.truncate(content.len() / 2);
    }
    // The client may have left.
    let _ = stream.write_all(&[head.into_bytes(), content].concat()).await;
}

/// A storage with a bucket, on a node that leads.
async fn start(store: &Store) -> (BatchStorage, FaultyBucket) {
    let seen = leader::read(store).await.unwrap();
    leader::take_over(store, &seen, NODE, NOW).await.unwrap().unwrap();
    let bucket = FaultyBucket::start().await;
    (BatchStorage::new(store.clone(), None, BOUNDS, Some(bucket.bucket.clone())), bucket)
}

async fn clear(storage: &BatchStorage, minutes: i64) {
    clear_if_leading(storage, NODE, NOW.plus_millis(minutes * MINUTE)).await.unwrap();
}

#[tokio::test]
async fn a_file_whose_objects_cannot_all_be_stored_does_not_exist() {
    on_both(async |_, store| {
        let (storage, bucket) = start(&store).await;
        bucket.set(Fault::FailLaterWrites);
        let error = upload(&storage).await.unwrap_err();
        assert!(matches!(error, BatchError::Command(CommandError::FilesUnavailable { .. })), "{error:?}");
        assert_eq!(bucket.names().len(), 1);
        let mut tx = store.begin().await.unwrap();
        assert_eq!(files::bytes_of(&mut tx, &workspace(), NOW).await.unwrap(), 0);
        drop(tx);
        bucket.set(Fault::None);
        clear(&storage, 4).await;
        assert_eq!(bucket.names().len(), 1, "another object may be on its way");
        clear(&storage, 5).await;
        assert_eq!((bucket.names(), files::any_in_bucket(&store).await.unwrap()), (Vec::new(), false));
    })
    .await;
}

#[tokio::test]
async fn an_object_that_is_cut_off_is_an_error_and_no_shorter_file() {
    on_both(async |_, store| {
        let (storage, bucket) = start(&store).await;
        let file = upload(&storage).await.unwrap().id;
        assert_eq!(bucket.names(), [0, 1, 2].map(|chunk| format!("{file}/{chunk}")));
        assert!(read(&storage, &file).await.unwrap() == content());
        bucket.set(Fault::CutReads);
        let error = read(&storage, &file).await.unwrap_err();
        assert!(matches!(error, BatchError::Command(CommandError::FilesUnavailable { .. })), "{error:?}");
        bucket.set(Fault::None);
        assert!(read(&storage, &file).await.unwrap() == content());

        let without_bucket = BatchStorage::new(store.clone(), None, BOUNDS, None);
        let error = read(&without_bucket, &file).await.unwrap_err();
        assert!(matches!(error, BatchError::Command(CommandError::FilesUnavailable { cause: None })), "{error:?}");
    })
    .await;
}

#[tokio::test]
async fn objects_of_deleted_files_are_deleted_once_the_bucket_is_back() {
    on_both(async |_, store| {
        let (storage, bucket) = start(&store).await;
        let in_store = BatchStorage::new(store.clone(), None, BOUNDS, None);
        let (first, second) = (upload(&storage).await.unwrap(), upload(&in_store).await.unwrap());
        for file in [first, second] {
            delete(&storage, &file.id).await;
        }
        bucket.set(Fault::FailAll);
        clear(&storage, 0).await;
        let left = files::next_deletion(&store, false, Timestamp::from_millis(i64::MAX)).await.unwrap();
        assert_eq!((left, bucket.names().len()), (None, 3), "files in the store do not wait for the bucket");
        bucket.set(Fault::None);
        clear(&storage, 9).await;
        assert_eq!(bucket.names().len(), 3, "the next attempt is later");
        clear(&storage, 10).await;
        assert_eq!((bucket.names(), files::any_in_bucket(&store).await.unwrap()), (Vec::new(), false));
    })
    .await;
}
