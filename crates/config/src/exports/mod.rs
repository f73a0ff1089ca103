//! Files in exports(5) syntax.
//!
//! A line is a path and its clients, each with options in parentheses. `-` and options in front of clients apply to all
//! that follow on the line. Quotes, octal escapes (`\040`), comments and continued lines are read as nfs-utils reads
//! them. The defaults are those of exports(5): `ro,sync,root_squash,secure`.
//!
//! Two things differ on purpose:
//!
//! - A line without a client is for this machine only, not for everyone.
//! - A list of options separated from its client, as in `/home host (rw)`, is refused. nfs-utils exports read-only to
//!   the host, and read-write to everyone.

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

/// Reads what makes sense of a file in exports(5) syntax; messages call it `path`. All mistakes in it are added to
/// `mistakes`.
pub fn parse_exports(
    text: &str,
    path: &Path,
    defaults: &Defaults,
    mistakes: &mut Vec<ConfigError>,
) -> (Vec<ExportSpec>, Vec<Remark>) {
    let mut reader = Reader::new(path, mistakes);
    let mut entries: Vec<Entry> = Vec::new();
    for line in Lexer::new(text) {
        let Some(entry) = reader.note(line).and_then(|line| Entry::read(&line, &mut reader)) else { continue };
        match entries.iter_mut().find(|known| known.name == entry.name) {
            Some(known) => {
                let absorbed = known.absorb(entry, &reader);
                reader.note(absorbed);
            }
            None => entries.push(entry),
        }
    }
    let exports = entries.into_iter().map(|entry| entry.finish(&mut reader, defaults)).collect();
    (exports, reader.remarks)
}

#[cfg(test)]
mod tests;
