//! Writes the results of a batch whose lines have ended into files.

use super::file_reader::FileReader;
use super::file_writer::FileWriter;
use super::{BatchError, BatchStorage, Claim};
use domain::batches::{Batch, LineOutcome};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use store::Tx;
use store::batches::{self, LineResult};
use store::content_keys::Scope;

/// The most results that are read at once.
const PAGE: u32 = 64;
/// The error of a result that was given up.
const LOST: (&str, &str) = ("internal_error", "The result of this request cannot be read.");
/// A message batch has all results in one file, so that those of its first failing lines are in another one, for the console.
const FAILING_MESSAGES: u64 = 100;

/// A line of an output or error file.
#[derive(Serialize)]
struct OutputLine<'a> {
    id: String,
    custom_id: &'a str,
    response: Option<LineResponse<'a>>,
    error: Option<LineError>,
}

#[derive(Serialize)]
struct LineResponse<'a> {
    status_code: u16,
    request_id: &'a str,
    body: &'a RawValue,
}

#[derive(Serialize)]
struct LineError {
    code: &'static str,
    message: &'static str,
}

/// A line of the results of a message batch.
#[derive(Serialize)]
struct MessageLine<'a> {
    custom_id: &'a str,
    result: MessageResult<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum MessageResult<'a> {
    Succeeded { message: &'a RawValue },
    Errored { error: &'a RawValue },
    Canceled,
    Expired,
}

/// The files of results, of which each is begun with its first line.
#[derive(Default)]
struct Files {
    output: Option<FileWriter>,
    errors: Option<FileWriter>,
}

impl BatchStorage {
    /// Writes the results of a batch without unfinished lines, and ends it.
    pub async fn finalize(&self, batch: &Batch, claim: &Claim) -> Result<Batch, BatchError> {
        self.own(&batch.id, claim).await?;
        let mut files = Files::default();
        match self.write_files(batch, claim, &mut files).await {
            Ok(tx) => tx.commit().await?,
            Err(error) => {
                // What is written so far would count for the workspace until it is given up.
                for file in files.output.iter().chain(&files.errors) {
                    file.discard().await;
                }
                self.repeat_soon(&batch.id, claim, &error).await;
                return Err(error);
            }
        }
        self.find(&batch.workspace, &batch.id).await
    }

    /// Writes the files, and ends the batch in the transaction that it returns.
    async fn write_files(&self, batch: &Batch, claim: &Claim, files: &mut Files) -> Result<Tx, BatchError> {
        let mut tx = self.store.begin().await?;
        batches::start_finalizing(&mut tx, &batch.id, (claim.now)()).await?;
        tx.commit().await?;
        let lost = self.write_results(batch, claim, files).await?;
        let output = match &mut files.output {
            Some(writer) => Some(writer.finish().await?),
            None => None,
        };
        let errors = match &mut files.errors {
            Some(writer) => Some(writer.finish().await?),
            None => None,
        };
        // Before the transaction, which must not wait for another connection. The last line has ended.
        let current = batches::find_any(&self.store, &batch.id).await?;
        let status = current.as_ref().unwrap_or(batch).final_status();
        let expires_at = |created_at| self.expiry(created_at, batch.output_expiry.map(|expiry| expiry.seconds));
        let mut tx = self.begin_owned(&batch.id, claim).await?;
        let mut ids = (None, None);
        if let Some(written) = output {
            let name = format!("{}_output.jsonl", batch.id);
            let expires_at = expires_at(written.created_at);
            ids.0 = Some(written.complete(&mut tx, &name, expires_at).await?.id);
        }
        if let Some(written) = errors {
            let name = format!("{}_error.jsonl", batch.id);
            let expires_at = expires_at(written.created_at);
            ids.1 = Some(written.complete(&mut tx, &name, expires_at).await?.id);
        }
        batches::finish(&mut tx, &batch.id, (ids.0.as_ref(), ids.1.as_ref()), status, lost, (claim.now)()).await?;
        Ok(tx)
    }

    /// Writes the results of all lines, in the order of the input. Returns how many lines that succeeded have failed now: a result
    /// whose key is not configured is given up when its file would have expired.
    async fn write_results(&self, batch: &Batch, claim: &Claim, files: &mut Files) -> Result<u64, BatchError> {
        let (mut last, mut failing, mut lost) = (0, 0, 0);
        let is_late = batch.finalizing_at.is_some_and(|at| (claim.now)() >= self.expiry(at, None));
        loop {
            let page = batches::results(&self.store, &batch.id, last, PAGE, false).await?;
            let Some(end) = page.last() else { return Ok(lost) };
            last = end.number;
            for result in page {
                let (number, custom_id, outcome) = (result.number, result.custom_id.clone(), result.outcome);
                let result = match self.opened(batch, result) {
                    Err(error) if is_late => {
                        tracing::error!(?error, batch.id = %batch.id, "the result of line {number} is lost");
                        lost += u64::from(outcome == LineOutcome::Succeeded);
                        OpenedResult::lost(number, custom_id)
                    }
                    opened => opened?,
                };
                let has_failed = result.outcome != LineOutcome::Succeeded;
                if batch.endpoint.is_messages() {
                    self.append(&mut files.output, batch, claim, &result.message_line()).await?;
                    if !has_failed || failing == FAILING_MESSAGES {
                        continue;
                    }
                    failing += 1;
                }
                let file = if has_failed { &mut files.errors } else { &mut files.output };
                self.append(file, batch, claim, &result.output_line(batch)).await?;
            }
        }
    }

    /// The first lines of a batch that did not succeed, as an error file has them; none once that file is gone.
    pub async fn failing_lines(&self, batch: &Batch, limit: u32) -> Result<Vec<Value>, BatchError> {
        let mut lines = Vec::new();
        match &batch.error_file {
            Some(file) => {
                let first = match FileReader::new(self, file.clone()).next().await {
                    Ok(first) => first.unwrap_or_default(),
                    // It was deleted, or has expired.
                    Err(BatchError::Missing { .. }) => Vec::new(),
                    Err(error) => return Err(error),
                };
                // The last one may be cut.
                let complete = first.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
                lines.extend(complete.take(limit as usize).map(<[u8]>::to_vec));
            }
            None => {
                for result in batches::results(&self.store, &batch.id, 0, limit, true).await? {
                    lines.push(self.opened(batch, result)?.output_line(batch));
                }
            }
        }
        Ok(lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// Writes a line into a file, which it begins if it is the first one.
    async fn append(
        &self,
        file: &mut Option<FileWriter>,
        batch: &Batch,
        claim: &Claim,
        line: &[u8],
    ) -> Result<(), BatchError> {
        let writer = match file {
            Some(writer) => writer,
            None => {
                let (is_listed, owner) = (!batch.endpoint.is_messages(), (batch.id.clone(), claim.clone()));
                file.insert(FileWriter::results(self, batch.workspace.clone(), is_listed, owner).await?)
            }
        };
        writer.write(line).await
    }

    fn opened(&self, batch: &Batch, result: LineResult) -> Result<OpenedResult, BatchError> {
        let LineResult { number, custom_id, outcome, status, content } = result;
        let scope = Scope::BatchResult { batch: &batch.id, line: &number.to_string() };
        let body = content.map(|content| self.content.open(scope, content)).transpose()?;
        let body = body.map_or_else(|| RawValue::NULL.to_owned(), |body| compact(&body));
        Ok(OpenedResult { number, custom_id, outcome, error: outcome.error(), status, body })
    }
}

/// A result whose body can be read.
struct OpenedResult {
    number: u64,
    custom_id: String,
    outcome: LineOutcome,
    /// The code and message of a line without a response.
    error: Option<(&'static str, &'static str)>,
    status: u16,
    body: Box<RawValue>,
}

impl OpenedResult {
    /// A result that cannot be read.
    fn lost(number: u64, custom_id: String) -> Self {
        let body = RawValue::NULL.to_owned();
        Self { number, custom_id, outcome: LineOutcome::Failed, error: Some(LOST), status: 0, body }
    }

    /// The line of an output or error file.
    fn output_line(&self, batch: &Batch) -> Vec<u8> {
        let request = batch.id.request_of(self.number);
        let unique = request.as_str().trim_start_matches("req_");
        let error = self.error.map(|(code, message)| LineError { code, message });
        let response = LineResponse { status_code: self.status, request_id: request.as_str(), body: &self.body };
        let response = error.is_none().then_some(response);
        encoded(&OutputLine { id: format!("batch_req_{unique}"), custom_id: &self.custom_id, response, error })
    }

    /// The line of the results of a message batch.
    fn message_line(&self) -> Vec<u8> {
        let own = self.error.map(|(code, message)| {
            let r#type = if self.outcome == LineOutcome::TimedOut { "timeout_error" } else { "api_error" };
            let error = json!({ "type": "error", "error": { "type": r#type, "code": code, "message": message } });
            to_raw_value(&error).expect("an error has only text keys")
        });
        let error = own.as_ref().unwrap_or(&self.body);
        let result = match self.outcome {
            LineOutcome::Succeeded => MessageResult::Succeeded { message: &self.body },
            LineOutcome::Failed | LineOutcome::TimedOut => MessageResult::Errored { error },
            LineOutcome::Cancelled => MessageResult::Canceled,
            LineOutcome::Expired => MessageResult::Expired,
        };
        encoded(&MessageLine { custom_id: &self.custom_id, result })
    }
}

/// With its line break.
fn encoded(line: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(line).expect("a line has only text keys");
    line.push(b'\n');
    line
}

/// A value on one line. A body that is not JSON becomes a text.
fn compact(body: &[u8]) -> Box<RawValue> {
    // Texts in JSON contain no line breaks.
    let line: Vec<u8> = body.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    let text = String::from_utf8(line).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    RawValue::from_string(text).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(body);
        to_raw_value(&text).expect("a text is a value")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_written_on_one_line_as_the_engine_wrote_them() {
        for (body, expected) in [
            ("{\n  \"a\": 1.50,\r\n  \"b\": \"x\\n\"\n}", "{  \"a\": 1.50,  \"b\": \"x\\n\"}"),
            ("<html>\n", "\"<html>\\n\""),
        ] {
            assert_eq!(compact(body.as_bytes()).get(), expected);
        }
    }
}
