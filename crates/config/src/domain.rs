//! The ID-mapping domain of NFSv4.

/// The longest domain, in bytes: that of the DNS.
const MAX_DOMAIN_BYTES: usize = 253;

/// Reads the domain of NFSv4 owner names.
///
/// # Errors
/// A message for the user if it is not a domain.
pub fn parse_domain(text: &str) -> Result<String, String> {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    match text.len() {
        1..=MAX_DOMAIN_BYTES if text.bytes().all(is_good) => Ok(text.to_owned()),
        _ => Err(format!("{text:?} is not a domain; write it like example.org")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domain_has_letters_digits_dots_and_dashes() {
        assert_eq!(parse_domain("nfs-4.example.org"), Ok("nfs-4.example.org".to_owned()));
        for text in ["", "@example.org", "a b", "a\n", &"x".repeat(254)] {
            assert!(parse_domain(text).is_err(), "{text}");
        }
    }
}
