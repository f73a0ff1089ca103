//! The modules of a crate as its source files declare them: what each imports, and what it names elsewhere by a path.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, File, ItemMod, ItemUse, UseTree, Visibility};

/// Names from the root of the crate on.
pub type ModulePath = Vec<String>;

/// Files that use another file, and the paths by which they do.
pub type Arrows<'m> = BTreeMap<(&'m Path, &'m Path), BTreeSet<String>>;

/// The most imports that one name is followed through.
const MAX_IMPORTS: usize = 16;

/// One source file: a module, with the modules inside of it.
#[derive(Debug, Default)]
pub struct Module {
    /// The file, relative to `src`.
    pub file: PathBuf,
    /// What a name of this module stands for, where `use` says so.
    imports: BTreeMap<String, ModulePath>,
    /// What the module uses. Re-exports are no use.
    uses: BTreeSet<ModulePath>,
}

/// The modules of a crate by path.
#[derive(Debug, Default)]
pub struct Modules(BTreeMap<ModulePath, Module>);

impl Modules {
    /// Adds a file of the crate, by its path relative to `src`.
    ///
    /// # Errors
    /// When the file is no Rust.
    pub fn add(&mut self, file: &Path, source: &str) -> syn::Result<()> {
        let path = module_path(file);
        let mut reader = Reader { module: Module { file: file.to_owned(), ..Module::default() } };
        reader.visit_file(&syn::parse_str::<File>(source)?);
        self.0.insert(path, reader.module);
        Ok(())
    }

    /// The uses between different files: from which to which, and the paths that name what is used.
    pub fn arrows(&self) -> Arrows<'_> {
        let mut arrows = Arrows::new();
        for (path, module) in &self.0 {
            for target in &module.uses {
                if let Some(used) = self.find(path, target, MAX_IMPORTS)
                    && used.file != module.file
                {
                    arrows.entry((&module.file, &used.file)).or_default().insert(target.join("::"));
                }
            }
        }
        arrows
    }

    /// The file that defines what `target` names in the module `from`; `None` if another crate does.
    fn find(&self, from: &[String], target: &[String], imports_left: usize) -> Option<&Module> {
        let (mut at, rest) = self.start(from, target)?;
        let mut rest = rest;
        while let Some((name, behind)) = rest.split_first() {
            let inner = [at.as_slice(), std::slice::from_ref(name)].concat();
            if self.0.contains_key(&inner) {
                (at, rest) = (inner, behind);
                continue;
            }
            let import = self.0.get(&at)?.imports.get(name);
            return match import {
                Some(import) if imports_left > 0 && import != target => {
                    self.find(&at, &[import, behind].concat(), imports_left - 1)
                }
                _ => self.0.get(&at),
            };
        }
        self.0.get(&at)
    }

    /// The module that a path begins in, and the names behind it.
    fn start<'t>(&self, from: &[String], target: &'t [String]) -> Option<(ModulePath, &'t [String])> {
        let mut at = from.to_vec();
        let mut rest = target;
        match rest.first()?.as_str() {
            "crate" => (at, rest) = (Vec::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {}
            name => {
                let inner = [from, &[name.to_owned()]].concat();
                let is_ours = self.0.contains_key(&inner) || self.0.get(from)?.imports.contains_key(name);
                return is_ours.then_some((at, rest));
            }
        }
        while rest.first().is_some_and(|name| name == "super") {
            at.pop()?;
            rest = &rest[1..];
        }
        Some((at, rest))
    }
}

/// The path of the module in a file: `a/b.rs` and `a/b/mod.rs` are `a::b`.
fn module_path(file: &Path) -> ModulePath {
    let mut path: ModulePath = file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|name| name == "mod") || path == ["lib"] || path == ["main"] {
        path.pop();
    }
    path
}

/// Reads one file. Inline modules count as the file around them.
struct Reader {
    module: Module,
}

impl Reader {
    fn import(&mut self, tree: &UseTree, mut path: ModulePath, is_reexport: bool) {
        match tree {
            UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                self.import(&inner.tree, path, is_reexport);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(tree, path.clone(), is_reexport));
            }
            UseTree::Name(name) => self.bind(&name.ident.to_string(), path, &name.ident.to_string(), is_reexport),
            UseTree::Rename(name) => self.bind(&name.rename.to_string(), path, &name.ident.to_string(), is_reexport),
            UseTree::Glob(_) => self.uses(path, is_reexport),
        }
    }

    fn bind(&mut self, name: &str, mut path: ModulePath, original: &str, is_reexport: bool) {
        let name = match (original, path.last()) {
            ("self", Some(last)) if name == "self" => last.clone(),
            _ => name.to_owned(),
        };
        if original != "self" {
            path.push(original.to_owned());
        }
        self.uses(path.clone(), is_reexport);
        if path.first() != Some(&name) || path.len() > 1 {
            self.module.imports.insert(name, path);
        }
    }

    fn uses(&mut self, path: ModulePath, is_reexport: bool) {
        if !is_reexport && !path.is_empty() {
            self.module.uses.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_for_tests(&item.attrs) {
            self.import(&item.tree, Vec::new(), !matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        // The paths in an inline module are relative to it, and these are tests or a few lines.
        if !is_for_tests(&item.attrs) && item.content.is_none() {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {
        // `pub(super)` uses nothing.
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: ModulePath = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 {
            self.module.uses.insert(names);
        }
        visit::visit_path(self, path);
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|option| option == "test")
    })
}
