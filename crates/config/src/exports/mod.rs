//! Files in exports(5) syntax.
//!
//! A line is a path and the clients that may have it, each with options in parentheses; `-` and options in front of
//! clients hold for all that follow on the line. Quotes, octal escapes (`\040`), comments and lines that go on after a
//! backslash are read as nfs-utils reads them. The defaults are exports(5)'s: `ro,sync,root_squash,secure`.
//!
//! Two things differ on purpose. A line without a client is for this machine alone and not for everybody; and a list of
//! options that stands apart from its client is refused, as in `/home host (rw)`, which nfs-utils takes for
//! "read-only for the host, and read-write for everybody".

mod clause;
mod entry;
mod lexer;
mod offer;
mod reader;
mod vocabulary;
mod word;

use std::path::Path;

use crate::{ConfigError, Defaults, ExportSpec, Remark};

use entry::Entry;
use lexer::Lexer;
use reader::Reader;

/// Reads the text of a file in exports(5) syntax that is called `path` in messages.
///
/// # Errors
/// [`ConfigError::Bad`] with the place of the first mistake.
pub fn parse_exports(
    text: &str,
    path: &Path,
    defaults: &Defaults,
) -> Result<(Vec<ExportSpec>, Vec<Remark>), ConfigError> {
    let mut reader = Reader::new(path);
    let mut entries: Vec<Entry> = Vec::new();
    let mut lexer = Lexer::new(text);
    while let Some(words) = lexer.next_line().map_err(|located| reader.error(located))? {
        let entry = Entry::read(&words, &mut reader)?;
        match entries.iter_mut().find(|known| known.name == entry.name) {
            Some(known) => known.absorb(entry, &reader).map_err(|located| reader.error(located))?,
            None => entries.push(entry),
        }
    }
    let exports = entries.into_iter().map(|entry| entry.finish(&mut reader, defaults)).collect();
    Ok((exports, reader.remarks))
}

#[cfg(test)]
mod tests;
