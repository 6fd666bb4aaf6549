//! Connections to replicas. Each core has its own, so nothing is shared between cores.

use fleet::backend::BackendId;
use fleet::{Backend, Connector, Stream};
use http1::client::{self, Pool};
use std::io;
use std::sync::Arc;

pub(crate) type Connection = client::Connection<Stream>;
pub(crate) type Exchange = client::Exchange<BackendId, Stream>;

/// Opens connections to replicas and keeps idle ones.
#[derive(Clone, Default)]
pub(crate) struct Connections {
    connector: Connector,
    pub(crate) pool: Arc<Pool<BackendId, Stream>>,
}

impl Connections {
    pub(crate) fn new(connector: Connector) -> Self {
        Self { connector, ..Self::default() }
    }

    /// An idle connection if there is one, else a new one.
    pub(crate) async fn get(&self, replica: &Backend) -> io::Result<Connection> {
        match self.pool.take(&replica.id).await {
            Some(connection) => Ok(connection),
            // Boxed: few calls need a new connection, and the future would make all of them larger.
            None => Box::pin(self.open(replica)).await,
        }
    }

    /// A new connection.
    pub(crate) async fn open(&self, replica: &Backend) -> io::Result<Connection> {
        self.connector.connect(&replica.address).await.map(Connection::new)
    }

    /// Reads the response to a request that was sent on `connection`.
    pub(crate) fn exchange(&self, connection: Connection, replica: &Backend) -> Exchange {
        Exchange::new(connection, Arc::clone(&self.pool), replica.id)
    }
}
