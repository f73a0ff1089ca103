use std::fmt;

/// How the data of a READ comes into its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// It is read, and the reply copied once more before it is sent.
    Copy,
    /// It is read to where it is sent from.
    Gather,
    /// It stays in the file, however short it is, and is sent from there.
    Sendfile,
}

/// A way to build and send the replies to READ; as text, what a table calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// The one that a server takes when it is told nothing.
    Default,
    /// The same once more, in a server of its own.
    Again,
    /// One that is made of the switches.
    Switched {
        /// How the data comes into the reply.
        method: Method,
        /// Into segments of how many KiB replies are cut; `None` leaves them whole.
        fragment_kib: Option<u32>,
        /// How many segments one send has before they are copied into one.
        max_segments: Option<u32>,
        /// Whether the replies to all requests of one receive leave together.
        batches: bool,
    },
}

/// The limit of the network cards that the first source document is about.
const CARD_MAX_SEGMENTS: u32 = 32;

impl Way {
    /// Every way that differs from the others: fragments and their limit mean something for gathered replies alone, since a copied
    /// reply is one piece and the data of a zero-copy one is not in it.
    pub fn all() -> Vec<Way> {
        let mut ways = vec![Way::Default, Way::Again];
        for batches in [true, false] {
            let whole = |method| Way::Switched { method, fragment_kib: None, max_segments: None, batches };
            ways.extend([whole(Method::Sendfile), whole(Method::Gather), whole(Method::Copy)]);
            for fragment_kib in [Some(4), Some(2)] {
                ways.extend([None, Some(CARD_MAX_SEGMENTS)].map(|max_segments| Way::Switched {
                    method: Method::Gather,
                    fragment_kib,
                    max_segments,
                    batches,
                }));
            }
        }
        ways
    }

    /// What `wharf serve` is told for it.
    pub fn arguments(&self) -> Vec<String> {
        let Way::Switched { method, fragment_kib, max_segments, batches } = *self else { return Vec::new() };
        let method = match method {
            Method::Copy => ["--reply-method", "copy"].as_slice(),
            Method::Gather => &["--reply-method", "gather"],
            Method::Sendfile => &["--reply-method", "sendfile", "--sendfile", "1"],
        };
        let fragment = fragment_kib.map_or("whole".to_owned(), |kib| format!("{kib}K"));
        let segments = max_segments.map_or("none".to_owned(), |max| max.to_string());
        let mut arguments: Vec<String> = method.iter().map(|&text| text.to_owned()).collect();
        arguments.extend(["--reply-fragment".to_owned(), fragment, "--reply-segments".to_owned(), segments]);
        arguments.extend((!batches).then(|| "--no-batching".to_owned()));
        arguments
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (method, fragment_kib, max_segments, batches) = match self {
            Way::Default => return f.write_str("default"),
            Way::Again => return f.write_str("default again (A/A)"),
            Way::Switched { method, fragment_kib, max_segments, batches } => {
                (method, fragment_kib, max_segments, batches)
            }
        };
        f.write_str(match method {
            Method::Copy => "copy",
            Method::Gather => "gather",
            Method::Sendfile => "sendfile",
        })?;
        if let Some(kib) = fragment_kib {
            write!(f, ", {kib} KiB")?;
        }
        if let Some(max) = max_segments {
            write!(f, ", up to {max}")?;
        }
        f.write_str(if *batches { "" } else { ", one by one" })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ways_have_names_and_arguments_of_their_own() {
        let ways = Way::all();
        assert_eq!(ways.len(), 16);
        assert_eq!(ways.iter().map(Way::to_string).collect::<HashSet<_>>().len(), ways.len());
        assert_eq!(ways.iter().map(Way::arguments).collect::<HashSet<_>>().len(), ways.len() - 1);
        assert_eq!(Way::Again.arguments(), Way::Default.arguments());
    }
}
