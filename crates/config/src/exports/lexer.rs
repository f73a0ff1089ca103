//! Splits lines into words.

use std::iter::Peekable;
use std::str::Chars;

use super::reader::Located;
use super::word::{Glyph, Word};
use crate::{Position, Reason};

/// Splits a file into lines, and lines into words.
pub(super) struct Lexer<'a> {
    characters: Peekable<Chars<'a>>,
    position: Position,
}

/// The words of one line, which may be continued over several lines of the file.
#[derive(Debug, Default)]
pub(super) struct Line {
    words: Vec<(Vec<Glyph>, Position)>,
}

impl Line {
    pub(super) fn words(&self) -> impl Iterator<Item = Word<'_>> {
        self.words.iter().map(|(glyphs, end)| Word::new(glyphs, *end))
    }
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { characters: text.chars().peekable(), position: Position::START }
    }

    /// The next line that has a word, or `None` at the end of the file.
    fn next_line(&mut self) -> Result<Option<Line>, Located> {
        let mut line = Line::default();
        loop {
            match self.characters.peek().copied() {
                None if line.words.is_empty() => return Ok(None),
                None => return Ok(Some(line)),
                Some('\n') => {
                    self.take_character();
                    if !line.words.is_empty() {
                        return Ok(Some(line));
                    }
                }
                Some('#') => self.skip_comment(),
                Some(space) if space.is_whitespace() => {
                    self.take_character();
                }
                Some('\\') if self.is_at_continuation() => self.skip_continuation(),
                Some(_) => line.words.push(self.word()?),
            }
        }
    }

    fn take_character(&mut self) -> Option<char> {
        let character = self.characters.next()?;
        self.position.advance(character);
        Some(character)
    }

    /// Skips to the end of the line; a backslash there does not continue the comment.
    fn skip_comment(&mut self) {
        while self.characters.peek().is_some_and(|character| *character != '\n') {
            self.take_character();
        }
    }

    /// Skips a backslash and the end of its line.
    fn skip_continuation(&mut self) {
        while self.take_character().is_some_and(|character| character != '\n') {}
    }

    fn word(&mut self) -> Result<(Vec<Glyph>, Position), Located> {
        let mut glyphs = Vec::new();
        let mut quote: Option<Position> = None;
        while let Some(&character) = self.characters.peek() {
            let position = self.position;
            match character {
                '\n' => break,
                '"' => {
                    self.take_character();
                    quote = if quote.is_some() { None } else { Some(position) };
                }
                '\\' => {
                    if self.is_at_continuation() {
                        break;
                    }
                    glyphs.push(self.escape());
                }
                space if space.is_whitespace() && quote.is_none() => break,
                _ => {
                    self.take_character();
                    push(&mut glyphs, character, position, quote.is_some());
                }
            }
        }
        match quote {
            Some(position) => Err((position, Reason::OpenQuote)),
            None => Ok((glyphs, self.position)),
        }
    }

    fn is_at_continuation(&self) -> bool {
        let mut ahead = self.characters.clone();
        ahead.next();
        matches!((ahead.next(), ahead.next()), (Some('\n'), _) | (Some('\r'), Some('\n')))
    }

    /// A backslash and three octal digits are the byte with that number; any other backslash is literal.
    fn escape(&mut self) -> Glyph {
        let position = self.position;
        let mut ahead = self.characters.clone();
        let digits: Vec<u32> = ahead.by_ref().skip(1).take(3).map_while(|digit| digit.to_digit(8)).collect();
        self.take_character();
        match digits.as_slice() {
            [high @ 0..=3, middle, low] => {
                (0..3).for_each(|_| {
                    self.take_character();
                });
                Glyph { byte: (high * 64 + middle * 8 + low) as u8, position, is_literal: true }
            }
            _ => Glyph { byte: b'\\', position, is_literal: false },
        }
    }
}

fn push(glyphs: &mut Vec<Glyph>, character: char, position: Position, is_literal: bool) {
    let mut buffer = [0; 4];
    let bytes = character.encode_utf8(&mut buffer).bytes();
    glyphs.extend(bytes.map(|byte| Glyph { byte, position, is_literal }));
}

/// A line with a mistake ends where the line ends.
impl Iterator for Lexer<'_> {
    type Item = Result<Line, Located>;

    fn next(&mut self) -> Option<Result<Line, Located>> {
        self.next_line().transpose()
    }
}
