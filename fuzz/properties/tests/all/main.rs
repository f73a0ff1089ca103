//! The tests of this crate, in one program that is linked once. The one that counts the memory of its process is beside
//! this folder.

mod chance;
mod corpus;
mod decoders;
mod places;
