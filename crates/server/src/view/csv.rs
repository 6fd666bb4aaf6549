//! Comma-separated values as RFC 4180 has them.

/// One line, with line end. A cell with a comma, a quotation mark or a line break is quoted.
pub(crate) fn line<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let quoted = |cell: T| {
        let text = cell.as_ref();
        if text.contains([',', '"', '\r', '\n']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    cells.into_iter().map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}

/// A table whose first row has the column names.
pub(crate) fn text(table: Vec<Vec<String>>) -> String {
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
}
