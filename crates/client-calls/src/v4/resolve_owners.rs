use proto::nfs4::{ArgOp, Attribute, Bitmap};

use super::owners;
use super::reply::Reply;
use super::request::{Request, Told};

/// Resolves the names of owners in the reply to a request, so that its attributes can be decoded.
pub async fn resolve_owners(request: &Request<'_>, reply: &Reply) {
    if returns_owners(request) {
        owners::resolve_in(reply).await;
    }
}

fn returns_owners(request: &Request<'_>) -> bool {
    let has_owner = |wanted: Bitmap| wanted.contains(Attribute::Owner.number());
    let returns = |operation: &ArgOp<'_>| match operation {
        ArgOp::Getattr(arguments) => has_owner(arguments.request),
        ArgOp::Readdir(arguments) => has_owner(arguments.request),
        _ => false,
    };
    request.write.as_ref().is_some_and(|write| write.told != Told::Nothing) || request.operations.iter().any(returns)
}
