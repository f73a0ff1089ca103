//! COPY_NOTIFY (RFC 7862 §15.3): permits another server to read the current file for a copy.

use std::net::{IpAddr, SocketAddr};

use buffer::Output;
use proto::nfs4::{CopyNotifyArgs, CopyNotifyOk, NetAddr, NetLoc, Stateid, Status, Time};
use proto::rpcbind::UniversalAddress;
use state::IoKind;
use xdr::{Encode, Encoder};

use super::compound::{Compound, check_io};
use super::copies::{CopyClient, CopyNotice, NOTICE_LEASE};
use super::failure::OpResult;
use super::source::{copy_file, require_regular};
use crate::transfer;

pub(super) fn run(compound: &mut Compound<'_>, args: &CopyNotifyArgs<'_>, output: &mut Output) -> OpResult<()> {
    let node = compound.current()?;
    let stateid = compound.stateid(&args.source_stateid)?;
    // §15.3.2 requires the stateid of an open, of locks or of a delegation.
    if matches!(stateid, Stateid::ANONYMOUS | Stateid::READ_BYPASS) {
        return Err(Status::BadStateid.into());
    }
    check_io(compound.stateid_scope()?, &node, &stateid, IoKind::Read)?;
    require_regular(&node)?;
    transfer::open_for_read(&node)?;
    let (peer, now) = (compound.cx.request.peer, compound.cx.request.now);
    let asker = CopyClient { client: compound.client()?, peer, identity: compound.cx.identity.lasting() };
    let source = copy_file(&node, stateid);
    let notice = CopyNotice { asker, source, reader: address(&args.destination_server)? };
    let stateid = compound.cx.server.copy_notices.add(notice, now)?;
    let local = SocketAddr::new(peer.local.ip().to_canonical(), peer.local.port());
    let address = UniversalAddress(local).to_string();
    let netid: &[u8] = if local.is_ipv4() { b"tcp" } else { b"tcp6" };
    let ok = CopyNotifyOk {
        lease_time: Time { seconds: NOTICE_LEASE.as_secs() as i64, nanoseconds: 0 },
        stateid,
        source_servers: vec![NetLoc::Address(NetAddr { netid, address: address.as_bytes() })],
    };
    ok.encode(&mut Encoder::new(&mut output.bytes));
    Ok(())
}

/// The address of a server, if it is given as an address; names are not resolved.
fn address(server: &NetLoc<'_>) -> OpResult<Option<IpAddr>> {
    let NetLoc::Address(address) = server else { return Ok(None) };
    let UniversalAddress(address) = UniversalAddress::parse(address.address).map_err(|_| Status::Inval)?;
    Ok(Some(address.ip().to_canonical()))
}
