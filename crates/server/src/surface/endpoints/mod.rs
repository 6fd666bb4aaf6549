//! Dedicated endpoints: everything under `/v1/endpoints`, for keys and sessions.
//!
//! The edge finds out who asks, which route, and reads the body; the rest runs on the background runtime, where the
//! store's connections live. The order of checks: who asks, which route, which method, the body as such, what its bytes
//! tell, and then what there is.

mod allotments;
mod ask;
mod cursor;
mod describe;
mod error;
mod events;
mod flavors;
pub(crate) mod pages;
mod problems;
mod records;
mod replicas;
mod route;
mod usage;

pub(crate) use cursor::CursorKey;
pub(crate) use describe::description;

use crate::credential;
use crate::edge::request_body::{self, BodyBounds};
use crate::edge::{Body, Head, Incoming};
use crate::people::People;
use crate::price_keeper::Declared;
use ask::{Ask, Reply};
use control::Author;
use control::endpoints::{CommandContext, EndpointErrorKind};
use control::reconciler::Follower;
use dataplane::keys::KeyDirectory;
use dataplane::usage_tap::{Outcome, UsageTap};
use domain::usage::Actor;
use domain::{Caller, Catalogue, Timestamp};
use error::{Place, Refused};
use fleet::drivers::Drivers;
use http::{HeaderValue, Method, Response, header};
use route::Route;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::watch;

/// The name of this surface in logs and metrics.
pub(crate) const ROUTE: &str = "endpoints";
/// No body here needs more.
const BODY_LIMIT: u64 = 256 << 10;
/// The most bytes of headers: names, values and what separates them.
const MAX_HEADER_BYTES: usize = 32 << 10;

/// What handlers have at hand.
#[derive(Clone)]
struct Desk {
    people: Arc<People>,
    /// The catalogue as it is served now.
    served: watch::Receiver<Declared>,
    cursors: CursorKey,
    /// Tells this node's calls of changes before they are answered.
    follower: Follower<Drivers>,
}

impl Desk {
    fn catalogue(&self) -> Arc<Catalogue> {
        self.served.borrow().catalogue()
    }

    fn office<'a>(&'a self, catalogue: &'a Catalogue) -> CommandContext<'a> {
        CommandContext { store: &self.people.store, catalogue, defaults: &self.people.allotment_defaults }
    }

    async fn answer(&self, method: &Method, route: &Route, ask: &Ask) -> Result<Reply, Refused> {
        match route {
            Route::Collection if method == Method::POST => records::create(self, ask).await,
            Route::Collection => records::list(self, ask).await,
            Route::One(which) => match *method {
                Method::PATCH => records::change(self, ask, which).await,
                Method::DELETE => records::delete(self, ask, which).await,
                _ => records::show(self, ask, which).await,
            },
            Route::Suspend(which) => records::suspend(self, ask, which).await,
            Route::Resume(which) => records::resume(self, ask, which).await,
            Route::Events(which) => events::list(self, ask, which).await,
            Route::Replicas(which) => replicas::list(self, ask, which).await,
            Route::Usage(which) => usage::show(self, ask, which).await,
            Route::Flavors => flavors::list(self, ask).await,
            Route::Allotments => allotments::list(self, ask).await,
            Route::Unknown => Err(Refused::UnknownRoute),
        }
    }
}

/// The surface as the edge calls it; clones share everything.
#[derive(Clone)]
pub(crate) struct EndpointsSurface {
    desk: Desk,
    keys: Arc<KeyDirectory>,
    bounds: BodyBounds,
}

impl EndpointsSurface {
    pub(crate) fn new(
        people: Arc<People>,
        keys: Arc<KeyDirectory>,
        served: watch::Receiver<Declared>,
        cursors: CursorKey,
        follower: Follower<Drivers>,
        bounds: BodyBounds,
    ) -> Self {
        let bounds = BodyBounds { limit: bounds.limit.min(BODY_LIMIT), ..bounds };
        Self { desk: Desk { people, served, cursors, follower }, keys, bounds }
    }

    /// Answers a request under `/v1/endpoints`.
    pub(crate) async fn answer(
        &self,
        head: Head,
        body: Incoming,
        client: IpAddr,
        id: &str,
        mut tap: UsageTap,
        now: Timestamp,
    ) -> Response<Body> {
        let mut response = match self.respond(head, body, client, &mut tap, now).await {
            Ok(reply) => {
                tap.settle(Outcome::Served);
                reply.dress()
            }
            Err(refused) => {
                tap.note(|record| record.cause = refused.cause());
                tap.settle(Outcome::Refused { status: refused.status().as_u16(), code: refused.code() });
                refused.dress(&Place { public_url: &self.desk.people.console_url, request: id })
            }
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }

    async fn respond(
        &self,
        head: Head,
        mut body: Incoming,
        client: IpAddr,
        tap: &mut UsageTap,
        now: Timestamp,
    ) -> Result<Reply, Refused> {
        let route = Route::of(head.uri.path());
        let checked = self.check(&head, &route, tap, now).await;
        let read = match checked {
            Ok(caller) if is_read(&head.method) => Ok((caller, bytes::Bytes::new())),
            Ok(caller) => {
                self.bounds.read(&head.headers, &mut body).await.map(|read| (caller, read)).map_err(Refused::from)
            }
            Err(refused) => Err(refused),
        };
        let (caller, bytes) = match read {
            Ok(read) => read,
            Err(refused) => {
                request_body::discard(&head.headers, &mut body).await;
                return Err(refused);
            }
        };
        let author = author_of(&caller, client);
        let head = head.into_parts();
        let ask = Ask::new(&head, bytes, Arc::clone(&caller), author, now)?;
        let desk = self.desk.clone();
        let background = self.desk.people.background.clone();
        let work = async move {
            let reply = desk.answer(&head.method, &route, &ask).await?;
            if !is_read(&head.method) {
                desk.follower.catch_up().await;
            }
            Ok(reply)
        };
        let answered = background.spawn(work).await;
        answered.unwrap_or(Err(Refused::Internal)).map_err(|refused| as_seen_by(&caller, refused))
    }

    async fn check(
        &self,
        head: &Head,
        route: &Route,
        tap: &mut UsageTap,
        now: Timestamp,
    ) -> Result<Arc<Caller>, Refused> {
        if head.headers.bytes() > MAX_HEADER_BYTES {
            return Err(Refused::HeadersTooLarge { limit: MAX_HEADER_BYTES });
        }
        let caller = credential::identify(&self.keys, &self.desk.people, head, now).await?;
        tap.note(|record| record.caller = Some(Arc::clone(&caller)));
        if *route == Route::Unknown {
            return Err(Refused::UnknownRoute);
        }
        if !route.takes(&head.method) {
            return Err(Refused::MethodNotAllowed { allow: route.allow() });
        }
        Ok(caller)
    }
}

fn is_read(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

fn author_of(caller: &Caller, client: IpAddr) -> Author {
    let address = client.to_string();
    match &caller.actor {
        Actor::Key(id) => Author::Key { id: id.clone(), address },
        Actor::User(id) => Author::User { id: id.clone(), address },
    }
}

/// What belongs to another workspace of the organization: for a key, the one 401.
fn as_seen_by(caller: &Caller, refused: Refused) -> Refused {
    match (&caller.actor, refused) {
        (Actor::Key(_), Refused::Command(refusal)) if refusal.kind() == EndpointErrorKind::OtherWorkspace => {
            Refused::Credential(credential::Refused::Unauthenticated { cause: "a key of another workspace" })
        }
        (_, refused) => refused,
    }
}
