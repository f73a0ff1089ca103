//! Reads plans from text; the crate's page describes the syntax.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;

use vfs::{Name, NameError};

use crate::{Fault, InjectedError, Operation, Rule, Rules, When};

/// Why a text is not a plan. Every message quotes the wrong part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A rule has no `:`.
    #[error("the rule \"{0}\" has no ':' between operation and fault, as in read:delay=50ms")]
    NoColon(String),
    /// The operation is unknown.
    #[error("there is no operation \"{0}\"; there are any, {known}", known = operations())]
    Operation(String),
    /// A parenthesis is not closed at the end of the operation.
    #[error("the name in \"{0}\" does not end with ')' before the ':'")]
    Parenthesis(String),
    /// The text in parentheses is not a file name.
    #[error("\"{text}\" is not a file name: {source}")]
    Name {
        /// What was in the parentheses.
        text: String,
        /// The violated rule for names.
        source: NameError,
    },
    /// The operation has no name.
    #[error("\"{0}\" cannot be selected by name: only lookups and changes of directories know one")]
    NoName(String),
    /// The fault is unknown.
    #[error("there is no fault \"{0}\"; there are error=NAME, delay=TIME, short=BYTES and wouldblock")]
    Fault(String),
    /// The error is unknown.
    #[error("there is no error \"{0}\"; there are {known}", known = errors())]
    Error(String),
    /// The delay is not a time.
    #[error("\"{0}\" is not a time: a whole number and ns, us, ms or s, at most 600s")]
    Delay(String),
    /// The length of a short write is invalid.
    #[error("\"{0}\" is not a number of bytes from 1 on")]
    Short(String),
    /// A short write is for another operation than a write.
    #[error("only writes can be short, and \"{0}\" is none")]
    ShortWithoutWrite(String),
    /// The text after `@` is not the number of a call.
    #[error("\"@{0}\" does not say which call: a whole number from 1 on, and '+' for that one and all after it")]
    Nth(String),
    /// The text after `%` is not a probability.
    #[error("\"%{0}\" is not a probability from 0 to 1")]
    Chance(String),
    /// The seed is not a number.
    #[error("the seed \"{0}\" is not a whole number")]
    Seed(String),
    /// There are too many rules.
    #[error("there are more than {max} rules", max = Rules::MAX_RULES)]
    TooMany,
}

fn operations() -> String {
    Operation::ALL.map(|(_, name)| name).join(", ")
}

fn errors() -> String {
    InjectedError::ALL.map(|(_, name, _)| name).join(", ")
}

impl FromStr for Rules {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut rules = Rules::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if let Some(seed) = part.strip_prefix("seed=") {
                rules.seed = seed.parse().map_err(|_| ParseError::Seed(seed.to_owned()))?;
            } else if rules.list.len() == Rules::MAX_RULES {
                return Err(ParseError::TooMany);
            } else {
                rules.list.push(part.parse()?);
            }
        }
        Ok(rules)
    }
}

impl FromStr for Rule {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (target, effect) = text.split_once(':').ok_or_else(|| ParseError::NoColon(text.to_owned()))?;
        let (operation, name) = parse_target(target)?;
        let (fault, when) = parse_effect(effect)?;
        if matches!(fault, Fault::Short(_)) && operation != Some(Operation::Write) {
            return Err(ParseError::ShortWithoutWrite(target.to_owned()));
        }
        Ok(Rule { operation, name, when, fault })
    }
}

type Target = (Option<Operation>, Option<Vec<u8>>);

fn parse_target(text: &str) -> Result<Target, ParseError> {
    let (operation, name) = match text.split_once('(') {
        None => (text, None),
        Some((operation, rest)) => {
            let name = rest.strip_suffix(')').ok_or_else(|| ParseError::Parenthesis(text.to_owned()))?;
            (operation, Some(parse_name(name)?))
        }
    };
    let operation = parse_operation(operation)?;
    if name.is_some() && operation.is_some_and(|operation| !operation.has_name()) {
        return Err(ParseError::NoName(text.to_owned()));
    }
    Ok((operation, name))
}

fn parse_name(text: &str) -> Result<Vec<u8>, ParseError> {
    let name = Name::new(text.as_bytes()).map_err(|source| ParseError::Name { text: text.to_owned(), source })?;
    Ok(name.as_bytes().to_vec())
}

fn parse_operation(text: &str) -> Result<Option<Operation>, ParseError> {
    if text == "any" {
        return Ok(None);
    }
    let found = Operation::ALL.iter().find(|(_, name)| *name == text);
    found.map(|(operation, _)| Some(*operation)).ok_or_else(|| ParseError::Operation(text.to_owned()))
}

fn parse_effect(text: &str) -> Result<(Fault, When), ParseError> {
    if let Some((fault, nth)) = text.split_once('@') {
        return Ok((parse_fault(fault)?, parse_nth(nth)?));
    }
    match text.split_once('%') {
        Some((fault, chance)) => Ok((parse_fault(fault)?, parse_chance(chance)?)),
        None => Ok((parse_fault(text)?, When::Always)),
    }
}

fn parse_fault(text: &str) -> Result<Fault, ParseError> {
    match text.split_once('=') {
        None if text == "wouldblock" => Ok(Fault::WouldBlock),
        Some(("error", name)) => parse_error(name),
        Some(("delay", time)) => parse_delay(time),
        Some(("short", bytes)) => parse_short(bytes),
        _ => Err(ParseError::Fault(text.to_owned())),
    }
}

fn parse_error(text: &str) -> Result<Fault, ParseError> {
    let found = InjectedError::ALL.iter().find(|(_, name, _)| *name == text);
    found.map(|(error, ..)| Fault::Error(*error)).ok_or_else(|| ParseError::Error(text.to_owned()))
}

fn parse_delay(text: &str) -> Result<Fault, ParseError> {
    let wrong = || ParseError::Delay(text.to_owned());
    let digits = text.find(|byte: char| !byte.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let delay = match unit {
        "ns" => Duration::from_nanos(number),
        "us" => Duration::from_micros(number),
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        _ => return Err(wrong()),
    };
    if delay > Rule::MAX_DELAY { Err(wrong()) } else { Ok(Fault::Delay(delay)) }
}

fn parse_short(text: &str) -> Result<Fault, ParseError> {
    text.parse::<NonZeroUsize>().map(Fault::Short).map_err(|_| ParseError::Short(text.to_owned()))
}

fn parse_nth(text: &str) -> Result<When, ParseError> {
    let (number, and_after) = text.strip_suffix('+').map_or((text, false), |number| (number, true));
    match number.parse::<u64>() {
        Ok(nth) if nth > 0 => Ok(if and_after { When::From(nth) } else { When::Nth(nth) }),
        _ => Err(ParseError::Nth(text.to_owned())),
    }
}

fn parse_chance(text: &str) -> Result<When, ParseError> {
    match text.parse::<f64>() {
        Ok(probability) if (0.0..=1.0).contains(&probability) => Ok(When::Chance(probability)),
        _ => Err(ParseError::Chance(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_plan_gives_its_rules_in_order() {
        let text =
            "read:delay=50ms, write:error=nospace@3,sync:error=io%0.01,write:short=100@5+,any:wouldblock,seed=7,";
        let rules: Rules = text.parse().unwrap();
        let short = Fault::Short(NonZeroUsize::new(100).unwrap());
        let expected = vec![
            Rule::new(Operation::Read, Fault::Delay(Duration::from_millis(50))),
            Rule::new(Operation::Write, Fault::Error(InjectedError::NoSpace)).when(When::Nth(3)),
            Rule::new(Operation::Sync, Fault::Error(InjectedError::Io)).when(When::Chance(0.01)),
            Rule::new(Operation::Write, short).when(When::From(5)),
            Rule { operation: None, name: None, when: When::Always, fault: Fault::WouldBlock },
        ];
        assert_eq!(rules, Rules { seed: 7, list: expected });
        assert_eq!("".parse(), Ok(Rules::default()));
    }

    #[test]
    fn name_in_parentheses_selects() {
        let rule: Rule = "lookup(core.1):error=stale".parse().unwrap();
        assert_eq!(rule.name.as_deref(), Some(&b"core.1"[..]));
    }

    #[test]
    fn message_for_a_bad_text_quotes_what_is_wrong() {
        let cases = [
            ("read", "the rule \"read\" has no ':'"),
            ("raed:error=io", "no operation \"raed\"; there are any, attributes,"),
            ("lookup(a:error=io", "\"lookup(a\" does not end with ')'"),
            ("lookup(..):error=io", "\"..\" is not a file name: the name is '.' or '..'"),
            ("read(a):error=io", "\"read(a)\" cannot be selected by name"),
            ("read:slow", "no fault \"slow\""),
            ("read:error=nospce", "no error \"nospce\"; there are io, nospace,"),
            ("read:delay=50", "\"50\" is not a time"),
            ("read:delay=ms", "\"ms\" is not a time"),
            ("read:delay=601s", "\"601s\" is not a time"),
            ("write:short=0", "\"0\" is not a number of bytes"),
            ("read:short=1", "only writes can be short, and \"read\" is none"),
            ("read:error=io@0", "\"@0\" does not say which call"),
            ("read:error=io@-1+", "\"@-1+\" does not say which call"),
            ("read:error=io%1.5", "\"%1.5\" is not a probability"),
            ("read:error=io%NaN", "\"%NaN\" is not a probability"),
            ("seed=x", "the seed \"x\" is not"),
        ];
        for (text, expected) in cases {
            let message = text.parse::<Rules>().unwrap_err().to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
        assert_eq!("read:error=io,".repeat(65).parse::<Rules>(), Err(ParseError::TooMany));
    }
}
