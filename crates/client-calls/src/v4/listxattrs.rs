use proto::nfs4::{ArgOp, Listxattrs, ListxattrsArgs, Putfh};

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Lie, Reason, Result};

/// The size limit of one reply's results, in bytes.
const PAGE_BYTES: u32 = 64 * 1024;
/// The most names of one file, far more than Linux has room for.
const MAX_NAMES: usize = 65_536;
/// The most bytes of these names, sixteen times the limit of Linux (`XATTR_LIST_MAX`).
const MAX_LIST_BYTES: usize = 1 << 20;

/// The names of all extended attributes of a file (RFC 8276 §8.4.3).
pub async fn listxattrs(caller: &impl Caller, file: &Handle) -> Result<Vec<Vec<u8>>> {
    let (mut names, mut bytes, mut cookie) = (Vec::new(), 0, 0);
    loop {
        let arguments = ListxattrsArgs { cookie, max_count: PAGE_BYTES.min(caller.most_data().0) };
        let operations = [putfh(file), ArgOp::Listxattrs(arguments)];
        let reply = caller.call(&Request::reading("LISTXATTRS", &operations)).await?;
        let mut results = reply.results();
        results.ok::<Putfh, _>()?;
        let ok = results.ok::<Listxattrs, _>()?;
        bytes += ok.names.iter().map(|name| name.0.len()).sum::<usize>();
        if bytes > MAX_LIST_BYTES {
            return Err(reply.error(Reason::Lie(Lie::TooLongList(MAX_LIST_BYTES))));
        }
        names.extend(ok.names.iter().map(|name| name.0.to_vec()));
        if ok.eof {
            return Ok(names);
        }
        if ok.names.is_empty() || ok.cookie == cookie {
            return Err(reply.error(Reason::Lie(Lie::CookieLoop)));
        }
        if names.len() > MAX_NAMES {
            return Err(reply.error(Reason::Lie(Lie::TooManyEntries(MAX_NAMES as u64))));
        }
        cookie = ok.cookie;
    }
}
