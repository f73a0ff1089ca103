use std::fmt;

use crate::{Parameters, Url};

/// The location of a file system, from a server that does not have it (RFC 8881 §11.16).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Location {
    /// The name or the address of the server.
    pub server: String,
    /// The path on that server.
    pub path: Vec<u8>,
}

impl Location {
    #[doc(hidden)]
    pub fn new(server: String, path: Vec<u8>) -> Location {
        Location { server, path }
    }
}

impl fmt::Display for Location {
    /// As a URL that can be mounted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, path) = (self.server.clone(), self.path.clone());
        Url { host, port: None, path, parameters: Parameters::default() }.fmt(f)
    }
}

/// Advice for a file system at another server.
pub(crate) fn advice(locations: &[Location]) -> String {
    let urls: Vec<String> = locations.iter().map(Location::to_string).collect();
    match urls.is_empty() {
        true => "the server does not say where".to_owned(),
        false => format!("mount {} instead", urls.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_what_can_be_mounted() {
        let location = |server: &str, path: &[u8]| Location { server: server.to_owned(), path: path.to_vec() };
        let both = [location("files2", b"/new home"), location("::1", b"/x")];
        assert_eq!(advice(&both), "mount nfs://files2/new%20home or nfs://[::1]/x instead");
        assert_eq!(advice(&[]), "the server does not say where");
    }
}
