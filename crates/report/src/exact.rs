//! JSON that every reader understands exactly.
//!
//! Many readers keep numbers as binary64, JavaScript and jq among them: above 2^53 they round integers without a word
//! (RFC 8259 §6, RFC 7493 §2.2). Such integers are written as strings.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

/// The largest integer up to which binary64 has all of them.
const MAX_EXACT: u64 = 1 << 53;

/// Writes `value` as JSON over several lines, without a line break at the end.
///
/// # Errors
/// What the writer says.
pub fn write_json<W: Write, T: Serialize + ?Sized>(out: W, value: &T) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Exact::new(PrettyFormatter::new())))
}

/// Writes `value` as JSON in one line, without a line break at the end.
///
/// # Errors
/// What the writer says.
pub fn write_json_line<W: Write, T: Serialize + ?Sized>(out: W, value: &T) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Exact::new(CompactFormatter)))
}

/// Shows `value` as JSON over several lines.
///
/// # Errors
/// None but those of `value` itself.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    let mut text = Vec::new();
    write_json(&mut text, value)?;
    String::from_utf8(text).map_err(|error| serde_json::Error::io(io::Error::other(error)))
}

/// Another formatter, with large integers in quotes.
struct Exact<F> {
    inner: F,
    /// Whether the writer is inside of a string, as it is for an integer that is an object's key.
    is_in_string: bool,
}

impl<F: Formatter> Exact<F> {
    fn new(inner: F) -> Exact<F> {
        Exact { inner, is_in_string: false }
    }

    fn write_integer<W: Write + ?Sized>(&self, out: &mut W, text: &str, is_exact: bool) -> io::Result<()> {
        match is_exact || self.is_in_string {
            true => write!(out, "{text}"),
            false => write!(out, "\"{text}\""),
        }
    }
}

impl<F: Formatter> Formatter for Exact<F> {
    fn write_u64<W: Write + ?Sized>(&mut self, out: &mut W, value: u64) -> io::Result<()> {
        self.write_integer(out, &value.to_string(), value <= MAX_EXACT)
    }

    fn write_i64<W: Write + ?Sized>(&mut self, out: &mut W, value: i64) -> io::Result<()> {
        self.write_integer(out, &value.to_string(), value.unsigned_abs() <= MAX_EXACT)
    }

    fn write_u128<W: Write + ?Sized>(&mut self, out: &mut W, value: u128) -> io::Result<()> {
        self.write_integer(out, &value.to_string(), value <= MAX_EXACT.into())
    }

    fn write_i128<W: Write + ?Sized>(&mut self, out: &mut W, value: i128) -> io::Result<()> {
        self.write_integer(out, &value.to_string(), value.unsigned_abs() <= MAX_EXACT.into())
    }

    fn begin_string<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.is_in_string = true;
        self.inner.begin_string(out)
    }

    fn end_string<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.is_in_string = false;
        self.inner.end_string(out)
    }

    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.inner.begin_array(out)
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.inner.end_array(out)
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.inner.begin_array_value(out, is_first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.inner.end_array_value(out)
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.inner.begin_object(out)
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.inner.end_object(out)
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.inner.begin_object_key(out, is_first)
    }

    fn end_object_key<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.inner.end_object_key(out)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.inner.begin_object_value(out)
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.inner.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const LARGE: u64 = (1 << 53) + 1;

    #[test]
    fn integers_that_readers_would_round_are_strings() {
        let values = (1_u64 << 53, LARGE, u64::MAX, -(1_i64 << 53), i64::MIN, 0.5);
        let mut text = Vec::new();
        write_json_line(&mut text, &values).unwrap();
        let expected = "[9007199254740992,\"9007199254740993\",\"18446744073709551615\",-9007199254740992,\
                        \"-9223372036854775808\",0.5]";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn integer_that_is_a_key_has_one_pair_of_quotes() {
        let map = BTreeMap::from([(LARGE, LARGE)]);
        assert_eq!(to_json(&map).unwrap(), "{\n  \"9007199254740993\": \"9007199254740993\"\n}");
    }

    #[test]
    fn all_else_looks_as_it_always_does() {
        let value = serde_json::json!({"a": [1, 2, {}], "b": {"c": "\"x\"\n"}, "d": [], "e": null});
        assert_eq!(to_json(&value).unwrap(), serde_json::to_string_pretty(&value).unwrap());
    }
}
