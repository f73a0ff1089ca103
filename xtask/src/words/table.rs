//! Words that STYLE.md replaces, as far as a pattern can tell them from other uses. Not here are words that are right
//! elsewhere: "cut" (a TCP stream), "forget" (FUSE), "bench" (Cargo), "letter" (of a text), "run out", "tell", "wants".

/// A word and its replacement.
pub struct Word {
    /// A regular expression, matched against whole words in any case.
    pub pattern: &'static str,
    /// What to say.
    pub say: &'static str,
}

/// All of them.
pub const WORDS: &[Word] = &[
    Word { pattern: "cuts? short", say: "truncate" },
    Word { pattern: "believ(e|es|ed|ing)", say: "valid, current" },
    Word { pattern: "outdat(e|es|ing)", say: "invalidate, evict, drop" },
    Word { pattern: "unclean|changed late", say: "dirty" },
    Word { pattern: "look(s|ed|ing)? again", say: "revalidate" },
    Word { pattern: "put(s|ting)? off", say: "defer" },
    Word { pattern: "under way|on (its|their) way", say: "in flight, running, in progress" },
    Word { pattern: "heard( of)?|(meets?|met) with", say: "on reply, on timeout, received" },
    Word { pattern: "farewells?|(take|takes|took|taking) leave", say: "tear down, destroy the session" },
    Word { pattern: "(come|comes|came) to nothing", say: "fail" },
    Word { pattern: "mend(s|ed|ing)?|troubles?", say: "recover, retry, repair; a problem" },
    Word { pattern: "crews?|desks?", say: "worker, thread pool" },
    Word { pattern: "lens(es)?", say: "reader window" },
    Word { pattern: "anew|(come|comes|came) again", say: "again; retransmit, replay, make a new one" },
    Word { pattern: "where (it|they) (lies?|lay)", say: "resolve, look up" },
    Word { pattern: "(grow|grows|grew|grown) old", say: "expire, time out" },
    Word { pattern: "(hold|holds|held|holding) against", say: "compare with" },
    Word { pattern: "(can|cannot|could) be had", say: "fails, is refused, is available" },
];
