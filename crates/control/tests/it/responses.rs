use crate::databases::on_both;
use crate::{DEFAULTS, NOW, command};
use control::responses::{
    self, Bounds, CompletedResponse, ContentMemory, ConversationError, ItemOrder, ItemQuery, NoContentMemory,
    NotStored, ResponseStorage,
};
use control::workspaces::{self, Authority, Edit};
use control::{Author, Command, bootstrap};
use domain::caller::Actor;
use domain::workspace_edit::RetentionChange;
use domain::{Caller, OrganizationId, ResponseRetention, Timestamp, UserId, Workspace, WorkspaceId};
use serde_json::{Value, json};
use std::pin::Pin;
use store::audit::{self, Filter};
use store::{ContentKeys, Store};

const DAY: i64 = 86_400_000;
const KEY: [u8; 32] = [7; 32];
const BOUNDS: Bounds =
    Bounds { workspace_bytes: 1 << 20, organization_bytes: 1 << 20, total_bytes: 3 << 19, conversation_bytes: 1 << 16 };

fn storage(store: &Store) -> ResponseStorage {
    ResponseStorage::new(store.clone(), Some(ContentKeys::single(KEY)), BOUNDS)
}

fn days(days: u64) -> Option<ResponseRetention> {
    ResponseRetention::from_days(days).ok()
}

fn caller(workspace: &Workspace, retention: Option<ResponseRetention>) -> Caller {
    let actor = Actor::User(UserId::new(NOW, 1));
    let caller = Caller::new(workspace.organization.clone(), workspace.id.clone(), actor);
    Caller { response_retention: retention, ..caller }
}

async fn first_caller(store: &Store) -> Caller {
    let first = bootstrap::first_start(store, &DEFAULTS, NOW).await.unwrap().unwrap();
    caller(&first.workspace, days(7))
}

fn other_caller() -> Caller {
    let (organization, workspace) = (OrganizationId::new(NOW, 99), WorkspaceId::new(NOW, 99));
    let caller = Caller::new(organization, workspace, Actor::User(UserId::new(NOW, 99)));
    Caller { response_retention: days(30), ..caller }
}

/// Memory up to a limit, and what was taken of it.
struct Memory {
    limit: u64,
    taken: u64,
}

impl ContentMemory for Memory {
    fn grow_to(&mut self, bytes: u64) -> Result<(), NoContentMemory> {
        if bytes > self.limit {
            return Err(NoContentMemory::Organization);
        }
        self.taken = self.taken.max(bytes);
        Ok(())
    }

    fn work<'a>(
        &'a self,
        _content_bytes: u64,
        work: Box<dyn FnOnce() + Send>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async { work() })
    }
}

fn unbounded() -> Memory {
    Memory { limit: u64::MAX, taken: 0 }
}

/// Saves a response that says `text`, after a question.
async fn save(
    storage: &ResponseStorage,
    caller: &Caller,
    (id, previous): (&str, Option<&str>),
    text: &str,
) -> Result<(), NotStored> {
    let response = json!({ "id": id, "output": [{ "type": "message", "id": format!("msg_{id}"), "text": text }] });
    let input = json!([{ "role": "user", "content": format!("question {id}") }]).to_string();
    let completed = CompletedResponse {
        id: id.to_owned(),
        previous: previous.map(str::to_owned),
        input: input.into(),
        response: response.to_string().into(),
    };
    storage.save(caller, completed, NOW, &unbounded()).await
}

/// The questions and responses before a call.
async fn history(storage: &ResponseStorage, caller: &Caller, previous: &str) -> Result<Vec<String>, ConversationError> {
    let shown = |item: &responses::Item| {
        let item: Value = serde_json::from_str(item.get()).unwrap();
        item["text"].as_str().or(item["content"].as_str()).unwrap_or("?").to_owned()
    };
    Ok(storage.history(caller, previous, NOW, &mut unbounded()).await?.iter().map(shown).collect())
}

#[tokio::test]
async fn a_stored_response_is_encrypted_and_belongs_to_its_workspace() {
    on_both(async |_, store| {
        let (storage, caller) = (storage(&store), first_caller(&store).await);
        save(&storage, &caller, ("resp_1", None), "a secret").await.unwrap();
        let response = storage.find(&caller, "resp_1", NOW, &mut unbounded()).await.unwrap().unwrap();
        assert!(String::from_utf8(response).unwrap().contains("a secret"));
        let sealed = store::responses::find(&store, &caller.workspace, "resp_1", NOW).await.unwrap().unwrap();
        for content in [&sealed.input, &sealed.response] {
            assert!(!content.windows(6).any(|part| part == b"secret" || part == b"questi"));
        }

        let other = other_caller();
        assert_eq!(storage.find(&other, "resp_1", NOW, &mut unbounded()).await.unwrap(), None);
        assert!(!storage.delete(command(&store), &other, "resp_1").await.unwrap());
        let query = ItemQuery { limit: 20, order: ItemOrder::OldestFirst, after: None };
        assert!(storage.input_items(&other, "resp_1", query.clone(), NOW, &mut unbounded()).await.unwrap().is_none());
        let rejected = history(&storage, &other, "resp_1").await.unwrap_err();
        assert!(matches!(rejected, ConversationError::NotFound { id } if id == "resp_1"));
        assert_eq!(storage.items(&other, &["msg_resp_1"], NOW, &mut unbounded()).await.unwrap().len(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_conversation_is_continued_until_one_of_its_responses_is_deleted() {
    on_both(async |_, store| {
        let (storage, caller) = (storage(&store), first_caller(&store).await);
        save(&storage, &caller, ("resp_1", None), "one").await.unwrap();
        save(&storage, &caller, ("resp_2", Some("resp_1")), "two").await.unwrap();
        let found = history(&storage, &caller, "resp_2").await.unwrap();
        assert_eq!(found, ["question resp_1", "one", "question resp_2", "two"]);
        let found = storage.items(&caller, &["msg_resp_1", "unknown"], NOW, &mut unbounded()).await.unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["msg_resp_1"]);
        assert!(found["msg_resp_1"].item.get().contains("one"));

        let query = ItemQuery { limit: 20, order: ItemOrder::OldestFirst, after: None };
        let items = async || {
            storage
                .input_items(&caller, "resp_2", query.clone(), NOW, &mut unbounded())
                .await
                .unwrap()
                .unwrap()
                .items
                .len()
        };
        assert_eq!(items().await, 3);

        let author = Author::User { id: UserId::new(NOW, 1), address: "192.0.2.1".into() };
        let by_user = Command { author: &author, ..command(&store) };
        assert!(storage.delete(by_user, &caller, "resp_1").await.unwrap());
        assert!(!storage.delete(by_user, &caller, "resp_1").await.unwrap());
        let rejected = history(&storage, &caller, "resp_2").await.unwrap_err();
        assert!(matches!(rejected, ConversationError::NotFound { id } if id == "resp_1"), "the missing one is named");
        assert_eq!(items().await, 1, "only its own input is left");
        let filter = Filter { action: Some("response.delete".into()), ..Filter::default() };
        assert_eq!(audit::list(&store, &filter, 10).await.unwrap().len(), 1);
        let key = Author::Key { id: domain::KeyId::new(NOW, 1), address: "192.0.2.1".into() };
        let by_key = Command { author: &key, ..command(&store) };
        assert!(storage.delete(by_key, &caller, "resp_2").await.unwrap());
        assert_eq!(audit::list(&store, &filter, 10).await.unwrap().len(), 1, "deletions by programs are not recorded");
    })
    .await;
}

#[tokio::test]
async fn memory_is_taken_before_content_is_read() {
    on_both(async |_, store| {
        let (storage, caller) = (storage(&store), first_caller(&store).await);
        save(&storage, &caller, ("resp_1", None), &"x".repeat(10_000)).await.unwrap();
        save(&storage, &caller, ("resp_2", Some("resp_1")), &"y".repeat(1_000)).await.unwrap();
        let query = ItemQuery { limit: 1, order: ItemOrder::NewestFirst, after: None };
        let read = async |limit: u64, what: &str| {
            let mut memory = Memory { limit, taken: 0 };
            let is_read = match what {
                "response" => storage.find(&caller, "resp_1", NOW, &mut memory).await.map(|found| found.is_some()),
                "input" => {
                    let page = storage.input_items(&caller, "resp_2", query.clone(), NOW, &mut memory).await;
                    page.map(|page| page.is_some())
                }
                "history" => storage.history(&caller, "resp_2", NOW, &mut memory).await.map(|items| !items.is_empty()),
                _ => {
                    let items = storage.items(&caller, &["msg_resp_1", "msg_resp_2"], NOW, &mut memory).await;
                    items.map(|items| items.len() == 2)
                }
            };
            (is_read, memory.taken)
        };
        for (what, content) in [("response", 10_000), ("input", 11_000), ("history", 11_000), ("items", 11_000)] {
            let (is_read, taken) = read(u64::MAX, what).await;
            assert!(is_read.unwrap(), "{what}");
            assert!((2 * content..4 * content).contains(&taken), "{what} took {taken}");
            let (rejected, _) = read(taken - 1, what).await;
            let reason = rejected.unwrap_err();
            assert!(matches!(reason, ConversationError::NoMemory(NoContentMemory::Organization)), "{what}: {reason}");
        }
        let mut memory = unbounded();
        assert_eq!(storage.find(&caller, "resp_9", NOW, &mut memory).await.unwrap(), None);
        assert_eq!(memory.taken, 0);
    })
    .await;
}

#[tokio::test]
async fn a_response_that_cannot_be_stored_is_reported() {
    on_both(async |_, store| {
        let (storage, caller) = (storage(&store), first_caller(&store).await);
        let off = Caller { response_retention: None, ..caller.clone() };
        assert!(storage.is_on(&caller) && !storage.is_on(&off));
        assert!(matches!(save(&storage, &off, ("resp_1", None), "x").await, Err(NotStored::Off)));
        let without_key = ResponseStorage::new(store.clone(), None, BOUNDS);
        assert!(!without_key.is_on(&caller));
        assert!(matches!(save(&without_key, &caller, ("resp_1", None), "x").await, Err(NotStored::Off)));
        let huge = "x".repeat(responses::MAX_RESPONSE_BYTES);
        assert!(matches!(save(&storage, &caller, ("resp_1", None), &huge).await, Err(NotStored::TooLarge { .. })));
        let large = "x".repeat(700_000);
        save(&storage, &caller, ("resp_1", None), &large).await.unwrap();
        assert!(matches!(save(&storage, &caller, ("resp_2", None), &large).await, Err(NotStored::Full)));
        assert_eq!(storage.find(&caller, "resp_2", NOW, &mut unbounded()).await.unwrap(), None);
        let rejected = history(&storage, &caller, "resp_1").await.unwrap_err();
        assert!(matches!(rejected, ConversationError::TooLarge { limit: 65_536, .. }));
        let of_another = other_caller();
        assert!(matches!(
            save(&storage, &of_another, ("resp_1", None), &"x".repeat(900_000)).await,
            Err(NotStored::StoreFull)
        ));
        save(&storage, &of_another, ("resp_1", None), "x").await.unwrap();
        storage.count_total().await.unwrap();
        assert!((700_000..701_000).contains(&storage.total()), "{}", storage.total());
        store.close().await;
        assert!(matches!(save(&storage, &caller, ("resp_3", None), "x").await, Err(NotStored::Failed(_))));
        assert_eq!(storage.not_stored(), [("too_large", 1), ("full", 1), ("store_full", 1), ("failed", 1)]);
        assert!(without_key.not_stored().iter().all(|(_, count)| *count == 0));
    })
    .await;
}

#[tokio::test]
async fn content_can_be_read_after_a_rotation_and_is_gone_without_its_key() {
    on_both(async |_, store| {
        let (storage, caller) = (storage(&store), first_caller(&store).await);
        save(&storage, &caller, ("resp_1", None), "one").await.unwrap();
        let next = ContentKeys::single([8; 32]);
        let rotated = next.also_opening(&ContentKeys::single(KEY));
        let rotated = ResponseStorage::new(store.clone(), Some(rotated), BOUNDS);
        save(&rotated, &caller, ("resp_2", Some("resp_1")), "two").await.unwrap();
        assert_eq!(history(&rotated, &caller, "resp_2").await.unwrap().len(), 4);
        let without_old = ResponseStorage::new(store.clone(), Some(next), BOUNDS);
        assert!(without_old.find(&caller, "resp_2", NOW, &mut unbounded()).await.unwrap().is_some());
        assert_eq!(without_old.find(&caller, "resp_1", NOW, &mut unbounded()).await.unwrap(), None);
        let rejected = history(&without_old, &caller, "resp_2").await.unwrap_err();
        assert!(matches!(rejected, ConversationError::NotFound { .. }));
    })
    .await;
}

#[tokio::test]
async fn responses_are_deleted_when_they_are_too_old_or_no_longer_stored() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let (storage, id) = (storage(&store), first.workspace.id.clone());
        let set = async |retention| {
            let edit = Edit { response_retention: RetentionChange::Set(retention), ..Edit::default() };
            workspaces::set(command(&store), &id, edit, Authority::Admin, &DEFAULTS).await.unwrap()
        };
        let caller = caller(&set(days(2)).await, days(2));
        save(&storage, &caller, ("resp_1", None), "one").await.unwrap();
        let after = |days: i64| Timestamp::from_millis(NOW.millis() + days * DAY + 1);
        assert!(storage.find(&caller, "resp_1", after(1), &mut unbounded()).await.unwrap().is_some());
        assert_eq!(
            storage.find(&caller, "resp_1", after(2), &mut unbounded()).await.unwrap(),
            None,
            "before the loop has deleted it"
        );
        assert_eq!(responses::clear_all(&store, after(1)).await.unwrap(), 0);
        assert_eq!(responses::clear_all(&store, after(2)).await.unwrap(), 1);

        save(&storage, &caller, ("resp_2", None), "two").await.unwrap();
        set(None).await;
        assert_eq!(responses::clear_all(&store, NOW).await.unwrap(), 1, "the workspace stores none any more");
        assert_eq!(store::responses::totals(&store, None, 10).await.unwrap(), []);
    })
    .await;
}
