//! Where the functions and the tests of a source file are, found by its braces.

use std::ops::Range;

/// A function.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Its lines, from 0: from the one with `fn` to the one with the closing brace.
    pub lines: Range<usize>,
}

/// Finds the functions with a body in blanked source.
pub fn functions(code: &str) -> Vec<Function> {
    let starts = code.match_indices("fn ").filter(|(at, _)| starts_word(code, *at));
    let found = starts.filter_map(|(at, found)| {
        let name: String = code[at + found.len()..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let end = at + body_end(&code[at..])?;
        (!name.is_empty()).then(|| Function { name, lines: line_of(code, at)..line_of(code, end) + 1 })
    });
    found.collect()
}

/// How many lines of blanked source belong to items that are compiled for tests only.
pub fn test_line_count(code: &str) -> usize {
    let mut count = 0;
    let mut at = 0;
    while let Some(found) = code[at..].find("#[cfg(test)]") {
        let start = at + found;
        let end = body_end(&code[start..]).map_or(start + 1, |length| start + length);
        count += line_of(code, end) - line_of(code, start) + 1;
        at = end;
    }
    count
}

/// Where the word `word` stands in blanked source: its lines, from 0.
pub fn lines_with_word(code: &str, word: &str) -> Vec<usize> {
    let ends = |at: usize| !code[at + word.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let found = code.match_indices(word).filter(|(at, _)| starts_word(code, *at) && ends(*at));
    found.map(|(at, _)| line_of(code, at)).collect()
}

fn starts_word(code: &str, at: usize) -> bool {
    !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count()
}

/// Where the braces that the item at the start of `code` opens are closed again; `None` when it ends at a semicolon
/// before it opens any.
fn body_end(code: &str) -> Option<usize> {
    let mut braces = 0_usize;
    let mut brackets = 0_usize;
    for (at, character) in code.char_indices() {
        match character {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.saturating_sub(1),
            '{' => braces += 1,
            '}' if braces <= 1 => return (braces == 1).then_some(at),
            '}' => braces -= 1,
            ';' if braces == 0 && brackets == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "\
trait T {
    fn declared(&self, x: [u8; 4]);
    fn given(&self) {
        let f: fn (u8) = g;
    }
}
pub unsafe fn short() {}
#[cfg(test)]
mod tests {
    fn inner() { unsafe_name() }
}
";

    #[test]
    fn functions_are_found_with_their_lines_and_declarations_are_not() {
        let found: Vec<_> = functions(CODE).into_iter().map(|f| (f.name, f.lines.len())).collect();
        assert_eq!(found, [("given".into(), 3), ("short".into(), 1), ("inner".into(), 1)]);
    }

    #[test]
    fn only_lines_of_test_items_are_counted() {
        assert_eq!(test_line_count(CODE), 4);
        assert_eq!(test_line_count("#[cfg(test)]\nuse a;\nfn f() {}\n"), 1);
    }

    #[test]
    fn word_inside_another_word_is_not_found() {
        assert_eq!(lines_with_word(CODE, "unsafe"), [6]);
    }
}
