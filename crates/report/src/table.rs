use std::fmt::Write;

use crate::html::escaped;

/// On which side of its column a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// The head of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What is over it.
    pub title: String,
    /// Where its cells are.
    pub align: Align,
}

impl Column {
    /// A column of text.
    pub fn text(title: &str) -> Column {
        Column { title: title.to_owned(), align: Align::Left }
    }

    /// A column of numbers.
    pub fn number(title: &str) -> Column {
        Column { title: title.to_owned(), align: Align::Right }
    }
}

/// Rows under titles. Every row has a cell for every column: missing ones are empty, further ones are left out.
///
/// ```
/// use report::{Column, Table};
/// let mut table = Table::new([Column::text("file"), Column::number("bytes")]);
/// table.push(["a.txt".to_owned(), "12".to_owned()]);
/// assert_eq!(table.to_text(), "file   bytes\na.txt     12\n");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Table {
        Table { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().take(self.columns.len()).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Shows the table for a terminal: columns lined up, two blanks apart. Control characters are shown escaped, so
    /// that no file's name can move the cursor.
    pub fn to_text(&self) -> String {
        let lines = self.lines(printable);
        let widths = self.widths(&lines, 0);
        lines.iter().fold(String::new(), |mut text, line| {
            text.push_str(self.padded(line, &widths).join("  ").trim_end());
            text.push('\n');
            text
        })
    }

    /// Shows the table in Markdown, lined up too.
    pub fn to_markdown(&self) -> String {
        let lines = self.lines(|cell| printable(cell).replace('|', "\\|"));
        let widths = self.widths(&lines, "--:".len());
        let mut text = String::new();
        for (number, line) in lines.iter().enumerate() {
            push_markdown_line(&mut text, &self.padded(line, &widths));
            if number == 0 {
                push_markdown_line(&mut text, &self.rules(&widths));
            }
        }
        text
    }

    /// Shows the table as comma-separated values (RFC 4180).
    pub fn to_csv(&self) -> String {
        self.lines(quoted).iter().fold(String::new(), |text, line| text + &line.join(",") + "\r\n")
    }

    /// Shows the table as HTML with a caption.
    pub fn to_html(&self, caption: &str) -> String {
        let class = |column: &Column| if column.align == Align::Right { " class=\"number\"" } else { "" };
        let title = |column: &Column| format!("<th scope=\"col\"{}>{}</th>", class(column), escaped(&column.title));
        let cell = |(cell, column): (&String, &Column)| format!("<td{}>{}</td>", class(column), escaped(cell));
        let row =
            |row: &Vec<String>| format!("<tr>{}</tr>\n", row.iter().zip(&self.columns).map(cell).collect::<String>());
        format!(
            "<table><caption>{}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table>\n",
            escaped(caption),
            self.columns.iter().map(title).collect::<String>(),
            self.rows.iter().map(row).collect::<String>()
        )
    }

    /// The titles and all rows, each cell as `show` shows it.
    fn lines(&self, show: impl Fn(&str) -> String) -> Vec<Vec<String>> {
        let titles = self.columns.iter().map(|column| show(&column.title)).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(|cell| show(cell)).collect());
        std::iter::once(titles).chain(rows).collect()
    }

    fn widths(&self, lines: &[Vec<String>], least: usize) -> Vec<usize> {
        let width_of = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        (0..self.columns.len()).map(|column| width_of(column).max(least)).collect()
    }

    fn padded(&self, line: &[String], widths: &[usize]) -> Vec<String> {
        let cells = line.iter().zip(widths).zip(&self.columns);
        cells
            .map(|((cell, &width), column)| match column.align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            })
            .collect()
    }

    /// What is under the titles in Markdown.
    fn rules(&self, widths: &[usize]) -> Vec<String> {
        let rule = |(&width, column): (&usize, &Column)| match column.align {
            Align::Left => "-".repeat(width),
            Align::Right => "-".repeat(width - 1) + ":",
        };
        widths.iter().zip(&self.columns).map(rule).collect()
    }
}

fn push_markdown_line(text: &mut String, cells: &[String]) {
    // Writing into a string does not fail.
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn printable(cell: &str) -> String {
    let show =
        |letter: char| if letter.is_control() { letter.escape_default().to_string() } else { letter.to_string() };
    cell.chars().map(show).collect()
}

fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\r', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[&str; 2]]) -> Table {
        let mut table = Table::new([Column::text("way"), Column::number("ops/s")]);
        rows.iter().for_each(|row| table.push(row.map(str::to_owned)));
        table
    }

    #[test]
    fn text_and_numbers_line_up_on_their_own_sides() {
        let table = table(&[["pread", "340000"], ["größer", "9"]]);
        assert_eq!(table.to_text(), "way      ops/s\npread   340000\ngrößer       9\n");
    }

    #[test]
    fn markdown_has_its_rule_and_escapes_its_bars() {
        let table = table(&[["a|b", "1"]]);
        assert_eq!(table.to_markdown(), "| way  | ops/s |\n| ---- | ----: |\n| a\\|b |     1 |\n");
    }

    #[test]
    fn html_has_heads_a_caption_and_nothing_that_a_cell_could_add() {
        let html = table(&[["<b>\"a\"", "1"]]).to_html("a & b");
        let expected = "<table><caption>a &amp; b</caption>\n<thead><tr><th scope=\"col\">way</th>\
                        <th scope=\"col\" class=\"number\">ops/s</th></tr></thead>\n<tbody>\n\
                        <tr><td>&lt;b&gt;&quot;a&quot;</td><td class=\"number\">1</td></tr>\n</tbody></table>\n";
        assert_eq!(html, expected);
    }

    #[test]
    fn csv_quotes_what_would_be_misread() {
        let table = table(&[["a,\"b\"\n", "1"], ["plain", "2"]]);
        assert_eq!(table.to_csv(), "way,ops/s\r\n\"a,\"\"b\"\"\n\",1\r\nplain,2\r\n");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(table(&[["\u{1b}[2J\n", "1"]]).to_text(), "way          ops/s\n\\u{1b}[2J\\n      1\n");
    }

    #[test]
    fn row_has_a_cell_for_every_column() {
        let mut table = Table::new([Column::text("a"), Column::text("b")]);
        table.push(["1".to_owned()]);
        table.push(["1", "2", "3"].map(str::to_owned));
        assert_eq!(table.to_csv(), "a,b\r\n1,\r\n1,2\r\n");
    }
}
