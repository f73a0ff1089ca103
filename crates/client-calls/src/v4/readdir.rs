use proto::nfs4::{ArgOp, Attribute, Bitmap, Putfh, Readdir, ReaddirArgs};

use super::attributes::{self, Listed};
use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::page::{PageBuilder, RawEntry};
use crate::{DirPosition, Page};
use crate::{Handle, Reason, Result};

/// The attributes of each entry. Without RDATTR_ERROR, one file with unreadable attributes would fail the whole listing
/// (RFC 8881 §5.8.1.12).
const NAMES: Bitmap = Attribute::set(&[Attribute::RdattrError, Attribute::FileId]);
const ENTRIES: Bitmap = attributes::ALL.union(Attribute::set(&[Attribute::RdattrError, Attribute::FileHandle]));

/// Lists one page of a directory, names only (RFC 7530 §16.24, RFC 8881 §18.23).
pub async fn readdir(caller: &impl Caller, dir: &Handle, from: DirPosition, count: u32) -> Result<Page> {
    list(caller, dir, from, count, NAMES).await
}

/// Lists one page of a directory with handles and attributes.
pub async fn readdirplus(caller: &impl Caller, dir: &Handle, from: DirPosition, count: u32) -> Result<Page> {
    list(caller, dir, from, count, ENTRIES).await
}

async fn list(caller: &impl Caller, dir: &Handle, from: DirPosition, count: u32, request: Bitmap) -> Result<Page> {
    let name = if request == NAMES { "READDIR" } else { "READDIRPLUS" };
    let (cookie, verifier) = (from.cookie, from.verifier);
    let max_count = count.min(caller.most_data().0);
    let arguments = ReaddirArgs { cookie, verifier, dir_count: max_count, max_count, request };
    let operations = [putfh(dir), ArgOp::Readdir(arguments)];
    let reply = caller.call(&Request::reading(name, &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let ok = results.ok::<Readdir, _>()?;
    let mut page = PageBuilder::new(from, ok.head.verifier);
    let failed = |reason: Reason| reply.error(reason);
    for entry in &ok.entries {
        let listed = attributes::listed(&entry.attributes).map_err(failed)?;
        let (name, fileid, cookie) = (entry.name.0, shown_number(&listed), entry.cookie);
        page.push(RawEntry { name, fileid, cookie, entry: listed.entry() }).map_err(failed)?;
    }
    page.finish(ok.eof).map_err(failed)
}

/// The file number of an entry. One whose attributes may not be read has none: it is shown as 1, as by Linux's client,
/// since readdir(3) skips names with the number 0.
fn shown_number(listed: &Listed) -> u64 {
    listed.attributes.fileid.max(1)
}

#[cfg(test)]
mod tests {
    use buffer::Buffer;
    use proto::nfs4::{AttributeValue, Fattr, Status};

    use super::*;

    #[test]
    fn name_that_may_not_be_looked_up_has_a_number_that_programs_do_not_skip() {
        let number = |value| {
            let mut buffer = Buffer::new();
            shown_number(&attributes::listed(&Fattr::collect(&[value], &mut buffer)).unwrap())
        };
        assert_eq!(number(AttributeValue::RdattrError(Status::Access)), 1);
        assert_eq!(number(AttributeValue::FileId(7)), 7);
    }
}
