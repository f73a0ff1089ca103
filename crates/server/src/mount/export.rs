//! EXPORT (RFC 1094 §A.5.6, RFC 1813 §5.2.5) and EXPORTALL, which has the same reply.

use access_rules::{AccessRule, ClientPattern};
use proto::mount::{ExportNode, ExportReply, Group, MAX_GROUPS, MAX_PATH_BYTES};
use xdr::{Encode, Encoder};

use super::reply::{ReplyRoom, string_bytes};
use crate::exports::Export;
use crate::node::CallContext;

pub(super) fn export(cx: &CallContext<'_>, to: &mut Encoder<'_>) {
    let listed: Vec<(&Export, Vec<String>)> =
        cx.exports.iter().filter(|export| is_listed(export)).map(|export| (export, groups(export))).collect();
    let mut room = ReplyRoom::of_reply(cx);
    let exports = listed.iter().map(node).take_while(|node| room.take(node_bytes(node))).collect();
    ExportReply { exports }.encode(to);
}

/// An export without rules is hidden, since an empty group list means everybody. A name longer than MNT accepts is
/// hidden too.
fn is_listed(export: &Export) -> bool {
    !export.rules.is_empty() && export.name.len() <= MAX_PATH_BYTES
}

/// The clients that may mount it; empty for everybody.
fn groups(export: &Export) -> Vec<String> {
    let is_everyone = |rule: &AccessRule| matches!(rule.clients, ClientPattern::Everyone);
    if export.rules.iter().any(is_everyone) {
        return Vec::new();
    }
    export.rules.iter().take(MAX_GROUPS).map(|rule| rule.clients.to_string()).collect()
}

fn node<'e>((export, groups): &'e (&Export, Vec<String>)) -> ExportNode<'e> {
    let groups = groups.iter().map(|group| Group { name: group.as_bytes() }).collect();
    ExportNode { directory: export.name.as_bytes(), groups }
}

/// The size of a node in the reply; a word announces each member of a list.
fn node_bytes(node: &ExportNode<'_>) -> usize {
    let groups: usize = node.groups.iter().map(|group| 4 + string_bytes(group.name)).sum();
    4 + string_bytes(node.directory) + groups + 4
}
