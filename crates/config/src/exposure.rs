//! Detects exports that would be offered to other machines by accident.

use std::net::SocketAddr;

use crate::{ConfigError, ExportSpec};

/// Whether `address` can be reached from other machines.
pub fn is_exposed(address: &SocketAddr) -> bool {
    !address.ip().to_canonical().is_loopback()
}

/// Refuses to serve exports without a client list on addresses that other machines reach.
///
/// Such exports would answer only this machine. A wider address shows that the user wants more, and must name the
/// clients.
///
/// # Errors
/// [`ConfigError::Exposed`] with the first such address and export.
pub fn check_exposure(addresses: &[SocketAddr], exports: &[ExportSpec]) -> Result<(), ConfigError> {
    let Some(address) = addresses.iter().find(|address| is_exposed(address)) else { return Ok(()) };
    match exports.iter().find(|export| !export.names_clients) {
        Some(export) => {
            Err(ConfigError::Exposed { address: *address, export: export.name.clone(), origin: export.origin.clone() })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Defaults, ExportFlags};
    use std::path::Path;

    fn exports(clients: &[&str]) -> Vec<ExportSpec> {
        let flags = ExportFlags {
            exports: vec!["/srv".into()],
            clients: clients.iter().map(|text| (*text).to_owned()).collect(),
            ..ExportFlags::default()
        };
        flags.parse(Path::new("/"), &Defaults::privileged()).unwrap()
    }

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn loopback_needs_no_client_list() {
        let loopback = ["127.0.0.1:2049", "127.8.8.8:1", "[::1]:2049", "[::ffff:127.0.0.1]:1"].map(address);
        assert!(check_exposure(&loopback, &exports(&[])).is_ok());
    }

    #[test]
    fn wider_address_without_a_client_list_is_refused_with_the_flag_to_add() {
        for wide in ["0.0.0.0:2049", "[::]:2049", "192.0.2.1:2049"].map(address) {
            let error = check_exposure(&[address("127.0.0.1:1"), wide], &exports(&[])).unwrap_err().to_string();
            assert!(error.contains("--client '*'") && error.contains(&wide.to_string()), "{error}");
        }
    }

    #[test]
    fn wider_address_with_a_client_list_is_served() {
        assert!(check_exposure(&[address("0.0.0.0:2049")], &exports(&["10.0.0.0/8"])).is_ok());
        assert!(check_exposure(&[address("[::]:2049")], &exports(&["*"])).is_ok());
    }
}
