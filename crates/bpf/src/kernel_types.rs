//! The running kernel's types (BTF): which tracepoints it has, and the layout of the records that tare's programs read.
//!
//! There are more than a hundred thousand types, of which an object needs some ten. So they are scanned once, without
//! parsing them all, and those that an object names are copied for it. Format: Documentation/bpf/btf.rst of the kernel.

use crate::program::BpfError;
use aya_obj::Object;
use aya_obj::btf::Btf;
use std::collections::{HashMap, HashSet};
use std::path::Path;

const PLACE: &str = "/sys/kernel/btf/vmlinux";
const MAGIC: u16 = 0xeb9f;
/// Descriptors of all programs, their maps and what they are attached to, with room for the others of a measurement.
const OPEN_FILES: u64 = 256;
const HEADER_BYTES: usize = 24;
/// Prefix of the type definitions that stand for tracepoints.
const TRACEPOINT: &[u8] = b"btf_trace_";

const KIND_INT: u32 = 1;
const KIND_PTR: u32 = 2;
const KIND_ARRAY: u32 = 3;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_ENUM: u32 = 6;
const KIND_FWD: u32 = 7;
const KIND_TYPEDEF: u32 = 8;
const KIND_RESTRICT: u32 = 11;
const KIND_FUNC: u32 = 12;
const KIND_FUNC_PROTO: u32 = 13;
const KIND_VAR: u32 = 14;
const KIND_DATASEC: u32 = 15;
const KIND_FLOAT: u32 = 16;
const KIND_DECL_TAG: u32 = 17;
const KIND_TYPE_TAG: u32 = 18;
const KIND_ENUM64: u32 = 19;

/// What the loaders need of the kernel's types to find its tracepoints and the fields of its records.
pub struct KernelTypes {
    data: Vec<u8>,
    strings: usize,
    /// Where each type begins in the data; none has the id 0.
    places: Vec<u32>,
    /// Ids of all structures and enumerations.
    records: Vec<u32>,
    tracepoints: HashMap<Vec<u8>, u32>,
}

/// A type's head.
#[derive(Clone, Copy)]
struct Head {
    name: u32,
    info: u32,
    size_or_type: u32,
}

impl Head {
    fn kind(self) -> u32 {
        self.info >> 24 & 0x1f
    }

    fn count(self) -> usize {
        (self.info & 0xffff) as usize
    }

    /// Bytes after the head; `None` if the kind is not known, so nothing after it can be found.
    fn more(self) -> Option<usize> {
        Some(match self.kind() {
            KIND_PTR | KIND_FWD..=KIND_RESTRICT | KIND_FUNC | KIND_FLOAT | KIND_TYPE_TAG => 0,
            KIND_INT | KIND_VAR | KIND_DECL_TAG => 4,
            KIND_ARRAY => 12,
            KIND_STRUCT | KIND_UNION | KIND_DATASEC | KIND_ENUM64 => 12 * self.count(),
            KIND_ENUM | KIND_FUNC_PROTO => 8 * self.count(),
            _ => return None,
        })
    }
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(data.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// A name without its flavour, by which one source names a record of several kernels: `x___before_5_14`.
fn plain(name: &[u8]) -> &[u8] {
    let end = name.windows(3).position(|w| w == b"___").unwrap_or(name.len());
    name.get(..end).unwrap_or(name)
}

/// What is missing on a kernel that is too old for tare's programs; `None` on others, and where the release is no number.
fn too_old(release: &str) -> Option<String> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    let version = (parts.next()?, parts.next()?);
    (version < (5, 10)).then(|| format!("tracing needs Linux 5.10 or later, this is {release}"))
}

/// Why there is no file of types; `sys` is the folder in which the kernel puts it.
fn no_types(sys: &Path) -> String {
    match sys.is_dir() {
        true => {
            format!("{PLACE} is not there: the kernel was built without CONFIG_DEBUG_INFO_BTF, or the system hides it")
        }
        false => format!("{PLACE} cannot be read, as sysfs is not mounted"),
    }
}

impl KernelTypes {
    /// Reads them, which takes some milliseconds and 10 MB; so they are only read where programs may be loaded, and are best
    /// dropped when they are.
    ///
    /// # Errors
    /// Without CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN), or on kernels without BTF.
    pub fn read() -> Result<KernelTypes, BpfError> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let effective = status.lines().find_map(|l| u64::from_str_radix(l.strip_prefix("CapEff:")?.trim(), 16).ok());
        if effective.is_some_and(|caps| !may_trace(caps)) {
            return Err(BpfError::denied("", "a capability is missing"));
        }
        let files = tarebench_sys::limits::open_files();
        if files < OPEN_FILES {
            // They would be missing where a program is started.
            let text = format!("tracing needs {OPEN_FILES} open files, and {files} are allowed (`ulimit -n`)");
            return Err(BpfError::of("", text));
        }
        let release = tarebench_sys::uname::uname().release;
        if let Some(missing) = too_old(&release) {
            return Err(BpfError::of("", missing));
        }
        let data = std::fs::read(PLACE).map_err(|e| {
            if e.kind() == std::io::ErrorKind::NotFound {
                return BpfError::of("", no_types(Path::new("/sys/kernel")));
            }
            let place = tarebench_sys::SysError::io(PLACE, e);
            BpfError::new("types of the kernel", &place)
        })?;
        KernelTypes::parse(data)
            .ok_or_else(|| BpfError::of("types of the kernel", format!("{PLACE} is not understood")))
    }

    /// From the file's content; `None` if it is not of the known form.
    fn parse(data: Vec<u8>) -> Option<KernelTypes> {
        if u16::from_ne_bytes(data.get(..2)?.try_into().ok()?) != MAGIC {
            return None;
        }
        let header = word(&data, 4)? as usize;
        let part = |at: usize| Some(header + word(&data, at)? as usize);
        let (types, strings) = (part(8)?, part(16)?);
        let end = types + word(&data, 12)? as usize;
        let mut all = KernelTypes {
            strings,
            // A type takes at least 24 bytes on average.
            places: Vec::with_capacity((end.min(data.len()).saturating_sub(types)) / 24),
            records: Vec::new(),
            tracepoints: HashMap::new(),
            data,
        };
        all.places.push(0);
        let mut at = types;
        while at < end {
            let head = all.head(at)?;
            let id = u32::try_from(all.places.len()).ok()?;
            all.places.push(u32::try_from(at).ok()?);
            match head.kind() {
                KIND_STRUCT | KIND_ENUM | KIND_ENUM64 => all.records.push(id),
                KIND_TYPEDEF => {
                    if let Some(tracepoint) = all.name(head.name).strip_prefix(TRACEPOINT) {
                        let tracepoint = tracepoint.to_owned();
                        all.tracepoints.insert(tracepoint, id);
                    }
                }
                _ => {}
            }
            at += 12 + head.more()?;
        }
        Some(all)
    }

    /// The id of a tracepoint's type, if this kernel has the tracepoint.
    pub(crate) fn tracepoint(&self, name: &str) -> Option<u32> {
        self.tracepoints.get(name.as_bytes()).copied()
    }

    fn head(&self, at: usize) -> Option<Head> {
        let word = |n: usize| word(&self.data, at + 4 * n);
        Some(Head { name: word(0)?, info: word(1)?, size_or_type: word(2)? })
    }

    fn name(&self, offset: u32) -> &[u8] {
        let rest = self.data.get(self.strings + offset as usize..).unwrap_or_default();
        let end = rest.iter().position(|b| *b == 0).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    fn record_names(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let name = |id: u32| Some((id, self.name(self.head(*self.places.get(id as usize)? as usize)?.name)));
        self.records.iter().filter_map(move |id| name(*id)).filter(|(_, name)| !name.is_empty())
    }

    /// The structures and enumerations that an object names, and their nested types, but not those that they point to.
    pub(crate) fn cut_out(&self, object: &Object) -> Result<Btf, BpfError> {
        let broken = |what: &str| BpfError::of("types of the kernel", format!("the types of {what} are broken"));
        let own = object.btf.as_ref().and_then(|btf| KernelTypes::parse(btf.to_bytes()));
        let own = own.ok_or_else(|| broken("an object"))?;
        let wanted: HashSet<&[u8]> = own.record_names().map(|(_, name)| plain(name)).collect();
        let mut cut = Cut { from: self, ids: HashMap::new(), waiting: Vec::new(), types: Vec::new(), strings: vec![0] };
        for (id, name) in self.record_names() {
            if wanted.contains(plain(name)) {
                cut.take(id);
            }
        }
        let bytes = cut.finish().ok_or_else(|| broken(PLACE))?;
        Btf::parse(&bytes, object.endianness).map_err(|e| BpfError::new("types of the kernel", &e))
    }
}

/// Types that are being copied, under new ids.
struct Cut<'a> {
    from: &'a KernelTypes,
    ids: HashMap<u32, u32>,
    /// Old ids, in the order of the new ones.
    waiting: Vec<u32>,
    types: Vec<u8>,
    strings: Vec<u8>,
}

impl Cut<'_> {
    /// The new id of a type, which is written later.
    fn take(&mut self, id: u32) -> u32 {
        if id == 0 {
            return 0;
        }
        let next = self.waiting.len() as u32 + 1;
        let new = *self.ids.entry(id).or_insert(next);
        if new == next {
            self.waiting.push(id);
        }
        new
    }

    fn put(&mut self, word: u32) {
        self.types.extend(word.to_ne_bytes());
    }

    fn put_name(&mut self, offset: u32) {
        let name = self.from.name(offset);
        let at = if name.is_empty() { 0 } else { self.strings.len() as u32 };
        if at > 0 {
            self.strings.extend(name);
            self.strings.push(0);
        }
        self.put(at);
    }

    /// Writes a type, in which others may be taken.
    fn write(&mut self, id: u32) -> Option<()> {
        let at = *self.from.places.get(id as usize)? as usize;
        let head = self.from.head(at)?;
        self.put_name(head.name);
        self.put(head.info);
        let word = |n: usize| word(&self.from.data, at + 12 + 4 * n);
        match head.kind() {
            // Whatever it points to.
            KIND_PTR => self.put(0),
            KIND_TYPEDEF..=KIND_RESTRICT | KIND_TYPE_TAG => {
                let to = self.take(head.size_or_type);
                self.put(to);
            }
            KIND_ARRAY => {
                self.put(head.size_or_type);
                for n in 0..2 {
                    let to = self.take(word(n)?);
                    self.put(to);
                }
                self.put(word(2)?);
            }
            KIND_STRUCT | KIND_UNION => {
                self.put(head.size_or_type);
                for n in 0..head.count() {
                    self.put_name(word(3 * n)?);
                    let member = self.take(word(3 * n + 1)?);
                    self.put(member);
                    self.put(word(3 * n + 2)?);
                }
            }
            KIND_ENUM | KIND_ENUM64 => {
                self.put(head.size_or_type);
                let words = if head.kind() == KIND_ENUM { 2 } else { 3 };
                for n in 0..head.count() {
                    self.put_name(word(words * n)?);
                    for other in 1..words {
                        self.put(word(words * n + other)?);
                    }
                }
            }
            KIND_INT => {
                self.put(head.size_or_type);
                self.put(word(0)?);
            }
            KIND_FWD | KIND_FLOAT => self.put(head.size_or_type),
            // Nothing of this kind lies within a structure.
            _ => return None,
        }
        Some(())
    }

    fn finish(mut self) -> Option<Vec<u8>> {
        let mut next = 0;
        while let Some(id) = self.waiting.get(next) {
            self.write(*id)?;
            next += 1;
        }
        let (types, strings) = (u32::try_from(self.types.len()).ok()?, u32::try_from(self.strings.len()).ok()?);
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.types.len() + self.strings.len());
        // Version 1, no flags.
        bytes.extend(MAGIC.to_ne_bytes());
        bytes.extend([1, 0]);
        for word in [HEADER_BYTES as u32, 0, types, types, strings] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(self.types);
        bytes.extend(self.strings);
        Some(bytes)
    }
}

/// Whether a set of capabilities suffices (capabilities(7)): CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN.
fn may_trace(capabilities: u64) -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    const PERFMON: u64 = 1 << 38;
    const BPF: u64 = 1 << 39;
    capabilities & SYS_ADMIN != 0 || capabilities & (PERFMON | BPF) == PERFMON | BPF
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use super::*;

    #[repr(align(8))]
    struct Aligned<const N: usize>([u8; N]);

    fn objects() -> [(&'static str, Object); 3] {
        static ACCOUNT: Aligned<{ include_bytes!("account.bpf.o").len() }> = Aligned(*include_bytes!("account.bpf.o"));
        static EXITS: Aligned<{ include_bytes!("exits.bpf.o").len() }> = Aligned(*include_bytes!("exits.bpf.o"));
        static TIMELINE: Aligned<{ include_bytes!("timeline.bpf.o").len() }> =
            Aligned(*include_bytes!("timeline.bpf.o"));
        let parse = |data: &[u8]| Object::parse(data).unwrap();
        [("account", parse(&ACCOUNT.0)), ("exits", parse(&EXITS.0)), ("timeline", parse(&TIMELINE.0))]
    }

    fn types() -> Option<KernelTypes> {
        match KernelTypes::read() {
            Ok(types) => Some(types),
            Err(e) => {
                let needed = std::env::var_os("TARE_NO_SKIP").is_some_and(|v| v == "1");
                assert!(!needed, "must not be skipped: {e}");
                eprintln!("skipped: {e}");
                None
            }
        }
    }

    fn instructions(object: &Object) -> Vec<(u8, i16, i32)> {
        object.functions.values().flat_map(|f| &f.instructions).map(|i| (i.code, i.off, i.imm)).collect()
    }

    #[test]
    fn an_object_finds_the_same_fields_in_its_part_of_the_types_as_in_all() {
        let Some(types) = types() else { return };
        let all = Btf::parse(&types.data, objects()[0].1.endianness).unwrap();
        for (name, object) in objects() {
            let part = types.cut_out(&object).unwrap();
            let (mut by_part, mut by_all) = (object.clone(), object.clone());
            by_part.relocate_btf(&part).unwrap();
            by_all.relocate_btf(&all).unwrap();
            assert_eq!(instructions(&by_part), instructions(&by_all), "{name}");
            assert_ne!(instructions(&by_part), instructions(&object), "{name}: nothing was found");
            assert!(part.to_bytes().len() < types.data.len() / 20, "{name}: {} bytes", part.to_bytes().len());
        }
    }

    #[test]
    fn tracepoints_have_the_ids_that_the_kernel_knows_them_by() {
        let Some(types) = types() else { return };
        let all = Btf::parse(&types.data, objects()[0].1.endianness).unwrap();
        for name in ["sched_switch", "softirq_entry"] {
            let id = all.id_by_type_name_kind(&format!("btf_trace_{name}"), aya_obj::btf::BtfKind::Typedef).unwrap();
            assert_eq!(types.tracepoint(name), Some(id));
        }
        assert_eq!(types.tracepoint("no_such_tracepoint"), None);
    }

    #[test]
    fn what_is_no_types_or_is_cut_off_is_refused() {
        let own = objects()[1].1.btf.as_ref().unwrap().to_bytes();
        assert!(KernelTypes::parse(own.clone()).is_some());
        assert!(KernelTypes::parse(Vec::new()).is_none());
        assert!(KernelTypes::parse(vec![0; 100]).is_none());
        for end in [1, 3, 10, HEADER_BYTES, HEADER_BYTES + 7, HEADER_BYTES + 40] {
            assert!(KernelTypes::parse(own[..end].to_vec()).is_none(), "{end}");
        }
        // A kind that is not known.
        let mut odd = own;
        odd[HEADER_BYTES + 7] = 0x1f;
        assert!(KernelTypes::parse(odd).is_none());
    }

    #[test]
    fn flavours_are_left_out() {
        assert_eq!(plain(b"task_struct___before_5_14"), b"task_struct");
        assert_eq!(plain(b"rq"), b"rq");
    }

    #[test]
    fn a_kernel_without_types_is_told_from_a_system_without_sysfs() {
        assert!(no_types(Path::new("/")).contains("CONFIG_DEBUG_INFO_BTF"));
        assert!(no_types(Path::new("/nonexistent")).contains("sysfs is not mounted"));
    }

    #[test]
    fn kernels_that_are_too_old_are_named() {
        assert_eq!(
            too_old("5.4.0-150-generic").unwrap(),
            "tracing needs Linux 5.10 or later, this is 5.4.0-150-generic"
        );
        assert!(too_old("4.19.0").is_some());
        for release in ["5.10.0-32-cloud-amd64", "6.1.0", "7.2.13+deb14-rt-amd64", "unknown"] {
            assert_eq!(too_old(release), None, "{release}");
        }
    }

    #[test]
    fn capabilities_that_suffice() {
        assert!(may_trace(1 << 21) && may_trace(1 << 38 | 1 << 39) && may_trace(u64::MAX));
        assert!(!may_trace(0) && !may_trace(1 << 38) && !may_trace(1 << 39));
    }
}
