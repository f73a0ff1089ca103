//! One client with its options, and lists of options.

use access_rules::ClientPattern;

use super::offer::Offer;
use super::reader::{Located, Reader};
use super::vocabulary::{self, Fate};
use super::word::Word;
use crate::clients::parse_clients;
use crate::{Position, Reason, RemarkKind, suggestion};

/// A client and its options.
#[derive(Debug)]
pub(super) struct Clause {
    pub(super) clients: ClientPattern,
    pub(super) offer: Offer,
    pub(super) position: Position,
}

impl Clause {
    /// Reads `client` or `client(option,…)`; `defaults` apply to other options.
    pub(super) fn read(word: &Word<'_>, defaults: &Offer, reader: &mut Reader<'_>) -> Result<Clause, Located> {
        let (client, list) = word.split_once(b'(');
        let mut offer = defaults.clone();
        if let Some(list) = list {
            let read = read_parenthesis(&list, word.position(), &mut offer, reader);
            reader.note(read);
        }
        let clients = parse_clients(&client.text()?).map_err(|reason| (word.position(), reason.into()))?;
        Ok(Clause { clients, offer, position: word.position() })
    }
}

/// Reads `option,…)` after a parenthesis at `open`.
pub(super) fn read_parenthesis(
    list: &Word<'_>,
    open: Position,
    offer: &mut Offer,
    reader: &mut Reader<'_>,
) -> Result<(), Located> {
    match list.split_once(b')') {
        (_, None) => Err((open, Reason::OpenParenthesis)),
        (_, Some(rest)) if !rest.is_empty() => Err((rest.position(), Reason::AfterParenthesis)),
        (options, _) if options.is_empty() => Ok(()),
        (options, _) => {
            read_options(&options, offer, reader);
            Ok(())
        }
    }
}

/// Reads `option,option=value,…`.
pub(super) fn read_options(list: &Word<'_>, offer: &mut Offer, reader: &mut Reader<'_>) {
    let mut rest = Some(*list);
    while let Some(list) = rest {
        let (option, after) = list.split_once(b',');
        let read = read_option(&option, offer, reader);
        reader.note(read);
        rest = after;
    }
}

fn read_option(option: &Word<'_>, offer: &mut Offer, reader: &mut Reader<'_>) -> Result<(), Located> {
    let position = option.position();
    if option.is_empty() {
        return Err((position, Reason::EmptyOption));
    }
    let (name, value) = option.split_once(b'=');
    let (whole, name) = (option.text()?, name.text()?);
    let value = value.map(|value| value.text()).transpose()?;
    if offer.apply(&name, value.as_deref(), position)? {
        return Ok(());
    }
    match vocabulary::fate(&name, value.as_deref()) {
        Some(Fate::AlreadySo) => Ok(()),
        Some(Fate::NoEffect(why)) => {
            reader.remark(position, RemarkKind::NoEffect { option: whole, why });
            Ok(())
        }
        Some(Fate::Refused(why)) => Err((position, Reason::Refused { option: whole, why })),
        None => Err((position, unknown(&name, value.as_deref()))),
    }
}

fn unknown(name: &str, value: Option<&str>) -> Reason {
    if value.is_some() && vocabulary::names().any(|known| known == name) {
        return Reason::Value { option: name.to_owned(), wanted: "no value" };
    }
    Reason::Unknown {
        what: "option",
        name: name.to_owned(),
        nearest: suggestion::nearest(name, vocabulary::names()),
        choices: Vec::new(),
    }
}
