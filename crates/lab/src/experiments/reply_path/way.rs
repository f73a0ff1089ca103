use crate::contender::{Contender, Named};

/// How the data of a READ comes into its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Method {
    /// It is read, and the reply copied once more before it is sent.
    Copy,
    /// It is read to where it is sent from.
    Gather,
    /// It stays in the file, however short it is, and is sent from there.
    ZeroCopy,
}

/// A way to build and send the replies to READ, made of the server's switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Way {
    method: Method,
    /// Into segments of how many KiB replies are cut; `None` leaves them whole.
    fragment_kib: Option<u32>,
    /// How many segments one send has before they are copied into one.
    max_segments: Option<u32>,
    /// Whether the replies to all requests of one receive leave together.
    batches: bool,
}

/// The limit of the network cards that the source is about.
const CARD_MAX_SEGMENTS: u32 = 32;

/// The source's server without its patch: the reference.
pub(super) const UNPATCHED: &str = "gather 2 KiB, limit 32";
/// The reference once more.
pub(super) const AGAIN: &str = "gather 2 KiB, limit 32, again (A/A)";
/// The source's server with its patch.
pub(super) const PATCHED: &str = "gather 4 KiB, limit 32";
/// What a server does that is told nothing.
const DEFAULT: &str = "default";

/// The ways, the reference first. Fragments and their limit mean something for gathered replies alone: a copied reply
/// is one piece, and the data of a zero-copy one is not in it.
pub(super) fn all(is_quick: bool) -> Vec<Named> {
    let gather = |fragment_kib, max_segments| Way { method: Method::Gather, fragment_kib, max_segments, batches: true };
    let whole = |method| Way { method, fragment_kib: None, max_segments: None, batches: true };
    let limit = Some(CARD_MAX_SEGMENTS);
    let mut ways = vec![
        named(UNPATCHED, gather(Some(2), limit).arguments()),
        named(AGAIN, gather(Some(2), limit).arguments()),
        named(PATCHED, gather(Some(4), limit).arguments()),
        named("gather whole", whole(Method::Gather).arguments()),
        named("copy", whole(Method::Copy).arguments()),
        named("zero-copy", whole(Method::ZeroCopy).arguments()),
    ];
    if !is_quick {
        ways.push(named("gather 2 KiB, no limit", gather(Some(2), None).arguments()));
        ways.push(named("gather 4 KiB, no limit", gather(Some(4), None).arguments()));
        ways.push(named(DEFAULT, Vec::new()));
        let one_by_one = Way { batches: false, ..whole(Method::ZeroCopy) };
        ways.push(named("zero-copy, one by one", one_by_one.arguments()));
    }
    ways
}

fn named(name: &str, arguments: Vec<String>) -> Named {
    Named { name: name.to_owned(), contender: Contender::Wharf(arguments) }
}

impl Way {
    /// What `wharf serve` is told for it.
    fn arguments(self) -> Vec<String> {
        let method = match self.method {
            Method::Copy => ["--reply-method", "copy"].as_slice(),
            Method::Gather => &["--reply-method", "gather"],
            Method::ZeroCopy => &["--reply-method", "sendfile", "--sendfile", "1"],
        };
        let fragment = self.fragment_kib.map_or("whole".to_owned(), |kib| format!("{kib}K"));
        let segments = self.max_segments.map_or("none".to_owned(), |max| max.to_string());
        let mut arguments: Vec<String> = method.iter().map(|&text| text.to_owned()).collect();
        arguments.extend(["--reply-fragment".to_owned(), fragment, "--reply-segments".to_owned(), segments]);
        arguments.extend((!self.batches).then(|| "--no-batching".to_owned()));
        arguments
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ways_have_names_and_arguments_of_their_own_but_for_the_control() {
        for (is_quick, count) in [(true, 6), (false, 10)] {
            let ways = all(is_quick);
            let names: HashSet<&str> = ways.iter().map(|way| way.name.as_str()).collect();
            let arguments: HashSet<String> = ways.iter().map(|way| way.contender.to_string()).collect();
            assert_eq!((ways.len(), names.len(), arguments.len()), (count, count, count - 1));
            assert_eq!((ways[0].name.as_str(), &ways[0].contender), (UNPATCHED, &ways[1].contender));
        }
    }
}
