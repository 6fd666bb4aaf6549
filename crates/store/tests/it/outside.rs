//! A connection past the store.

use crate::databases::Database;
use sqlx::{AnyConnection, Connection};

pub(crate) async fn outside(database: &Database) -> AnyConnection {
    let url = match database.url.strip_prefix("sqlite:") {
        Some(file) => format!("sqlite://{}/{file}", database.data_dir().display()),
        None => database.url.clone(),
    };
    AnyConnection::connect(&url).await.unwrap()
}
