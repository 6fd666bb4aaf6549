//! The keys that encrypt the keys of model servers: the operator's, or one that a single node makes in its data directory, so
//! that protected servers can be added at once.
//!
//! Only keys of servers are encrypted with the latter. Stored responses need the operator's own key: a copy of the data
//! directory must not reveal what people wrote.

use crate::first_start::{OWNER_ONLY, write_by_rename};
use anyhow::Context;
use config::Config;
use std::path::Path;
use store::{ContentKeys, Engine};

const FILE: &str = "content.key";

/// The keys of a node that serves. A single node without a key makes one.
pub fn open(config: &Config, data_dir: &Path, engine: Engine) -> anyhow::Result<Option<ContentKeys>> {
    match read(config, data_dir, engine)? {
        None if is_single(engine) => make(data_dir).map(Some),
        found => Ok(found),
    }
}

/// The keys that there are. The operator's key takes over from the one of the file, which opens what it has sealed.
pub fn read(config: &Config, data_dir: &Path, engine: Engine) -> anyhow::Result<Option<ContentKeys>> {
    let of_operator = config.content_keys.clone();
    let of_file = if is_single(engine) { read_file(data_dir)? } else { None };
    Ok(match (of_operator, of_file) {
        (Some(keys), Some(made)) => Some(keys.also_opening(&made)),
        (of_operator, of_file) => of_operator.or(of_file),
    })
}

/// Several nodes need the same key, which only the operator can give them.
const fn is_single(engine: Engine) -> bool {
    match engine {
        Engine::Sqlite => true,
        Engine::Postgres => false,
    }
}

fn read_file(data_dir: &Path) -> anyhow::Result<Option<ContentKeys>> {
    let file = data_dir.join(FILE);
    match std::fs::read_to_string(&file) {
        Ok(text) => {
            let keys = ContentKeys::parse(text.trim());
            keys.map(Some).with_context(|| format!("{} is not a content key", file.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

fn make(data_dir: &Path) -> anyhow::Result<ContentKeys> {
    let text = ContentKeys::generate();
    write_by_rename(data_dir, FILE, OWNER_ONLY, format!("{text}\n").as_bytes())?;
    tracing::info!("made {}, which encrypts the keys of model servers", data_dir.join(FILE).display());
    Ok(ContentKeys::parse(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ModelId;
    use std::os::unix::fs::PermissionsExt;

    const OPERATORS: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    fn config(content_key: Option<&'static str>) -> Config {
        Config::load(None, &|name| content_key.filter(|_| name == "FOREBAY_CONTENT_KEY").map(str::to_owned)).unwrap()
    }

    #[test]
    fn a_single_node_makes_its_key_once_and_only_for_itself() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        assert_eq!(open(&config(None), folder.path(), Engine::Postgres).unwrap(), None);
        assert_eq!(read(&config(None), folder.path(), Engine::Sqlite).unwrap(), None);
        assert!(!file.exists());
        let made = open(&config(None), folder.path(), Engine::Sqlite).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(open(&config(None), folder.path(), Engine::Sqlite).unwrap(), made);
        assert_eq!(read(&config(None), folder.path(), Engine::Sqlite).unwrap(), made);
        std::fs::write(&file, "short").unwrap();
        let error = open(&config(None), folder.path(), Engine::Sqlite).unwrap_err();
        assert!(error.to_string().ends_with("content.key is not a content key"), "{error}");
    }

    #[test]
    fn the_operators_key_takes_over_and_the_made_one_still_opens() {
        let folder = tempfile::tempdir().unwrap();
        let made = open(&config(None), folder.path(), Engine::Sqlite).unwrap().unwrap();
        let model = ModelId::parse("acme/x").unwrap();
        let sealed = made.seal_upstream_key(&model, "http://a/v1", "secret");
        let both = open(&config(Some(OPERATORS)), folder.path(), Engine::Sqlite).unwrap().unwrap();
        assert_eq!(both.sealing_key(), ContentKeys::parse(OPERATORS).unwrap().sealing_key());
        assert_eq!(both.open_upstream_key(&model, "http://a/v1", &sealed).as_deref(), Ok("secret"));

        let fresh = tempfile::tempdir().unwrap();
        open(&config(Some(OPERATORS)), fresh.path(), Engine::Sqlite).unwrap().unwrap();
        assert!(!fresh.path().join(FILE).exists(), "none is made beside the operator's");
    }
}
