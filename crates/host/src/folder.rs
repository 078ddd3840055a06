//! A folder whose files no other user can have written: root restores from it.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, fstatfs, openat, renameat, unlinkat};
use std::fs::{DirBuilder, File};
use std::io;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path};
use tarebench_sys::process;

/// Longest file that is read: a journal of all files of 4,096 CPUs has some 10 MB.
const MOST: u64 = 64 << 20;
/// FUSE_SUPER_MAGIC of linux/magic.h.
const FUSE: u64 = 0x6573_5546;
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// An open folder. Its files are named relative to it, so that renaming what is above it changes nothing.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
}

fn not_trusted(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// Refuses what another user owns or may write to. Root trusts only root; others trust root and themselves.
fn trusted(what: &str, stat: &Stat) -> io::Result<()> {
    let own = process::effective_uid();
    if stat.st_uid != 0 && stat.st_uid != own {
        let expected = if own == 0 { "root".to_owned() } else { format!("user {own} or root") };
        return Err(not_trusted(format!("{what} belongs to user {}; expected {expected}", stat.st_uid)));
    }
    if stat.st_mode & OTHERS_WRITE != 0 {
        let mode = stat.st_mode & 0o7777;
        return Err(not_trusted(format!("{what} is writable by others (mode {mode:o}); expected its owner only")));
    }
    Ok(())
}

impl Folder {
    /// Opens an existing folder.
    ///
    /// For root, no user may own a folder above it either, as a file system of theirs (FUSE) could be mounted there,
    /// which may report anything about its files.
    ///
    /// # Errors
    /// The system's; `PermissionDenied` with the reason if another user owns it or may write to it.
    pub fn open(path: &Path) -> io::Result<Folder> {
        if std::fs::symlink_metadata(path)?.is_symlink() {
            return Err(not_trusted("it is a symbolic link; expected a folder".to_owned()));
        }
        let fd = match process::effective_uid() {
            0 => open_from_root(&std::fs::canonicalize(path)?)?,
            _ => openat(rustix::fs::CWD, path, folder_flags(OFlags::RDONLY), Mode::empty())?,
        };
        trusted("the folder", &fstat(&fd)?)?;
        Ok(Folder { fd })
    }

    /// Makes the folder if it does not exist, durably, and opens it.
    pub fn make(path: &Path) -> io::Result<Folder> {
        match Folder::open(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        DirBuilder::new().recursive(true).mode(0o755).create(path)?;
        let folder = Folder::open(path)?;
        path.parent().map_or(Ok(()), |above| File::open(above)?.sync_all())?;
        Ok(folder)
    }

    /// Opens an existing file.
    ///
    /// # Errors
    /// The system's; `PermissionDenied` with the reason if it is not a file of tare.
    pub fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        // Non-blocking, because a FIFO would make root wait for ever; for regular files it changes nothing.
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty())?;
        let stat = fstat(&fd)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(not_trusted(format!("{name} is not a regular file")));
        }
        trusted(name, &stat)?;
        Ok(File::from(fd))
    }

    /// Content of a file.
    ///
    /// # Errors
    /// As [`Folder::file`]; `FileTooLarge` beyond 64 MB.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut data = Vec::new();
        self.file(name, OFlags::RDONLY)?.take(MOST + 1).read_to_end(&mut data)?;
        if data.len() as u64 > MOST {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("{name} has more than {MOST} bytes")));
        }
        Ok(data)
    }

    /// Creates a file, replacing an old one.
    pub fn create(&self, name: &str, mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match self.remove(name) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        Ok(File::from(openat(&self.fd, name, flags, Mode::from_raw_mode(mode))?))
    }

    /// Opens a file for reading and writing by its owner alone, and makes it if it does not exist.
    pub fn private(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fresh = openat(&self.fd, name, flags | OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(0o600));
        match fresh {
            Err(rustix::io::Errno::EXIST) => {}
            made => return Ok(File::from(made?)),
        }
        let file = self.file(name, OFlags::RDWR)?;
        if fstat(&file)?.st_mode & 0o077 != 0 {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(0o600))?;
        }
        Ok(file)
    }

    pub fn rename(&self, old: &str, new: &str) -> io::Result<()> {
        Ok(renameat(&self.fd, old, &self.fd, new)?)
    }

    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Makes changes of its entries durable.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.fd)?)
    }
}

fn folder_flags(how: OFlags) -> OFlags {
    how | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Walks an absolute path without links, folder by folder, each owned by root.
fn open_from_root(path: &Path) -> io::Result<OwnedFd> {
    let mut at = openat(rustix::fs::CWD, "/", folder_flags(OFlags::RDONLY), Mode::empty())?;
    let mut shared = false;
    let names = path.components().filter_map(|c| match c {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    for name in names {
        let stat = fstat(&at)?;
        let open_to_all = stat.st_mode & OTHERS_WRITE != 0 && stat.st_mode & STICKY != 0;
        if !open_to_all {
            trusted("a folder above it", &stat)?;
        }
        shared |= open_to_all;
        at = openat(&at, name, folder_flags(OFlags::RDONLY), Mode::empty())?;
    }
    if shared && fstatfs(&at)?.f_type as u64 == FUSE {
        return Err(not_trusted("it is on a file system that a user may have mounted (FUSE)".to_owned()));
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn denied(path: &Path) -> String {
        let e = Folder::open(path).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::PermissionDenied, "{e}");
        e.to_string()
    }

    #[test]
    fn what_others_may_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        let folder = Folder::make(&path).unwrap();
        std::fs::write(path.join("journal"), "x").unwrap();
        assert_eq!(folder.read("journal").unwrap(), b"x");
        let mode = |p: &Path, m| std::fs::set_permissions(p, std::fs::Permissions::from_mode(m)).unwrap();
        mode(&path.join("journal"), 0o664);
        assert!(folder.read("journal").unwrap_err().to_string().contains("writable by others"));
        mode(&path, 0o757);
        assert!(denied(&path).contains("writable by others"));
        mode(&path, 0o755);
        let link = dir.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(denied(&link).contains("symbolic link"));
        symlink("journal", path.join("other")).unwrap();
        assert!(folder.read("other").is_err());
        rustix::fs::mknodat(rustix::fs::CWD, path.join("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(folder.read("fifo").unwrap_err().to_string().contains("not a regular file"));
        File::create(path.join("endless")).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(folder.read("endless").unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        if process::effective_uid() == 0 {
            chown(&path, Some(65534), None).unwrap();
            assert!(denied(&path).contains("belongs to user 65534"));
            chown(&path, Some(0), None).unwrap();
            chown(dir.path(), Some(65534), None).unwrap();
            assert!(denied(&path).contains("above it"));
        }
    }

    #[test]
    fn a_private_file_becomes_and_stays_private() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::make(&dir.path().join("a/b")).unwrap();
        let path = dir.path().join("a/b/lock");
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        folder.private("lock").unwrap();
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        folder.private("lock").unwrap();
        assert_eq!(mode(), 0o600);
    }
}
