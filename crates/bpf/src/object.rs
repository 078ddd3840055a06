//! Loads an object's maps and programs, with the fields of the running kernel's records (CO-RE).
//!
//! aya-obj reads and relocates objects. Its sister aya would load them, too, but scans all of the kernel's types twice
//! for each, and loads some twenty programs to find out what the kernel supports, which takes longer than all the rest.

use crate::kernel_types::KernelTypes;
use crate::program::BpfError;
use aya::maps::{Map, MapData};
use aya_obj::btf::BtfFeatures;
use aya_obj::{Function, ProgramSection};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use tarebench_sys::bpf::{MapSpec, ProgramKind, ProgramSpec};
use tarebench_sys::{SysError, bpf};

/// What Linux 5.10, the oldest that is supported, knows of an object's types. Newer ones are omitted.
const FEATURES: BtfFeatures = BtfFeatures::new(true, true, true, true, false, false, false, false);
/// Room for the verifier's message on a program that it refuses: the most that Linux 5.10 takes.
const LOG_BYTES: usize = (1 << 24) - 1;
const ENOENT: i32 = 2;

/// An object must be aligned for the ELF reader.
#[repr(align(8))]
pub(crate) struct Aligned<const N: usize>(pub(crate) [u8; N]);

/// A program that is not loaded yet.
struct Prepared {
    instructions: Vec<[u8; 8]>,
    functions: Vec<u8>,
    function_size: u32,
    license: CString,
    typed: bool,
}

pub(crate) struct KernelProgram {
    name: &'static str,
    fd: OwnedFd,
}

/// An object, whose programs are loaded when they are attached, and detached when it is dropped.
pub(crate) struct Loader {
    maps: HashMap<String, Map>,
    prepared: HashMap<String, Prepared>,
    types: OwnedFd,
    programs: Vec<KernelProgram>,
    links: Vec<OwnedFd>,
}

fn of_object(object: &'static str) -> impl Fn(&dyn std::error::Error) -> BpfError {
    move |e| BpfError::new(object, e)
}

impl Loader {
    /// Makes the maps of an object and relocates its programs. `entries`: how many entries the maps of these names get.
    pub(crate) fn open(
        name: &'static str,
        data: &[u8],
        types: &KernelTypes,
        entries: &[(&str, u32)],
    ) -> Result<Loader, BpfError> {
        let failed = of_object(name);
        let mut object = aya_obj::Object::parse(data).map_err(|e| failed(&e))?;
        let own = object.fixup_and_sanitize_btf(&FEATURES).map_err(|e| failed(&e))?;
        let own = own.ok_or_else(|| BpfError::of(name, "it has no types".to_owned()))?;
        let own = bpf::load_types(&own.to_bytes()).map_err(|e| failed(&e))?;
        let kernel = types.cut_out(&object)?;
        object.relocate_btf(&kernel).map_err(|e| failed(&e))?;
        let mut maps = HashMap::new();
        let mut made = Vec::new();
        for (map_name, mut map) in object.maps.drain() {
            if let Some((_, n)) = entries.iter().find(|(n, _)| *n == map_name) {
                map.set_max_entries(*n);
            }
            let fd = bpf::create_map(MapSpec {
                name: &map_name,
                kind: map.map_type(),
                key_size: map.key_size(),
                value_size: map.value_size(),
                max_entries: map.max_entries(),
                flags: map.map_flags(),
            });
            made.push((map_name, fd.map_err(|e| failed(&e))?, map));
        }
        let sections = object.functions.keys().map(|(section, _)| *section).collect();
        let relocations = made.iter().map(|(name, fd, map)| (name.as_str(), fd.as_raw_fd(), map));
        object.relocate_maps(relocations, &sections).map_err(|e| failed(&e))?;
        object.relocate_calls(&sections).map_err(|e| failed(&e))?;
        for (map_name, fd, _) in made {
            let map = MapData::from_fd(fd).and_then(Map::from_map_data).map_err(|e| failed(&e))?;
            maps.insert(map_name, map);
        }
        let mut prepared = HashMap::new();
        for (program_name, program) in &object.programs {
            let function = object.functions.get(&program.function_key());
            let function = function.ok_or_else(|| missing(name))?;
            let typed = matches!(program.section, ProgramSection::BtfTracePoint);
            prepared.insert(program_name.clone(), prepare(function, program.license.clone(), typed));
        }
        Ok(Loader { maps, prepared, types: own, programs: Vec::new(), links: Vec::new() })
    }

    /// A map of the object, which can be taken once.
    pub(crate) fn take_map(&mut self, name: &'static str) -> Result<Map, BpfError> {
        self.maps.remove(name).ok_or_else(|| missing(name))
    }

    /// Loads a program, if that has not happened yet, and attaches it to a tracepoint. False if this kernel has no such tracepoint.
    pub(crate) fn attach(
        &mut self,
        name: &'static str,
        tracepoint: &str,
        types: &KernelTypes,
    ) -> Result<bool, BpfError> {
        let failed = of_object(name);
        let prepared = self.prepared.get(name).ok_or_else(|| missing(name))?;
        let kind = match types.tracepoint(tracepoint) {
            Some(id) if prepared.typed => ProgramKind::Typed(id),
            Some(_) => ProgramKind::Raw,
            None => return Ok(false),
        };
        let fd = match self.programs.iter().find(|p| p.name == name) {
            Some(program) => program.fd.as_fd(),
            None => {
                let fd = load(name, prepared, kind, self.types.as_fd())?;
                self.programs.push(KernelProgram { name, fd });
                self.programs.last().ok_or_else(|| missing(name))?.fd.as_fd()
            }
        };
        let tracepoint = CString::new(tracepoint).map_err(|e| failed(&e))?;
        let named: Option<&CStr> = (kind == ProgramKind::Raw).then_some(&tracepoint);
        match bpf::attach(fd, named) {
            Ok(link) => self.links.push(link),
            Err(e) if e.errno() == Some(ENOENT) => return Ok(false),
            Err(e) => return Err(failed(&e)),
        }
        Ok(true)
    }

    /// The same for a tracepoint that the object needs.
    pub(crate) fn attach_needed(
        &mut self,
        name: &'static str,
        tracepoint: &str,
        types: &KernelTypes,
    ) -> Result<(), BpfError> {
        match self.attach(name, tracepoint, types)? {
            true => Ok(()),
            false => Err(BpfError::of(name, format!("this kernel has no tracepoint {tracepoint}"))),
        }
    }

    /// How often the kernel has skipped programs, because they ran already on that CPU. It counts this since Linux 5.12; before, it
    /// skips none that are attached to raw tracepoints.
    pub(crate) fn missed(&self) -> u64 {
        self.programs.iter().filter_map(|p| p.field("recursion_misses")).sum()
    }

    /// The programs that are loaded.
    pub(crate) fn programs(&self) -> &[KernelProgram] {
        &self.programs
    }
}

impl KernelProgram {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// A field of what the kernel reports of it, 0 if it does not report it; `None` if it reports nothing.
    pub(crate) fn field(&self, key: &str) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", self.fd.as_raw_fd())).ok()?;
        let line = text.lines().find_map(|l| l.strip_prefix(key));
        Some(line.and_then(|l| l.trim_start_matches(':').trim().parse().ok()).unwrap_or(0))
    }
}

/// A program as the kernel expects it (`struct bpf_insn`).
fn prepare(function: &Function, license: CString, typed: bool) -> Prepared {
    let encode = |i: &aya_obj::generated::bpf_insn| {
        let ([o0, o1], [v0, v1, v2, v3]) = (i.off.to_ne_bytes(), i.imm.to_ne_bytes());
        [i.code, i.dst_reg() | i.src_reg() << 4, o0, o1, v0, v1, v2, v3]
    };
    Prepared {
        instructions: function.instructions.iter().map(encode).collect(),
        functions: function.func_info.func_info_bytes(),
        function_size: u32::try_from(function.func_info_rec_size).unwrap_or(0),
        license,
        typed,
    }
}

fn load(name: &'static str, program: &Prepared, kind: ProgramKind, types: BorrowedFd<'_>) -> Result<OwnedFd, BpfError> {
    let license = &program.license;
    let functions = (program.functions.as_slice(), program.function_size);
    let spec = ProgramSpec { name, kind, instructions: &program.instructions, license, types, functions };
    bpf::load_program(spec, &mut []).map_err(|first: SysError| {
        // Again, for the verifier's message.
        let mut log = vec![0; LOG_BYTES];
        let _ = bpf::load_program(spec, &mut log);
        let end = log.iter().position(|b| *b == 0).unwrap_or(log.len());
        let text = String::from_utf8_lossy(log.get(..end).unwrap_or_default()).into_owned();
        BpfError::refused(name, &first, &text)
    })
}

fn missing(name: &'static str) -> BpfError {
    BpfError::of(name, "it is not in its object".to_owned())
}
