//! The trace format trait, and the format list.

use super::action::Action;
use super::column_options::ColumnOptions;
use super::fields::TimeUnit;
use super::line::{Frame, Line, Malformed, Took};
use nandlab_block::Request;
use serde::{Deserialize, Serialize};

/// Trace options for the readers.
#[derive(Clone, Debug, Default)]
pub struct ReaderOptions {
    /// The block trace action that counts as the request.
    pub action: Option<Action>,
    /// Time unit, if not the format's.
    pub time_unit: Option<TimeUnit>,
    /// The columns for the format `columns`.
    pub columns: Option<Box<ColumnOptions>>,
}

impl ReaderOptions {
    pub(crate) fn time_unit(&self, unit: TimeUnit) -> TimeUnit {
        self.time_unit.unwrap_or(unit)
    }
}

/// A trace format: it parses one record, nothing else.
pub trait Format: Send {
    /// How the file is cut into records.
    fn frame(&self) -> Frame {
        Frame::Line
    }

    /// Whether a line before the header says nothing.
    fn is_comment(&self, _line: &[u8]) -> bool {
        false
    }

    /// Takes the first line; true for a header, false for a record.
    ///
    /// # Errors
    /// If a required header is missing.
    fn header(&mut self, _line: &[u8]) -> Result<bool, Malformed> {
        Ok(false)
    }

    /// Reads one record, given without its line end.
    ///
    /// # Errors
    /// The expected and the found text.
    fn record<'a>(&'a mut self, bytes: &'a [u8]) -> Result<Line<'a>, Malformed>;

    /// Bytes the last record took in its block.
    fn taken(&self) -> usize {
        0
    }

    /// Reads up to `most` records of a block, as long as nothing is unusual about them and their device is the one of the
    /// record before. Returns the bytes that they took.
    fn run(&mut self, _bytes: &[u8], _most: usize, _into: &mut Vec<Request>) -> usize {
        0
    }

    /// Starts a block in the native format.
    fn start_block(&mut self) {}

    /// The last record's request duration, if the format has it.
    fn took(&self) -> Option<Took> {
        None
    }

    /// Whether records come in time order unless something is wrong.
    fn keeps_order(&self) -> bool {
        false
    }

    /// Whether the line looks as this format's programs write it; decides if two formats fit.
    fn is_typical(&self, _line: &[u8]) -> bool {
        true
    }

    /// Accepted column names in a header line, alternatives parted by `|`: decides whether a text with such a line has
    /// this format. `None` if the records cannot be mistaken, whatever is above them.
    fn names(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Advice if no record was a request.
    fn no_request(&self) -> Option<String> {
        None
    }

    /// How ambiguous input was read, for a notice.
    fn taken_as(&self) -> Option<&'static str> {
        None
    }

    /// Describes records without a request, for a notice.
    fn others(&self) -> &'static str {
        "hold no request"
    }
}

/// An entry in the format list.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name for `workload.trace.format`.
    pub name: &'static str,
    /// The format.
    pub format: FormatName,
    /// The source file, whose head comment is the docs page.
    pub source: &'static str,
}

macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident($module:ident :: $reader:ident), $file:literal;)*) => {
        /// The format of a trace.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum FormatName {
            /// Told from the contents of the file.
            #[default]
            Auto,
            $($(#[$doc])* $variant,)*
        }

        impl FormatName {
            /// The name in a configuration.
            pub fn name(self) -> &'static str {
                match self { Self::Auto => "auto", $(Self::$variant => stringify!($module),)* }
            }

            /// A record reader for this format; `None` for [`Self::Auto`].
            pub fn reader(self, options: &ReaderOptions) -> Option<Box<dyn Format>> {
                match self {
                    Self::Auto => None,
                    $(Self::$variant => Some(Box::new(super::$module::$reader::new(options))),)*
                }
            }
        }

        /// Every trace format.
        pub const FORMATS: &[Entry] = &[$(Entry {
            name: stringify!($module),
            format: FormatName::$variant,
            source: include_str!($file),
        },)*];
    };
}

formats! {
    /// The project's own binary format.
    Native(native::Native), "native.rs";
    /// The project's own text format: `time_us,op,sector,sectors,origin,placement,device`.
    Csv(csv::Csv), "csv.rs";
    /// SPC, as the traces of the UMass repository.
    Spc(spc::Spc), "spc.rs";
    /// MSR Cambridge.
    Msr(msr::Msr), "msr.rs";
    /// Florida International University.
    Fiu(fiu::Fiu), "fiu.rs";
    /// The text of blkparse.
    Blkparse(blkparse::Blkparse), "blkparse.rs";
    /// I/O logs of fio, version 2 and 3.
    Fio(fio::Fio), "fio.rs";
    /// MQSim.
    Mqsim(mqsim::Mqsim), "mqsim.rs";
    /// SSDsim.
    Ssdsim(ssdsim::Ssdsim), "ssdsim.rs";
    /// DiskSim.
    Disksim(disksim::Disksim), "disksim.rs";
    /// FlashSim of 2010, sizes in pages.
    Flashsim(flashsim::Flashsim), "flashsim.rs";
    /// BIOtracer, smartphones.
    Biotracer(biotracer::Biotracer), "biotracer.rs";
    /// Applications on a Pixel 6a.
    Pixel(pixel::Pixel), "pixel.rs";
    /// CloudPhysics, binary.
    Vscsi(vscsi::Vscsi), "vscsi.rs";
    /// Alibaba block storage.
    Alibaba(alibaba::Alibaba), "alibaba.rs";
    /// Tencent block storage.
    Tencent(tencent::Tencent), "tencent.rs";
    /// WiscSee.
    Wiscsee(wiscsee::Wiscsee), "wiscsee.rs";
    /// Any text in columns, which `workload.trace.columns` names.
    Columns(columns::Columns), "columns.rs";
    /// The second version of `vscsi`, binary.
    Vscsi2(vscsi2::Vscsi2), "vscsi2.rs";
    /// Block events of ftrace, trace-cmd and perf.
    Ftrace(ftrace::Ftrace), "ftrace.rs";
    /// The log of the block back ends of QEMU.
    Qemu(qemu::Qemu), "qemu.rs";
    /// Disk events of Windows' event trace.
    Etw(etw::Etw), "etw.rs";
    /// The log of a network block device's server.
    Nbdkit(nbdkit::Nbdkit), "nbdkit.rs";
}
