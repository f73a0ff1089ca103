//! Callbacks: calls of a server to its clients (RFC 7530 §17 and §18, RFC 8881 §19 and §20, RFC 7862 §16).

mod cb_getattr;
mod cb_notify_lock;
mod cb_offload;
mod cb_push_deleg;
mod cb_recall;
mod cb_recall_any;
mod cb_recall_slot;
mod cb_recallable_obj_avail;
mod cb_sequence;
mod cb_wants_cancelled;
mod compound;
mod number;
mod operation;

pub use cb_getattr::*;
pub use cb_notify_lock::*;
pub use cb_offload::*;
pub use cb_push_deleg::*;
pub use cb_recall::*;
pub use cb_recall_any::*;
pub use cb_recall_slot::*;
pub use cb_recallable_obj_avail::*;
pub use cb_sequence::*;
pub use cb_wants_cancelled::*;
pub use compound::*;
pub use number::*;
pub use operation::*;
