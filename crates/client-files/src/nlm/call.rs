//! Calls to the lock manager, in each version of its protocol.

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};

use proto::Operation;
use proto::nlm::{
    Cancel, CancelArgs, Lock, LockArgs, NetObj, Range, Res, Status, Test, TestArgs, TestReply, Unlock, UnlockArgs, V1,
    V3, V4, Version,
};

use super::link::Link;
use crate::v4::HeldLock;
use crate::{Error, Handle, Lie, Reason, Result};

/// The procedure to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Lock { reclaim: bool },
    Unlock,
    Test,
    Cancel,
}

/// A call about a range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) verb: Verb,
    pub(super) file: &'a Handle,
    pub(super) host: &'a [u8],
    pub(super) owner: &'a [u8],
    pub(super) svid: i32,
    pub(super) range: HeldLock,
}

/// The server's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Status(Status),
    /// A lock that conflicts with a TEST.
    Held {
        svid: i32,
        owner: Vec<u8>,
        offset: u64,
        length: u64,
        is_exclusive: bool,
    },
}

/// Gives each call a cookie of its own.
static NEXT_COOKIE: AtomicU32 = AtomicU32::new(1);

/// Asks in the link's version. Boxed, since a future is compiled again wherever another one has it in it.
pub(super) fn ask<'a>(
    link: &'a Link,
    question: &'a Question<'_>,
) -> Pin<Box<dyn Future<Output = Result<Answer>> + Send + 'a>> {
    match link.version {
        1 => Box::pin(ask_version::<V1>(link, question)),
        3 => Box::pin(ask_version::<V3>(link, question)),
        _ => Box::pin(ask_version::<V4>(link, question)),
    }
}

async fn ask_version<V: Version>(link: &Link, question: &Question<'_>) -> Result<Answer> {
    let exclusive = question.range.is_exclusive();
    let bytes = NEXT_COOKIE.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let cookie = NetObj(&bytes);
    let too_far = || link.connection.error("LOCK", Reason::Status(crate::Status::FileTooBig));
    let lock = range::<V>(question).ok_or_else(too_far)?;
    match question.verb {
        Verb::Lock { reclaim } => {
            let args = LockArgs { cookie, block: false, exclusive, lock, reclaim, state: 0 };
            tell::<Lock<V>>(link, &args, cookie).await
        }
        Verb::Unlock => tell::<Unlock<V>>(link, &UnlockArgs { cookie, lock }, cookie).await,
        Verb::Cancel => tell::<Cancel<V>>(link, &CancelArgs { cookie, block: true, exclusive, lock }, cookie).await,
        Verb::Test => {
            let response = link.connection.call::<Test<V>>(&TestArgs { cookie, exclusive, lock }).await?;
            let ok = response.decode()?;
            check(cookie, ok.cookie, &|reason| response.error(reason))?;
            Ok(match ok.reply {
                TestReply::Other(status) => Answer::Status(status),
                TestReply::Denied(holder) => Answer::Held {
                    svid: holder.svid,
                    owner: holder.owner.0.to_vec(),
                    offset: holder.offset.into(),
                    length: length_of(holder.length.into()),
                    is_exclusive: holder.exclusive,
                },
            })
        }
    }
}

/// Sends a call that is answered by a status.
async fn tell<O>(link: &Link, arguments: &O::Arguments<'_>, cookie: NetObj<'_>) -> Result<Answer>
where
    O: for<'a> Operation<Reply<'a> = Res<'a>>,
{
    let response = link.connection.call::<O>(arguments).await?;
    let res = response.decode()?;
    check(cookie, res.cookie, &|reason| response.error(reason))?;
    Ok(Answer::Status(res.status))
}

fn check(sent: NetObj<'_>, came: NetObj<'_>, error: &dyn Fn(Reason) -> Error) -> Result<()> {
    if sent == came { Ok(()) } else { Err(error(Reason::Lie(Lie::OtherCookie))) }
}

/// The range in the version's form, where length 0 reaches to the end; `None` if it exceeds the version's width.
fn range<'a, V: Version>(question: &Question<'a>) -> Option<Range<'a, V::Offset>> {
    let Question { file, host, owner, svid, range, .. } = question;
    let length = if range.length() == u64::MAX { 0 } else { range.length() };
    // The offset of the last byte must fit as well.
    V::Offset::try_from(range.offset.checked_add(length.saturating_sub(1))?).ok()?;
    Some(Range {
        caller_name: host,
        file: NetObj(file.as_bytes()),
        owner: NetObj(owner),
        svid: *svid,
        offset: V::Offset::try_from(range.offset).ok()?,
        length: V::Offset::try_from(length).ok()?,
    })
}

fn length_of(length: u64) -> u64 {
    if length == 0 { u64::MAX } else { length }
}
