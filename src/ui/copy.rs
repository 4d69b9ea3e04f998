//! What the selection is as a text to be taken elsewhere: in words, as hex, as JSON, as a line
//! of a script (`docs/screen.md`, "Copying"). Pure: the shell hands it to the terminal.

mod lanes;
mod over;

use super::layout::Pane;
use super::model::Model;
use super::stops::Listed;
use crate::diag::render;
use crate::engine::ring::json::event_json;
use crate::engine::session::describe_event;
use crate::udma::count_of;
use crate::udma::rows;

/// The form of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CopyForm {
    /// In words.
    Text,
    /// Its bytes.
    Hex,
    /// As `decode`, `run` and `check` print it.
    Json,
    /// A command that holds it fast, or goes there.
    Script,
}

impl CopyForm {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            CopyForm::Text => "text",
            CopyForm::Hex => "hex",
            CopyForm::Json => "JSON",
            CopyForm::Script => "a script line",
        }
    }
}

/// Bytes of memory that are copied.
const MEMORY: usize = 256;

impl Model {
    /// What is selected in the pane with the focus, in a form; nothing where it has none.
    pub fn copied(&mut self, form: CopyForm) -> Option<String> {
        if self.popup.is_some() {
            return self.copied_popup(form);
        }
        if let Some(grid) = &self.grid {
            return self.copied_grid(grid, form);
        }
        match self.focus {
            Pane::Tx | Pane::Rx | Pane::Inspector => self.copied_slot(form),
            Pane::Events => self.copied_event(form, self.event_cursor),
            Pane::Timeline => self.copied_lanes(form),
            Pane::Budget => self.copied_share(form),
            Pane::Stops => self.copied_stop(form),
            Pane::Memory => self.copied_memory(form),
            Pane::Marker => self.copied_marker(form),
            Pane::Checks => self.copied_finding(form),
            Pane::Source | Pane::Passes => self.copied_line(form),
        }
    }

    fn copied_share(&self, form: CopyForm) -> Option<String> {
        let share = self.derived.shares.get(self.budget_cursor)?;
        let name = self.share_name(share);
        match form {
            CopyForm::Text => {
                Some(format!("{name}: {} of {}, {}", share.used, share.all, share.words))
            }
            CopyForm::Json => {
                let all = serde_json::json!({ "what": name, "used": share.used, "of": share.all,
                    "words": share.words });
                Some(all.to_string())
            }
            CopyForm::Script => Some(match share.queue() {
                Some(id) => format!("info queue {id}"),
                None => "info budget".to_owned(),
            }),
            CopyForm::Hex => None,
        }
    }

    fn copied_stop(&self, form: CopyForm) -> Option<String> {
        let listed = self.listed_stops();
        let (text, command) = match listed.get(self.stop_cursor)? {
            Listed::Stop(s) => (format!("{}: {}", s.title(), s.text()), s.command()),
            Listed::Display(d) => (d.value.clone(), d.command.clone()),
        };
        match form {
            CopyForm::Text => Some(text),
            CopyForm::Script => Some(crate::script::print(&command)),
            CopyForm::Hex | CopyForm::Json => None,
        }
    }

    fn copied_slot(&self, form: CopyForm) -> Option<String> {
        let (dir, index) = (self.selection.dir, self.selection.slot);
        let (desc, life) = self.desc()?;
        let arch = self.session.program().arch;
        let mut out = String::new();
        match form {
            CopyForm::Text => {
                let words = super::seams::sentence(desc, dir, arch);
                out = format!("{dir}[{index}] {}: {words}", life.name());
            }
            CopyForm::Hex => rows::push_bytes(&mut out, desc),
            CopyForm::Json => rows::push_json(&mut out, index, dir, desc, arch),
            CopyForm::Script => {
                let slot = format!("{}.{dir}[{index}]", self.queue()?);
                let word = |w: &crate::udma::Word| {
                    let digits = usize::from(w.bits()) / 4;
                    format!("{slot}.{} == {:#0w$x}", w.name(), desc.word(*w), w = digits + 2)
                };
                let all: Vec<String> = self.words().iter().map(word).collect();
                out = format!("assert {}", all.join(" && "));
            }
        }
        Some(out)
    }

    fn copied_event(&mut self, form: CopyForm, n: u64) -> Option<String> {
        let e = self.session.events(n, n + 1).into_iter().next().filter(|_| n > 0)?;
        Some(match form {
            CopyForm::Text => {
                let text = describe_event(self.session.program(), &e);
                format!("event {n}, {} us, {}: {text}", e.t_us(), e.agent)
            }
            CopyForm::Json => event_json(self.session.program(), &e).to_string(),
            CopyForm::Script => format!("goto {n}"),
            CopyForm::Hex => return None,
        })
    }

    /// The address in the selected descriptor, and the bytes there that are known.
    fn copied_memory(&self, form: CopyForm) -> Option<String> {
        let (desc, _) = self.desc().filter(|d| !d.0.is_meta())?;
        let program = self.session.program();
        let at = crate::engine::ring::device::resolve(program, desc.ptr).ok()?;
        let memory = &self.session.machine().memory;
        let n = (desc.length() as usize).min(MEMORY);
        if form == CopyForm::Script {
            return Some(format!("x/{n}bx {at:#x}"));
        }
        let mut bytes = vec![0; n];
        let known = memory.read(at, &mut bytes);
        let end = known.never_written.into_iter().chain(known.unknown).min();
        bytes.truncate(end.map_or(n, |e| (e - at) as usize));
        let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        Some(match form {
            CopyForm::Json => {
                let addr = format!("0x{at:016x}");
                serde_json::json!({ "addr": addr, "bytes": digits }).to_string()
            }
            CopyForm::Text => format!("{} at {at:#x}: {digits}", count_of(bytes.len(), "byte")),
            _ => digits,
        })
    }

    fn copied_marker(&self, form: CopyForm) -> Option<String> {
        let q = self.session.machine().queue(self.queue()?)?;
        let at = q.marker.wrapping_add(4);
        let value = self.session.machine().memory.read_u32(at);
        Some(match form {
            CopyForm::Text => format!("marker word at {at:#x}: 0x{value:08x}"),
            CopyForm::Hex => format!("{value:08x}"),
            CopyForm::Json => {
                let (addr, value) = (format!("0x{at:016x}"), format!("0x{value:08x}"));
                serde_json::json!({ "addr": addr, "value": value }).to_string()
            }
            CopyForm::Script => format!("assert mem32[{at:#x}] == 0x{value:08x}"),
        })
    }

    fn copied_finding(&self, form: CopyForm) -> Option<String> {
        let d = self.findings().nth(self.check_cursor)?;
        match form {
            CopyForm::Text => Some(render::text(d, None, false).trim_end().to_owned()),
            CopyForm::Json => Some(render::to_json(d).to_string()),
            CopyForm::Script => Some(format!("goto {}", d.place.event?)),
            CopyForm::Hex => None,
        }
    }

    fn copied_line(&self, form: CopyForm) -> Option<String> {
        if let Some(text) = &self.assembly.text {
            return match form {
                CopyForm::Text => Some(text.lines.get(self.assembly.cursor)?.trim().to_owned()),
                CopyForm::Script => Some(format!("goto {}", self.op_event()?)),
                CopyForm::Hex | CopyForm::Json => None,
            };
        }
        let listing = self.listing()?;
        match form {
            CopyForm::Text => Some(listing.lines.get(self.source.cursor)?.text.trim().to_owned()),
            CopyForm::Script => {
                let pos = listing.inst_at(self.source.cursor)?;
                let name = self.session.program().inst_text(pos);
                Some(format!("provenance {}", name.split(' ').next()?))
            }
            CopyForm::Hex | CopyForm::Json => None,
        }
    }
}

/// The sequence that hands a text to the clipboard of the terminal (OSC 52); inside tmux also
/// wrapped, so that it passes through where that is allowed.
pub fn osc52(text: &str, tmux: bool) -> String {
    use base64::Engine as _;
    let coded = base64::engine::general_purpose::STANDARD.encode(text);
    let plain = format!("\x1b]52;c;{coded}\x07");
    match tmux {
        false => plain,
        true => format!("\x1bPtmux;{}\x1b\\{plain}", plain.replace('\x1b', "\x1b\x1b")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_handed_over_in_base64() {
        assert_eq!(osc52("tx[3]", false), "\x1b]52;c;dHhbM10=\x07");
        let wrapped = osc52("a", true);
        assert!(wrapped.starts_with("\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\"));
        assert!(wrapped.ends_with("\x1b]52;c;YQ==\x07"));
    }
}
