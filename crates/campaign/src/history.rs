//! What happened in a campaign: one record per line of JSON, in a file that can be checked again later.
//!
//! `at`, `began` and `ended` are milliseconds since the start of the campaign. `started_at` and `ended_at` are rows of the
//! store: milliseconds since 1970, by the clock that wrote them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::schedule::Fault;

pub const FILE_NAME: &str = "history.jsonl";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    Start(Start),
    Call(Call),
    Command(Command),
    Fault(FaultSpan),
    Sample(Sample),
    Process(Process),
    Event(Event),
    Sum(Sum),
    QuotaMonth(QuotaMonth),
    Invoice(Invoice),
    Hold(Hold),
    Key(Key),
    End(End),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    pub seed: u64,
    /// The campaign's clock when it began: milliseconds since 1970.
    pub wall_millis: i64,
    pub nodes: usize,
    pub allotment: u64,
    pub workspaces: Vec<Workspace>,
    #[serde(default)]
    pub budgets: Vec<Budget>,
}

/// A budget in US dollars that stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    pub name: String,
    /// The keys whose calls it pays for.
    pub keys: Vec<String>,
    /// In nano-dollars.
    pub cap: i64,
    /// Whether the cap is that of each month, not of the total.
    pub is_monthly: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    pub id: String,
    pub requests_per_minute: Option<u64>,
    pub monthly_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tokens {
    pub prompt: u64,
    pub completion: u64,
    pub cached: u64,
}

impl Tokens {
    pub fn total(self) -> u64 {
        self.prompt + self.completion
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub number: u64,
    pub node: usize,
    pub workspace: String,
    pub key: String,
    pub model: String,
    pub began: u64,
    pub ended: u64,
    /// From the head of the response, if there was one.
    pub request: Option<String>,
    /// The usage that the scripted engine reports for this call and for no other one.
    pub scripted: Option<Tokens>,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A complete response.
    Served(Tokens),
    /// A complete response with an error.
    Rejected { status: u16, code: String },
    /// A stream that ended with an error event.
    ErrorEvent { code: String },
    /// No connection.
    Unreachable { error: String },
    /// The connection was lost before the head of a response.
    NoResponse { error: String },
    /// The connection was lost in the middle of a response.
    Cut { error: String },
    /// No complete response within the deadline of the client.
    TimedOut,
    /// The client left, as it meant to.
    Left,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub began: u64,
    pub ended: u64,
    pub action: Action,
    pub outcome: CommandOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    CreateKey { key: String },
    RevokeKey { key: String },
    SetQuota { workspace: String, monthly_tokens: u64 },
    CreateEndpoint { name: String },
    RescaleEndpoint { name: String },
    SuspendEndpoint { name: String },
    ResumeEndpoint { name: String },
    DeleteEndpoint { name: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutcome {
    Acknowledged,
    Rejected {
        code: String,
    },
    /// It may or may not have taken effect.
    Unknown {
        error: String,
    },
}

/// A fault from its begin until everything it hit had recovered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultSpan {
    pub fault: Fault,
    pub nodes: Vec<usize>,
    pub began: u64,
    pub ended: u64,
}

/// The state of the control plane at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    pub at: u64,
    /// `None` if the store did not respond.
    pub store: Option<StoreSample>,
    /// For each node, whether it says that it leads; `None` if it did not respond.
    pub leading: Vec<Option<bool>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreSample {
    pub epoch: u64,
    pub holder: String,
    pub renewals: u64,
    pub endpoints: Vec<EndpointRow>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointRow {
    pub name: String,
    pub state: String,
    /// The fixed number of replicas, or the highest.
    pub ceiling: u64,
    pub gpu_count: u64,
    pub committed: u64,
}

/// The process of a replica, as seen in `/proc`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub replica: String,
    pub began: u64,
    pub ended: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub request: String,
    pub workspace: String,
    /// A key or a user.
    pub actor: String,
    pub model: String,
    pub tokens: Tokens,
    pub certainty: String,
    pub code: String,
    pub cost: i64,
    pub started_at: i64,
    /// Such as 202611.
    pub month: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    Hour,
    Day,
}

impl Period {
    pub fn millis(self) -> i64 {
        match self {
            Self::Hour => 3_600_000,
            Self::Day => 86_400_000,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    pub period: Period,
    pub workspace: String,
    pub starts_at: i64,
    pub model: String,
    pub actor: String,
    pub requests: u64,
    pub tokens: Tokens,
    pub cost: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaMonth {
    pub workspace: String,
    pub month: u64,
    pub used: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invoice {
    pub workspace: String,
    pub month: u64,
    /// In nano-dollars.
    pub serverless: i64,
    /// In billionths of an hour, per line.
    pub gpu_hours: Vec<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub replica: String,
    pub workspace: String,
    pub gpu_count: i64,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    pub billable: bool,
    /// Each with its node, which has its own numbering.
    pub gpus: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    pub id: String,
    pub revoked: bool,
}

/// After the last call, when everything has settled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub at: u64,
    /// Endpoints that are not deleted.
    pub endpoints: Vec<EndpointRow>,
    /// Bytes of usage events in the journals.
    pub waiting_bytes: u64,
    /// Processes that ended without being asked, or with an error: node and status.
    pub unexpected_exits: Vec<String>,
}

/// All records, by kind.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub start: Start,
    pub calls: Vec<Call>,
    pub commands: Vec<Command>,
    pub faults: Vec<FaultSpan>,
    pub samples: Vec<Sample>,
    pub processes: Vec<Process>,
    pub events: Vec<Event>,
    pub sums: Vec<Sum>,
    pub quota_months: Vec<QuotaMonth>,
    pub invoices: Vec<Invoice>,
    pub holds: Vec<Hold>,
    pub keys: Vec<Key>,
    pub end: End,
}

impl History {
    pub fn add(&mut self, record: Record) {
        match record {
            Record::Start(start) => self.start = start,
            Record::Call(call) => self.calls.push(call),
            Record::Command(command) => self.commands.push(command),
            Record::Fault(fault) => self.faults.push(fault),
            Record::Sample(sample) => self.samples.push(sample),
            Record::Process(process) => self.processes.push(process),
            Record::Event(event) => self.events.push(event),
            Record::Sum(sum) => self.sums.push(sum),
            Record::QuotaMonth(month) => self.quota_months.push(month),
            Record::Invoice(invoice) => self.invoices.push(invoice),
            Record::Hold(hold) => self.holds.push(hold),
            Record::Key(key) => self.keys.push(key),
            Record::End(end) => self.end = end,
        }
    }

    /// Reads the file of a results folder.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(FILE_NAME);
        let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        let mut history = Self::default();
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let record = serde_json::from_str(&line?)
                .with_context(|| format!("line {} of {} is not a record", number + 1, path.display()))?;
            history.add(record);
        }
        Ok(history)
    }
}

/// Writes records as they come. Clones share the file.
#[derive(Clone)]
pub struct Recorder {
    file: Arc<Mutex<BufWriter<File>>>,
    began: Instant,
}

impl Recorder {
    pub fn create(folder: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let path: PathBuf = folder.join(FILE_NAME);
        let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self { file: Arc::new(Mutex::new(BufWriter::new(file))), began: Instant::now() })
    }

    /// Milliseconds since the campaign began.
    pub fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub fn add(&self, record: &Record) -> anyhow::Result<()> {
        let line = serde_json::to_string(record)?;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(file, "{line}").context("cannot write the history")
    }

    pub fn flush(&self) -> anyhow::Result<()> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).flush().context("cannot write the history")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Victim;

    #[test]
    fn a_written_history_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let recorder = Recorder::create(folder.path()).unwrap();
        let call = Call {
            number: 1,
            node: 2,
            workspace: "ws".into(),
            key: "key".into(),
            model: "acme/tiny".into(),
            began: 5,
            ended: 9,
            request: Some("req_1".into()),
            scripted: None,
            outcome: Outcome::Served(Tokens { prompt: 1, completion: 2, cached: 0 }),
        };
        let fault = FaultSpan { fault: Fault::Kill { victim: Victim::Leader }, nodes: vec![1], began: 1, ended: 2 };
        let start = Start { seed: 7, ..Start::default() };
        recorder.add(&Record::Start(start.clone())).unwrap();
        recorder.add(&Record::Call(call.clone())).unwrap();
        recorder.add(&Record::Fault(fault.clone())).unwrap();
        recorder.flush().unwrap();
        let history = History::read(folder.path()).unwrap();
        assert_eq!((history.start, history.calls, history.faults), (start, vec![call], vec![fault]));
    }

    #[test]
    fn a_file_that_is_not_a_history_is_rejected_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE_NAME), "{}\n").unwrap();
        let error = History::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("line 1 of"), "{error}");
    }
}
