//! Parses `#[xdr(…)]`.

use syn::{Attribute, Expr};

/// The optional parts of an `xdr` attribute.
#[derive(Default)]
pub struct Xdr {
    /// `max = N`: the most bytes or elements.
    pub max: Option<Expr>,
    /// `list`: a linked list.
    pub list: bool,
    /// `case = N`: the value of a union's arm.
    pub case: Option<Expr>,
    /// `default = N`: the arm for all values without one.
    pub default: Option<Expr>,
}

impl Xdr {
    /// Parses the `xdr` attributes among `attributes`.
    pub fn parse(attributes: &[Attribute]) -> syn::Result<Xdr> {
        let mut xdr = Xdr::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("xdr")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("max") {
                    xdr.max = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("list") {
                    xdr.list = true;
                } else if meta.path.is_ident("case") {
                    xdr.case = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("default") {
                    xdr.default = Some(meta.value()?.parse()?);
                } else {
                    return Err(meta.error("expected max, list, case or default"));
                }
                Ok(())
            })?;
        }
        Ok(xdr)
    }
}
