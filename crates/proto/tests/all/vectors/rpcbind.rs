//! rpcbind versions 2, 3 and 4 (RFC 1833).

use proto::rpcbind::*;

use crate::vectors::vector::{arguments, arguments_too_long, identity, reply, reply_bad, reply_too_long, wire};

const YES: &str = "00000001";
const NO: &str = "00000000";
/// NFS version 3 on TCP, port 2049, as `mapping`.
const MAPPING: &str = "000186a3 00000003 00000006 00000801";
/// The same as `rpcb`.
const RPCB: &str = "000186a3 00000003 00000003 'tcp' 00 0000000d '127.0.0.1.8.1' 000000 00000004 'root'";
const ADDRESS: &str = "0000000d '127.0.0.1.8.1' 000000";
/// A call of procedure 0 with four bytes of arguments.
const CALL: &str = "000186a3 00000003 00000000 00000004 'args'";

const MAPPING_VALUE: portmap::Mapping =
    portmap::Mapping { program: 100_003, version: 3, protocol: portmap::Mapping::TCP, port: 2049 };
const RPCB_VALUE: Rpcb<'static> =
    Rpcb { program: 100_003, version: 3, netid: netid::TCP, address: b"127.0.0.1.8.1", owner: b"root" };
const ADDRESS_VALUE: Uaddr<'static> = Uaddr { text: b"127.0.0.1.8.1" };
const CALL_VALUE: RemoteCall<'static> = RemoteCall { program: 100_003, version: 3, procedure: 0, arguments: b"args" };
const RESULT_VALUE: RemoteResult<'static> = RemoteResult { address: b"127.0.0.1.8.1", results: b"result" };

#[test]
fn procedures_of_version_2_have_the_numbers_of_the_rfc() {
    let all = [
        identity::<portmap::Null>(),
        identity::<portmap::Set>(),
        identity::<portmap::Unset>(),
        identity::<portmap::Getport>(),
        identity::<portmap::Dump>(),
        identity::<portmap::Callit>(),
    ];
    for ((number, found), name) in (0..).zip(all).zip(portmap::PROCEDURES) {
        assert_eq!(found, (100_000, 2, number, name));
    }
    assert_eq!(all.len(), portmap::PROCEDURES.len());
}

#[test]
fn procedures_of_version_4_have_the_numbers_of_the_rfc() {
    let all = [
        identity::<Null<4>>(),
        identity::<Set<4>>(),
        identity::<Unset<4>>(),
        identity::<Getaddr<4>>(),
        identity::<Dump<4>>(),
        identity::<Callit<4>>(),
        identity::<Gettime<4>>(),
        identity::<Uaddr2taddr<4>>(),
        identity::<Taddr2uaddr<4>>(),
        identity::<Getversaddr>(),
        identity::<Indirect>(),
        identity::<Getaddrlist>(),
        identity::<Getstat>(),
    ];
    for ((number, found), name) in (0..).zip(all).zip(PROCEDURES) {
        assert_eq!(found, (100_000, 4, number, name));
    }
    assert_eq!(all.len(), PROCEDURES.len());
    assert_eq!(identity::<Taddr2uaddr<3>>(), (100_000, 3, 8, "TADDR2UADDR"));
}

#[test]
fn null_is_empty() {
    arguments::<portmap::Null>(b"", ());
    reply::<portmap::Null>(b"", ());
    arguments::<Null<3>>(b"", ());
    reply::<Null<3>>(b"", ());
}

#[test]
fn set_and_unset_of_version_2() {
    arguments::<portmap::Set>(&wire(&[MAPPING]), MAPPING_VALUE);
    reply::<portmap::Set>(&wire(&[YES]), true);
    arguments::<portmap::Unset>(
        &wire(&["000186a3 00000003 00000011 00000000"]),
        portmap::Mapping { protocol: portmap::Mapping::UDP, port: 0, ..MAPPING_VALUE },
    );
    reply::<portmap::Unset>(&wire(&[NO]), false);
    reply_bad::<portmap::Set>(&wire(&["00000002"]));
}

#[test]
fn getport() {
    arguments::<portmap::Getport>(&wire(&[MAPPING]), MAPPING_VALUE);
    reply::<portmap::Getport>(&wire(&["00000801"]), 2049);
    reply::<portmap::Getport>(&wire(&["00000000"]), 0);
}

#[test]
fn dump_of_version_2() {
    arguments::<portmap::Dump>(b"", ());
    reply::<portmap::Dump>(
        &wire(&[YES, MAPPING, YES, MAPPING, NO]),
        portmap::DumpReply { mappings: vec![MAPPING_VALUE; 2] },
    );
    reply::<portmap::Dump>(&wire(&[NO]), portmap::DumpReply { mappings: vec![] });
}

#[test]
fn callit_of_version_2() {
    arguments::<portmap::Callit>(&wire(&[CALL]), CALL_VALUE);
    reply::<portmap::Callit>(
        &wire(&["00000801 00000006 'result' 0000"]),
        portmap::CallitReply { port: 2049, results: b"result" },
    );
}

#[test]
fn set_and_unset() {
    arguments::<Set<3>>(&wire(&[RPCB]), RPCB_VALUE);
    reply::<Set<3>>(&wire(&[YES]), true);
    arguments::<Unset<4>>(
        &wire(&["000186a3 00000003 00000000 00000000 00000000"]),
        Rpcb { netid: b"", address: b"", owner: b"", ..RPCB_VALUE },
    );
    reply::<Unset<4>>(&wire(&[NO]), false);
}

#[test]
fn getaddr_and_getversaddr() {
    arguments::<Getaddr<3>>(&wire(&[RPCB]), RPCB_VALUE);
    reply::<Getaddr<3>>(&wire(&[ADDRESS]), ADDRESS_VALUE);
    reply::<Getaddr<4>>(&wire(&["00000000"]), Uaddr { text: b"" });
    arguments::<Getversaddr>(&wire(&[RPCB]), RPCB_VALUE);
    reply::<Getversaddr>(&wire(&[ADDRESS]), ADDRESS_VALUE);
}

#[test]
fn dump() {
    arguments::<Dump<4>>(b"", ());
    reply::<Dump<4>>(&wire(&[YES, RPCB, YES, RPCB, NO]), DumpReply { services: vec![RPCB_VALUE; 2] });
    reply::<Dump<3>>(&wire(&[NO]), DumpReply { services: vec![] });
}

#[test]
fn callit_and_indirect() {
    arguments::<Callit<3>>(&wire(&[CALL]), CALL_VALUE);
    reply::<Callit<3>>(&wire(&[ADDRESS, "00000006 'result' 0000"]), RESULT_VALUE);
    arguments::<Indirect>(&wire(&[CALL]), CALL_VALUE);
    reply::<Indirect>(&wire(&[ADDRESS, "00000006 'result' 0000"]), RESULT_VALUE);
}

#[test]
fn gettime() {
    arguments::<Gettime<3>>(b"", ());
    reply::<Gettime<3>>(&wire(&["65b8d980"]), 0x65b8_d980);
}

#[test]
fn addresses_are_turned_into_the_transports_form_and_back() {
    // A sockaddr_in of a little-endian machine: the family, port 2049, 127.0.0.1, eight bytes of nothing.
    let form = "00000010 00000010 02000801 7f000001 00000000 00000000";
    let value = Netbuf { max_bytes: 16, bytes: b"\x02\0\x08\x01\x7f\0\0\x01\0\0\0\0\0\0\0\0" };
    arguments::<Uaddr2taddr<3>>(&wire(&[ADDRESS]), ADDRESS_VALUE);
    reply::<Uaddr2taddr<3>>(&wire(&[form]), value);
    arguments::<Taddr2uaddr<4>>(&wire(&[form]), value);
    reply::<Taddr2uaddr<4>>(&wire(&[ADDRESS]), ADDRESS_VALUE);
}

#[test]
fn getaddrlist() {
    arguments::<Getaddrlist>(&wire(&[RPCB]), RPCB_VALUE);
    let entry = Entry {
        address: b"127.0.0.1.8.1",
        netid: netid::TCP,
        semantics: Semantics::OrderlyConnection,
        family: b"inet",
        protocol: b"tcp",
    };
    let other = Entry { address: b"::1.8.1", netid: netid::UDP6, semantics: Semantics::Datagrams, ..entry };
    reply::<Getaddrlist>(
        &wire(&[
            YES,
            ADDRESS,
            "00000003 'tcp' 00 00000003 00000004 'inet' 00000003 'tcp' 00",
            YES,
            "00000007 '::1.8.1' 00 00000004 'udp6' 00000001 00000004 'inet' 00000003 'tcp' 00",
            NO,
        ]),
        GetaddrlistReply { entries: vec![entry, other] },
    );
    reply::<Getaddrlist>(&wire(&[NO]), GetaddrlistReply { entries: vec![] });
    for unknown in ["00000000", "00000005"] {
        reply_bad::<Getaddrlist>(&wire(&[YES, ADDRESS, "00000003 'tcp' 00", unknown]));
    }
}

#[test]
fn getstat() {
    let counts = "00000000 00000001 00000002 00000003 00000004 00000005 00000006 \
                  00000007 00000008 00000009 0000000a 0000000b 0000000c";
    let calls = std::array::from_fn(|index| index as u32);
    let lookup = LookupCount { program: 100_003, version: 3, found: 4, not_found: 1, netid: b"tcp" };
    let remote = RemoteCallCount {
        program: 100_003,
        version: 3,
        procedure: 6,
        succeeded: 2,
        failed: 1,
        indirect: 3,
        netid: b"udp",
    };
    let none = Statistics { calls, sets: 1, unsets: 2, lookups: vec![], remote_calls: vec![] };
    let some = Statistics { lookups: vec![lookup; 2], remote_calls: vec![remote], ..none.clone() };
    let lookup = "00000001 000186a3 00000003 00000004 00000001 00000003 'tcp' 00";
    let remote = "00000001 000186a3 00000003 00000006 00000002 00000001 00000003 00000003 'udp' 00";
    arguments::<Getstat>(b"", ());
    reply::<Getstat>(
        &wire(&[
            counts,
            "00000001 00000002",
            NO,
            NO,
            counts,
            "00000001 00000002",
            NO,
            NO,
            counts,
            "00000001 00000002",
            lookup,
            lookup,
            NO,
            remote,
            NO,
        ]),
        GetstatReply { version_2: none.clone(), version_3: none, version_4: some },
    );
}

#[test]
fn lengths_over_the_limits_are_refused() {
    arguments_too_long::<portmap::Callit>(&wire(&["000186a3 00000003 00000000 00010001"]), MAX_CALL_BYTES);
    reply_too_long::<portmap::Callit>(&wire(&["00000801 00010001"]), MAX_CALL_BYTES);
    arguments_too_long::<Set<3>>(&wire(&["000186a3 00000003 00000081"]), MAX_NETID_BYTES);
    arguments_too_long::<Set<3>>(&wire(&["000186a3 00000003 00000000 00000101"]), MAX_UADDR_BYTES);
    arguments_too_long::<Set<3>>(&wire(&["000186a3 00000003 00000000 00000000 00000101"]), MAX_OWNER_BYTES);
    arguments_too_long::<Callit<4>>(&wire(&["000186a3 00000003 00000000 ffffffff"]), MAX_CALL_BYTES);
    arguments_too_long::<Taddr2uaddr<3>>(&wire(&["00000010 00000101"]), MAX_NETBUF_BYTES);
    reply_too_long::<Getaddr<3>>(&wire(&["00000101"]), MAX_UADDR_BYTES);
    reply_too_long::<Indirect>(&wire(&["00000000 00010001"]), MAX_CALL_BYTES);
    reply_too_long::<Getaddrlist>(&wire(&[YES, "00000000 00000081"]), MAX_NETID_BYTES);
}

#[test]
fn lists_without_end_are_refused_at_their_limits() {
    let mappings = [wire(&[YES, MAPPING]).repeat(MAX_SERVICES), wire(&[YES])].concat();
    reply_too_long::<portmap::Dump>(&mappings, MAX_SERVICES);
    let services = [wire(&[YES, RPCB]).repeat(MAX_SERVICES), wire(&[YES])].concat();
    reply_too_long::<Dump<4>>(&services, MAX_SERVICES);
    let entry = wire(&[YES, "00000000 00000000 00000001 00000000 00000000"]);
    reply_too_long::<Getaddrlist>(&[entry.repeat(MAX_ADDRESSES), wire(&[YES])].concat(), MAX_ADDRESSES);
    let lookup = wire(&[YES, "00000000 00000000 00000000 00000000 00000000"]);
    let head = wire(&["00000000"]).repeat(15);
    reply_too_long::<Getstat>(&[head, lookup.repeat(MAX_STATISTICS), wire(&[YES])].concat(), MAX_STATISTICS);
}
