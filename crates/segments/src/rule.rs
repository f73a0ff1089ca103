//! Rules that cut the data that a TCP sender may send into sends to a network card with segmentation offload.
//!
//! Rules are pure functions. They do not decide whether to send: silly-window avoidance and Nagle's algorithm (RFC 9293
//! §3.8.6.2.1, §3.7.4) come first.

/// How a sender cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// FreeBSD before the change of April 2016: whole segments while more data is queued; a lone segment is sent
    /// without offload.
    Before,
    /// FreeBSD with the change: whole segments for more than two, otherwise everything at once, with a fractional tail.
    After,
    /// TCP stacks today: whole segments while more data is queued, within the card's limits of bytes and segments.
    Today,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 3] = [Rule::Before, Rule::After, Rule::Today];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Before => "before",
            Rule::After => "after",
            Rule::Today => "today",
        }
    }

    /// Cuts the next send. The result has at least 1 byte if `offer` has, and never more than `offer`.
    pub fn cut(self, offer: Offer, card: Card) -> Cut {
        if offer.bytes <= offer.mss || !card.offloads {
            return Cut::plain(offer, offer.bytes.min(offer.mss));
        }
        match self {
            Rule::Before => before(offer, card),
            Rule::After => after(offer, card),
            Rule::Today => today(offer, card),
        }
    }
}

/// The data that may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Bytes that send buffer and windows allow.
    pub bytes: usize,
    /// Bytes queued behind these, which windows do not allow yet.
    pub backlog_bytes: usize,
    /// The maximum data of a packet: the MSS minus options; at least 1.
    pub mss: usize,
}

/// The capabilities of a network card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Card {
    /// Whether it segments at all.
    pub offloads: bool,
    /// The maximum data of one send.
    pub max_bytes: usize,
    /// The maximum number of segments of one send.
    pub max_segments: usize,
}

impl Card {
    /// Bytes of IPv4 and TCP headers with the longest options.
    const MAX_HEADER_BYTES: usize = 20 + 60;

    /// A card that takes the largest IP packet.
    pub const FULL: Card =
        Card { offloads: true, max_bytes: 65_535 - Card::MAX_HEADER_BYTES, max_segments: usize::MAX };

    /// A card without segmentation offload.
    pub const PLAIN: Card = Card { offloads: false, ..Card::FULL };
}

/// One send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Bytes of data.
    pub bytes: usize,
    /// Whether the card must segment it.
    pub offload: bool,
    /// Whether the sender immediately tries again with the rest.
    pub again: bool,
}

impl Cut {
    fn plain(offer: Offer, bytes: usize) -> Cut {
        Cut { bytes, offload: false, again: bytes < offer.bytes }
    }

    fn offloaded(offer: Offer, bytes: usize) -> Cut {
        Cut { bytes, offload: bytes > offer.mss, again: bytes < offer.bytes }
    }
}

fn before(offer: Offer, card: Card) -> Cut {
    let bytes = offer.bytes.min(card.max_bytes);
    let has_backlog = bytes < offer.bytes + offer.backlog_bytes;
    let bytes = if has_backlog { whole(bytes, offer.mss) } else { bytes };
    // With this rule the sender always tries again after a lone segment, even if nothing seems left.
    if bytes <= offer.mss { Cut { again: true, ..Cut::plain(offer, offer.mss) } } else { Cut::offloaded(offer, bytes) }
}

fn after(offer: Offer, card: Card) -> Cut {
    let bytes = offer.bytes.min(card.max_bytes);
    Cut::offloaded(offer, if bytes > 2 * offer.mss { whole(bytes, offer.mss) } else { bytes })
}

fn today(offer: Offer, card: Card) -> Cut {
    let segments = (card.max_bytes / offer.mss).min(card.max_segments).max(1);
    let bytes = offer.bytes.min(segments.saturating_mul(offer.mss));
    let has_backlog = bytes < offer.bytes + offer.backlog_bytes;
    Cut::offloaded(offer, if has_backlog { whole(bytes, offer.mss) } else { bytes })
}

/// The bytes of the whole segments in `bytes`; at least one segment.
fn whole(bytes: usize, mss: usize) -> usize {
    (bytes - bytes % mss).max(mss)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: usize = 1448;

    fn offer(bytes: usize, backlog_bytes: usize) -> Offer {
        Offer { bytes, backlog_bytes, mss: MSS }
    }

    /// (bytes, backlog) → (bytes, offload, again) for each rule in the order of [`Rule::ALL`].
    type Case = ((usize, usize), [(usize, bool, bool); 3]);

    #[test]
    fn rules_cut_as_the_table_says() {
        let same = |cut| [cut; 3];
        let table: [Case; 12] = [
            ((1, 0), same((1, false, false))),
            ((MSS, 0), same((MSS, false, false))),
            ((MSS, 9999), same((MSS, false, false))),
            // The rules differ between one and two segments.
            ((MSS + 1, 1), [(MSS, false, true), (MSS + 1, true, false), (MSS, false, true)]),
            ((2000, 5000), [(MSS, false, true), (2000, true, false), (MSS, false, true)]),
            ((2 * MSS - 1, 1), [(MSS, false, true), (2 * MSS - 1, true, false), (MSS, false, true)]),
            ((2 * MSS, 1), same((2 * MSS, true, false))),
            ((2 * MSS + 1, 1), same((2 * MSS, true, true))),
            // Without a backlog the tail is included, except by the rule that always trims above two segments.
            ((2000, 0), same((2000, true, false))),
            ((5000, 0), [(5000, true, false), (3 * MSS, true, true), (5000, true, false)]),
            // More than a card takes in one send.
            ((100_000, 0), same((45 * MSS, true, true))),
            ((65_455, 1), same((45 * MSS, true, true))),
        ];
        for ((bytes, backlog), expected) in table {
            for (rule, expected) in Rule::ALL.into_iter().zip(expected) {
                let cut = rule.cut(offer(bytes, backlog), Card::FULL);
                assert_eq!((cut.bytes, cut.offload, cut.again), expected, "{rule:?} {bytes} {backlog}");
            }
        }
    }

    #[test]
    fn card_without_offload_gets_single_segments() {
        for rule in Rule::ALL {
            let cut = rule.cut(offer(10_000, 0), Card::PLAIN);
            assert_eq!(cut, Cut { bytes: MSS, offload: false, again: true }, "{rule:?}");
        }
    }

    #[test]
    fn todays_rule_keeps_to_the_cards_segments_and_bytes() {
        let cut = |card| Rule::Today.cut(offer(60_000, 0), card).bytes;
        assert_eq!(cut(Card { max_segments: 17, ..Card::FULL }), 17 * MSS);
        assert_eq!(cut(Card { max_bytes: 16_384, ..Card::FULL }), 11 * MSS);
        assert_eq!(cut(Card { max_bytes: 100, ..Card::FULL }), MSS);
    }

    #[test]
    fn what_is_cut_again_and_again_is_all_of_it_in_the_end() {
        for (rule, seed) in Rule::ALL.into_iter().flat_map(|rule| (0..500).map(move |seed| (rule, seed))) {
            let mut random = fastrand::Rng::with_seed(seed);
            let card = Card { max_bytes: random.usize(3000..70_000), ..Card::FULL };
            let (mut left, backlog) = (random.usize(1..300_000), random.usize(0..2) * 1000);
            while left > 0 {
                let cut = rule.cut(offer(left, backlog), card);
                assert!((1..=left).contains(&cut.bytes) && cut.bytes <= card.max_bytes.max(MSS), "{rule:?} {seed}");
                assert_eq!(cut.offload, cut.bytes > MSS, "{rule:?} {seed}");
                assert!(cut.again || cut.bytes == left, "{rule:?} {seed}");
                left -= cut.bytes;
            }
        }
    }
}
