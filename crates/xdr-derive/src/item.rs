//! Generates the code for a whole type.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Data, DataEnum, DeriveInput, Expr, Field, Fields, Ident, Lifetime, Variant, parse_quote};

use crate::attribute::Xdr;
use crate::fields;

/// The implementation of `xdr::Encode`.
pub fn encode(input: &DeriveInput) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let body = match &input.data {
        Data::Struct(data) => {
            let pattern = pattern(&data.fields);
            let statements = encode_fields(&data.fields)?;
            quote! { let Self #pattern = self; #statements }
        }
        Data::Enum(data) => encode_enum(data)?,
        Data::Union(_) => return Err(syn::Error::new_spanned(name, "a Rust union has no XDR form; use an enum")),
    };
    let mut generics = input.generics.clone();
    generics.type_params_mut().for_each(|parameter| parameter.bounds.push(parse_quote!(::xdr::Encode)));
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    Ok(quote! {
        impl #impl_generics ::xdr::Encode for #name #type_generics #where_clause {
            #[inline]
            fn encode(&self, to: &mut ::xdr::Encoder<'_>) { #body }
        }
    })
}

/// The implementation of `xdr::Decode`.
pub fn decode(input: &DeriveInput) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let body = match &input.data {
        Data::Struct(data) => {
            let value = decode_fields(&quote!(Self), &data.fields)?;
            quote! { Ok(#value) }
        }
        Data::Enum(data) => decode_enum(name, data)?,
        Data::Union(_) => return Err(syn::Error::new_spanned(name, "a Rust union has no XDR form; use an enum")),
    };
    let lifetime = input
        .generics
        .lifetimes()
        .next()
        .map_or_else(|| Lifetime::new("'xdr", Span::call_site()), |parameter| parameter.lifetime.clone());
    let mut generics = input.generics.clone();
    generics.type_params_mut().for_each(|parameter| parameter.bounds.push(parse_quote!(::xdr::Decode<#lifetime>)));
    let type_generics = input.generics.split_for_impl().1;
    let mut with_lifetime = generics.clone();
    if input.generics.lifetimes().next().is_none() {
        with_lifetime.params.insert(0, parse_quote!(#lifetime));
    }
    let (impl_generics, _, where_clause) = with_lifetime.split_for_impl();
    Ok(quote! {
        impl #impl_generics ::xdr::Decode<#lifetime> for #name #type_generics #where_clause {
            fn decode(from: &mut ::xdr::Decoder<#lifetime>) -> ::xdr::Result<Self> { #body }
        }
    })
}

/// A pattern that binds each field to a name that no parameter uses: `field_size`, `field_0` …
fn pattern(fields: &Fields) -> TokenStream {
    let bindings = bindings(fields);
    match fields {
        Fields::Named(named) => {
            let names = named.named.iter().map(|field| &field.ident);
            quote! { { #(#names: #bindings),* } }
        }
        Fields::Unnamed(_) => quote! { ( #(#bindings),* ) },
        Fields::Unit => quote! {},
    }
}

fn bindings(fields: &Fields) -> Vec<Ident> {
    let binding = |(index, field): (usize, &Field)| match &field.ident {
        Some(name) => format_ident!("field_{name}"),
        None => format_ident!("field_{index}"),
    };
    fields.iter().enumerate().map(binding).collect()
}

fn encode_fields(fields: &Fields) -> syn::Result<TokenStream> {
    let statements = fields
        .iter()
        .zip(bindings(fields))
        .map(|(field, binding)| fields::encode(field, &quote!(#binding)))
        .collect::<syn::Result<Vec<_>>>()?;
    Ok(quote! { #(#statements)* })
}

fn decode_fields(constructor: &TokenStream, fields: &Fields) -> syn::Result<TokenStream> {
    let values = fields.iter().map(fields::decode).collect::<syn::Result<Vec<_>>>()?;
    let names = fields.iter().map(|field| &field.ident);
    Ok(match fields {
        Fields::Named(_) => quote! { #constructor { #(#names: #values),* } },
        Fields::Unnamed(_) => quote! { #constructor ( #(#values),* ) },
        Fields::Unit => quote! { #constructor },
    })
}

/// The value of a variant on the wire: its case, its default, or its discriminant.
fn wire_value(variant: &Variant, xdr: &Xdr) -> syn::Result<Expr> {
    let discriminant = variant.discriminant.as_ref().map(|(_, value)| value.clone());
    xdr.case
        .clone()
        .or_else(|| xdr.default.clone())
        .or(discriminant)
        .ok_or_else(|| syn::Error::new_spanned(variant, "needs a discriminant or #[xdr(case = N)]"))
}

fn encode_enum(data: &DataEnum) -> syn::Result<TokenStream> {
    // Variants without fields differ in a number alone.
    let is_number = data.variants.iter().all(|variant| variant.fields.is_empty());
    let arms = data
        .variants
        .iter()
        .map(|variant| {
            let value = wire_value(variant, &Xdr::parse(&variant.attrs)?)?;
            let (name, pattern) = (&variant.ident, pattern(&variant.fields));
            if is_number {
                return Ok(quote! { Self::#name #pattern => (#value) as u32 });
            }
            let statements = encode_fields(&variant.fields)?;
            Ok(quote! { Self::#name #pattern => { to.u32((#value) as u32); #statements } })
        })
        .collect::<syn::Result<Vec<_>>>()?;
    Ok(if is_number {
        quote! { to.u32(match self { #(#arms),* }) }
    } else {
        quote! { match self { #(#arms),* } }
    })
}

fn decode_enum(type_name: &Ident, data: &DataEnum) -> syn::Result<TokenStream> {
    let mut arms = Vec::new();
    let mut last = quote! { value => Err(from.bad_value(stringify!(#type_name), value)) };
    for variant in &data.variants {
        let xdr = Xdr::parse(&variant.attrs)?;
        let name = &variant.ident;
        let constructed = decode_fields(&quote!(Self::#name), &variant.fields)?;
        if xdr.default.is_some() {
            last = quote! { _ => Ok(#constructed) };
        } else {
            let value = wire_value(variant, &xdr)?;
            arms.push(quote! { value if value == (#value) as u32 => Ok(#constructed) });
        }
    }
    Ok(quote! { match from.u32()? { #(#arms,)* #last } })
}
