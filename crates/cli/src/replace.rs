//! Files that are replaced as a whole: a full disk or a kill leaves what was there before.

use crate::exit::Failure;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::io::{BufWriter, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

/// Writes the content of a file.
type FileContent<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

/// Replaces the content of a file, or creates it.
pub fn write_text(file: &Path, text: &str) -> Result<(), Failure> {
    replace(file, &|out| out.write_all(text.as_bytes()))
        .map_err(|e| Failure::system(format!("write {}: {e}", file.display())))
}

/// Writes a temporary file in the same folder, flushes it to the disk and renames it. A link's target is replaced, and keeps its
/// mode and group. Other users' files, devices, FIFOs, open files by their names in /dev and /proc, files with several names, and files in folders that
/// cannot be written to are written in place.
pub fn replace(file: &Path, content: FileContent<'_>) -> io::Result<()> {
    let Some((target, old)) = replaceable(file) else { return write_in_place(file, content) };
    match &old {
        // The kernel decides whether the name may be followed and written to, as in shared folders (protected_symlinks and
        // protected_regular in proc_sys_fs(5)); what it leads to then is replaced.
        Some(old) => {
            let opened = OpenOptions::new().write(true).create(true).truncate(false).open(file)?.metadata()?;
            if (opened.dev(), opened.ino()) != (old.dev(), old.ino()) || !is_own(old) {
                return write_in_place(file, content);
            }
        }
        // A link to nothing.
        None if file.symlink_metadata().is_ok() => return write_in_place(file, content),
        None => {}
    }
    let temporary = target.with_file_name(format!(".tare-{}.tmp", std::process::id()));
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    let Ok(new) = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary) else {
        return write_in_place(file, content);
    };
    let written = write_buffered(&new, content).and_then(|()| new.sync_all());
    let replaced = match written {
        Ok(()) => take_over(&new, old.as_ref()).and_then(|()| std::fs::rename(&temporary, &target)),
        Err(e) => {
            // If this fails, a file remains that harms nobody.
            let _ = std::fs::remove_file(&temporary);
            return Err(e);
        }
    };
    if replaced.is_err() {
        let _ = std::fs::remove_file(&temporary);
        // E.g. another user's file in /tmp, or a mount point.
        return write_in_place(file, content);
    }
    Ok(())
}

/// The file that is replaced, links followed, and what it is now; `None` if it has to be written in place.
fn replaceable(file: &Path) -> Option<(PathBuf, Option<Metadata>)> {
    let mut target = file.to_owned();
    // As many links as the kernel follows.
    for _ in 0..40 {
        let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().ok()?;
        // Renaming would not reach an open file that is named there.
        if folder.starts_with("/proc") || folder.starts_with("/dev") {
            return None;
        }
        target = folder.join(target.file_name()?);
        match target.read_link() {
            Ok(link) => target = folder.join(link),
            Err(_) => break,
        }
    }
    match target.symlink_metadata() {
        Ok(old) if old.is_file() && old.nlink() == 1 => Some((target, Some(old))),
        Ok(_) => None,
        Err(e) if e.kind() == io::ErrorKind::NotFound => Some((target, None)),
        Err(_) => None,
    }
}

/// Whether it is this user's. Another's would be given what is written.
fn is_own(file: &Metadata) -> bool {
    file.uid() == tarebench::sys::process::effective_uid()
}

/// Gives a new file the mode and group of the old one.
fn take_over(new: &File, old: Option<&Metadata>) -> io::Result<()> {
    let Some(old) = old else { return Ok(()) };
    if new.metadata()?.gid() != old.gid() {
        fchown(new, None, Some(old.gid()))?;
    }
    new.set_permissions(old.permissions())
}

fn write_in_place(file: &Path, content: FileContent<'_>) -> io::Result<()> {
    write_buffered(&File::create(file)?, content)
}

fn write_buffered(file: &File, content: FileContent<'_>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    content(&mut out)?;
    out.flush()
}
