//! How clients that know no port find the server: by the rpcbind that is built in, and by that of the machine.

use std::process::{Child, Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use testing::program::Server;
use testing::program::namespace::{Namespace, is_installed};
use testing::{PATIENCE, Scratch};

const WHARF: &str = env!("CARGO_BIN_EXE_wharf");

/// A server in the namespace, on the usual port.
fn serve(namespace: &Namespace, rpcbind: &str, arguments: &[&str]) -> Server {
    let mut command = namespace.command(WHARF);
    command.args(["serve", "--rpcbind", rpcbind, "--listen", "127.0.0.1:2049", "--listen", "[::1]:2049"]);
    command.args(arguments);
    Server::spawn(2, command)
}

fn succeeds(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn wharf(namespace: &Namespace, arguments: &[&str]) -> String {
    succeeds(&namespace.command(WHARF).args(arguments).output().unwrap())
}

/// The lines of `rpcinfo -p` without their spaces: `100003 3 tcp 2049 nfs`.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn built_in_rpcbind_leads_the_own_client_to_its_exports() {
    let Some(namespace) = Namespace::new() else { return };
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    std::fs::write(export.join("here"), "text").unwrap();
    let export = export.to_str().unwrap();
    let _server = serve(&namespace, "builtin", &[export]);
    let services = wharf(&namespace, &["rpcinfo", "127.0.0.1"]);
    for program in ["100000", "100003", "100005"] {
        assert!(services.contains(program), "{services}");
    }
    assert!(wharf(&namespace, &["showmount", "-e", "127.0.0.1"]).contains(export));
    for (host, parameters) in
        [("127.0.0.1", ""), ("127.0.0.1", "?proto=udp"), ("127.0.0.1", "?version=2"), ("[::1]", "")]
    {
        let url = format!("nfs://{host}{export}{parameters}");
        assert_eq!(wharf(&namespace, &["ls", &url]), "here\n", "{url}");
    }
}

#[test]
fn built_in_rpcbind_answers_the_tools_of_the_system() {
    let Some(namespace) = Namespace::new() else { return };
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    std::fs::write(export.join("here"), "text").unwrap();
    let export = export.to_str().unwrap();
    let _server = serve(&namespace, "builtin", &["--no-root-squash", export]);
    if let Some(output) = namespace.tool("rpcbind", "rpcinfo", &["-p", "127.0.0.1"]) {
        let services = lines(&succeeds(&output));
        for line in [
            "100000 2 tcp 111 portmapper",
            "100003 3 tcp 2049 nfs",
            "100003 4 tcp 2049 nfs",
            "100003 2 udp 2049 nfs",
            "100005 3 udp 2049 mountd",
        ] {
            assert!(services.iter().any(|service| service == line), "{line} is not in {services:?}");
        }
        for (transport, program, version) in
            [("tcp", "nfs", "3"), ("udp", "nfs", "2"), ("tcp", "mountd", "1"), ("udp", "mountd", "3")]
        {
            let output = namespace.tool("rpcbind", "rpcinfo", &["-T", transport, "127.0.0.1", program, version]);
            assert!(succeeds(&output.unwrap()).contains("ready and waiting"), "{transport} {program} {version}");
        }
        let output = namespace.tool("rpcbind", "rpcinfo", &["-T", "tcp6", "::1", "nfs", "3"]).unwrap();
        assert!(succeeds(&output).contains("ready and waiting"));
        assert!(succeeds(&namespace.tool("rpcbind", "rpcinfo", &["127.0.0.1"]).unwrap()).contains("tcp6"));
    }
    if let Some(output) = namespace.tool("nfs-common", "showmount", &["-e", "127.0.0.1"]) {
        assert!(succeeds(&output).contains(export));
    }
    if let Some(output) = namespace.tool("libnfs-utils", "nfs-ls", &[&format!("nfs://127.0.0.1{export}")]) {
        assert!(succeeds(&output).contains("here"));
    }
}

#[test]
fn commands_find_a_server_without_rpcbind_at_the_usual_port() {
    let Some(namespace) = Namespace::new() else { return };
    let alone = namespace.command(WHARF).args(["rpcinfo", "127.0.0.1"]).output().unwrap();
    let said = String::from_utf8_lossy(&alone.stderr);
    assert!(alone.status.code() == Some(1) && said.contains("name the server's own port as HOST:PORT"), "{said}");
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    std::fs::write(export.join("here"), "text").unwrap();
    let export = export.to_str().unwrap();
    let _server = serve(&namespace, "off", &[export]);
    let listed = namespace.command(WHARF).args(["rpcinfo", "-p", "127.0.0.1"]).output().unwrap();
    let said = String::from_utf8_lossy(&listed.stderr).into_owned();
    assert!(said.contains("no rpcbind at port 111") && said.contains("127.0.0.1:2049"), "{said}");
    let services = lines(&succeeds(&listed));
    assert!(services.iter().any(|line| line == "100003 4 tcp 2049 nfs"), "{services:?}");
    assert!(wharf(&namespace, &["showmount", "-e", "127.0.0.1"]).contains(export));
    for parameters in ["", "?version=2", "?version=3"] {
        let url = format!("nfs://127.0.0.1{export}{parameters}");
        assert_eq!(wharf(&namespace, &["ls", &url]), "here\n", "{url}");
    }
}

#[test]
fn server_is_found_at_the_usual_port_while_rpcbind_is_silent() {
    let Some(namespace) = Namespace::new() else { return };
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    std::fs::write(export.join("here"), "text").unwrap();
    let export = export.to_str().unwrap();
    let fails = |url: &str| {
        let output = namespace.command(WHARF).args(["ls", url]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{url}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for parameters in ["version=3", "proto=udp"] {
        let said = fails(&format!("nfs://127.0.0.1{export}?{parameters}"));
        assert!(said.contains("127.0.0.1:111") && said.contains("MOUNT at port 2049"), "{said}");
    }
    // With two exports, neither is also the root.
    let _server = serve(&namespace, "off", &[export, "mem:1M"]);
    let finds = |parameters: &[&str]| {
        assert!(wharf(&namespace, &["showmount", "-e", "127.0.0.1"]).contains(export));
        for parameters in parameters {
            let url = format!("nfs://127.0.0.1{export}{parameters}");
            assert_eq!(wharf(&namespace, &["ls", &url]), "here\n", "{url}");
        }
        assert!(fails("127.0.0.1:/nowhere").contains("no such export"));
        let listed = namespace.command(WHARF).args(["rpcinfo", "127.0.0.1"]).output().unwrap();
        assert!(String::from_utf8_lossy(&listed.stderr).contains("no rpcbind at port 111"));
        assert!(succeeds(&listed).contains("100003"));
    };
    finds(&["?proto=udp", "?proto=udp&version=2"]);
    // A stopped process has the port, accepts connections, and answers nothing.
    let mut command = namespace.command(WHARF);
    command.args(["serve", "--rpcbind", "builtin", "--listen", "127.0.0.1:3049", "mem:1M"]);
    let silent = Server::spawn(1, command);
    silent.signal(Signal::STOP);
    finds(&["", "?version=3", "?version=2", "?proto=udp"]);
}

#[test]
fn commands_speak_the_newest_version_and_older_ones_where_only_those_have_the_export() {
    let Some(namespace) = Namespace::new() else { return };
    let scratch = Scratch::new();
    let (root, below) = (scratch.dir("root"), scratch.dir("root/below"));
    std::fs::write(below.join("here"), "text").unwrap();
    let (root, below) = (root.to_str().unwrap(), below.to_str().unwrap());
    let lines = format!("{root} 127.0.0.1(rw,insecure,fsid=0)\n{below} 127.0.0.1(rw,insecure)\n");
    let exports = scratch.file("exports", &lines);
    let _server = serve(&namespace, "off", &["--exports", exports.to_str().unwrap()]);
    for (path, is_v4) in [("/below/here", true), (&*format!("{below}/here"), false)] {
        let command = ["cat", "--nfsstat=json", &format!("127.0.0.1:{path}")];
        let output = namespace.command(WHARF).args(command).output().unwrap();
        assert_eq!(succeeds(&output), "text", "{path}");
        let counts = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(counts.contains("\"EXCHANGE_ID\""), is_v4, "{path}: {counts}");
    }
    let output = namespace.command(WHARF).args(["ls", "127.0.0.1:/nowhere/at/all"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("no such export"), "{said}");
}

#[test]
fn link_local_address_is_served_and_reached_in_its_zone() {
    let Some(namespace) = Namespace::new() else { return };
    let script = "ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up && \
                  ip address add fe80::1/64 dev v0 nodad";
    if !namespace.command("sh").args(["-c", script]).output().unwrap().status.success() {
        println!("skipped: there are no veth devices or no IPv6 here");
        return;
    }
    let mut command = namespace.command(WHARF);
    command.args(["serve", "--listen", "[fe80::1%v0]:2049", "--client", "fe80::/10", "mem:1M"]);
    let _server = Server::spawn(1, command);
    for url in ["nfs://[fe80::1%25v0]/mem", "nfs://[fe80::1%25v0]/mem?version=3&mountport=2049", "[fe80::1%v0]:/mem"] {
        assert_eq!(wharf(&namespace, &["ls", url]), "", "{url}");
    }
}

/// The rpcbind of the system, in a namespace where nothing else has its port and its socket.
struct Rpcbind(Child);

impl Rpcbind {
    fn start(namespace: &Namespace) -> Option<Rpcbind> {
        if !is_installed("rpcbind") || !is_installed("rpcinfo") {
            println!("skipped: there is no rpcbind; install rpcbind");
            return None;
        }
        let rpcbind = Rpcbind(namespace.command("rpcbind").arg("-f").spawn().unwrap());
        let began = Instant::now();
        while !rpcinfo(namespace).status.success() {
            assert!(began.elapsed() < PATIENCE, "rpcbind does not start");
            thread::sleep(Duration::from_millis(50));
        }
        Some(rpcbind)
    }
}

impl Drop for Rpcbind {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The system's status monitor at port 4000.
struct Monitor(Child);

impl Monitor {
    fn start(namespace: &Namespace) -> Option<Monitor> {
        if !is_installed("rpc.statd") {
            println!("skipped: there is no rpc.statd; install nfs-common");
            return None;
        }
        let script = "mkdir -p /run/statd/sm /run/statd/sm.bak && exec rpc.statd -F --no-notify -P /run/statd -p 4000";
        let monitor = Monitor(namespace.command("sh").args(["-c", script]).spawn().unwrap());
        let began = Instant::now();
        while registered(namespace, 4000) < 2 {
            assert!(began.elapsed() < PATIENCE, "rpc.statd does not register");
            thread::sleep(Duration::from_millis(50));
        }
        Some(monitor)
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn rpcinfo(namespace: &Namespace) -> Output {
    let mut command: Command = namespace.command("rpcinfo");
    command.args(["-p", "127.0.0.1"]).output().unwrap()
}

/// How many services of the server the system's rpcbind knows at `port`.
fn registered(namespace: &Namespace, port: u16) -> usize {
    let services = lines(&succeeds(&rpcinfo(namespace)));
    let port = format!(" {port} ");
    let is_ours = |line: &&String| PROGRAMS.iter().any(|program| line.starts_with(program)) && line.contains(&port);
    services.iter().filter(is_ours).count()
}

/// NFS, MOUNT, the lock manager, the status monitor and NFSACL.
const PROGRAMS: [&str; 5] = ["100003 ", "100005 ", "100021 ", "100024 ", "100227 "];
/// NFS 2 and 3, NFSACL 2 and 3, MOUNT 1 to 3, the lock manager 1, 3 and 4, and the status monitor 1 over TCP and UDP,
/// and NFS 4 over TCP, as version 2 of rpcbind tells them.
const SERVICES: usize = 23;

#[test]
fn server_registers_with_the_machines_rpcbind_and_takes_itself_off() {
    let Some(namespace) = Namespace::new() else { return };
    let Some(_rpcbind) = Rpcbind::start(&namespace) else { return };
    let mut server = serve(&namespace, "register", &["mem:1M"]);
    assert_eq!(registered(&namespace, 2049), SERVICES);
    for host in ["127.0.0.1", "[::1]"] {
        assert_eq!(wharf(&namespace, &["ls", &format!("nfs://{host}/mem")]), "", "{host}");
    }
    server.signal(Signal::TERM);
    assert_eq!(server.wait(), Some(0));
    assert_eq!(registered(&namespace, 2049), 0);
}

/// Gives the name `both` the addresses of both kinds in the namespace.
fn name_both_addresses(namespace: &Namespace) {
    let script = "printf '::1 both\\n127.0.0.1 both\\n' > /run/hosts && mount --bind /run/hosts /etc/hosts";
    succeeds(&namespace.command("sh").args(["-c", script]).output().unwrap());
}

#[test]
fn host_is_reached_at_that_of_its_addresses_which_is_served() {
    let Some(namespace) = Namespace::new() else { return };
    let Some(_rpcbind) = Rpcbind::start(&namespace) else { return };
    name_both_addresses(&namespace);
    let mut command = namespace.command(WHARF);
    command.args(["serve", "--rpcbind", "register", "--listen", "127.0.0.1:2049", "mem:1M"]);
    let _server = Server::spawn(1, command);
    // At ::1 there is an rpcbind that knows nothing of it.
    assert_eq!(wharf(&namespace, &["ls", "nfs://both/mem"]), "");
    assert!(wharf(&namespace, &["showmount", "-e", "both"]).contains("/mem"));
    let output = namespace.command(WHARF).args(["mount", "both:/mem", "/mnt", "-o", "proto=tcp6"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("[::1]:2049"), "{said}");
}

#[test]
fn mount_is_asked_over_the_transport_that_rpcbind_knows_it_by() {
    let Some(namespace) = Namespace::new() else { return };
    let Some(_rpcbind) = Rpcbind::start(&namespace) else { return };
    let _server = serve(&namespace, "register", &["mem:1M"]);
    for version in ["1", "2", "3"] {
        succeeds(&namespace.command("rpcinfo").args(["-T", "tcp", "-d", "100005", version]).output().unwrap());
    }
    assert_eq!(wharf(&namespace, &["ls", "nfs://127.0.0.1/mem"]), "");
    let options = "vers=3,mountproto=tcp";
    let output = namespace.command(WHARF).args(["mount", "127.0.0.1:/mem", "/mnt", "-o", options]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no program 100005 version 3"), "{said}");
}

#[test]
fn version_is_chosen_by_what_rpcbind_knows_where_nobody_is_at_the_port_of_nfsv4() {
    let Some(namespace) = Namespace::new() else { return };
    let Some(_rpcbind) = Rpcbind::start(&namespace) else { return };
    if std::fs::File::open("/dev/fuse").is_err() {
        println!("skipped: there is no /dev/fuse");
        return;
    }
    let mut command = namespace.command(WHARF);
    command.args(["serve", "--rpcbind", "register", "--listen", "127.0.0.1:3049", "mem:1M"]);
    let _server = Server::spawn(1, command);
    let version = |options: &str| {
        let mut command = namespace.command(WHARF);
        let output = command.args(["mount", "127.0.0.1:/mem", "/mnt", "-o", options]).output().unwrap();
        if !output.status.success() {
            return String::from_utf8_lossy(&output.stderr).into_owned();
        }
        let mounts = wharf(&namespace, &["nfsstat", "-m"]);
        succeeds(&namespace.command("umount").arg("/mnt").output().unwrap());
        mounts.lines().nth(1).unwrap().split(',').next().unwrap().to_owned()
    };
    // NFSv4 is registered at another port than its usual one.
    assert_eq!(version("soft"), "vers=3");
    assert_eq!((version("port=0"), version("port=0,vers=3")), ("vers=4.2".to_owned(), "vers=3".to_owned()));
    succeeds(&namespace.command("rpcinfo").args(["-d", "100003", "4"]).output().unwrap());
    assert_eq!(version("soft"), "vers=3");
    assert!(version("vers=4").contains("127.0.0.1:2049"), "no other version was wanted");
}

#[test]
fn registration_of_a_server_that_was_killed_is_replaced() {
    let Some(namespace) = Namespace::new() else { return };
    let Some(_rpcbind) = Rpcbind::start(&namespace) else { return };
    let mut first = serve(&namespace, "register", &["mem:1M"]);
    first.signal(Signal::KILL);
    first.wait();
    assert_eq!(registered(&namespace, 2049), SERVICES);
    let mut command = namespace.command(WHARF);
    command.args(["serve", "mem:1M", "--rpcbind", "register", "--listen", "127.0.0.1:2050"]);
    let second = Server::spawn(1, command);
    second.wait_for_log("replaced=46");
    assert_eq!((registered(&namespace, 2049), registered(&namespace, 2050)), (0, SERVICES));
    // The second server has no address of IPv6, and rpcbind no service there any more.
    let all = wharf(&namespace, &["rpcinfo", "127.0.0.1"]);
    assert!(!all.contains("::1.8.1"), "{all}");
    assert_eq!(wharf(&namespace, &["ls", "nfs://127.0.0.1/mem"]), "");
}

#[test]
fn status_monitor_of_the_machine_stays_registered() {
    let Some(namespace) = Namespace::new() else { return };
    let Some(_rpcbind) = Rpcbind::start(&namespace) else { return };
    let Some(_monitor) = Monitor::start(&namespace) else { return };
    let mut server = serve(&namespace, "register", &["mem:1M"]);
    server.wait_for_log("another status monitor (rpc.statd) is registered");
    assert_eq!((registered(&namespace, 4000), registered(&namespace, 2049)), (2, SERVICES - 2));
    server.signal(Signal::TERM);
    server.wait();
    assert_eq!((registered(&namespace, 4000), registered(&namespace, 2049)), (2, 0));
}

#[test]
fn what_rpcbind_refuses_ends_the_start_with_a_way_out() {
    let Some(namespace) = Namespace::new() else { return };
    let output = |rpcbind: &str| {
        let mut command = namespace.command(WHARF);
        command.args([
            "serve",
            "mem:1M",
            "--state-dir",
            "/run/state",
            "--listen",
            "127.0.0.1:2049",
            "--rpcbind",
            rpcbind,
        ]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = output("register");
    assert!(said.contains("cannot register") && said.contains("Is it running"), "{said}");
    let Some(_rpcbind) = Rpcbind::start(&namespace) else { return };
    let said = output("builtin");
    assert!(said.contains("127.0.0.1:111") && said.contains("no other rpcbind may run"), "{said}");
}
