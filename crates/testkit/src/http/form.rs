//! Forms with a file, as clients upload them.

use super::Client;

pub const BOUNDARY: &str = "forebay-test-boundary";

/// A form of these fields, with a file called `lines.jsonl` after them.
pub fn form(fields: &[(&str, &str)], file: Option<&str>) -> Vec<u8> {
    let mut form = String::new();
    for (name, value) in fields {
        form += &format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    }
    if let Some(content) = file {
        form += &format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"lines.jsonl\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n{content}\r\n"
        );
    }
    form += &format!("--{BOUNDARY}--\r\n");
    form.into_bytes()
}

/// The same client, whose bodies are forms.
#[must_use]
pub fn form_client(client: Client) -> Client {
    client.header("content-type", &format!("multipart/form-data; boundary={BOUNDARY}"))
}
