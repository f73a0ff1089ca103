//! What the table of growth has: dimensions, their sizes, and the calls that are counted at each size.

use std::fmt;

/// Something that a server may have many of.
#[derive(Debug)]
pub struct Dimension {
    /// The word for `--only`.
    pub word: &'static str,
    pub title: &'static str,
    /// The sizes, in rising order.
    pub sizes: &'static [Size],
    /// Whether the server needs as many files as the size.
    pub has_files: bool,
    pub lines: &'static [Line],
}

/// A size and the runs that include it.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub number: usize,
    pub extent: Extent,
}

/// How much a run counts; each extent includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// What the tests count.
    Check,
    Table,
    Full,
}

/// A call that is counted.
#[derive(Debug)]
pub struct Line {
    /// Its name in the program.
    pub name: &'static str,
    pub title: &'static str,
    pub program: Program,
    /// How much its counts differ from run to run.
    pub spread: Spread,
    /// The forms of handles that it is counted with.
    pub forms: &'static [&'static str],
}

/// The example that makes the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `growth` of `wharf-server`: a server that is called by hand.
    ByHand,
    /// `in_turns` of `wharf-net`: event loops and a client with sockets.
    Sockets,
}

/// How much counts of one call at one size differ from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// By what positions in hash tables make out.
    Hash,
    /// By how deep a random search tree happens to be.
    RandomTree,
    /// By when threads happen to run.
    Threads,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    pub dimension: &'static Dimension,
    pub line: &'static Line,
    pub form: &'static str,
}

impl Subject {
    /// The name of its bounds.
    pub fn key(&self) -> String {
        format!("{} {}", self.line.name, self.form)
    }

    /// The call, with the form of handles if there is a choice.
    pub fn title(&self) -> String {
        match self.line.forms {
            [_] => self.line.title.to_owned(),
            _ => format!("{}, handles of the {}", self.line.title, self.form),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with more {}", self.title(), self.dimension.title)
    }
}

impl Dimension {
    pub fn subjects(&'static self) -> impl Iterator<Item = Subject> {
        let of_line =
            move |line: &'static Line| line.forms.iter().map(move |form| Subject { dimension: self, line, form });
        self.lines.iter().flat_map(of_line)
    }

    pub fn sizes_within(&self, extent: Extent) -> impl Iterator<Item = usize> {
        self.sizes.iter().filter(move |size| size.extent <= extent).map(|size| size.number)
    }
}

const BOTH_FORMS: &[&str] = &["kernel", "store"];
/// No privilege is needed for these.
const STORE: &[&str] = &["store"];
/// There are no handles.
const NO_FORM: &[&str] = &["none"];

const fn check(number: usize) -> Size {
    Size { number, extent: Extent::Check }
}

const fn table(number: usize) -> Size {
    Size { number, extent: Extent::Table }
}

const fn full(number: usize) -> Size {
    Size { number, extent: Extent::Full }
}

const fn line(name: &'static str, title: &'static str) -> Line {
    Line { name, title, program: Program::ByHand, spread: Spread::Hash, forms: STORE }
}

const fn with_both_forms(name: &'static str, title: &'static str) -> Line {
    Line { name, title, program: Program::ByHand, spread: Spread::Hash, forms: BOTH_FORMS }
}

const fn with_sockets(name: &'static str, title: &'static str) -> Line {
    Line { name, title, program: Program::Sockets, spread: Spread::Threads, forms: NO_FORM }
}

pub const DIMENSIONS: &[Dimension] = &[
    Dimension {
        word: "names",
        title: "names in a directory",
        sizes: &[check(1_000), check(10_000), table(100_000), full(1_000_000)],
        has_files: true,
        lines: &[
            with_both_forms("lookup@name", "LOOKUP"),
            with_both_forms("createremove@name", "CREATE and REMOVE"),
            with_both_forms("readdirplus@name", "READDIRPLUS, per name"),
        ],
    },
    Dimension {
        word: "files",
        title: "files in use (256 are cached)",
        sizes: &[check(100), check(1_000), table(10_000)],
        has_files: true,
        lines: &[with_both_forms("getattr@file", "GETATTR"), with_both_forms("read@file", "READ of 4 KiB")],
    },
    Dimension {
        word: "connections",
        title: "connections to a loop",
        // With both ends in one process, more need more descriptors than processes often may have.
        sizes: &[check(1), table(100), check(400), full(4_000)],
        has_files: false,
        lines: &[with_sockets("connections", "call and reply of 128 bytes")],
    },
    Dimension {
        word: "clients",
        title: "clients with a session and a connection each",
        sizes: &[check(1), table(100), check(1_000), full(10_000)],
        has_files: false,
        lines: &[line("getattr41@connection", "SEQUENCE+PUTFH+GETATTR"), line("end@connection", "end of a connection")],
    },
    Dimension {
        word: "exports",
        title: "exports",
        sizes: &[check(1), table(10), table(100), check(1_000)],
        has_files: false,
        lines: &[
            line("getattr@export", "GETATTR"),
            line("mnt@export", "MNT"),
            line("lookup4@export", "PUTROOTFH+LOOKUP+LOOKUP"),
            line("lock@export", "LOCK and LOCKU"),
        ],
    },
    Dimension {
        word: "opens",
        title: "opens of other files by one client",
        sizes: &[check(1), check(1_000), table(10_000)],
        has_files: true,
        lines: &[
            line("read41@open", "SEQUENCE+PUTFH+READ of 4 KiB"),
            line("openclose@open", "SEQUENCE+PUTFH+OPEN+CLOSE"),
        ],
    },
    Dimension {
        word: "owners",
        title: "opens of the same file by other owners",
        sizes: &[check(1), check(1_000), table(10_000)],
        has_files: false,
        lines: &[line("openclose@owner", "SEQUENCE+PUTFH+OPEN+CLOSE")],
    },
    Dimension {
        word: "ranges",
        title: "locked ranges in the file",
        sizes: &[check(1), check(1_000), table(10_000)],
        has_files: false,
        lines: &[Line { spread: Spread::RandomTree, ..line("lock@ranges", "LOCK and LOCKU") }],
    },
    Dimension {
        word: "locks",
        title: "other files with locks",
        sizes: &[check(1), check(1_000), table(10_000)],
        has_files: false,
        lines: &[line("lock@locks", "LOCK and LOCKU")],
    },
    Dimension {
        word: "loops",
        title: "loops, for 64 connections",
        sizes: &[check(1), table(4), check(16)],
        has_files: false,
        lines: &[with_sockets("loops", "call and reply of 128 bytes")],
    },
    Dimension {
        word: "workers",
        title: "workers (loops and blocking threads)",
        sizes: &[check(1), table(4), check(16), full(64)],
        has_files: false,
        lines: &[line("read@worker", "READ of 4 KiB"), line("createremove@worker", "CREATE and REMOVE")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_count_the_smallest_size_and_another_one() {
        for dimension in DIMENSIONS {
            let checked: Vec<usize> = dimension.sizes_within(Extent::Check).collect();
            assert_eq!((checked.len(), checked[0]), (2, dimension.sizes[0].number), "{}", dimension.word);
            assert!(dimension.sizes.is_sorted_by_key(|size| size.number), "{}", dimension.word);
        }
    }

    #[test]
    fn each_row_has_bounds_of_its_own() {
        let mut keys: Vec<String> = DIMENSIONS.iter().flat_map(Dimension::subjects).map(|row| row.key()).collect();
        let rows = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), rows);
    }
}
