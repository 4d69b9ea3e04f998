//! Raw images that cannot be stepped (one direction alone, or larger than a legal ring), as a
//! program without a script: its rings lie in memory and can be browsed on the screen.

use super::program::infer_arch;
use super::{RawImage, RingView};
use crate::engine::program::{Content, Program, QueueDecl, QueueId, RingDecl, Start};
use crate::load::LoadOptions;
use crate::udma::profile::QUEUES_PER_ENGINE;
use crate::udma::ring::RING_ALIGN;
use crate::udma::{Dir, Generation, Profile};

/// Where the first ring lies in the host window (MODEL: a copied-out ring does not say).
const FROM: u64 = 0x4000_0000;

/// A queue for each image, its rings as they lie, and nothing to run. The bytes are shared
/// with the images, not read.
pub fn browse_program(images: &[RawImage], opts: &LoadOptions) -> Program {
    let said = opts.arch.or_else(|| images.iter().find_map(|i| i.arch));
    let arch = said.or_else(|| images.iter().find_map(infer_arch)).unwrap_or(Generation::V3);
    let profile = opts.profile.or_else(|| images.iter().find_map(|i| i.profile));
    let mut p = Program::new(arch, profile.unwrap_or_else(Profile::default_profile));
    let (engine, queue) = arch.host_copy_queue(0);
    let mut next = arch.host_base() + FROM;
    let mut lay = |p: &mut Program, ring: Option<&RingView>| {
        let ring = ring?;
        let bytes = ring.bytes(ring.slots());
        let decl = RingDecl { base: next, size: (bytes.len() / crate::udma::DESC_BYTES) as u64 };
        next = (next + decl.bytes()).next_multiple_of(RING_ALIGN);
        p.contents.push(Content { addr: decl.base, bytes });
        Some(decl)
    };
    for (image, n) in images.iter().zip(0u32..) {
        let default = QueueId {
            engine: opts.engine.unwrap_or(engine) + (queue + n) / QUEUES_PER_ENGINE,
            queue: opts.queue.unwrap_or((queue + n) % QUEUES_PER_ENGINE),
        };
        let [tx, rx] = Dir::BOTH.map(|d| lay(&mut p, image.ring(d)));
        p.queues.push(QueueDecl {
            id: image.queue.unwrap_or(default),
            tx,
            rx,
            allocatable: false,
            marker_area: 0,
            first: [Start::FRESH; 2],
        });
    }
    p
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::program::Blob;
    use crate::engine::session::Session;
    use std::sync::Arc;

    #[test]
    fn one_direction_alone_can_be_looked_at_but_not_stepped() {
        let mut bytes = vec![0; 64 * 16];
        bytes[16..20].copy_from_slice(&0x0d00_1000u32.to_le_bytes());
        let ring = RingView::whole(Dir::Tx, Blob::from_vec(bytes));
        let image = RawImage::new("a.tx.bin", "", [Some(ring), None]);
        let p = browse_program(&[image], &LoadOptions::default());
        let id = p.queues[0].id;
        let s = Session::new(Arc::new(p));
        assert!(!s.can_step());
        let slot = s.slot(id, Dir::Tx, 1).map(|s| s.0.len_ctrl);
        assert_eq!(slot, Some(0x0d00_1000));
        assert_eq!(s.slot(id, Dir::Rx, 0), None);
    }
}
