use std::ops::Range;

use proto::nfs4::{
    ArgOp, CompoundOperation, MAX_READ_PLUS_SEGMENTS, OpNumber, Putfh, ReadPlus, ReadPlusArgs, ReadPlusHead,
    ReadPlusSegment, Res, Stateid,
};

use super::caller::Caller;
use super::putfh::putfh;
use super::reply::Reply;
use super::request::Request;
use crate::{Handle, Lie, Reason, Result, Segment, Segments};

/// Reads up to `count` bytes; holes are reported without data (RFC 7862 §15.10). The data stays where it was received.
pub async fn read_plus(
    caller: &impl Caller,
    file: &Handle,
    stateid: Stateid,
    offset: u64,
    count: u32,
) -> Result<Segments> {
    let operations = [putfh(file), ArgOp::ReadPlus(ReadPlusArgs { stateid, offset, count })];
    let reply = caller.call(&Request::reading("READ_PLUS", &operations)).await?;
    let segments = decode(&reply, Cutter::new(offset, count))?;
    if segments.segments.is_empty() && !segments.is_eof && count > 0 {
        return Err(reply.error(Reason::Lie(Lie::NoData)));
    }
    Ok(segments)
}

/// READ_PLUS decoded in parts: the head as its result, then one segment at a time.
struct InParts;

impl CompoundOperation for InParts {
    const NUMBER: OpNumber = ReadPlus::NUMBER;
    type Arguments<'a> = ReadPlusArgs;
    type Reply<'a> = Res<ReadPlusHead>;
}

/// Decodes, checks and trims the segments in one pass over the reply.
fn decode(reply: &Reply, mut cutter: Cutter) -> Result<Segments> {
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let head = results.ok::<InParts, _>()?;
    if head.segments as usize > MAX_READ_PLUS_SEGMENTS {
        return Err(reply.error(Reason::Lie(Lie::TooManySegments(head.segments))));
    }
    let mut segments = Vec::with_capacity(head.segments as usize);
    for _ in 0..head.segments {
        match results.part()? {
            ReadPlusSegment::Data { offset: begins, data } => {
                let part = cutter.cut(begins, data.len() as u64).map_err(|lie| reply.error(Reason::Lie(lie)))?;
                let bytes = || reply.share(&data[(part.start - begins) as usize..(part.end - begins) as usize]);
                segments.extend((!part.is_empty()).then(|| Segment::Data { offset: part.start, bytes: bytes() }));
            }
            ReadPlusSegment::Hole { offset, length } => {
                let part = cutter.cut(offset, length).map_err(|lie| reply.error(Reason::Lie(lie)))?;
                let length = part.end - part.start;
                segments.extend((length > 0).then_some(Segment::Hole { offset: part.start, length }));
            }
        }
    }
    Ok(Segments { segments, is_eof: head.eof && !cutter.is_cut_behind })
}

/// Checks that segments follow each other, and trims them to the request: a server may report a hole in its full length
/// (RFC 7862 §15.10.3).
#[derive(Debug)]
struct Cutter {
    asked: Range<u64>,
    /// Where the next segment must begin, after the first.
    next: Option<u64>,
    /// Whether a segment was trimmed at its end: then the end of the file is not the end of the request.
    is_cut_behind: bool,
}

impl Cutter {
    fn new(offset: u64, count: u32) -> Cutter {
        let asked = offset..offset.saturating_add(count.into());
        Cutter { asked, next: None, is_cut_behind: false }
    }

    /// The requested part of the next segment, which may be empty. Only the first may begin too early.
    fn cut(&mut self, begins: u64, length: u64) -> std::result::Result<Range<u64>, Lie> {
        let expected = self.next.unwrap_or(self.asked.start);
        let follows = if self.next.is_some() { begins == expected } else { begins <= expected };
        if !follows {
            return Err(Lie::Segment { expected, got: begins });
        }
        let ends = begins.saturating_add(length);
        self.next = Some(ends);
        self.is_cut_behind |= ends > self.asked.end;
        let start = begins.clamp(self.asked.start, self.asked.end);
        Ok(start..ends.clamp(start, self.asked.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segment_is_cut_to_what_was_asked_for() {
        let mut cutter = Cutter::new(100, 50);
        assert_eq!(cutter.cut(90, 20), Ok(100..110));
        assert_eq!(cutter.cut(110, 0), Ok(110..110));
        assert!(!cutter.is_cut_behind);
        assert_eq!(cutter.cut(110, u64::MAX), Ok(110..150));
        assert!(cutter.is_cut_behind);
        assert_eq!(cutter.cut(u64::MAX, 5), Ok(150..150));
        assert_eq!(Cutter::new(100, 50).cut(0, 100), Ok(100..100));
        assert_eq!(Cutter::new(u64::MAX - 1, 50).cut(u64::MAX - 1, 50), Ok(u64::MAX - 1..u64::MAX));
    }

    #[test]
    fn segments_that_overlap_or_leave_a_gap_are_no_reply() {
        for second in [0, 104, 106, 150, u64::MAX] {
            let mut cutter = Cutter::new(100, 50);
            assert_eq!(cutter.cut(100, 5), Ok(100..105));
            assert_eq!(cutter.cut(second, 5), Err(Lie::Segment { expected: 105, got: second }));
        }
        assert_eq!(Cutter::new(100, 50).cut(101, 5), Err(Lie::Segment { expected: 100, got: 101 }));
    }
}
