//! Descriptors as a Parquet file: the columns of the CSV with their types
//! (`docs/export.md`, "Parquet"). Rows are written a group at a time.

use super::Table;
use super::descriptors::{Row, flags, op};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of one group.
const GROUP: usize = 1 << 16;

const SCHEMA: &str = "message descriptors {
    optional int32 engine;
    optional int32 queue;
    required binary ring (STRING);
    required int64 slot;
    optional binary life (STRING);
    required boolean used;
    required int32 len_ctrl (INTEGER(32,false));
    required int32 word1 (INTEGER(32,false));
    required int64 buf_ptr (INTEGER(64,false));
    optional int32 length;
    required int32 ring_id;
    required boolean first;
    required boolean last;
    required boolean concat;
    required boolean dmb;
    required boolean strong_order;
    required boolean int_en;
    required boolean meta;
    optional binary op (STRING);
    required boolean write_barrier;
    required boolean notification;
}";

/// What the writer has written and the sink has not yet.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A table as Parquet.
pub struct ParquetTable<'a> {
    sink: &'a mut dyn Write,
    shared: Shared,
    writer: Option<SerializedFileWriter<Shared>>,
    rows: Vec<Row>,
}

impl<'a> ParquetTable<'a> {
    /// A table without rows.
    ///
    /// # Errors
    /// What the format's writer says.
    pub fn new(sink: &'a mut dyn Write) -> Result<ParquetTable<'a>> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let shared = Shared::default();
        let properties = Arc::new(WriterProperties::builder().build());
        let writer = Some(SerializedFileWriter::new(shared.clone(), schema, properties)?);
        Ok(ParquetTable { sink, shared, writer, rows: Vec::with_capacity(GROUP) })
    }

    fn group(&mut self) -> io::Result<()> {
        if let Some(writer) = &mut self.writer
            && !self.rows.is_empty()
        {
            let mut group = writer.next_row_group().map_err(io::Error::other)?;
            columns(&mut group, &self.rows).map_err(io::Error::other)?;
            group.close().map_err(io::Error::other)?;
        }
        self.rows.clear();
        self.drain()
    }

    fn drain(&mut self) -> io::Result<()> {
        let mut bytes = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.sink.write_all(&bytes)?;
        bytes.clear();
        Ok(())
    }
}

impl Table for ParquetTable<'_> {
    fn row(&mut self, row: &Row) -> io::Result<()> {
        self.rows.push(*row);
        if self.rows.len() >= GROUP { self.group() } else { Ok(()) }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.group()?;
        if let Some(writer) = self.writer.take() {
            writer.close().map_err(io::Error::other)?;
        }
        self.drain()?;
        self.sink.flush()
    }
}

type Group<'g, 'w> = &'g mut SerializedRowGroupWriter<'w, Shared>;

/// All columns of a group, in the order of the schema.
fn columns(group: Group<'_, '_>, rows: &[Row]) -> Result<()> {
    let text = |s: &str| ByteArray::from(s.as_bytes().to_vec());
    some::<Int32Type>(group, rows, |r| r.queue.map(|q| q.engine as i32))?;
    some::<Int32Type>(group, rows, |r| r.queue.map(|q| q.queue as i32))?;
    each::<ByteArrayType>(group, rows, |r| text(r.dir.name()))?;
    each::<Int64Type>(group, rows, |r| r.slot as i64)?;
    some::<ByteArrayType>(group, rows, |r| r.life.map(text))?;
    each::<BoolType>(group, rows, |r| !r.desc.is_zero())?;
    each::<Int32Type>(group, rows, |r| r.desc.len_ctrl as i32)?;
    each::<Int32Type>(group, rows, |r| r.desc.word1 as i32)?;
    each::<Int64Type>(group, rows, |r| r.desc.ptr as i64)?;
    some::<Int32Type>(group, rows, |r| Some(r.desc.length() as i32).filter(|_| !r.desc.is_zero()))?;
    each::<Int32Type>(group, rows, |r| i32::from(r.desc.ring_id()))?;
    for n in 0..7 {
        each::<BoolType>(group, rows, |r| flags(r.dir, r.desc).0[n])?;
    }
    some::<ByteArrayType>(group, rows, |r| {
        Some(op(r.dir, r.desc)).filter(|o| !o.is_empty()).map(|o| text(&o))
    })?;
    for n in 0..2 {
        each::<BoolType>(group, rows, |r| flags(r.dir, r.desc).1[n])?;
    }
    Ok(())
}

fn each<T: DataType>(group: Group<'_, '_>, rows: &[Row], of: impl Fn(&Row) -> T::T) -> Result<()> {
    let values: Vec<T::T> = rows.iter().map(of).collect();
    put::<T>(group, &values, None)
}

fn some<T: DataType>(
    group: Group<'_, '_>,
    rows: &[Row],
    of: impl Fn(&Row) -> Option<T::T>,
) -> Result<()> {
    let all: Vec<Option<T::T>> = rows.iter().map(of).collect();
    let levels: Vec<i16> = all.iter().map(|v| i16::from(v.is_some())).collect();
    let values: Vec<T::T> = all.into_iter().flatten().collect();
    put::<T>(group, &values, Some(&levels))
}

fn put<T: DataType>(group: Group<'_, '_>, values: &[T::T], levels: Option<&[i16]>) -> Result<()> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}
