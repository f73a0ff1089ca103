//! What no safe wrapper covers: the requests that make and configure a TAP device (netdevice(7)). All `unsafe` code of
//! this crate is here.

use std::fs::{File, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// `struct ifreq`: the name of a device, and a union of what is asked or set.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    value: [u8; 24],
}

/// How a device is to be.
pub(crate) struct TapOptions<'a> {
    pub(crate) name: &'a str,
    pub(crate) mtu: u16,
    /// Its address and the bits of the network's prefix.
    pub(crate) address: Option<(Ipv4Addr, u8)>,
}

/// Makes a TAP device with offload headers in this thread's network, and starts it. It exists while the file is open.
pub(crate) fn tap(options: &TapOptions<'_>) -> io::Result<File> {
    let mut open = OpenOptions::new();
    let tap = open.read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    let kind = (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as u16;
    ask(&tap, libc::TUNSETIFF, &mut Request::new(options.name, &kind.to_ne_bytes()))?;
    let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
    // SAFETY: this request takes a number and no pointer.
    succeeded(unsafe { libc::ioctl(tap.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(offloads)) })?;
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let set = |request, value: &[u8]| ask(&socket, request, &mut Request::new(options.name, value));
    set(libc::SIOCSIFMTU, &i32::from(options.mtu).to_ne_bytes())?;
    if let Some((address, prefix)) = options.address {
        let mask = Ipv4Addr::from_bits(u32::MAX << (32 - u32::from(prefix.clamp(1, 32))));
        set(libc::SIOCSIFADDR, &socket_address(address))?;
        set(libc::SIOCSIFNETMASK, &socket_address(mask))?;
    }
    set(libc::SIOCSIFFLAGS, &((libc::IFF_UP | libc::IFF_RUNNING) as u16).to_ne_bytes())?;
    Ok(tap)
}

/// The Ethernet address of a device in this thread's network.
pub(crate) fn mac(name: &str) -> io::Result<[u8; 6]> {
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let mut request = Request::new(name, &[]);
    ask(&socket, libc::SIOCGIFHWADDR, &mut request)?;
    let mut mac = [0; 6];
    // Behind the family of `struct sockaddr`.
    mac.copy_from_slice(&request.value[2..8]);
    Ok(mac)
}

/// `struct ethtool_value`: a command, and the value that it gets or sets.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    value: u32,
}

/// A feature of a device, by the command of the kernel's `ethtool.h` that sets it.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub(crate) enum Feature {
    /// Segments TCP's data (`ETHTOOL_STSO`).
    Segmentation = 0x1f,
    /// Merges received frames (`ETHTOOL_SGRO`).
    Merging = 0x2c,
}

/// Switches a feature of a device of this thread's network.
pub(crate) fn set_feature(name: &str, feature: Feature, is_on: bool) -> io::Result<()> {
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let mut value = EthtoolValue { command: feature as u32, value: is_on.into() };
    // `value` outlives the call, in which the kernel reads and writes no more than its two numbers.
    let address = std::ptr::from_mut(&mut value).expose_provenance();
    ask(&socket, libc::SIOCETHTOOL as _, &mut Request::new(name, &address.to_ne_bytes()))
}

impl Request {
    /// The names of this crate and the values are shorter than their fields.
    fn new(name: &str, value: &[u8]) -> Request {
        let mut request = Request { name: [0; libc::IFNAMSIZ], value: [0; 24] };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        request.value[..value.len()].copy_from_slice(value);
        request
    }
}

fn ask(descriptor: &impl AsRawFd, request: libc::Ioctl, about: &mut Request) -> io::Result<()> {
    // SAFETY: the structure is as large as the kernel's `struct ifreq`, and lives until the call returns; the kernel
    // reads and writes no more than that. Each of the requests takes one.
    succeeded(unsafe { libc::ioctl(descriptor.as_raw_fd(), request, std::ptr::from_mut(about)) })
}

fn succeeded(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `struct sockaddr_in` without a port.
fn socket_address(address: Ipv4Addr) -> [u8; 8] {
    let ([low, high], [a, b, c, d]) = ((libc::AF_INET as u16).to_ne_bytes(), address.octets());
    [low, high, 0, 0, a, b, c, d]
}

const _: () = assert!(size_of::<Request>() == size_of::<libc::ifreq>());
