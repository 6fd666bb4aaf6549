//! Helpers for editing the members of objects.

use std::ops::Range;

/// The range to remove so that a member disappears together with one of its commas.
pub fn removal(text: &[u8], member: Range<usize>) -> Range<usize> {
    let white = |byte: &u8| b" \n\r\t".contains(byte);
    let after = member.end + text[member.end..].iter().take_while(|byte| white(byte)).count();
    if text.get(after) == Some(&b',') {
        return member.start..after + 1;
    }
    let before = member.start - text[..member.start].iter().rev().take_while(|byte| white(byte)).count();
    if before > 0 && text[before - 1] == b',' {
        return before - 1..member.end;
    }
    member
}

/// `"name":value`, with a comma if other members follow.
pub fn first_member(member: &str, others_follow: bool) -> Vec<u8> {
    let comma = if others_follow { "," } else { "" };
    [member, comma].concat().into_bytes()
}

/// Whether the object that begins at `open` has no members.
pub fn is_empty_object(text: &[u8], open: usize) -> bool {
    text[open + 1..].iter().find(|byte| !b" \n\r\t".contains(byte)) == Some(&b'}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_member_takes_one_comma_with_it() {
        for (text, member, left) in [
            (r#"{"a":1,"b":2}"#, 1..6, r#"{"b":2}"#),
            (r#"{"a":1 , "b":2}"#, 9..14, r#"{"a":1 }"#),
            (r#"{"a":1,"b":2,"c":3}"#, 7..12, r#"{"a":1,"c":3}"#),
            (r#"{"a":1}"#, 1..6, "{}"),
        ] {
            let cut = removal(text.as_bytes(), member);
            assert_eq!([&text[..cut.start], &text[cut.end..]].concat(), left);
        }
    }
}
