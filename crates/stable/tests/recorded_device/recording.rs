//! What the disks of a machine were asked to do, in one order, and what they may hold when the power fails.

use std::ops::Range;
use std::sync::Arc;

use fastrand::Rng;

use crate::image::Image;

/// What a disk writes as a whole.
const SECTOR_BYTES: usize = 512;

#[derive(Debug, Clone)]
pub enum Event {
    Write {
        disk: usize,
        offset: u64,
        data: Arc<[u8]>,
    },
    /// Bytes became zeros: a discard, or zeros that were written without data.
    Clear {
        disk: usize,
        range: Range<u64>,
    },
    /// All earlier writes of a disk are durable.
    Flush {
        disk: usize,
    },
    /// A client asks for its next change.
    Begun {
        client: usize,
    },
    /// The client is told what became of it.
    Ended {
        client: usize,
    },
}

/// What happened since the disks had these images.
#[derive(Clone, Default)]
pub struct Recording {
    pub images: Vec<Image>,
    pub events: Vec<Event>,
    /// What is written whole or not at all, of each disk.
    pub whole: Vec<Range<u64>>,
    /// Whether writes may be torn.
    pub tears: bool,
}

impl Recording {
    /// Where to cut the power: anywhere or, as often, soon after something got durable.
    pub fn place(&self, rng: &mut Rng) -> usize {
        let anywhere = rng.usize(..=self.events.len());
        let flush = self.events[..anywhere].iter().rposition(|event| matches!(event, Event::Flush { disk: 0 }));
        match flush.filter(|_| rng.bool()) {
            Some(flush) => (flush + rng.usize(1..6)).min(self.events.len()),
            None => anywhere,
        }
    }

    /// The first place from this one on at which the only client waits for nothing.
    pub fn idle_from(&self, place: usize) -> usize {
        let is_client = |event: &&Event| matches!(event, Event::Begun { .. } | Event::Ended { .. });
        let last = self.events[..place].iter().rfind(is_client);
        let next = self.events[place..].iter().position(|event| is_client(&event));
        match last {
            Some(Event::Begun { .. }) => next.map_or(self.events.len(), |next| place + next + 1),
            _ => place,
        }
    }
}

/// The places of a recording at which the power fails, in turn.
pub struct Cutter<'r> {
    recording: &'r Recording,
    /// What the disks hold for sure, and how many events each has taken in.
    durable: Vec<(Image, usize)>,
}

impl<'r> Cutter<'r> {
    pub fn new(recording: &'r Recording) -> Cutter<'r> {
        Cutter { recording, durable: recording.images.iter().map(|image| (image.clone(), 0)).collect() }
    }

    /// What each disk holds when the power fails behind so many events. These never get fewer from one call to the
    /// next.
    pub fn cut(&mut self, at: usize, rng: &mut Rng) -> Vec<Image> {
        (0..self.durable.len()).map(|disk| self.cut_disk(disk, at, rng)).collect()
    }

    fn cut_disk(&mut self, disk: usize, at: usize, rng: &mut Rng) -> Image {
        let events = &self.recording.events;
        let (image, taken) = &mut self.durable[disk];
        let is_flush = |event: &Event| matches!(event, Event::Flush { disk: flushed } if *flushed == disk);
        if let Some(last) = events[*taken..at].iter().rposition(is_flush) {
            events[*taken..*taken + last]
                .iter()
                .filter(|event| event.disk() == Some(disk))
                .for_each(|e| e.apply(image));
            *taken += last;
        }
        let mut image = image.clone();
        let mut late: Vec<Event> =
            events[*taken..at].iter().filter(|event| event.disk() == Some(disk)).cloned().collect();
        let whole = self.recording.whole[disk].clone();
        lose_some(&mut late, &Sectors { whole, tears: self.recording.tears }, rng);
        late.iter().for_each(|event| event.apply(&mut image));
        image
    }
}

impl Event {
    fn disk(&self) -> Option<usize> {
        match self {
            Event::Write { disk, .. } | Event::Clear { disk, .. } | Event::Flush { disk } => Some(*disk),
            Event::Begun { .. } | Event::Ended { .. } => None,
        }
    }

    fn apply(&self, image: &mut Image) {
        match self {
            Event::Write { offset, data, .. } => image.write(*offset, data),
            Event::Clear { range, .. } => image.clear(range.clone()),
            Event::Flush { .. } | Event::Begun { .. } | Event::Ended { .. } => {}
        }
    }
}

/// What a disk makes of writes that no flush has followed: it keeps some of them whole, some torn, and in any order.
fn lose_some(late: &mut Vec<Event>, sectors: &Sectors, rng: &mut Rng) {
    match rng.u8(..8) {
        // All was kept, or nothing.
        0 => return,
        1 => return late.clear(),
        // Only the last ones were lost, and one is torn.
        2 | 3 => {
            late.truncate(rng.usize(..=late.len()));
            if let Some(last) = late.pop() {
                late.extend(sectors.torn(last, rng));
            }
            return;
        }
        _ => {}
    }
    let (kept, untorn) = (rng.f64(), rng.f64());
    let mut left = Vec::new();
    for event in late.drain(..) {
        match (rng.f64() < kept, rng.f64() < untorn) {
            (true, true) => left.push(event),
            (true, false) => left.extend(sectors.torn(event, rng)),
            (false, _) => {}
        }
    }
    if rng.bool() {
        rng.shuffle(&mut left);
    }
    *late = left;
}

/// How a disk tears writes.
struct Sectors {
    /// What is written whole or not at all.
    whole: Range<u64>,
    tears: bool,
}

impl Sectors {
    /// Some of the sectors of a write.
    fn torn(&self, event: Event, rng: &mut Rng) -> Vec<Event> {
        let (disk, offset, data) = match event {
            Event::Write { disk, offset, data } if self.tears => (disk, offset, data),
            event => return Vec::from_iter(rng.bool().then_some(event)),
        };
        let (kept, is_whole_kept) = (rng.f64(), rng.bool());
        let sectors = (offset..).step_by(SECTOR_BYTES).zip(data.chunks(SECTOR_BYTES));
        let sectors = sectors.filter(|(at, _)| if self.whole.contains(at) { is_whole_kept } else { rng.f64() < kept });
        sectors.map(|(offset, data)| Event::Write { disk, offset, data: data.into() }).collect()
    }
}
