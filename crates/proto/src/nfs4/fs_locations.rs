use xdr::{Decode, Encode};

use super::{Component, MAX_LOCATIONS, MAX_PATH_COMPONENTS, ServerName};

/// A path, name by name (`pathname4`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Pathname<'a> {
    /// The names, from the root on.
    #[xdr(max = MAX_PATH_COMPONENTS)]
    pub components: Vec<Component<'a>>,
}

/// The other locations of a file system (RFC 7530 §8.8, RFC 8881 §11.16, `fs_locations4`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct FsLocations<'a> {
    /// Its root at this server.
    pub root: Pathname<'a>,
    /// Its locations.
    #[xdr(max = MAX_LOCATIONS)]
    pub locations: Vec<FsLocation<'a>>,
}

/// The servers that have a file system at one path (`fs_location4`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct FsLocation<'a> {
    /// Names or addresses of the servers.
    #[xdr(max = MAX_LOCATIONS)]
    pub servers: Vec<ServerName<'a>>,
    /// The file system's root there.
    pub root: Pathname<'a>,
}
