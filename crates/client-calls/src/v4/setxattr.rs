use proto::nfs4::{ArgOp, Component, Putfh, Setxattr, SetxattrArgs, SetxattrOption};

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Result, XattrMode};

/// Sets an extended attribute (RFC 8276 §8.4.2).
pub async fn setxattr(caller: &impl Caller, file: &Handle, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
    let option = match mode {
        XattrMode::Either => SetxattrOption::Either,
        XattrMode::Create => SetxattrOption::Create,
        XattrMode::Replace => SetxattrOption::Replace,
    };
    let operations = [putfh(file), ArgOp::Setxattr(SetxattrArgs { option, name: Component(name), value })];
    let reply = caller.call(&Request::changing("SETXATTR", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Setxattr, _>().map(drop)
}
