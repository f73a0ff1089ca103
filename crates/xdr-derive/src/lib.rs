//! `#[derive(Encode, Decode)]` for XDR types (RFC 4506).
//!
//! - A **structure** is its fields in order.
//! - An **enumeration** has explicit values: `enum Kind { File = 1, Directory = 2 }`.
//! - A **union** has `#[xdr(case = N)]` on each variant, and may have `#[xdr(default)]` on one, which has no fields and
//!   takes all other values; it encodes as the value given with `#[xdr(default = N)]`.
//! - A **bounded opaque or string** is a field of type `&'a [u8]` with `#[xdr(max = N)]`.
//! - A **bounded array** is a field of type `Vec<T>` with `#[xdr(max = N)]`.
//! - A **linked list** is a field of type `Vec<T>` with `#[xdr(list, max = N)]`.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;

mod attribute;
mod fields;
mod item;

/// Derives `xdr::Encode`.
#[proc_macro_derive(Encode, attributes(xdr))]
pub fn derive_encode(input: TokenStream) -> TokenStream {
    expand(input, item::encode)
}

/// Derives `xdr::Decode`.
#[proc_macro_derive(Decode, attributes(xdr))]
pub fn derive_decode(input: TokenStream) -> TokenStream {
    expand(input, item::decode)
}

fn expand(input: TokenStream, derive: fn(&syn::DeriveInput) -> syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    let parsed = syn::parse_macro_input!(input as syn::DeriveInput);
    derive(&parsed).unwrap_or_else(|error| error.to_compile_error()).into()
}
