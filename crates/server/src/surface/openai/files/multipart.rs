//! Reads `multipart/form-data` as it arrives. It keeps no more than the headers of a part, or a boundary that may follow.
//!
//! ```text
//! --boundary ⏎ Content-Disposition: form-data; name="purpose" ⏎ ⏎ batch ⏎
//! --boundary ⏎ Content-Disposition: form-data; name="file"; filename="a.jsonl" ⏎ ⏎ … ⏎
//! --boundary--
//! ```

use memchr::memmem;

/// The most bytes of the headers of a part.
const MAX_HEADERS: usize = 8 << 10;
/// The most bytes of a boundary, by RFC 2046.
const MAX_BOUNDARY: usize = 70;
/// The most characters of the name of a file.
const MAX_FILENAME: usize = 255;

/// What is found in a form, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormEvent {
    Part {
        name: String,
        filename: Option<String>,
    },
    /// Content of the part that began last.
    Content(Vec<u8>),
    /// The form is over. What follows is ignored.
    End,
}

/// The body is not a form.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body is not multipart/form-data: {0}")]
pub(super) struct FormError(&'static str);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first boundary.
    Preamble,
    /// After a boundary.
    AfterBoundary,
    Headers,
    Content,
    Over,
}

pub(super) struct FormReader {
    /// A line break, two dashes and the boundary.
    delimiter: Vec<u8>,
    buffer: Vec<u8>,
    state: State,
}

/// The boundary of a content type; `None` if it is not a form.
pub(super) fn boundary(content_type: &str) -> Option<String> {
    let (media, parameters) = content_type.split_once(';')?;
    if !media.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"').to_owned())
    })?;
    (1..=MAX_BOUNDARY).contains(&boundary.len()).then_some(boundary)
}

impl FormReader {
    pub(super) fn new(boundary: &str) -> Self {
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        // The first boundary has no line break before it.
        Self { delimiter, buffer: b"\r\n".to_vec(), state: State::Preamble }
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        if self.state != State::Over {
            self.buffer.extend_from_slice(piece);
        }
    }

    /// The next event; `None` if more must be pushed first.
    pub(super) fn next(&mut self) -> Result<Option<FormEvent>, FormError> {
        loop {
            match self.state {
                State::Preamble => match memmem::find(&self.buffer, &self.delimiter) {
                    Some(at) => {
                        self.buffer.drain(..at + self.delimiter.len());
                        self.state = State::AfterBoundary;
                    }
                    None => {
                        self.all_but_a_beginning();
                        return Ok(None);
                    }
                },
                State::AfterBoundary => match self.buffer.first_chunk() {
                    Some(b"--") => self.state = State::Over,
                    // The line break stays: without headers, the empty line follows at once.
                    Some(b"\r\n") => self.state = State::Headers,
                    Some(_) => return Err(FormError("a boundary is not followed by a line break")),
                    None => return Ok(None),
                },
                State::Headers => match memmem::find(&self.buffer, b"\r\n\r\n") {
                    Some(at) if at <= MAX_HEADERS => {
                        let part = part(&self.buffer[..at])?;
                        self.buffer.drain(..at + 4);
                        self.state = State::Content;
                        return Ok(Some(part));
                    }
                    // However the form is cut: an empty line that begins later is too late.
                    None if self.buffer.len() < MAX_HEADERS + 4 => return Ok(None),
                    Some(_) | None => return Err(FormError("the headers of a part are too long")),
                },
                State::Content => {
                    let content = match memmem::find(&self.buffer, &self.delimiter) {
                        Some(at) => {
                            let content = self.buffer.drain(..at + self.delimiter.len()).take(at).collect();
                            self.state = State::AfterBoundary;
                            content
                        }
                        None => self.all_but_a_beginning(),
                    };
                    if !content.is_empty() {
                        return Ok(Some(FormEvent::Content(content)));
                    }
                    if self.state == State::Content {
                        return Ok(None);
                    }
                }
                State::Over => {
                    self.buffer.clear();
                    return Ok(Some(FormEvent::End));
                }
            }
        }
    }

    /// Takes what cannot belong to a delimiter whose end has not arrived.
    fn all_but_a_beginning(&mut self) -> Vec<u8> {
        let end = self.buffer.len().saturating_sub(self.delimiter.len() - 1);
        self.buffer.drain(..end).collect()
    }
}

/// Reads the headers of a part.
fn part(headers: &[u8]) -> Result<FormEvent, FormError> {
    let headers = std::str::from_utf8(headers).map_err(|_| FormError("the headers of a part are not text"))?;
    let disposition = headers.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
    });
    let disposition = disposition.ok_or(FormError("a part has no Content-Disposition"))?;
    let name = parameter(disposition, "name").ok_or(FormError("a part has no name"))?;
    let filename = parameter(disposition, "filename").map(|name| {
        // Some clients send a path.
        let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
        last.chars().filter(|letter| !letter.is_control()).take(MAX_FILENAME).collect()
    });
    Ok(FormEvent::Part { name, filename })
}

/// A parameter such as `name="file"`, whose quotes may be escaped.
fn parameter(disposition: &str, wanted: &str) -> Option<String> {
    let mut rest = disposition.split_once(';')?.1;
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let end = after.find(';').unwrap_or(after.len());
                (after[..end].trim().to_owned(), &after[end..])
            }
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = next.split_once(';')?.1;
    }
}

/// The text before the closing quote, and what follows.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(letters.next()?.1),
            _ => value.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "preamble\r\n--b0\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--b0\r\n\
        content-type: text/plain\r\ncontent-disposition: form-data; name=file; filename=\"dir/a \\\"1\\\".jsonl\"\r\n\r\n\
        {}\r\n--b\r\n\r\n--b0\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n\r\n--b0--\r\nepilogue";

    /// The name of a part, the name of its file, and its content.
    type Part = (String, Option<String>, Vec<u8>);

    /// The parts of a form that arrives in these pieces.
    pub(super) fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Part>, FormError> {
        let mut reader = FormReader::new("b0");
        let mut parts: Vec<Part> = Vec::new();
        for piece in pieces {
            reader.push(piece);
            while let Some(event) = reader.next()? {
                match event {
                    FormEvent::Part { name, filename } => parts.push((name, filename, Vec::new())),
                    FormEvent::Content(bytes) => parts.last_mut().unwrap().2.extend(bytes),
                    FormEvent::End => return Ok(parts),
                }
            }
            assert!(reader.buffer.len() < MAX_HEADERS + 4);
        }
        Err(FormError("it does not end"))
    }

    #[test]
    fn a_form_is_read_however_it_is_cut() {
        let part = |name: &str, filename: Option<&str>, content: &str| {
            (name.to_owned(), filename.map(str::to_owned), content.as_bytes().to_vec())
        };
        let expected = vec![
            part("purpose", None, "batch"),
            part("file", Some("a \"1\".jsonl"), "{}\r\n--b\r\n"),
            part("x", None, ""),
        ];
        for size in 1..FORM.len() {
            assert_eq!(read(FORM.as_bytes().chunks(size)).as_ref(), Ok(&expected), "pieces of {size}");
        }
        let without_preamble = FORM.trim_start_matches("preamble\r\n");
        assert_eq!(read([without_preamble.as_bytes()]), Ok(expected));
    }

    #[test]
    fn other_bodies_are_rejected() {
        for bad in [
            "",
            "--b0",
            "--b0\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx",
            "--b0x",
            "--b0\r\n\r\nx\r\n--b0--",
            "--b0\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b0--",
            "--b0\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--b0--",
        ] {
            assert!(read([bad.as_bytes()]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_longest_headers_do_not_depend_on_how_the_form_is_cut() {
        let disposition = "\r\nContent-Disposition: form-data; name=a\r\nx: ";
        for (length, expected) in [
            (MAX_HEADERS, Ok(vec![("a".to_owned(), None, Vec::new())])),
            (MAX_HEADERS + 1, Err(FormError("the headers of a part are too long"))),
        ] {
            let filler = "x".repeat(length - disposition.len());
            let form = format!("--b0{disposition}{filler}\r\n\r\n\r\n--b0--");
            for size in [1, 100, form.len()] {
                assert_eq!(read(form.as_bytes().chunks(size)), expected, "{length} in pieces of {size}");
            }
        }
    }

    #[test]
    fn the_boundary_is_in_the_content_type() {
        assert_eq!(boundary("multipart/form-data; boundary=x1").as_deref(), Some("x1"));
        assert_eq!(boundary("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"").as_deref(), Some("a b"));
        for bad in ["", "multipart/form-data", "multipart/form-data; boundary=", "text/plain; boundary=x"] {
            assert_eq!(boundary(bad), None, "{bad}");
        }
    }
}

#[cfg(test)]
mod fuzz_tests {
    use super::tests::read;
    use fuzz::Fuzz;

    const WORDS: &[&str] = &[
        "\r\n",
        "\r\n\r\n",
        "\r\n--b0",
        "--b0\r\n",
        "--b0--",
        "\r\n--b",
        "Content-Disposition: form-data; name=\"a\"",
        "content-disposition:",
        "; filename=\"a/b.jsonl\"",
        "name=",
        ";",
        "=",
        ":",
        "\\\"",
        "\"",
        "\u{e9}",
    ];

    /// A form has the same parts, or the same error, however it arrives.
    #[test]
    fn forms() {
        Fuzz::new("form").words(WORDS).run(|bytes| assert_eq!(read(fuzz::pieces(bytes)), read([bytes]), "in pieces"));
    }
}
