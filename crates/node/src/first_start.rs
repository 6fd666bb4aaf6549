//! The first start on an empty store, and the files `bootstrap.json` and `listen.json`.

use crate::clock;
use anyhow::Context;
use config::Config;
use serde::{Deserialize, Serialize};
use std::io::{IsTerminal as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use store::Store;

/// `DATA_DIR/bootstrap.json`: the first credentials and addresses.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    base_url: String,
    console_url: String,
    email: String,
    password: String,
    api_key: String,
    organization_id: String,
    workspace_id: String,
    #[serde(skip)]
    is_new: bool,
}

const BOOTSTRAP: &str = "bootstrap.json";
const LISTEN: &str = "listen.json";
pub(crate) const OWNER_ONLY: u32 = 0o600;
const READABLE: u32 = 0o644;

/// Fills an empty store and writes the credentials to a file. Later starts only update the addresses in the file.
pub async fn prepare(
    store: &Store,
    config: &Config,
    data_dir: &Path,
    public: SocketAddr,
) -> anyhow::Result<Option<Bootstrap>> {
    check_writable(data_dir)?;
    let console_url = console_url(config, public);
    let created = control::bootstrap::first_start(store, &config.workspace_defaults, clock::now()).await?;
    let base_url = format!("{console_url}/v1");
    let bootstrap = match created {
        Some(first) => Bootstrap {
            base_url,
            console_url,
            email: first.user.email.to_string(),
            password: first.password,
            api_key: first.key_text.reveal().to_owned(),
            organization_id: first.organization.id.to_string(),
            workspace_id: first.workspace.id.to_string(),
            is_new: true,
        },
        None => match read(data_dir) {
            Some(before) => Bootstrap { base_url, console_url, ..before },
            None => return Ok(None),
        },
    };
    let written = write_json(data_dir, BOOTSTRAP, OWNER_ONLY, &bootstrap);
    if written.is_err() && bootstrap.is_new {
        // The store has only hashes of the secrets, so this is the last chance to show them, even in a log.
        bootstrap.print(None);
    }
    written.map(|()| Some(bootstrap))
}

/// Checked before anything is created: without the file, the generated credentials would be lost.
fn check_writable(data_dir: &Path) -> anyhow::Result<()> {
    let (draft, file) = (data_dir.join(".writable"), data_dir.join(BOOTSTRAP));
    anyhow::ensure!(!file.is_dir(), "{} is a folder, but must be a file", file.display());
    std::fs::write(&draft, b"").with_context(|| format!("cannot write to {}", data_dir.display()))?;
    let _ = std::fs::remove_file(&draft);
    Ok(())
}

fn read(data_dir: &Path) -> Option<Bootstrap> {
    let bytes = std::fs::read(data_dir.join(BOOTSTRAP)).ok()?;
    serde_json::from_slice(&bytes).map_err(|error| tracing::warn!(%error, "cannot read bootstrap.json")).ok()
}

/// The URL of the console: as configured, or else the bound address.
pub fn console_url(config: &Config, bound: SocketAddr) -> String {
    config.server.public_url.clone().unwrap_or_else(|| {
        let scheme = if config.server.tls.is_some() { "https" } else { "http" };
        let host = if bound.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { bound.ip() };
        format!("{scheme}://{}", SocketAddr::new(host, bound.port()))
    })
}

/// `DATA_DIR/listen.json`: the bound addresses.
#[derive(Serialize)]
struct Listen {
    public: SocketAddr,
    ops: SocketAddr,
}

pub fn write_listen(data_dir: &Path, public: SocketAddr, ops: SocketAddr) -> anyhow::Result<()> {
    write_json(data_dir, LISTEN, READABLE, &Listen { public, ops })
}

/// Removes the file of an earlier run, which tools that wait for the new one would take for current.
pub fn forget_listen(data_dir: &Path) {
    let _ = std::fs::remove_file(data_dir.join(LISTEN));
}

fn write_json(data_dir: &Path, name: &str, mode: u32, value: &impl Serialize) -> anyhow::Result<()> {
    let mut bytes = serde_json::to_vec(value)?;
    bytes.push(b'\n');
    write_by_rename(data_dir, name, mode, &bytes)
}

/// Writes a file whole or not at all.
pub(crate) fn write_by_rename(data_dir: &Path, name: &str, mode: u32, bytes: &[u8]) -> anyhow::Result<()> {
    let (draft, file) = (data_dir.join(format!(".{name}.new")), data_dir.join(name));
    let _ = std::fs::remove_file(&draft);
    let write = || -> std::io::Result<()> {
        let mut out = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft)?;
        out.write_all(bytes)?;
        out.sync_all()?;
        std::fs::rename(&draft, &file)
    };
    write().with_context(|| format!("cannot write {}", file.display()))
}

/// Set for services of systemd, whose output is kept in the journal, and in Pods, whose output is collected.
const LOG_COLLECTORS: [&str; 2] = ["JOURNAL_STREAM", "KUBERNETES_SERVICE_HOST"];

/// Who reads the output of a start.
#[derive(Debug, PartialEq, Eq)]
enum Audience {
    Person,
    /// Such a log is copied, and read by more people than the file.
    KeptLog,
}

impl Audience {
    fn of(is_terminal: bool, is_first_start: bool, log_is_kept: bool) -> Option<Self> {
        match (is_terminal, is_first_start, log_is_kept) {
            (true, _, _) | (false, true, false) => Some(Self::Person),
            (false, true, true) => Some(Self::KeptLog),
            (false, false, _) => None,
        }
    }
}

impl Bootstrap {
    /// Shows the credentials, or only the path of their file to a log that is kept.
    pub fn show(&self, data_dir: &Path, model: Option<&str>) {
        let log_is_kept = LOG_COLLECTORS.iter().any(|name| std::env::var_os(name).is_some());
        match Audience::of(std::io::stderr().is_terminal(), self.is_new, log_is_kept) {
            Some(Audience::Person) => self.print(model),
            Some(Audience::KeptLog) => {
                let file = data_dir.join(BOOTSTRAP);
                tracing::info!(file = %file.display(), "the first administrator and key are in {}", file.display());
            }
            None => {}
        }
    }

    fn print(&self, model: Option<&str>) {
        let _ = std::io::stderr().write_all(self.text(model).as_bytes());
    }

    /// Addresses, credentials and a first call.
    fn text(&self, model: Option<&str>) -> String {
        let mut lines = vec![
            format!("Console   {}", self.console_url),
            format!("E-mail    {}", self.email),
            format!("Password  {}", self.password),
            format!("API       {}", self.base_url),
            format!("API key   {}", self.api_key),
        ];
        lines.insert(0, "Forebay is running.".into());
        let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        let mut text = format!("\n┌{}┐\n", "─".repeat(width + 2));
        for line in lines {
            text.push_str(&format!("│ {line:<width$} │\n"));
        }
        text.push_str(&format!("└{}┘\n", "─".repeat(width + 2)));
        let call = match model {
            Some(model) => format!(
                "curl {}/chat/completions -H 'Authorization: Bearer {}' -H 'Content-Type: application/json' \\\n  \
                 -d '{{\"model\":\"{model}\",\"messages\":[{{\"role\":\"user\",\"content\":\"Hello\"}}]}}'",
                self.base_url, self.api_key
            ),
            None => format!("curl {}/models -H 'Authorization: Bearer {}'", self.base_url, self.api_key),
        };
        text.push_str(&format!("\n{call}\n\n"));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_logs_that_are_kept_do_not_get_the_first_credentials() {
        assert_eq!(Audience::of(false, true, true), Some(Audience::KeptLog));
        assert_eq!(Audience::of(false, true, false), Some(Audience::Person));
        assert_eq!(Audience::of(false, false, false), None);
        // A terminal may belong to a service of systemd, as those of desktops do.
        assert_eq!(Audience::of(true, true, true), Some(Audience::Person));
        assert_eq!(Audience::of(true, false, false), Some(Audience::Person));
    }

    #[test]
    fn a_terminal_shows_addresses_credentials_and_a_call() {
        let bootstrap = Bootstrap {
            base_url: "http://127.0.0.1:8080/v1".into(),
            console_url: "http://127.0.0.1:8080".into(),
            email: "admin@localhost".into(),
            password: "a-long-password".into(),
            api_key: "sk-1".into(),
            organization_id: "org_1".into(),
            workspace_id: "ws_1".into(),
            is_new: true,
        };
        let text = bootstrap.text(Some("test/chat"));
        for part in ["│ Console   http://127.0.0.1:8080 ", "admin@localhost", "a-long-password", "│ API key   sk-1 "]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(text.contains("curl http://127.0.0.1:8080/v1/chat/completions -H 'Authorization: Bearer sk-1'"));
        assert!(text.contains("\"model\":\"test/chat\""));
        assert!(bootstrap.text(None).contains("curl http://127.0.0.1:8080/v1/models -H 'Authorization: Bearer sk-1'"));
    }
}
