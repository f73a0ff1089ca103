use proto::nfs4::{ArgOp, Putfh, ReadPlus, ReadPlusArgs, ReadPlusOk, ReadPlusSegment, Stateid};

use super::client::Client;
use super::putfh;
use super::reply::Reply;
use super::request::Request;
use crate::{Handle, Lie, Reason, Result, Segment, Segments};

/// Reads up to `count` bytes, of which holes are only told (RFC 7862 §15.10). The data stays where it was received.
pub(crate) async fn read_plus(
    client: &Client,
    file: &Handle,
    stateid: Stateid,
    (offset, count): (u64, u32),
) -> Result<Segments> {
    let operations = [putfh(file), ArgOp::ReadPlus(ReadPlusArgs { stateid, offset, count })];
    let reply = client.call(&Request::reading("READ_PLUS", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let ok = results.ok::<ReadPlus, _>()?;
    segments(&reply, &ok, (offset, count))
}

/// Takes the segments over: each begins where the one before ends, and what lies outside of what was asked for is cut off,
/// since a hole may be told in its whole length.
fn segments(reply: &Reply, ok: &ReadPlusOk<'_>, (offset, count): (u64, u32)) -> Result<Segments> {
    let end = offset.saturating_add(count.into());
    let (mut at, mut segments) = (offset, Vec::with_capacity(ok.segments.len()));
    for segment in &ok.segments {
        let (begins, ends) = match segment {
            ReadPlusSegment::Data { offset, data } => (*offset, offset.saturating_add(data.len() as u64)),
            ReadPlusSegment::Hole { offset, length } => (*offset, offset.saturating_add(*length)),
        };
        let (from, to) = (begins.max(offset), ends.min(end));
        if from >= to && begins <= at {
            continue;
        }
        if from != at {
            return Err(reply.error(Reason::Lie(Lie::Segment { expected: at, got: begins })));
        }
        segments.push(match segment {
            ReadPlusSegment::Data { data, .. } => {
                let part = &data[(from - begins) as usize..(to - begins) as usize];
                Segment::Data { offset: from, bytes: reply.share(part) }
            }
            ReadPlusSegment::Hole { .. } => Segment::Hole { offset: from, length: to - from },
        });
        at = to;
    }
    if at == offset && !ok.eof && count > 0 {
        return Err(reply.error(Reason::Lie(Lie::NoData)));
    }
    // What was cut off behind is not the end of what was asked for.
    Ok(Segments { segments, is_eof: ok.eof })
}
