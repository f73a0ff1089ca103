//! The built-in rpcbind.

use std::time::{Duration, UNIX_EPOCH};

use proto::rpcbind::portmap::{self, Mapping};
use proto::rpcbind::{
    Callit, Dump, Getaddr, Getaddrlist, Getstat, Gettime, Getversaddr, Indirect, Netbuf, RemoteCall, Rpcb, Set,
    Taddr2uaddr, Uaddr, Uaddr2taddr, Unset,
};
use rpc::Rejection;
use server::{Answer, Server, Transport};

use testing::caller::{Caller, EXPORT, Said, export, memory, memory_server, settings};

const NFS: u32 = 100_003;

/// A server that announces NFS on all addresses of both families, and MOUNT on one address.
fn announced() -> Server {
    let server = memory_server();
    for version in [2, 3] {
        for address in ["0.0.0.0:2049", "[::]:2049"] {
            server.registry().set(NFS, version, Transport::Tcp, address.parse().unwrap());
            server.registry().set(NFS, version, Transport::Udp, address.parse().unwrap());
        }
    }
    server.registry().set(100_005, 3, Transport::Tcp, "192.0.2.100:635".parse().unwrap());
    server
}

fn rpcb(program: u32, version: u32, netid: &'static str) -> Rpcb<'static> {
    Rpcb { program, version, netid: netid.as_bytes(), address: b"", owner: b"" }
}

fn getport(caller: &Caller<'_>, program: u32, version: u32, protocol: u32) -> u32 {
    caller.call::<portmap::Getport>(&Mapping { program, version, protocol, port: 0 })
}

fn text(uaddr: Uaddr<'_>) -> String {
    String::from_utf8_lossy(uaddr.text).into_owned()
}

#[test]
fn getport_tells_the_port_or_0() {
    let server = announced();
    let caller = Caller::root(&server);
    assert_eq!(getport(&caller, NFS, 3, Mapping::TCP), 2049);
    assert_eq!(getport(&caller, NFS, 3, Mapping::UDP), 2049);
    assert_eq!(getport(&caller, NFS, 4, Mapping::TCP), 2049, "the service itself says which versions there are");
    assert_eq!(getport(&caller, 100_005, 3, Mapping::UDP), 0);
    assert_eq!(getport(&caller, 100_021, 4, Mapping::TCP), 0);
    assert_eq!(getport(&caller, NFS, 3, 132), 0, "no such transport");
}

#[test]
fn getaddr_tells_the_address_that_it_was_asked_at() {
    let server = announced();
    let caller = Caller::root(&server);
    assert_eq!(text(caller.call::<Getaddr<3>>(&rpcb(NFS, 3, "tcp"))), "192.0.2.100.8.1");
    assert_eq!(text(caller.call::<Getaddr<4>>(&rpcb(NFS, 3, "udp"))), "192.0.2.100.8.1");
    let other = caller.to("10.1.2.3:111");
    assert_eq!(text(other.call::<Getaddr<4>>(&rpcb(NFS, 3, "tcp"))), "10.1.2.3.8.1");
    assert_eq!(text(other.call::<Getaddr<4>>(&rpcb(100_005, 3, "tcp"))), "192.0.2.100.2.123", "it listens there only");
    let over_ipv6 = caller.from("[2001:db8::1]:700").to("[2001:db8::100]:111");
    assert_eq!(text(over_ipv6.call::<Getaddr<4>>(&rpcb(NFS, 3, "tcp6"))), "2001:db8::100.8.1");
    assert_eq!(text(over_ipv6.call::<Getaddr<4>>(&rpcb(NFS, 3, "tcp"))), "0.0.0.0.8.1");
    assert_eq!(text(caller.call::<Getaddr<4>>(&rpcb(100_021, 4, "tcp"))), "");
}

#[test]
fn getaddr_without_a_transport_means_the_one_it_came_over() {
    let server = announced();
    let caller = Caller::root(&server);
    assert_eq!(text(caller.call::<Getaddr<3>>(&rpcb(100_005, 3, ""))), "192.0.2.100.2.123");
    assert_eq!(text(caller.over_udp().call::<Getaddr<3>>(&rpcb(100_005, 3, ""))), "");
}

#[test]
fn getversaddr_finds_only_the_version_that_is_named() {
    let server = announced();
    let caller = Caller::root(&server);
    assert_eq!(text(caller.call::<Getversaddr>(&rpcb(NFS, 3, "tcp"))), "192.0.2.100.8.1");
    assert_eq!(text(caller.call::<Getversaddr>(&rpcb(NFS, 4, "tcp"))), "");
    assert_eq!(text(caller.call::<Getaddr<4>>(&rpcb(NFS, 4, "tcp"))), "192.0.2.100.8.1");
}

#[test]
fn getaddrlist_tells_all_transports_of_a_version() {
    let server = announced();
    let entries = Caller::root(&server).call::<Getaddrlist>(&rpcb(NFS, 3, "")).entries;
    let netids: Vec<_> = entries.iter().map(|entry| String::from_utf8_lossy(entry.netid)).collect();
    assert_eq!(netids, ["tcp", "udp", "tcp6", "udp6"]);
    assert_eq!((entries[0].address, entries[0].family), (&b"192.0.2.100.8.1"[..], &b"inet"[..]));
}

#[test]
fn dump_of_version_2_tells_of_ipv4_and_of_3_and_4_all() {
    let server = announced();
    let caller = Caller::root(&server);
    let mappings = caller.call::<portmap::Dump>(&()).mappings;
    assert_eq!(mappings.len(), 5);
    assert!(mappings.contains(&Mapping { program: NFS, version: 2, protocol: Mapping::UDP, port: 2049 }));
    let services = caller.call::<Dump<4>>(&()).services;
    assert_eq!(services, caller.call::<Dump<3>>(&()).services);
    assert_eq!(services.len(), 9);
    assert_eq!((services[1].netid, services[1].address), (&b"udp"[..], &b"0.0.0.0.8.1"[..]));
}

#[test]
fn only_the_superuser_of_this_machine_changes_the_registry() {
    let server = announced();
    let service = Rpcb { address: b"127.0.0.1.4.0", ..rpcb(400_000, 1, "tcp") };
    let mapping = Mapping { program: 400_001, version: 1, protocol: Mapping::TCP, port: 1024 };
    for stranger in ["192.0.2.1:700", "127.0.0.1:1024", "[::1]:5000"] {
        let caller = Caller::root(&server).from(stranger);
        assert!(!caller.call::<Set<4>>(&service) && !caller.call::<portmap::Set>(&mapping), "{stranger}");
    }
    assert_eq!(server.registry().services().len(), 9);
    let local = Caller::root(&server).from("127.0.0.1:700");
    assert!(local.call::<Set<4>>(&service) && local.call::<portmap::Set>(&mapping));
    assert!(local.call::<Set<4>>(&service), "the same once more is fine");
    let elsewhere = Rpcb { address: b"127.0.0.1.4.1", ..service };
    assert!(!local.call::<Set<4>>(&elsewhere), "another port is not");
    assert_eq!(text(local.call::<Getversaddr>(&rpcb(400_000, 1, "tcp"))), "127.0.0.1.4.0");
    assert_eq!(getport(&local, 400_001, 1, Mapping::TCP), 1024);
    assert!(!Caller::root(&server).call::<Unset<4>>(&service));
    assert!(local.call::<Unset<4>>(&rpcb(400_000, 1, "")));
    assert!(!local.call::<Unset<4>>(&rpcb(400_000, 1, "")));
    assert!(local.call::<portmap::Unset>(&mapping));
}

#[test]
fn services_of_the_server_itself_stay() {
    let server = announced();
    let local = Caller::root(&server).from("127.0.0.1:700");
    assert!(!local.call::<Unset<3>>(&rpcb(NFS, 3, "")));
    let instead = Rpcb { address: b"0.0.0.0.4.0", ..rpcb(NFS, 3, "tcp") };
    assert!(!local.call::<Set<3>>(&instead));
    assert_eq!(getport(&local, NFS, 3, Mapping::TCP), 2049);
}

#[test]
fn services_that_make_no_sense_are_refused() {
    let server = announced();
    let local = Caller::root(&server).from("127.0.0.1:700");
    let service = |netid, address: &'static [u8]| Rpcb { address, ..rpcb(400_000, 1, netid) };
    for nonsense in [
        service("tcp", b"::1.4.0"),
        service("tcp6", b"127.0.0.1.4.0"),
        service("ticlts", b"127.0.0.1.4.0"),
        service("tcp", b"nowhere"),
    ] {
        assert!(!local.call::<Set<4>>(&nonsense), "{nonsense:?}");
    }
    let mapping = Mapping { program: 400_001, version: 1, protocol: Mapping::TCP, port: 65_536 };
    assert!(!local.call::<portmap::Set>(&mapping));
}

#[test]
fn registry_is_bounded() {
    let server = memory_server();
    let local = Caller::root(&server).from("127.0.0.1:700");
    let set =
        |program| local.call::<portmap::Set>(&Mapping { program, version: 1, protocol: Mapping::TCP, port: 1024 });
    assert!((0..1024).all(set));
    assert!(!set(1024));
}

#[test]
fn calls_are_not_passed_on() {
    let server = announced();
    let caller = Caller::root(&server);
    let call = RemoteCall { program: NFS, version: 3, procedure: 0, arguments: b"" };
    let udp = caller.over_udp();
    for message in [udp.message::<portmap::Callit>(&call), udp.message::<Callit<4>>(&call)] {
        assert!(matches!(udp.send(&message), Said::Nothing(Answer::Silent)));
    }
    assert_eq!(caller.rejected::<portmap::Callit>(&call), Rejection::ProcedureUnavailable);
    assert_eq!(udp.rejected::<Indirect>(&call), Rejection::ProcedureUnavailable);
}

#[test]
fn time_is_that_of_the_clock_that_was_passed_in() {
    let mut settings = settings();
    settings.wall_clock = || UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let server = Server::new(settings, vec![export(EXPORT, memory())]).unwrap();
    assert_eq!(Caller::root(&server).call::<Gettime<4>>(&()), 1_700_000_000);
}

#[test]
fn addresses_are_turned_into_the_transports_form_and_back() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let socket = caller.call::<Uaddr2taddr<4>>(&Uaddr { text: b"192.0.2.1.8.1" });
    assert_eq!((socket.max_bytes, socket.bytes.len(), &socket.bytes[2..8]), (16, 16, &[8, 1, 192, 0, 2, 1][..]));
    assert_eq!(text(caller.call::<Taddr2uaddr<4>>(&socket)), "192.0.2.1.8.1");
    assert_eq!(caller.call::<Uaddr2taddr<3>>(&Uaddr { text: b"nowhere" }).bytes, b"");
    assert_eq!(text(caller.call::<Taddr2uaddr<3>>(&Netbuf { max_bytes: 4, bytes: b"abcd" })), "");
}

#[test]
fn calls_are_counted_by_version_and_procedure() {
    let server = announced();
    let local = Caller::root(&server).from("127.0.0.1:700");
    for _ in 0..3 {
        getport(&local, NFS, 3, Mapping::TCP);
    }
    local.call::<Getaddr<3>>(&rpcb(NFS, 3, "tcp"));
    local.call::<Set<4>>(&Rpcb { address: b"127.0.0.1.4.0", ..rpcb(400_000, 1, "tcp") });
    let counts = local.call::<Getstat>(&());
    assert_eq!((counts.version_2.calls[3], counts.version_3.calls[3], counts.version_4.calls[3]), (3, 1, 0));
    assert_eq!((counts.version_4.sets, counts.version_4.unsets), (1, 0));
}
