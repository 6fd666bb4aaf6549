//! Checks JSON that arrives in pieces, without keeping it.
//!
//! A byte at a time, with one bit per open bracket. Example: after `{"a":[1,2` the state is "in a number", with an array
//! inside an object; `]` ends the number and the array, `}` the object, and then only white space may follow.

/// The maximum nesting of arrays and objects.
const MAX_DEPTH: u32 = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidJson;

/// What may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    /// A value, or the end of an empty array.
    FirstValue,
    /// A name, or the end of an empty object.
    FirstName,
    Name,
    Colon,
    /// A comma, or the end of the array or object.
    Next,
    String(StringState),
    NameString(StringState),
    Number(NumberState),
    /// The rest of `true`, `false` or `null`.
    Word(&'static [u8]),
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StringState {
    Text,
    Escape,
    /// This many hexadecimal digits are missing.
    Unicode(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberState {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonPieces {
    state: State,
    depth: u32,
    /// One bit per open bracket, the innermost lowest: 1 for an object.
    objects: u128,
}

impl Default for JsonPieces {
    fn default() -> Self {
        Self { state: State::Value, depth: 0, objects: 0 }
    }
}

impl JsonPieces {
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), InvalidJson> {
        bytes.iter().try_for_each(|byte| self.byte(*byte))
    }

    /// Whether the pieces are one array, object, string or word. A number could still go on.
    pub fn is_complete(&self) -> bool {
        self.state == State::Done
    }

    fn byte(&mut self, byte: u8) -> Result<(), InvalidJson> {
        match self.state {
            State::String(string) => self.state = self.in_string(string, byte, State::String)?,
            State::NameString(string) => self.state = self.in_string(string, byte, State::NameString)?,
            State::Number(number) => match in_number(number, byte)? {
                Some(next) => self.state = State::Number(next),
                None => {
                    self.end_value();
                    return self.byte(byte);
                }
            },
            State::Word(rest) => match rest {
                [expected] if *expected == byte => self.end_value(),
                [expected, rest @ ..] if *expected == byte => self.state = State::Word(rest),
                _ => return Err(InvalidJson),
            },
            _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => {}
            State::Value => self.begin_value(byte)?,
            State::FirstValue if byte == b']' => self.close(false)?,
            State::FirstValue => self.begin_value(byte)?,
            State::FirstName if byte == b'}' => self.close(true)?,
            State::FirstName | State::Name if byte == b'"' => self.state = State::NameString(StringState::Text),
            State::Colon if byte == b':' => self.state = State::Value,
            State::Next => match byte {
                b',' if self.is_in_object() => self.state = State::Name,
                b',' => self.state = State::Value,
                b'}' => self.close(true)?,
                b']' => self.close(false)?,
                _ => return Err(InvalidJson),
            },
            State::FirstName | State::Name | State::Colon | State::Done => return Err(InvalidJson),
        }
        Ok(())
    }

    fn begin_value(&mut self, byte: u8) -> Result<(), InvalidJson> {
        self.state = match byte {
            b'{' => return self.open(true, State::FirstName),
            b'[' => return self.open(false, State::FirstValue),
            b'"' => State::String(StringState::Text),
            b'-' => State::Number(NumberState::Minus),
            b'0' => State::Number(NumberState::Zero),
            b'1'..=b'9' => State::Number(NumberState::Integer),
            b't' => State::Word(b"rue"),
            b'f' => State::Word(b"alse"),
            b'n' => State::Word(b"ull"),
            _ => return Err(InvalidJson),
        };
        Ok(())
    }

    fn in_string(&self, string: StringState, byte: u8, kind: fn(StringState) -> State) -> Result<State, InvalidJson> {
        Ok(kind(match (string, byte) {
            (StringState::Text, b'"') => {
                return Ok(match kind(string) {
                    State::NameString(_) => State::Colon,
                    _ => self.after_value(),
                });
            }
            (StringState::Text, b'\\') => StringState::Escape,
            (StringState::Text, 0..0x20) => return Err(InvalidJson),
            (StringState::Text, _) => StringState::Text,
            (StringState::Escape, b'u') => StringState::Unicode(4),
            (StringState::Escape, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => StringState::Text,
            (StringState::Unicode(1), digit) if digit.is_ascii_hexdigit() => StringState::Text,
            (StringState::Unicode(missing), digit) if digit.is_ascii_hexdigit() => StringState::Unicode(missing - 1),
            (StringState::Escape | StringState::Unicode(_), _) => return Err(InvalidJson),
        }))
    }

    fn open(&mut self, is_object: bool, first: State) -> Result<(), InvalidJson> {
        if self.depth == MAX_DEPTH {
            return Err(InvalidJson);
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(is_object);
        self.state = first;
        Ok(())
    }

    fn close(&mut self, is_object: bool) -> Result<(), InvalidJson> {
        if self.depth == 0 || self.is_in_object() != is_object {
            return Err(InvalidJson);
        }
        self.depth -= 1;
        self.objects >>= 1;
        self.end_value();
        Ok(())
    }

    fn is_in_object(&self) -> bool {
        self.objects & 1 == 1
    }

    fn end_value(&mut self) {
        self.state = self.after_value();
    }

    fn after_value(&self) -> State {
        if self.depth == 0 { State::Done } else { State::Next }
    }
}

/// The next state within a number, or `None` if the number has ended before the byte.
fn in_number(number: NumberState, byte: u8) -> Result<Option<NumberState>, InvalidJson> {
    use NumberState::{Exponent, ExponentDigits, ExponentSign, Fraction, Integer, Minus, Point, Zero};
    Ok(Some(match (number, byte) {
        (Minus, b'0') => Zero,
        (Minus, b'1'..=b'9') | (Integer, b'0'..=b'9') => Integer,
        (Zero | Integer, b'.') => Point,
        (Point | Fraction, b'0'..=b'9') => Fraction,
        (Zero | Integer | Fraction, b'e' | b'E') => Exponent,
        (Exponent, b'+' | b'-') => ExponentSign,
        (Exponent | ExponentSign | ExponentDigits, b'0'..=b'9') => ExponentDigits,
        (Zero | Integer | Fraction | ExponentDigits, _) => return Ok(None),
        (Minus | Point | Exponent | ExponentSign, _) => return Err(InvalidJson),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether the pieces are one complete value.
    fn accepts(pieces: &[&[u8]]) -> bool {
        let mut checker = JsonPieces::default();
        pieces.iter().all(|piece| checker.push(piece).is_ok()) && checker.is_complete()
    }

    #[test]
    fn values_are_complete_at_their_last_byte() {
        for good in [
            "{}",
            "[]",
            r#"{"a":[1,-2.5e+3,0],"b":{"c":"\u00e9\"\\"},"d":[{},[]],"e":null}"#,
            " {\n} ",
            "true",
            "\"x\"",
        ] {
            assert!(accepts(&[good.as_bytes()]), "{good}");
            let trimmed = good.trim_end().as_bytes();
            assert!(!accepts(&[&trimmed[..trimmed.len() - 1]]), "{good}");
        }
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(accepts(&[deep(128).as_bytes()]) && !accepts(&[deep(129).as_bytes()]));
    }

    proptest! {
        #[test]
        fn damaged_objects_are_judged_like_serde_json_however_they_are_split(
            text in r#"(\{("[ab\\u]{0,3}":([0-9.eE+-]{1,5}|true|nul|"[a-c\n\\]{0,3}"|\[1,?2?\]|\{\}),?){0,3}\}?[ \}]?)"#,
            split in any::<prop::sample::Index>(),
        ) {
            let expected = serde_json::from_str::<serde_json::Value>(&text);
            if let Err(error) = &expected
                && (error.to_string().contains("out of range") || error.to_string().contains("surrogate"))
            {
                return Ok(());
            }
            let (first, second) = text.as_bytes().split_at(split.index(text.len() + 1));
            prop_assert_eq!(accepts(&[first, second]), expected.is_ok(), "{}", text);
        }
    }
}
