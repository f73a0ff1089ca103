//! Reads a table key by key, so that a wrong value hides no other one.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::text::FileText;
use crate::{ConfigError, Reason, suggestion};

/// A table of the file, with its place.
pub(super) type Table<'i> = Spanned<DeTable<'i>>;

/// The values of one key.
pub(super) type Value<'i> = Spanned<DeValue<'i>>;

/// Reads a section.
pub(super) fn section<'i, T: Deserialize<'i> + Default>(
    value: &Value<'i>,
    place: &FileText<'_>,
    mistakes: &mut Vec<ConfigError>,
) -> T {
    table(value, place, mistakes).and_then(|table| read(&table, place, mistakes)).unwrap_or_default()
}

/// Reads all keys of a table whose values make sense; the others are mistakes.
pub(super) fn read<'i, T: Deserialize<'i>>(
    table: &Table<'i>,
    place: &FileText<'_>,
    mistakes: &mut Vec<ConfigError>,
) -> Option<T> {
    if let Ok(read) = T::deserialize(Deserializer::from(table.clone())) {
        return Some(read);
    }
    let mut good = DeTable::new();
    for (key, value) in table.get_ref() {
        let single = DeTable::from_iter([(key.clone(), value.clone())]);
        match T::deserialize(Deserializer::from(Spanned::new(table.span(), single))) {
            Ok(_) => drop(good.insert(key.clone(), value.clone())),
            Err(error) => mistakes.push(refusal(key.get_ref(), &error, place)),
        }
    }
    T::deserialize(Deserializer::from(Spanned::new(table.span(), good))).ok()
}

/// The value as a table.
pub(super) fn table<'i>(value: &Value<'i>, place: &FileText<'_>, mistakes: &mut Vec<ConfigError>) -> Option<Table<'i>> {
    match value.get_ref() {
        DeValue::Table(table) => Some(Spanned::new(value.span(), table.clone())),
        _ => {
            mistakes.push(place.bad(value.span())(Reason::Toml("a table is required here".to_owned())));
            None
        }
    }
}

/// The value as tables.
pub(super) fn tables<'i>(value: &Value<'i>, place: &FileText<'_>, mistakes: &mut Vec<ConfigError>) -> Vec<Table<'i>> {
    match value.get_ref() {
        DeValue::Array(values) => values.iter().filter_map(|value| table(value, place, mistakes)).collect(),
        _ => table(value, place, mistakes).into_iter().collect(),
    }
}

/// Why the value of `key` is refused.
fn refusal(key: &str, error: &toml::de::Error, place: &FileText<'_>) -> ConfigError {
    place.bad(error.span().unwrap_or(0..0))(reason(key, error.message()))
}

/// Says in a user's words what serde says, such as "unknown field `a`, expected one of `b`, `c`".
fn reason(key: &str, message: &str) -> Reason {
    let what = match message {
        _ if message.starts_with("unknown field") => "key",
        _ if message.starts_with("unknown variant") => "value",
        _ => return Reason::Toml(in_words(key, message)),
    };
    let mut quoted = message.split('`').skip(1).step_by(2).map(str::to_owned);
    let name = quoted.next().unwrap_or_default();
    unknown(what, &name, &quoted.collect::<Vec<_>>())
}

/// An unknown name, and what there is instead.
pub(super) fn unknown(what: &'static str, name: &str, known: &[String]) -> Reason {
    let nearest = suggestion::nearest(name, known.iter().map(String::as_str));
    let choices = if what == "value" { known.to_vec() } else { Vec::new() };
    Reason::Unknown { what, name: name.to_owned(), nearest, choices }
}

fn in_words(key: &str, message: &str) -> String {
    let found = message.strip_prefix("invalid type: ").and_then(|message| message.split_once(", expected "));
    match found {
        Some((found, "a sequence")) => {
            let value = found.strip_prefix("string ").unwrap_or("\"…\"");
            format!("`{key}` is a list; write {key} = [{value}]")
        }
        Some((_, "usize" | "u64" | "u32" | "u8")) => format!("`{key}` requires a number"),
        Some((found, "a string")) => match found.split('`').nth(1) {
            Some(value) => format!("`{key}` requires a text in quotes; write {key} = \"{value}\""),
            None => format!("`{key}` requires a text in quotes"),
        },
        Some((_, "a boolean")) => format!("`{key}` requires true or false"),
        None if message.starts_with("invalid value: integer") => {
            format!("`{key}` requires a number that is not negative and not that large")
        }
        _ => message.trim_end().replace('\n', "; "),
    }
}
