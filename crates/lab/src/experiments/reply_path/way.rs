use super::factors::TRANSFER_BYTES;
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
/// The source's server without its patch, with a card that takes all segments: it differs from the reference by the
/// copy alone.
pub(super) const NO_LIMIT: &str = "gather 2 KiB, no limit";
/// What the source compares.
pub(super) const SOURCE: [&str; 2] = [UNPATCHED, PATCHED];
/// Those whose loads are few, since they take long: what the source compares, and what makes the difference.
pub(super) const COMPARED: [&str; 4] = [UNPATCHED, AGAIN, PATCHED, NO_LIMIT];
/// What a server does that is told nothing.
const DEFAULT: &str = "default";

/// The ways, the reference first. Fragments and their limit mean something for gathered replies alone: a copied reply
/// is one piece, and the data of a zero-copy one is not in it. In fragments each reply leaves by itself, as FreeBSD's
/// threads send theirs. A server that is told something sleeps at once when it has nothing to do, as those threads do:
/// its time is that of its replies.
fn ways(is_quick: bool) -> Vec<(&'static str, Option<Way>)> {
    let fragments = |fragment_kib, max_segments| {
        Some(Way { method: Method::Gather, fragment_kib: Some(fragment_kib), max_segments, batches: false })
    };
    let whole = |method| Way { method, fragment_kib: None, max_segments: None, batches: true };
    let limit = Some(CARD_MAX_SEGMENTS);
    let mut ways = vec![
        (UNPATCHED, fragments(2, limit)),
        (AGAIN, fragments(2, limit)),
        (PATCHED, fragments(4, limit)),
        (NO_LIMIT, fragments(2, None)),
    ];
    if !is_quick {
        ways.extend([
            ("gather whole", Some(whole(Method::Gather))),
            ("copy", Some(whole(Method::Copy))),
            ("zero-copy", Some(whole(Method::ZeroCopy))),
            ("gather 4 KiB, no limit", fragments(4, None)),
            (DEFAULT, None),
            ("zero-copy, one by one", Some(Way { batches: false, ..whole(Method::ZeroCopy) })),
        ]);
    }
    ways
}

/// The servers of all ways.
pub(super) fn all(is_quick: bool) -> Vec<Named> {
    let server =
        |(name, way): (&str, Option<Way>)| Named { name: name.to_owned(), contender: Contender::Wharf(arguments(way)) };
    ways(is_quick).into_iter().map(server).collect()
}

/// The way of this name; nothing for another server.
fn find(name: &str) -> Option<Option<Way>> {
    Some(ways(false).into_iter().find(|(way, _)| *way == name)?.1)
}

/// The server of a way whose instructions are counted.
pub(super) fn counted(name: &str) -> Option<Contender> {
    Some(Contender::CountedWharf(arguments(find(name)?)))
}

/// How many of so many replies to READ a way flattens; nothing for another server.
pub(super) fn flattened(name: &str, reads: u64) -> Option<u64> {
    let is_flattened = find(name)?.is_some_and(|way| way.flattens(TRANSFER_BYTES));
    Some(if is_flattened { reads } else { 0 })
}

/// What `wharf serve` is told for a way: besides, to log the counters that a pass asks for.
fn arguments(way: Option<Way>) -> Vec<String> {
    let log = ["--log-level", "info"].map(str::to_owned);
    way.map_or(Vec::new(), Way::arguments).into_iter().chain(log).collect()
}

impl Way {
    /// Whether a reply to a READ of so many bytes has more segments than the limit: the data, and what is before it.
    fn flattens(self, bytes: u32) -> bool {
        let fragments = self.fragment_kib.map_or(1, |kib| bytes / (kib << 10) + 1);
        self.max_segments.is_some_and(|max| fragments > max)
    }

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
        arguments.extend(["--busy-poll", "off"].map(str::to_owned));
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
        for (is_quick, count) in [(true, 4), (false, 10)] {
            let ways = all(is_quick);
            let names: HashSet<&str> = ways.iter().map(|way| way.name.as_str()).collect();
            let arguments: HashSet<String> = ways.iter().map(|way| way.contender.to_string()).collect();
            assert_eq!((ways.len(), names.len(), arguments.len()), (count, count, count - 1));
            assert_eq!((ways[0].name.as_str(), &ways[0].contender), (UNPATCHED, &ways[1].contender));
        }
    }

    #[test]
    fn only_small_fragments_with_a_limit_are_flattened_as_in_the_source() {
        let of_ten = |name| flattened(name, 10);
        assert_eq!([UNPATCHED, AGAIN, PATCHED, NO_LIMIT, DEFAULT].map(of_ten), [10, 10, 0, 0, 0].map(Some));
        assert_eq!(of_ten("another server"), None);
    }
}
