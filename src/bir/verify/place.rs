//! Rules about the module as such and about its memory locations.

use super::Cx;
use crate::bir::{At, Finding, PlaceError, StorageKind};
use crate::diag::Severity;
use std::collections::HashSet;

pub(super) fn check(cx: &mut Cx<'_>) {
    if !matches!(cx.module.version, 1 | 2) {
        let text = format!("version {} of the IR; 1 and 2 are known", cx.module.version);
        cx.push(Finding::new("B040", At::Module("version"), text));
    }
    if cx.module.arch.is_none() {
        let mut f = Finding::new("B040", At::Module("arch"), "no architecture is given");
        f.diag = f.diag.severity(Severity::Warning).help("gen3 is assumed");
        cx.push(f);
    }
    let layout = cx.layout;
    for (name, error) in layout.errors() {
        // Only memory that is addressed has to be placed: registers and the like are not. What
        // has no size can stay without one until somebody uses it.
        if !matches!(error, PlaceError::NotMemory(..) | PlaceError::NoSize(_)) {
            cx.push(Finding::new("B041", At::Storage(name.clone()), error.to_string()));
        }
    }
    let mut names = HashSet::new();
    let module = cx.module;
    for (set, location) in module.locations() {
        if set.storage == StorageKind::Memory && !names.insert(&location.name) {
            let text = format!("a second location is named `{}`; the first counts", location.name);
            cx.push(Finding::new("B042", At::Storage(location.name.clone()), text));
        }
    }
}
