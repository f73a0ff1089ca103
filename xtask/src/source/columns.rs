//! Lines that are too long to read beside other text. rustfmt holds code; this holds words.

/// The most characters of a line.
const MAX_COLUMNS: usize = 120;

/// Complains of long lines of comments in a source file.
pub(super) fn of_comments(source: &str) -> Vec<String> {
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    complaints(source.lines().enumerate().filter(|(_, line)| is_comment(line)))
}

/// Complains of long lines of a document in Markdown. Tables and examples cannot be wrapped.
pub(super) fn of_document(text: &str) -> Vec<String> {
    let mut is_example = false;
    let mut is_prose = |line: &str| {
        let is_fence = line.trim_start().starts_with("```");
        is_example ^= is_fence;
        !is_example && !is_fence && !line.starts_with('|')
    };
    complaints(text.lines().enumerate().filter(|(_, line)| is_prose(line)))
}

fn complaints<'t>(lines: impl Iterator<Item = (usize, &'t str)>) -> Vec<String> {
    let columns = lines.map(|(number, line)| (number + 1, line.chars().count()));
    let long = columns.filter(|(_, columns)| *columns > MAX_COLUMNS);
    long.map(|(line, columns)| format!("{line}: {columns} columns; {MAX_COLUMNS} are the most")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_comments_are_named_and_code_is_left_to_rustfmt() {
        let (fits, long) = ("ä".repeat(117), "ä".repeat(118));
        let source = format!("// {fits}\n    /// {fits}\nlet s = \"{long}{long}\";\n");
        assert_eq!(of_comments(&source), ["2: 125 columns; 120 are the most"]);
        assert!(of_comments(&format!("// {fits}\n")).is_empty());
    }

    #[test]
    fn long_prose_of_a_document_is_named_and_tables_and_examples_are_not() {
        let long = "a".repeat(121);
        let text = format!("{long}\n| {long} |\n```\n{long}\n```\n{long}\n");
        let named = ["1: 121 columns; 120 are the most", "6: 121 columns; 120 are the most"];
        assert_eq!(of_document(&text), named);
    }
}
