//! Content as plain bytes, for what computes on it, and back.

use super::super::digest::{hash_bytes, mix};
use super::{Content, Extent, Source};
use crate::engine::program::Blob;
use crate::engine::ring::few::Few;
use std::sync::Arc;

impl Content {
    /// A byte whose value is known.
    pub const KNOWN: u8 = 0;
    /// A byte that nobody wrote.
    pub const UNWRITTEN: u8 = 1;
    /// A byte whose value is not known.
    pub const UNKNOWN: u8 = 2;

    /// The bytes, unwritten ones as zero; and, unless all are known, for each byte one of
    /// [`Content::KNOWN`], [`Content::UNWRITTEN`] and [`Content::UNKNOWN`].
    pub fn flatten(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let mut bytes = vec![0; self.len as usize];
        let mut state = vec![Content::UNWRITTEN; bytes.len()];
        for (off, e) in self.pieces() {
            let part = off as usize..(off + e.len).min(self.len) as usize;
            e.source.fill(&mut bytes[part.clone()]);
            state[part].fill(match e.source {
                Source::Unknown(_) => Content::UNKNOWN,
                Source::Unwritten => Content::UNWRITTEN,
                _ => Content::KNOWN,
            });
        }
        let all_known = state.iter().all(|s| *s == Content::KNOWN);
        (bytes, (!all_known).then_some(state))
    }

    /// Content of these bytes, with what [`Content::flatten`] tells of each.
    pub fn of(bytes: Vec<u8>, state: Option<Vec<u8>>) -> Content {
        let len = bytes.len() as u64;
        let id = hash_bytes(&bytes);
        let blob = Arc::new((id, Blob::from_vec(bytes)));
        // Unknown bytes stand for the address they were first at; these never were at one.
        let nowhere = mix(0x636f_6d70, id);
        let mut pieces = Few::default();
        let mut put = |state: u8, from: u64, to: u64| {
            let source = match state {
                Content::UNWRITTEN => Source::Unwritten,
                Content::UNKNOWN => Source::Unknown(nowhere.wrapping_add(from)),
                _ => Source::Blob(blob.clone(), from),
            };
            pieces.push_back((from, Extent { len: to - from, source }));
        };
        match state {
            None if len > 0 => put(Content::KNOWN, 0, len),
            None => {}
            Some(state) => {
                let mut from = 0;
                for run in state.chunk_by(|a, b| a == b) {
                    let to = from + run.len() as u64;
                    put(run[0], from, to);
                    from = to;
                }
            }
        }
        Content { len, cut: 0, pieces }
    }
}
