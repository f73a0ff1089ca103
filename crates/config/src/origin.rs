use std::fmt;
use std::path::{Path, PathBuf};

/// A place in a text. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// The first character of a text.
    pub const START: Position = Position { line: 1, column: 1 };

    /// The place of the byte at `offset` in `text`, or the end of the text.
    pub(crate) fn of_offset(text: &str, offset: usize) -> Position {
        let mut position = Position::START;
        for (_, character) in text.char_indices().take_while(|(index, _)| *index < offset) {
            position.advance(character);
        }
        position
    }

    /// Goes past `character`.
    pub(crate) fn advance(&mut self, character: char) {
        if character == '\n' {
            *self = Position { line: self.line + 1, column: 1 };
        } else {
            self.column += 1;
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Where something is configured.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    /// This argument of the command line.
    Argument(String),
    /// In a file.
    File {
        /// The file, as the user named it.
        path: PathBuf,
        /// The place in it.
        position: Position,
    },
}

impl Origin {
    /// A place in a file.
    pub(crate) fn file(path: &Path, position: Position) -> Origin {
        Origin::File { path: path.to_owned(), position }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Argument(argument) => f.write_str(argument),
            Origin::File { path, position } => write!(f, "{}:{position}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_begin_at_one() {
        let text = "ä=1\nöl";
        assert_eq!(Position::of_offset(text, 0), Position { line: 1, column: 1 });
        assert_eq!(Position::of_offset(text, 2), Position { line: 1, column: 2 });
        assert_eq!(Position::of_offset(text, 5), Position { line: 2, column: 1 });
        assert_eq!(Position::of_offset(text, 7), Position { line: 2, column: 2 });
        assert_eq!(Position::of_offset(text, 99), Position { line: 2, column: 3 });
    }
}
