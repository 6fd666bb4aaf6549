//! Comma-separated values as RFC 4180 has them.

/// One line, with line end. A cell with a comma, a quotation mark or a line break is quoted.
pub fn line<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let quoted = |cell: T| {
        let text = cell.as_ref();
        let prefix = if is_formula(text) { "'" } else { "" };
        if text.contains([',', '"', '\r', '\n']) {
            format!("\"{prefix}{}\"", text.replace('"', "\"\""))
        } else {
            format!("{prefix}{text}")
        }
    };
    cells.into_iter().map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}

/// Whether a spreadsheet would compute the cell. Names that tenants choose are in tables that others open.
fn is_formula(text: &str) -> bool {
    let is_number = text.strip_prefix('-').is_some_and(|rest| {
        rest.starts_with(|first: char| first.is_ascii_digit())
            && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    });
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && !is_number
}

/// A table whose first row has the column names.
pub fn text(table: Vec<Vec<String>>) -> String {
    table.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_if_needed() {
        assert_eq!(line(["a", "b c", ""]), "a,b c,\r\n");
        assert_eq!(line(["a,b", "say \"hi\"", "x\ny"]), "\"a,b\",\"say \"\"hi\"\"\",\"x\ny\"\r\n");
    }

    #[test]
    fn cells_that_a_spreadsheet_would_compute_are_text() {
        for (cell, expected) in [
            ("=1+1", "'=1+1"),
            ("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\""),
            ("+1", "'+1"),
            ("-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"),
            ("-", "'-"),
            ("@SUM(1)", "'@SUM(1)"),
            ("\t=1", "'\t=1"),
            ("-12.5", "-12.5"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(line([cell]), format!("{expected}\r\n"));
        }
    }
}
