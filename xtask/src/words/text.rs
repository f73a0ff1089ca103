//! The words of a file for readers: its comments, its messages, its prose.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::source::is_test_attribute;

/// A piece of text and its line.
pub struct Line {
    /// From 1.
    pub number: usize,
    /// Without names in backquotes.
    pub text: String,
}

/// The comments of a source file, documentation included.
pub fn comments(source: &str) -> Vec<Line> {
    let comment = |line: &str| {
        let start = if line.trim_start().starts_with("//") { line.find("//") } else { line.find(" // ") };
        start.map(|start| line[start..].to_owned())
    };
    numbered(source.lines().map(comment))
}

/// The lines of a document, without examples.
pub fn prose(text: &str) -> Vec<Line> {
    let mut is_example = false;
    let mut prose = |line: &str| {
        is_example ^= line.trim_start().starts_with("```");
        (!is_example).then(|| line.to_owned())
    };
    numbered(text.lines().map(&mut prose).collect::<Vec<_>>().into_iter())
}

/// Adds the string literals of a source file, without those of its tests.
pub fn messages(tokens: TokenStream, found: &mut Vec<Line>) {
    let mut is_test = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if is_test_attribute(&group) => is_test = true,
            TokenTree::Group(group) if is_test => is_test = group.delimiter() != Delimiter::Brace,
            TokenTree::Group(group) => messages(group.stream(), found),
            TokenTree::Punct(mark) if mark.as_char() == ';' => is_test = false,
            TokenTree::Literal(literal) => {
                let (text, start) = (literal.to_string(), literal.span().start().line);
                if text.ends_with(['"', '#']) {
                    let lines = text.lines().enumerate();
                    found.extend(lines.map(|(at, line)| Line { number: start + at, text: without_names(line) }));
                }
            }
            _ => {}
        }
    }
}

fn numbered(lines: impl Iterator<Item = Option<String>>) -> Vec<Line> {
    let some = lines.enumerate().filter_map(|(at, line)| Some((at + 1, line?)));
    some.map(|(number, line)| Line { number, text: without_names(&line) }).collect()
}

/// A line without what stands in backquotes.
fn without_names(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}
