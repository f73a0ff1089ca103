//! Generates the code for one field.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Field, Type};

use crate::attribute::Xdr;

/// The statement that encodes the field whose reference is `place`.
pub fn encode(field: &Field, place: &TokenStream) -> syn::Result<TokenStream> {
    let xdr = Xdr::parse(&field.attrs)?;
    Ok(match (&xdr.max, xdr.list, is_bytes(&field.ty)) {
        (Some(_), false, true) => quote! { to.opaque(#place); },
        (Some(_), false, false) => quote! { to.array(#place); },
        (Some(_), true, _) => quote! { to.list(#place); },
        (None, _, _) => quote! { ::xdr::Encode::encode(#place, to); },
    })
}

/// The expression that decodes the field.
pub fn decode(field: &Field) -> syn::Result<TokenStream> {
    let xdr = Xdr::parse(&field.attrs)?;
    Ok(match (&xdr.max, xdr.list, is_bytes(&field.ty)) {
        (Some(max), false, true) => quote! { from.opaque(#max)? },
        (Some(max), false, false) => quote! { from.array(#max)? },
        (Some(max), true, _) => quote! { from.list(#max)? },
        (None, _, _) => quote! { ::xdr::Decode::decode(from)? },
    })
}

fn is_bytes(field_type: &Type) -> bool {
    matches!(field_type, Type::Reference(reference) if matches!(*reference.elem, Type::Slice(_)))
}
