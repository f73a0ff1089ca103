//! Source text without what is no code: comments and the contents of literals become spaces, line by line as before.

/// Returns `source` with a space for every byte of a comment, string or character; line ends stay.
pub fn blank(source: &str) -> String {
    let mut rest = source;
    let mut code = String::with_capacity(source.len());
    let mut last = ' ';
    while let Some(first) = rest.chars().next() {
        let length = if last.is_alphanumeric() || last == '_' { 0 } else { literal_length(rest) };
        let length = length.max(comment_length(rest)).max(quoted_length(rest));
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
        last = first;
    }
    code
}

/// The length of the comment at the start of `text`, or 0.
fn comment_length(text: &str) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        match (here.starts_with(b"/*"), here.starts_with(b"*/")) {
            (true, _) => (depth, at) = (depth + 1, at + 2),
            (_, true) if depth > 0 => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    if text.starts_with("/*") { at } else { 0 }
}

/// The length of a string or character without prefix at the start of `text`, or 0. A lifetime is no character.
fn quoted_length(text: &str) -> usize {
    if let Some(inside) = text.strip_prefix('"') {
        return 1 + closing(inside, '"');
    }
    let Some(inside) = text.strip_prefix('\'') else { return 0 };
    let second = inside.chars().nth(1);
    if inside.starts_with('\\') || second == Some('\'') { 1 + closing(inside, '\'') } else { 0 }
}

/// The length of a raw string, with or without a `b` or `c` in front, at the start of `text`, or 0.
fn literal_length(text: &str) -> usize {
    let after_prefix = text.trim_start_matches(['b', 'c']);
    let Some(raw) = after_prefix.strip_prefix('r') else { return 0 };
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    let Some(content) = raw[hashes..].strip_prefix('"') else { return 0 };
    let end = format!("\"{}", "#".repeat(hashes));
    let head = text.len() - content.len();
    head + content.find(&end).map_or(content.len(), |at| at + end.len())
}

/// How many bytes there are up to and with the unescaped `quote`.
fn closing(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if character == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_blanked_and_lines_stay() {
        assert_eq!(blank("a // unsafe {\nb"), "a            \nb");
        assert_eq!(blank("a /* x /* y */\n z */ b"), "a             \n      b");
        assert_eq!(blank(r#"f("un\"safe") g"#), "f(          ) g");
        assert_eq!(blank("x = r#\"fn \"{\"#;"), "x =           ;");
        assert_eq!(blank("br\"{\" b'{'"), "      b   ");
    }

    #[test]
    fn lifetimes_and_names_that_end_in_r_are_code() {
        let code = "fn f<'a>(x: &'a str) -> for_r { g }";
        assert_eq!(blank(code), code);
        assert_eq!(blank("match c { '{' => '\\'', 'é' => 1 }"), "match c {     =>     ,     => 1 }");
    }
}
