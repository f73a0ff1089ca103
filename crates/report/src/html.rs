//! Text in HTML and SVG.

/// Text that means itself in elements and in quoted attributes. Control characters, of which XML knows few, are shown
/// escaped.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter if letter.is_control() => out.extend(letter.escape_default()),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(escaped("<a b='c' d=\"e\">&\u{1}"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;\\u{1}");
    }
}
