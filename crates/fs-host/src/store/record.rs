//! What the store remembers of a file, and its bytes in the table of slots.
//!
//! ```text
//! head   checksum (4)  1  evidence length (1)  name length (1)  0  parent (8)  file number (8)  device (8)
//!        evidence and name (96), or, when they are longer, number of the rest (8) and their start (88)
//! rest   checksum (4)  2  0 (3)  number of the head (8)  what is left of evidence and name (112)
//! ```
//!
//! Numbers are little-endian. A slot of zeros stands for no file. A checksum covers the slot's own number too, so that
//! a slot in a wrong place is damaged.

/// The number that stands for the exported directory, which has no record.
pub(crate) const ROOT_ID: u64 = 0;

/// The bytes of one slot: four of them lie in each sector of a disk, which is written as a whole.
pub(crate) const SLOT_BYTES: usize = 128;

/// The most slots behind a head, for the longest evidence and name.
pub(crate) const MAX_REST_SLOTS: usize = (2 * u8::MAX as usize - LONG_BYTES).div_ceil(REST_BYTES);

const HEAD: u8 = 1;
const REST: u8 = 2;

/// Where the numbers of a head begin, and where its evidence and name do.
const FIXED: usize = 8;
const BODY: usize = 32;

/// How much of evidence and name a head has without a rest, with one, and how much each slot of the rest has.
const BODY_BYTES: usize = SLOT_BYTES - BODY;
const LONG_BYTES: usize = BODY_BYTES - 8;
const REST_BYTES: usize = SLOT_BYTES - 16;

/// The bytes of a slot.
pub(crate) type SlotBytes = [u8; SLOT_BYTES];

/// The slot of a number that stands for no file.
pub(crate) const EMPTY: SlotBytes = [0; SLOT_BYTES];

/// Stands for an inode number that the next mount may change.
pub(crate) const NO_FILEID: u64 = 0;

/// What tells a file from every other one, and from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint {
    /// The file's number, or [`NO_FILEID`].
    pub(crate) fileid: u64,
    /// Its device, where there is no evidence; 0 for the one of the exported directory, whose number may be another
    /// after a restart.
    pub(crate) device: u64,
    /// What a later file with the same number would not have: the kernel's handle, or the time when it was made.
    pub(crate) evidence: Vec<u8>,
}

impl Fingerprint {
    /// Whether a file with this number may be it.
    pub(crate) fn may_have(&self, fileid: u64) -> bool {
        self.fileid == fileid || self.fileid == NO_FILEID
    }
}

/// One file that a handle was given out for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredFile {
    /// The number in its handle.
    pub(crate) id: u64,
    /// The number of the directory in which it was last seen; 0 is the exported one.
    pub(crate) parent: u64,
    /// Its name there.
    pub(crate) name: Vec<u8>,
    /// What it is recognised by.
    pub(crate) fingerprint: Fingerprint,
}

/// What a slot has under a number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SlotContent {
    /// No file.
    Empty,
    /// Something that was not written there.
    Damaged,
    /// A whole record.
    Whole(StoredFile),
    /// A record whose evidence and name go on in the slots of other numbers.
    Long(Box<Long>),
}

/// The start of a record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Long {
    record: StoredFile,
    body: Vec<u8>,
    lengths: [u8; 2],
    /// The first number of the rest.
    pub(crate) rest: u64,
}

impl Fingerprint {
    /// The same in every version of this program.
    pub(crate) fn hash(&self) -> u64 {
        let sum = fnv_on(fnv_on(fnv(&self.fileid.to_le_bytes()), &self.device.to_le_bytes()), &self.evidence);
        // FNV leaves similar numbers with similar high bits; this is the finaliser of SplitMix64.
        let mixed = (sum ^ (sum >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl StoredFile {
    /// How many slots it needs behind its head.
    pub(crate) fn rest_slots(&self) -> usize {
        rest_slots(self.fingerprint.evidence.len() + self.name.len())
    }

    /// Its slots: the head, and those of the rest, which begin at the number `rest`.
    pub(crate) fn slots(&self, rest: u64) -> Vec<SlotBytes> {
        if let Some(only) = self.only_slot() {
            return vec![only];
        }
        let body = [&self.fingerprint.evidence[..], &self.name].concat();
        let (start, left) = body.split_at(LONG_BYTES);
        let mut slots = vec![self.head(&rest.to_le_bytes(), start)];
        slots.extend((rest..).zip(left.chunks(REST_BYTES)).map(|(number, bytes)| rest_slot(self.id, number, bytes)));
        slots
    }

    /// Its slot, if it needs no other.
    pub(crate) fn only_slot(&self) -> Option<SlotBytes> {
        (self.rest_slots() == 0).then(|| self.head(&self.fingerprint.evidence, &self.name))
    }

    /// The head, with two things in its body, one behind the other.
    fn head(&self, first: &[u8], second: &[u8]) -> SlotBytes {
        let mut slot = EMPTY;
        slot[4..7].copy_from_slice(&[HEAD, self.fingerprint.evidence.len() as u8, self.name.len() as u8]);
        let numbers = [self.parent, self.fingerprint.fileid, self.fingerprint.device];
        slot[FIXED..BODY].copy_from_slice(numbers.map(u64::to_le_bytes).as_flattened());
        slot[BODY..BODY + first.len()].copy_from_slice(first);
        slot[BODY + first.len()..][..second.len()].copy_from_slice(second);
        sealed(slot, self.id)
    }
}

impl SlotContent {
    /// Reads the slot of a number.
    pub(crate) fn parse(id: u64, slot: &SlotBytes) -> SlotContent {
        if *slot == EMPTY {
            return SlotContent::Empty;
        }
        let [evidence, name] = [slot[5], slot[6]];
        let length = usize::from(evidence) + usize::from(name);
        if slot[4] != HEAD || !is_sealed(slot, id) {
            return SlotContent::Damaged;
        }
        let [parent, fileid, device] = [8, 16, 24].map(|at| u64_at(slot, at));
        let fingerprint = Fingerprint { fileid, device, evidence: Vec::new() };
        let record = StoredFile { id, parent, name: Vec::new(), fingerprint };
        if length <= BODY_BYTES {
            return SlotContent::Whole(with_body(record, &slot[BODY..BODY + length], evidence));
        }
        let body = slot[BODY + 8..].to_vec();
        SlotContent::Long(Box::new(Long { record, body, lengths: [evidence, name], rest: u64_at(slot, BODY) }))
    }

    /// Whether a slot is part of another number's record.
    pub(crate) fn is_rest(number: u64, slot: &SlotBytes) -> bool {
        slot[4] == REST && is_sealed(slot, number)
    }
}

impl Long {
    /// How many slots the rest has.
    pub(crate) fn rest_slots(&self) -> usize {
        rest_slots(self.lengths.map(usize::from).iter().sum())
    }

    /// The whole record, if these are the slots of its rest.
    pub(crate) fn complete(self, rest: &[SlotBytes]) -> Option<StoredFile> {
        let Long { record, mut body, lengths, rest: first } = self;
        for (number, slot) in (first..).zip(rest) {
            let is_own = SlotContent::is_rest(number, slot) && u64_at(slot, FIXED) == record.id;
            is_own.then(|| body.extend_from_slice(&slot[16..]))?;
        }
        let length = lengths.map(usize::from).iter().sum();
        Some(with_body(record, body.get(..length)?, lengths[0]))
    }
}

fn rest_slots(body_bytes: usize) -> usize {
    if body_bytes <= BODY_BYTES { 0 } else { (body_bytes - LONG_BYTES).div_ceil(REST_BYTES) }
}

fn with_body(mut record: StoredFile, body: &[u8], evidence: u8) -> StoredFile {
    let (evidence, name) = body.split_at(evidence.into());
    record.fingerprint.evidence = evidence.to_vec();
    record.name = name.to_vec();
    record
}

fn rest_slot(id: u64, number: u64, bytes: &[u8]) -> SlotBytes {
    let mut slot = EMPTY;
    slot[4] = REST;
    slot[FIXED..16].copy_from_slice(&id.to_le_bytes());
    slot[16..16 + bytes.len()].copy_from_slice(bytes);
    sealed(slot, number)
}

fn sealed(mut slot: SlotBytes, number: u64) -> SlotBytes {
    let sum = checksum(&slot, number);
    slot[..4].copy_from_slice(&sum.to_le_bytes());
    slot
}

fn is_sealed(slot: &SlotBytes, number: u64) -> bool {
    slot[..4] == checksum(slot, number).to_le_bytes()
}

fn checksum(slot: &SlotBytes, number: u64) -> u32 {
    let words = slot[4..].chunks_exact(4).map(|word| u32_of(word).into());
    // One step for each word: FNV's step for each byte would cost more than reading the slot.
    let sum = words.fold(fnv(&number.to_le_bytes()), |sum, word: u64| (sum ^ word).wrapping_mul(0x0100_0000_01b3));
    (sum ^ (sum >> 32)) as u32
}

fn u32_of(word: &[u8]) -> u32 {
    word.try_into().map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes)
}

/// FNV-1a with 64 bits: the same in every version of this program.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    fnv_on(0xcbf2_9ce4_8422_2325, bytes)
}

fn fnv_on(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(evidence: usize, name: usize) -> StoredFile {
        let fingerprint = Fingerprint { fileid: 12, device: 0, evidence: vec![7; evidence] };
        StoredFile { id: 3, parent: 1, name: vec![0xff; name], fingerprint }
    }

    fn read_back(slots: &[SlotBytes]) -> Option<StoredFile> {
        match SlotContent::parse(3, &slots[0]) {
            SlotContent::Whole(record) => Some(record),
            SlotContent::Long(long) => long.complete(&slots[1..]),
            SlotContent::Empty | SlotContent::Damaged => None,
        }
    }

    #[test]
    fn record_of_any_length_comes_back_as_it_was_written() {
        for (evidence, name) in [(0, 1), (12, 84), (12, 85), (132, 1), (132, 255), (255, 255)] {
            let record = record(evidence, name);
            let slots = record.slots(40);
            assert_eq!(slots.len(), 1 + record.rest_slots());
            assert!(record.rest_slots() <= MAX_REST_SLOTS);
            assert_eq!(read_back(&slots), Some(record));
        }
    }

    #[test]
    fn altered_slot_is_no_record_and_neither_is_one_of_another_number() {
        let mut slots = record(132, 255).slots(40);
        for (slot, at) in (0..slots.len()).flat_map(|slot| (0..SLOT_BYTES).map(move |at| (slot, at))) {
            slots[slot][at] ^= 1;
            assert_eq!(read_back(&slots), None, "slot {slot}, byte {at}");
            slots[slot][at] ^= 1;
        }
        assert_eq!(SlotContent::parse(4, &slots[0]), SlotContent::Damaged);
        assert_eq!(SlotContent::parse(3, &EMPTY), SlotContent::Empty);
    }
}
