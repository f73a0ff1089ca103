//! `cargo xtask words`: comments, documentation, messages and Markdown do not use words that STYLE.md replaces.

mod table;
mod text;

use std::path::Path;

use regex::Regex;

use crate::source::{documents, packages, read, rust_files, tokens};
use crate::{Failure, Outcome};
use table::WORDS;
use text::Line;

/// Documents that quote the words.
const QUOTING: [&str; 1] = ["STYLE.md"];

/// The words, ready to search.
struct Words(Vec<(Regex, &'static str)>);

/// Prints every place with such a word.
pub fn run(root: &Path) -> Outcome {
    let words = Words::new()?;
    let mut complaints = Vec::new();
    for package in packages(root)? {
        for path in rust_files(&package)? {
            let source = read(&path)?;
            let mut lines = text::comments(&source);
            let inside = path.strip_prefix(&package).unwrap_or(&path);
            let has_messages =
                inside.starts_with("src") && !inside.iter().any(|part| part == "tests" || part == "tests.rs");
            if has_messages && !inside.ends_with("words/table.rs") {
                text::messages(tokens(&path, &source)?, &mut lines);
            }
            complaints.extend(words.complaints(path.strip_prefix(root).unwrap_or(&path), &lines));
        }
    }
    for path in documents(root)? {
        let shown = path.strip_prefix(root).unwrap_or(&path);
        if !QUOTING.iter().any(|quoting| shown == Path::new(quoting)) {
            complaints.extend(words.complaints(shown, &text::prose(&read(&path)?)));
        }
    }
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    let (count, what) = (complaints.len(), "words that STYLE.md replaces");
    if count == 0 { Ok(()) } else { Err(Failure::Broken { count, what }) }
}

impl Words {
    fn new() -> Outcome<Words> {
        let word = |word: &table::Word| {
            let regex = Regex::new(&format!(r"(?i)\b({})\b", word.pattern));
            regex.map(|regex| (regex, word.say)).map_err(Failure::Pattern)
        };
        WORDS.iter().map(word).collect::<Outcome<_>>().map(Words)
    }

    /// What is wrong in the lines of a file.
    fn complaints(&self, file: &Path, lines: &[Line]) -> Vec<String> {
        let mut complaints = Vec::new();
        for line in lines {
            for (regex, say) in &self.0 {
                if let Some(hit) = regex.find(&line.text) {
                    complaints.push(format!("{}:{}: \"{}\": say {say}", file.display(), line.number, hit.as_str()));
                }
            }
        }
        complaints.sort();
        complaints.dedup();
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(lines: &[Line]) -> Vec<String> {
        Words::new().unwrap().complaints(Path::new("a.rs"), lines)
    }

    #[test]
    fn words_are_found_in_comments_messages_and_prose_and_not_in_code() {
        let source = "/// Sent anew.\nfn f() { anew(\"a farewell\"); } /\u{2f} mended\n";
        let mut lines = text::comments(source);
        text::messages(source.parse().unwrap(), &mut lines);
        let told = complaints(&lines);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].starts_with("a.rs:1: \"anew\"") && told[1].starts_with("a.rs:2: \"farewell\""), "{told:?}");
        assert_eq!(complaints(&text::prose("Calls under way.\n```\nanew\n```\nThe method `anew`.\n")).len(), 1);
    }

    #[test]
    fn messages_of_tests_may_say_anything() {
        let mut lines = Vec::new();
        text::messages("#[cfg(test)]\nmod tests { const S: &str = \"anew\"; }\n".parse().unwrap(), &mut lines);
        assert!(complaints(&lines).is_empty());
    }

    #[test]
    fn longer_words_and_names_in_code_quotes_are_not_found() {
        assert!(complaints(&text::comments("// amended, `anew`, is_outdated, screwed\n")).is_empty());
    }
}
