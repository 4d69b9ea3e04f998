//! What flipping the selected bit would do, or did (`docs/screen.md`, "A bit flipped").

use super::layout::Pane;
use super::model::Model;
use crate::check::flip::{Bit, Flip, flip};
use crate::engine::program::Program;
use std::sync::{Arc, Weak};

/// What a flip of the selected bit does.
#[derive(Debug, Clone)]
pub struct Flipping {
    /// Which bit.
    pub bit: Bit,
    /// What comes of it, or why it cannot be flipped.
    pub flip: Result<Flip, String>,
    /// Whether it was flipped.
    pub stands: Stands,
    /// For which run and event it was worked out.
    of: (Weak<Program>, u64),
}

/// Whether a bit was flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// It would be so.
    Asked,
    /// It is about to be flipped.
    About,
    /// It was.
    Done,
}

impl Model {
    fn selected_bit(&self) -> Option<Bit> {
        let (word, bit) = self.bit();
        let (queue, dir, slot) = (self.queue()?, self.selection.dir, self.selection.slot);
        self.desc()?;
        Some(Bit { queue, dir, slot, word, bit })
    }

    /// Works out what flipping the selected bit would do, while the descriptor has the focus.
    pub(super) fn prepare_flip(&mut self) {
        if self.focus != Pane::Inspector {
            self.derived.flipping = None;
            return;
        }
        let Some(bit) = self.selected_bit() else {
            self.derived.flipping = None;
            return;
        };
        let p = self.session.program();
        let n = self.session.position();
        let now = self.desc().map(|d| d.0);
        if let Some(known) = self.derived.flipping.as_mut()
            && known.bit == bit
            && known.of.1 == n
        {
            let same = known.of.0.as_ptr() == Arc::as_ptr(p);
            // What was flipped tells what it did as long as it is so.
            let flipped = known.flip.as_ref().is_ok_and(|f| Some(f.to) == now);
            match known.stands {
                Stands::Asked | Stands::About if same => return,
                Stands::About | Stands::Done if flipped => {
                    known.stands = Stands::Done;
                    return;
                }
                _ => {}
            }
        }
        let of = (Arc::downgrade(p), n);
        let flip = flip(&self.session, bit);
        self.derived.flipping = Some(Flipping { bit, flip, stands: Stands::Asked, of });
    }

    /// The selected bit is about to be flipped: what comes of it is told behind it too.
    pub(super) fn about_to_flip(&mut self) {
        self.focus = Pane::Inspector;
        // What is told of an earlier flip is not what comes now.
        self.derived.flipping.take_if(|f| f.stands != Stands::Asked);
        self.prepare_flip();
        if let Some(f) = self.derived.flipping.as_mut().filter(|f| f.flip.is_ok()) {
            f.stands = Stands::About;
        }
    }
}
