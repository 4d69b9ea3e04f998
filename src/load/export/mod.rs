//! What happened, and what lies in rings, for other programs: JSON lines, CSV, traces, Parquet
//! (`docs/export.md`).
//!
//! Writers append to a buffer that the caller empties, so that a run of any length takes bounded
//! memory. The same program gives the same bytes.

mod csv;
mod descriptors;
mod lanes;
#[cfg(feature = "parquet")]
mod parquet;
mod perfetto;
mod perform;
pub mod proto;

pub use csv::EVENT_COLUMNS;
pub use descriptors::{DESCRIPTOR_COLUMNS, Row, header as descriptor_header, push_row};
#[cfg(feature = "parquet")]
pub use parquet::ParquetTable;
pub use perfetto::Time;
pub use perform::perform;

use crate::diag::Diagnostic;
use crate::diag::render::json_safe;
use crate::engine::command::ExportForm;
use crate::engine::edit::Edit;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::{Event, Machine, json, life};
use crate::udma::{DESC_BYTES, Desc, Dir};
use std::io::{self, Write};

/// Bytes that are gathered before they are written.
pub const CHUNK: usize = 1 << 16;
/// Slots of a ring that are read at a time.
const SLOTS_AT_A_TIME: u64 = 4096;

/// Writes events in one form.
pub trait EventWriter {
    /// What comes before the first event.
    fn begin(&mut self, out: &mut Vec<u8>);
    /// The next event.
    fn event(&mut self, e: &Event, out: &mut Vec<u8>);
    /// What the user changed after the newest event, at its time.
    fn edit(&mut self, e: &Edit, t_ns: u64, out: &mut Vec<u8>);
    /// What comes after the last.
    fn end(&mut self, out: &mut Vec<u8>);
}

/// JSON lines, the schema first.
struct JsonLines<'a> {
    file: &'a str,
    program: &'a Program,
}

impl EventWriter for JsonLines<'_> {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let file = serde_json::Value::from(self.file).to_string();
        let file = json_safe(&file);
        out.extend_from_slice(
            format!("{{\"schema\":\"dmadbg.events/1\",\"file\":{file}}}\n").as_bytes(),
        );
    }
    fn event(&mut self, e: &Event, out: &mut Vec<u8>) {
        json::push_event(out, self.program, e);
    }
    fn edit(&mut self, e: &Edit, t_ns: u64, out: &mut Vec<u8>) {
        json::push_edit(out, self.program, e, t_ns);
    }
    fn end(&mut self, _: &mut Vec<u8>) {}
}

/// The writer of a form of events; nothing where the form is about descriptors.
pub fn events<'a>(
    form: ExportForm,
    file: &'a str,
    program: &'a Program,
    time: Option<Time>,
) -> Option<Box<dyn EventWriter + 'a>> {
    match form {
        ExportForm::Events => Some(Box::new(JsonLines { file, program })),
        ExportForm::EventsCsv => Some(Box::new(csv::Csv::new(program))),
        ExportForm::Perfetto => Some(Box::new(perfetto::Perfetto::new(file, program, time))),
        ExportForm::Descriptors | ExportForm::Parquet => None,
    }
}

/// Takes events one by one; no: it has enough.
pub type Take<'a> = &'a mut dyn FnMut(&Event) -> bool;

/// Writes a run of events, and the program's edits between them. `each` hands the events on, in
/// order and from the first.
///
/// # Errors
/// What the stream says.
pub fn write_events(
    writer: &mut dyn EventWriter,
    program: &Program,
    sink: &mut dyn Write,
    each: &mut dyn FnMut(Take<'_>),
) -> io::Result<()> {
    let mut out = Vec::with_capacity(CHUNK + 4096);
    let mut result = Ok(());
    writer.begin(&mut out);
    let edited = !program.edits.is_empty();
    for edit in program.edits_at(0) {
        writer.edit(edit, 0, &mut out);
    }
    each(&mut |e| {
        writer.event(e, &mut out);
        if edited {
            for edit in program.edits_at(e.n) {
                writer.edit(edit, e.t_ns, &mut out);
            }
        }
        if out.len() >= CHUNK {
            result = sink.write_all(&out);
            out.clear();
        }
        result.is_ok()
    });
    result?;
    writer.end(&mut out);
    sink.write_all(&out)?;
    sink.flush()
}

/// Where a table of descriptors goes.
pub trait Table {
    /// The next row.
    ///
    /// # Errors
    /// What the stream says.
    fn row(&mut self, row: &Row) -> io::Result<()>;
    /// Nothing follows.
    ///
    /// # Errors
    /// What the stream says.
    fn finish(&mut self) -> io::Result<()>;
}

/// A table as CSV.
pub struct CsvTable<'a> {
    sink: &'a mut dyn Write,
    out: Vec<u8>,
}

impl<'a> CsvTable<'a> {
    /// A table that begins with the names of its columns.
    pub fn new(sink: &'a mut dyn Write) -> CsvTable<'a> {
        let mut out = Vec::with_capacity(CHUNK + 4096);
        descriptors::header(&mut out);
        CsvTable { sink, out }
    }
}

impl Table for CsvTable<'_> {
    fn row(&mut self, row: &Row) -> io::Result<()> {
        push_row(row, &mut self.out);
        if self.out.len() >= CHUNK {
            self.sink.write_all(&self.out)?;
            self.out.clear();
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.sink.write_all(&self.out)?;
        self.out.clear();
        self.sink.flush()
    }
}

/// The table of a form, or why there is none.
///
/// # Errors
/// S041 where this build has no Parquet; what the stream says at the beginning.
pub fn table<'a>(
    form: ExportForm,
    sink: &'a mut dyn Write,
) -> Result<Box<dyn Table + 'a>, Diagnostic> {
    if form != ExportForm::Parquet {
        return Ok(Box::new(CsvTable::new(sink)));
    }
    parquet_table(sink)
}

#[cfg(feature = "parquet")]
fn parquet_table<'a>(sink: &'a mut dyn Write) -> Result<Box<dyn Table + 'a>, Diagnostic> {
    match ParquetTable::new(sink) {
        Ok(t) => Ok(Box::new(t)),
        Err(e) => Err(Diagnostic::new("D007", format!("cannot write Parquet: {e}"))),
    }
}

#[cfg(not(feature = "parquet"))]
fn parquet_table<'a>(_: &'a mut dyn Write) -> Result<Box<dyn Table + 'a>, Diagnostic> {
    let why = "this build writes no Parquet";
    let help = "build with `--features parquet`, or export `descriptors`, which is CSV";
    Err(Diagnostic::new("S041", why).help(help))
}

/// Whether this build can write a form.
///
/// # Errors
/// S041 where it cannot.
pub fn supported(form: ExportForm) -> Result<(), Diagnostic> {
    if form == ExportForm::Parquet && !cfg!(feature = "parquet") {
        return parquet_table(&mut io::sink()).map(drop);
    }
    Ok(())
}

/// Every slot of the rings of a state of a program, queue by queue, Tx before Rx.
///
/// # Errors
/// What the stream says.
pub fn write_rings(p: &Program, machine: &Machine, table: &mut dyn Table) -> io::Result<()> {
    for q in &machine.queues {
        for dir in Dir::BOTH {
            let Some(ring) = q.decl.ring(dir) else { continue };
            // As declared; initialised or not.
            let mut from = 0;
            let mut bytes = Vec::new();
            while from < ring.size {
                let n = SLOTS_AT_A_TIME.min(ring.size - from);
                bytes.resize(n as usize * DESC_BYTES, 0);
                machine.memory.read(ring.slot_addr(from), &mut bytes);
                for (i, b) in (from..).zip(bytes.as_chunks::<DESC_BYTES>().0) {
                    let desc = Desc::from_bytes(b);
                    let used = !desc.is_zero();
                    let life = (i < u64::from(q.sw(dir).size))
                        .then(|| life::of_program(p, q, dir, i, used))
                        .map(life::Life::name);
                    table.row(&Row { queue: Some(q.id()), dir, slot: i, life, desc })?;
                }
                from += n;
            }
        }
    }
    table.finish()
}

/// Every slot of a raw image, Tx before Rx.
///
/// # Errors
/// What the stream says.
pub fn write_image(
    image: &super::RawImage,
    queue: Option<QueueId>,
    table: &mut dyn Table,
) -> io::Result<()> {
    for dir in Dir::BOTH {
        let Some(ring) = image.ring(dir) else { continue };
        let mut result = Ok(());
        let mut from = 0;
        while from < ring.slots() && result.is_ok() {
            ring.each(from, SLOTS_AT_A_TIME.min(ring.slots() - from), |i, desc| {
                if result.is_ok() {
                    let slot = from + i;
                    result = table.row(&Row { queue, dir, slot, life: None, desc });
                }
            });
            from += SLOTS_AT_A_TIME;
        }
        result?;
    }
    Ok(())
}
