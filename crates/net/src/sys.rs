//! The system calls that rustix does not wrap, behind safe functions. No other file of this crate holds `unsafe`.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, c_void, cmsghdr, iovec, mmsghdr, msghdr, sockaddr_in, sockaddr_in6, sockaddr_storage, socklen_t};

/// How many datagrams one call receives or sends at most.
pub(crate) const DATAGRAM_BATCH: usize = 32;

/// The room for one datagram: no UDP datagram is larger.
pub(crate) const DATAGRAM_BYTES: usize = 64 << 10;

/// Which address of ours a datagram came to, and so has to be answered from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalAddress {
    /// The address.
    pub(crate) address: IpAddr,
    /// The network interface that it came in by, which only link-local addresses need.
    interface: u32,
}

impl LocalAddress {
    /// An address of ours, whatever interface has it.
    pub(crate) fn of(address: IpAddr) -> LocalAddress {
        LocalAddress { address, interface: 0 }
    }
}

/// A datagram that was received.
#[derive(Debug)]
pub(crate) struct Received<'a> {
    pub(crate) bytes: &'a [u8],
    /// The sender, unless the kernel named none that is IPv4 or IPv6.
    pub(crate) from: Option<SocketAddr>,
    /// The address it came to, when the socket is bound to all addresses.
    pub(crate) to: Option<LocalAddress>,
}

/// A datagram to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutgoingDatagram<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) to: SocketAddr,
    /// The address to send it from, when the socket is bound to all addresses.
    pub(crate) from: Option<LocalAddress>,
}

/// Room for one control message with an address; aligned as the kernel's `cmsghdr` asks.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Memory for calls of `recvmmsg` and `sendmmsg`.
///
/// The headers hold pointers into the other fields only while a call runs: each call writes them again.
pub(crate) struct DatagramCalls {
    data: Box<[u8]>,
    names: Box<[sockaddr_storage]>,
    controls: Box<[Control]>,
    vectors: Box<[iovec]>,
    headers: Box<[mmsghdr]>,
    received: usize,
}

impl DatagramCalls {
    /// Takes the memory; the part for data is touched only as far as datagrams fill it.
    pub(crate) fn new() -> DatagramCalls {
        let no_vector = iovec { iov_base: ptr::null_mut(), iov_len: 0 };
        DatagramCalls {
            data: vec![0; DATAGRAM_BATCH * DATAGRAM_BYTES].into_boxed_slice(),
            names: vec![zeroed_name(); DATAGRAM_BATCH].into_boxed_slice(),
            controls: vec![Control([0; 64]); DATAGRAM_BATCH].into_boxed_slice(),
            vectors: vec![no_vector; DATAGRAM_BATCH].into_boxed_slice(),
            headers: vec![zeroed_header(); DATAGRAM_BATCH].into_boxed_slice(),
            received: 0,
        }
    }

    /// Receives what has arrived, up to [`DATAGRAM_BATCH`] datagrams, without waiting. Returns how many.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.received = 0;
        for index in 0..DATAGRAM_BATCH {
            let place = &mut self.data[index * DATAGRAM_BYTES..(index + 1) * DATAGRAM_BYTES];
            self.vectors[index] = iovec { iov_base: place.as_mut_ptr().cast(), iov_len: DATAGRAM_BYTES };
            let header = &mut self.headers[index].msg_hdr;
            header.msg_name = (&raw mut self.names[index]).cast();
            header.msg_namelen = size_of::<sockaddr_storage>() as socklen_t;
            header.msg_iov = &raw mut self.vectors[index];
            header.msg_iovlen = 1;
            header.msg_control = (&raw mut self.controls[index]).cast();
            header.msg_controllen = size_of::<Control>();
        }
        // SAFETY: every header points to one name, one vector and one control buffer of this struct, with their true
        // sizes, and every vector to its own part of `data`; all of it lives and is not touched while the call runs.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                DATAGRAM_BATCH as u32,
                libc::MSG_DONTWAIT,
                ptr::null_mut(),
            )
        };
        self.received = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        Ok(self.received)
    }

    /// One of the datagrams that the last receive brought.
    ///
    /// # Panics
    /// When it brought fewer.
    pub(crate) fn datagram(&self, index: usize) -> Received<'_> {
        let header = &self.headers[..self.received][index];
        let length = (header.msg_len as usize).min(DATAGRAM_BYTES);
        Received {
            bytes: &self.data[index * DATAGRAM_BYTES..][..length],
            from: decode_name(&self.names[index]),
            to: find_source(&header.msg_hdr),
        }
    }

    /// Sends up to [`DATAGRAM_BATCH`] datagrams without waiting. Returns how many the kernel took; it says what is
    /// wrong with the first one only when it took none.
    pub(crate) fn send<'a>(
        &mut self,
        socket: BorrowedFd<'_>,
        datagrams: impl Iterator<Item = OutgoingDatagram<'a>>,
    ) -> io::Result<usize> {
        let mut count = 0;
        // The datagrams' bytes outlive 'a, which covers this call, so that the pointers to them stay valid.
        for (index, datagram) in datagrams.take(DATAGRAM_BATCH).enumerate() {
            self.prepare(index, &datagram);
            count = index + 1;
        }
        // SAFETY: the first `count` headers were prepared above: they point into this struct, and their vectors to the
        // bytes of the datagrams, which live for 'a; the kernel only reads them.
        let sent = unsafe {
            let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
            libc::sendmmsg(socket.as_raw_fd(), self.headers.as_mut_ptr(), count as u32, flags)
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    fn prepare(&mut self, index: usize, datagram: &OutgoingDatagram<'_>) {
        self.received = 0;
        let bytes = datagram.bytes;
        self.vectors[index] = iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let header = &mut self.headers[index].msg_hdr;
        header.msg_namelen = encode_name(&mut self.names[index], datagram.to);
        header.msg_name = (&raw mut self.names[index]).cast();
        header.msg_iov = &raw mut self.vectors[index];
        header.msg_iovlen = 1;
        header.msg_control = (&raw mut self.controls[index]).cast();
        header.msg_controllen = size_of::<Control>();
        match datagram.from {
            Some(source) => put_source(header, source),
            None => header.msg_controllen = 0,
        }
    }
}

/// How many bytes of a TCP socket's output the peer has not acknowledged.
pub(crate) fn unacknowledged_bytes(socket: BorrowedFd<'_>) -> io::Result<usize> {
    let mut count: c_int = 0;
    // SAFETY: TIOCOUTQ writes one int to the address it is given, and `count` is one.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut count) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
}

/// How many segments a TCP socket has sent again since it was connected (TCP_INFO).
///
/// # Errors
/// What the system says.
pub fn retransmissions(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`, which has as many, and says in `length` how many.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the structure has numbers only, for which all bits are good, and was filled with zeros.
    Ok(unsafe { info.assume_init() }.tcpi_total_retrans)
}

/// Asks the kernel to say of each datagram which address of ours it came to.
pub(crate) fn want_destinations(socket: BorrowedFd<'_>, ipv6: bool) -> io::Result<()> {
    let (level, name) =
        if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO) } else { (libc::IPPROTO_IP, libc::IP_PKTINFO) };
    let on: c_int = 1;
    // SAFETY: the option's value is the int that the address and the size name.
    let result = unsafe {
        let size = size_of::<c_int>() as socklen_t;
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const on).cast(), size)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes ownership of the file descriptors that the process was started with for it to serve, and keeps them from its
/// children. Only the first call gets any, since a descriptor has one owner.
pub(crate) fn adopt_descriptors(descriptors: Range<RawFd>) -> io::Result<Vec<OwnedFd>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::AcqRel) {
        return Ok(Vec::new());
    }
    descriptors.map(adopt_descriptor).collect()
}

/// Sees to it that programs which this process starts get its standard streams and no other descriptor.
pub(crate) fn keep_descriptors_from_programs() -> io::Result<()> {
    const FIRST: libc::c_uint = 3;
    // SAFETY: close_range takes integers and touches no memory, and with this flag it closes nothing in this process.
    let result = unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn adopt_descriptor(descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl with F_SETFD takes an int and touches no memory.
    if unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, as fcntl has just shown. The process was started with it for it to take, and the
    // flag in `adopt_descriptors` sees to it that it is taken once.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn zeroed_name() -> sockaddr_storage {
    // SAFETY: a sockaddr_storage is integers and bytes; all zeros is one of its values.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

fn zeroed_header() -> mmsghdr {
    // SAFETY: an mmsghdr is integers and raw pointers; all zeros is one of its values.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

fn decode_name(name: &sockaddr_storage) -> Option<SocketAddr> {
    match c_int::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: a sockaddr_storage is larger than a sockaddr_in and at least as aligned; any bytes make one.
            let name = unsafe { &*(&raw const *name).cast::<sockaddr_in>() };
            let address = Ipv4Addr::from(name.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(address, u16::from_be(name.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: a sockaddr_storage is larger than a sockaddr_in6 and at least as aligned; any bytes make one.
            let name = unsafe { &*(&raw const *name).cast::<sockaddr_in6>() };
            let address = Ipv6Addr::from(name.sin6_addr.s6_addr);
            let port = u16::from_be(name.sin6_port);
            Some(SocketAddrV6::new(address, port, name.sin6_flowinfo, name.sin6_scope_id).into())
        }
        _ => None,
    }
}

fn encode_name(name: &mut sockaddr_storage, address: SocketAddr) -> socklen_t {
    *name = zeroed_name();
    match address {
        SocketAddr::V4(address) => {
            // SAFETY: a sockaddr_storage is larger than a sockaddr_in and at least as aligned; any bytes make one.
            let name = unsafe { &mut *(&raw mut *name).cast::<sockaddr_in>() };
            name.sin_family = libc::AF_INET as u16;
            name.sin_port = address.port().to_be();
            name.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
            size_of::<sockaddr_in>() as socklen_t
        }
        SocketAddr::V6(address) => {
            // SAFETY: a sockaddr_storage is larger than a sockaddr_in6 and at least as aligned; any bytes make one.
            let name = unsafe { &mut *(&raw mut *name).cast::<sockaddr_in6>() };
            name.sin6_family = libc::AF_INET6 as u16;
            name.sin6_port = address.port().to_be();
            name.sin6_addr.s6_addr = address.ip().octets();
            name.sin6_flowinfo = address.flowinfo();
            name.sin6_scope_id = address.scope_id();
            size_of::<sockaddr_in6>() as socklen_t
        }
    }
}

/// The address among a received datagram's control messages. `header` is one that `recvmmsg` has filled in.
fn find_source(header: &msghdr) -> Option<LocalAddress> {
    // SAFETY: the header's control buffer is the `Control` that `receive` gave it, still owned by the same struct, and
    // its length is what the kernel wrote there; the macros stay within that length.
    let mut message: *const cmsghdr = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !message.is_null() {
        // SAFETY: the macros return pointers to whole, aligned headers within the buffer, or null.
        let (level, kind) = unsafe { ((*message).cmsg_level, (*message).cmsg_type) };
        // SAFETY: as above; the data follows its header.
        let data: *const c_void = unsafe { libc::CMSG_DATA(message).cast() };
        if (level, kind) == (libc::IPPROTO_IP, libc::IP_PKTINFO) {
            // SAFETY: the kernel's IP_PKTINFO message carries an in_pktinfo, which may be less aligned than its type.
            let info: libc::in_pktinfo = unsafe { ptr::read_unaligned(data.cast()) };
            let address = Ipv4Addr::from(info.ipi_addr.s_addr.to_ne_bytes());
            return Some(LocalAddress { address: address.into(), interface: 0 });
        }
        if (level, kind) == (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) {
            // SAFETY: the kernel's IPV6_PKTINFO message carries an in6_pktinfo, which may be less aligned than its
            // type.
            let info: libc::in6_pktinfo = unsafe { ptr::read_unaligned(data.cast()) };
            let address = Ipv6Addr::from(info.ipi6_addr.s6_addr);
            return Some(LocalAddress { address: address.into(), interface: info.ipi6_ifindex });
        }
        // SAFETY: `message` is a header within the buffer that the header describes.
        message = unsafe { libc::CMSG_NXTHDR(header, message) };
    }
    None
}

/// Writes the one control message that sets a datagram's source address. `header` has a whole `Control` of its own.
fn put_source(header: &mut msghdr, source: LocalAddress) {
    match source.address {
        IpAddr::V4(address) => {
            let address = libc::in_addr { s_addr: u32::from_ne_bytes(address.octets()) };
            let nothing = libc::in_addr { s_addr: 0 };
            let info = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: address, ipi_addr: nothing };
            put_control(header, libc::IPPROTO_IP, libc::IP_PKTINFO, info);
        }
        IpAddr::V6(address) => {
            let interface = if address.is_unicast_link_local() { source.interface } else { 0 };
            let address = libc::in6_addr { s6_addr: address.octets() };
            let info = libc::in6_pktinfo { ipi6_addr: address, ipi6_ifindex: interface };
            put_control(header, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
        }
    }
}

fn put_control<T: Copy>(header: &mut msghdr, level: c_int, kind: c_int, value: T) {
    let size = size_of::<T>() as u32;
    // SAFETY: CMSG_SPACE and CMSG_LEN only compute.
    let (space, length) = unsafe { (libc::CMSG_SPACE(size) as usize, libc::CMSG_LEN(size) as usize) };
    assert!(space <= size_of::<Control>(), "a control message larger than its buffer");
    header.msg_controllen = space;
    // SAFETY: the control buffer is a whole, aligned `Control`, which holds the `space` bytes asserted above, so that
    // the first header lies within it and the value after it.
    unsafe {
        let message = libc::CMSG_FIRSTHDR(header);
        (*message).cmsg_level = level;
        (*message).cmsg_type = kind;
        (*message).cmsg_len = length;
        ptr::write_unaligned(libc::CMSG_DATA(message).cast(), value);
    }
}

/// Gives the memory that is free back to the system. Of the C libraries only glibc keeps much of it.
pub(crate) fn release_memory() {
    // SAFETY: malloc_trim(3) may be called at any time; it gives back pages that no allocation uses.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The memory that the allocator has and nobody uses, in bytes; 0 where the C library keeps little of it.
pub(crate) fn free_memory() -> usize {
    // SAFETY: mallinfo2(3) only counts, and may be called at any time.
    #[cfg(target_env = "gnu")]
    return unsafe { libc::mallinfo2() }.fordblks;
    #[cfg(not(target_env = "gnu"))]
    0
}
