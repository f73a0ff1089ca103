use super::reader::Located;
use crate::{Position, Reason};

/// One byte of a word. All bytes of a character have its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Glyph {
    pub(super) byte: u8,
    pub(super) position: Position,
    /// Whether it was quoted or escaped, and so is not punctuation.
    pub(super) is_literal: bool,
}

impl Glyph {
    /// Whether this is the punctuation mark `byte`.
    pub(super) fn is(&self, byte: u8) -> bool {
        self.byte == byte && !self.is_literal
    }
}

/// A part of a line, with the place of each byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word<'a> {
    glyphs: &'a [Glyph],
    /// The place after it.
    end: Position,
}

impl<'a> Word<'a> {
    pub(super) fn new(glyphs: &'a [Glyph], end: Position) -> Word<'a> {
        Word { glyphs, end }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.glyphs.is_empty()
    }

    /// The place of its first byte, or of its end if it is empty.
    pub(super) fn position(&self) -> Position {
        self.glyphs.first().map_or(self.end, |glyph| glyph.position)
    }

    pub(super) fn starts_with(&self, mark: u8) -> bool {
        self.glyphs.first().is_some_and(|glyph| glyph.is(mark))
    }

    pub(super) fn skip_first(&self) -> Word<'a> {
        Word { glyphs: self.glyphs.get(1..).unwrap_or_default(), end: self.end }
    }

    /// Splits at the first `mark`; the second part is `None` without one.
    pub(super) fn split_once(&self, mark: u8) -> (Word<'a>, Option<Word<'a>>) {
        match self.glyphs.iter().position(|glyph| glyph.is(mark)) {
            Some(index) => {
                let before = Word { glyphs: &self.glyphs[..index], end: self.glyphs[index].position };
                (before, Some(Word { glyphs: &self.glyphs[index + 1..], end: self.end }))
            }
            None => (*self, None),
        }
    }

    /// Its bytes as text.
    pub(super) fn text(&self) -> Result<String, Located> {
        let bytes = self.glyphs.iter().map(|glyph| glyph.byte).collect();
        String::from_utf8(bytes).map_err(|_| (self.position(), Reason::NotUtf8))
    }
}
