use crate::{ClientPattern, ExportOptions};

/// Some clients and their export options.
#[derive(Debug, Clone)]
pub struct AccessRule {
    /// The clients.
    pub clients: ClientPattern,
    /// Their options.
    pub options: ExportOptions,
}

impl AccessRule {
    /// Whether both lists give the same options to the same clients, compared as text.
    pub fn are_same(a: &[AccessRule], b: &[AccessRule]) -> bool {
        let is_same =
            |a: &AccessRule, b: &AccessRule| a.options == b.options && a.clients.to_string() == b.clients.to_string();
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
    }
}
