//! One path with its clients.

use std::path::Path;

use access_rules::{AccessRule, ClientPattern};

use super::clause::{Clause, read_options, read_parenthesis};
use super::lexer::Line;
use super::offer::Offer;
use super::reader::{Located, Reader};
use super::word::Word;
use crate::spec::rules_for;
use crate::{Defaults, ExportSpec, Position, Reason, RemarkKind, Source, path};

/// The lines about one path.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    position: Position,
    clauses: Vec<Clause>,
    /// The options when the export names no client.
    unnamed: Offer,
}

impl Entry {
    /// Reads a line, unless a word in it makes no sense: all of these are mistakes.
    pub(super) fn read(line: &Line, reader: &mut Reader<'_>) -> Option<Entry> {
        let before = reader.mistakes();
        let mut words = line.words();
        let first = words.next()?;
        let position = first.position();
        let name = first.text().and_then(|text| path::export_name(&text).map_err(|reason| (position, reason.into())));
        let mut entry = Entry { name: reader.note(name)?, position, clauses: Vec::new(), unnamed: Offer::default() };
        let mut bare_options = None;
        for word in words {
            if word.starts_with(b'-') {
                read_options(&word.skip_first(), &mut entry.unnamed, reader);
            } else if word.starts_with(b'(') {
                let read = entry.read_bare_options(&word, reader);
                reader.note(read);
                bare_options = Some(word.position());
            } else if let Some(position) = bare_options {
                reader.note::<()>(Err((position, Reason::DetachedOptions)));
            } else {
                let read = Clause::read(&word, &entry.unnamed, reader);
                let pushed = read.and_then(|clause| entry.push(clause));
                reader.note(pushed);
            }
        }
        (reader.mistakes() == before).then_some(entry)
    }

    /// Reads options in parentheses right after the path, which mean the same as `-` options.
    fn read_bare_options(&mut self, word: &Word<'_>, reader: &mut Reader<'_>) -> Result<(), Located> {
        if !self.clauses.is_empty() {
            return Err((word.position(), Reason::DetachedOptions));
        }
        read_parenthesis(&word.skip_first(), word.position(), &mut self.unnamed, reader)
    }

    fn push(&mut self, clause: Clause) -> Result<(), Located> {
        let client = clause.clients.to_string();
        if self.clauses.iter().any(|known| known.clients.to_string() == client) {
            return Err((clause.position, Reason::DuplicateClient { client, export: self.name.clone() }));
        }
        if let (Some((first, _)), Some((second, position))) = (self.fsid(), clause.offer.fsid)
            && first != second
        {
            return Err((position, Reason::TwoFsids { export: self.name.clone(), first }));
        }
        self.clauses.push(clause);
        Ok(())
    }

    /// Merges another line about the same path. Both lines must name clients.
    pub(super) fn absorb(&mut self, other: Entry, reader: &Reader<'_>) -> Result<(), Located> {
        if other.clauses.is_empty() || self.clauses.is_empty() {
            let first = reader.origin(self.position);
            return Err((other.position, Reason::DuplicateName { name: other.name, first }));
        }
        other.clauses.into_iter().try_for_each(|clause| self.push(clause))
    }

    fn fsid(&self) -> Option<(u64, Position)> {
        self.offers().find_map(|offer| offer.fsid)
    }

    fn offers(&self) -> impl Iterator<Item = &Offer> {
        let unnamed = self.clauses.is_empty().then_some(&self.unnamed);
        self.clauses.iter().map(|clause| &clause.offer).chain(unnamed)
    }

    /// The export that the lines describe.
    pub(super) fn finish(mut self, reader: &mut Reader<'_>, defaults: &Defaults) -> ExportSpec {
        let sync_metadata = self.is_sync(reader);
        let names_clients = !self.clauses.is_empty();
        if !names_clients {
            reader.remark(self.position, RemarkKind::NoClient { export: self.name.clone() });
        }
        // If several patterns match a client, the most specific kind counts, in the order of exports(5).
        self.clauses.sort_by_key(|clause| breadth(&clause.clients));
        let rules = match names_clients {
            true => self.clauses.iter().map(|clause| clause_rule(clause, defaults)).collect(),
            false => rules_for(Vec::new(), self.unnamed.options(defaults)),
        };
        ExportSpec {
            source: Source::Dir(Path::new(&self.name).to_owned()),
            rules,
            names_clients,
            fsid: self.fsid().map(|(fsid, _)| fsid),
            sync_metadata,
            fault: None,
            origin: reader.origin(self.position),
            name: self.name,
        }
    }

    fn is_sync(&self, reader: &mut Reader<'_>) -> bool {
        let export = self.name.clone();
        let asynchronous = self.offers().filter(|offer| offer.is_async).count();
        if asynchronous == 0 {
            return true;
        }
        let is_mixed = asynchronous < self.offers().count();
        let kind = if is_mixed { RemarkKind::MixedSync { export } } else { RemarkKind::Async { export } };
        reader.remark(self.position, kind);
        is_mixed
    }
}

fn clause_rule(clause: &Clause, defaults: &Defaults) -> AccessRule {
    AccessRule { clients: clause.clients.clone(), options: clause.offer.options(defaults) }
}

fn breadth(clients: &ClientPattern) -> u8 {
    match clients {
        ClientPattern::Host { .. } => 0,
        ClientPattern::Network { address, prefix_bits } => {
            let is_one_host = *prefix_bits == if address.is_ipv4() { 32 } else { 128 };
            if is_one_host { 0 } else { 1 }
        }
        ClientPattern::Everyone => 2,
    }
}
