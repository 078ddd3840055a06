//! What git says of a folder: its repository, its commits, the commit that a gate compares with.

use crate::builds::error::{BuildsError, refused};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::gate::GateSide;
use tarebench_sys::command::{NoOutput, output};

/// Why git gave no answer.
#[derive(Debug)]
enum GitFault {
    /// It is not installed.
    Missing,
    /// Its own message, on one line.
    Failed(String),
    /// A signal asked tare to end meanwhile.
    Interrupted(i32),
}

/// Runs git in a folder; what it prints, without the last line break.
fn git(folder: &Path, args: &[&str]) -> Result<Vec<u8>, GitFault> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(args);
    // Its messages are looked at; it must neither ask for a password nor write an index that another git uses.
    command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
    match output(&mut command) {
        Err(NoOutput::Interrupted(signal)) => Err(GitFault::Interrupted(signal)),
        Err(NoOutput::Failed(e)) if e.kind() == ErrorKind::NotFound => Err(GitFault::Missing),
        Err(NoOutput::Failed(e)) => Err(GitFault::Failed(e.to_string())),
        Ok(out) if out.status.success() => {
            let mut text = out.stdout;
            text.pop_if(|last| *last == b'\n');
            Ok(text)
        }
        Ok(out) => {
            let text = String::from_utf8_lossy(&out.stderr);
            let words: Vec<&str> = text.split_whitespace().collect();
            let words = words.join(" ");
            Err(GitFault::Failed(words.strip_prefix("fatal: ").unwrap_or(&words).to_owned()))
        }
    }
}

/// The same as text.
fn git_text(folder: &Path, args: &[&str]) -> Result<String, GitFault> {
    git(folder, args).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// Of a base that is taken from git.
fn needed(folder: &Path, fault: GitFault) -> BuildsError {
    match fault {
        GitFault::Missing => BuildsError::NoGit,
        GitFault::Failed(text) if text.contains("not a git repository") => BuildsError::NoRepository(folder.to_owned()),
        GitFault::Interrupted(signal) => BuildsError::Interrupted(signal),
        GitFault::Failed(cause) => BuildsError::Git { folder: folder.to_owned(), cause },
    }
}

/// A repository with a work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The work tree.
    pub top: PathBuf,
    /// The folder that all its work trees share.
    pub common: PathBuf,
    /// From the work tree to the folder in which tare was started; empty if that is the work tree.
    pub prefix: PathBuf,
}

impl Repository {
    /// The one that a folder is in.
    ///
    /// # Errors
    /// One sentence: no git, no repository, one without files, one that git refuses to read.
    pub fn find(folder: &Path) -> Result<Repository, BuildsError> {
        let ask = |args: &[&str]| git(folder, args).map_err(|e| needed(folder, e));
        if ask(&["rev-parse", "--is-inside-work-tree"])? != b"true" {
            return Err(BuildsError::NoWorkTree(folder.to_owned()));
        }
        let common = folder.join(path_of(ask(&["rev-parse", "--git-common-dir"])?));
        let common = common.canonicalize().map_err(refused(common.display().to_string()))?;
        Ok(Repository {
            top: path_of(ask(&["rev-parse", "--show-toplevel"])?),
            common,
            prefix: path_of(ask(&["rev-parse", "--show-prefix"])?),
        })
    }

    fn is_shallow(&self) -> bool {
        git(&self.top, &["rev-parse", "--is-shallow-repository"]).is_ok_and(|out| out == b"true")
    }

    /// Full id of the commit of a revision.
    fn commit(&self, revision: &str) -> Result<Option<String>, BuildsError> {
        match git_text(&self.top, &["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")]) {
            Ok(commit) => Ok(Some(commit)),
            Err(fault @ (GitFault::Missing | GitFault::Interrupted(_))) => Err(needed(&self.top, fault)),
            Err(GitFault::Failed(_)) => Ok(None),
        }
    }

    /// The commit from which HEAD and a revision have gone different ways.
    ///
    /// # Errors
    /// One sentence if there is no such revision, or no such commit.
    pub fn merge_base(&self, revision: &str) -> Result<String, BuildsError> {
        let (name, top) = (|| revision.to_owned(), || self.top.clone());
        if revision.is_empty() || revision.starts_with('-') {
            return Err(BuildsError::BadRevision(name()));
        }
        let Some(head) = self.commit("HEAD")? else { return Err(BuildsError::NoCommit(top())) };
        let Some(base) = self.commit(revision)? else {
            return Err(BuildsError::NoRevision { revision: name(), top: top(), shallow: self.is_shallow() });
        };
        match git_text(&self.top, &["merge-base", &head, &base]) {
            Ok(commit) => Ok(commit),
            Err(GitFault::Failed(text)) if text.is_empty() => {
                Err(BuildsError::NoCommonCommit { revision: name(), top: top(), shallow: self.is_shallow() })
            }
            Err(fault) => Err(needed(&self.top, fault)),
        }
    }

    /// Whether a commit has submodules.
    pub fn has_submodules(&self, commit: &str) -> bool {
        git(&self.top, &["cat-file", "-e", &format!("{commit}:.gitmodules")]).is_ok()
    }

    /// The base: a commit, by the name that the user gave it.
    pub fn base(&self, commit: &str, name: &str, folder: &Path) -> GateSide {
        let known = commit_of(&self.top, commit);
        GateSide { name: Some(name.to_owned()), modified: false, ..with_commit(folder, known) }
    }

    /// Forgets work trees of which the folders are gone.
    pub fn prune(&self) {
        let _ = git(&self.top, &["worktree", "prune"]);
    }

    /// Removes a work tree; what git leaves of it is left to the caller.
    pub fn remove_work_tree(&self, folder: &Path) {
        if let Some(folder) = folder.to_str() {
            let _ = git(&self.top, &["worktree", "remove", "--force", folder]);
        }
        self.prune();
    }
}

/// A commit's id, time, and the first line of its message.
struct KnownCommit {
    id: String,
    committed: Option<Nanos>,
    subject: String,
}

fn commit_of(folder: &Path, revision: &str) -> Option<KnownCommit> {
    // The first line is git's own; other commands follow the user's configuration.
    let format = "--format=%H%n%ct%n%s";
    let text = git_text(folder, &["rev-list", "--max-count=1", format, revision, "--"]).ok()?;
    let mut lines = text.lines().skip(1);
    let (id, seconds, subject) = (lines.next()?, lines.next()?, lines.next().unwrap_or_default());
    let committed = seconds.parse().ok().and_then(|s: i64| s.checked_mul(1_000_000_000)).map(Nanos);
    Some(KnownCommit { id: id.to_owned(), committed, subject: subject.to_owned() })
}

/// Full id of the commit of a revision, if git knows it here.
pub fn commit_id(folder: &Path, revision: &str) -> Option<String> {
    let is_option = revision.is_empty() || revision.starts_with('-');
    if is_option { None } else { commit_of(folder, revision).map(|known| known.id) }
}

fn with_commit(folder: &Path, known: Option<KnownCommit>) -> GateSide {
    let folder = folder.to_string_lossy().into_owned();
    match known {
        None => GateSide { folder, ..GateSide::default() },
        Some(KnownCommit { id, committed, subject }) => {
            GateSide { folder, commit: Some(id), committed, subject: Some(subject), ..GateSide::default() }
        }
    }
}

/// A folder with what git knows of it, if it is in a work tree and there is git.
pub fn side(folder: &Path) -> GateSide {
    let ask = |args: &[&str]| git_text(folder, args).ok().filter(|text| !text.is_empty());
    let known = commit_of(folder, "HEAD");
    if known.is_none() {
        return with_commit(folder, None);
    }
    let branch = || ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
    let tag = || ask(&["describe", "--tags", "--exact-match"]);
    GateSide {
        name: branch().or_else(tag),
        // Files that git does not know may be what the build made.
        modified: ask(&["status", "--porcelain", "--untracked-files=no"]).is_some(),
        ..with_commit(folder, known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(folder: &Path, args: &[&str]) {
        let set = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let out = Command::new("git").arg("-C").arg(folder).args(set).args(args).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }

    /// Two commits on main; a branch from the first one.
    fn repository() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        run(dir.path(), &["init", "--quiet", "--initial-branch=main"]);
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        for text in ["first", "second"] {
            std::fs::write(dir.path().join("sub/file"), text).unwrap();
            run(dir.path(), &["add", "."]);
            run(dir.path(), &["commit", "--quiet", "-m", text]);
        }
        run(dir.path(), &["checkout", "--quiet", "-b", "side", "HEAD~1"]);
        std::fs::write(dir.path().join("other"), "third").unwrap();
        run(dir.path(), &["add", "."]);
        run(dir.path(), &["commit", "--quiet", "-m", "third line\n\nand more"]);
        dir
    }

    #[test]
    fn the_base_is_where_the_ways_part() {
        let dir = repository();
        let top = dir.path().canonicalize().unwrap();
        let found = Repository::find(&dir.path().join("sub")).unwrap();
        assert_eq!((found.top.canonicalize().unwrap(), &found.common), (top.clone(), &top.join(".git")));
        assert_eq!(found.prefix, Path::new("sub/"));
        let base = found.merge_base("main").unwrap();
        let side_of_base = found.base(&base, "main", Path::new("/cache"));
        assert_eq!((side_of_base.subject.as_deref(), side_of_base.name.as_deref()), (Some("first"), Some("main")));
        assert_eq!((side_of_base.commit.as_deref(), side_of_base.folder.as_str()), (Some(&*base), "/cache"));
        assert!(side_of_base.committed.is_some_and(|t| t > Nanos::ZERO) && base.len() == 40);
        assert!(!found.has_submodules(&base));
        let head = side(dir.path());
        assert_eq!((head.subject.as_deref(), head.name.as_deref()), (Some("third line"), Some("side")));
        assert!(!head.modified);
        // What git does not know is no change; what it knows is one.
        std::fs::write(dir.path().join("new"), "").unwrap();
        assert!(!side(dir.path()).modified);
        std::fs::write(dir.path().join("other"), "").unwrap();
        assert!(side(dir.path()).modified);
    }

    #[test]
    fn what_cannot_be_a_base_is_said() {
        let dir = repository();
        let found = Repository::find(dir.path()).unwrap();
        let refused = |revision: &str| found.merge_base(revision).unwrap_err();
        assert!(matches!(refused("--all"), BuildsError::BadRevision(_)));
        assert!(matches!(refused("nowhere"), BuildsError::NoRevision { shallow: false, .. }));
        run(dir.path(), &["checkout", "--quiet", "--orphan", "lonely"]);
        run(dir.path(), &["commit", "--quiet", "--allow-empty", "-m", "lonely"]);
        assert!(matches!(refused("main"), BuildsError::NoCommonCommit { shallow: false, .. }));
        let empty = tempfile::tempdir().unwrap();
        assert!(matches!(Repository::find(empty.path()), Err(BuildsError::NoRepository(_))));
        run(empty.path(), &["init", "--quiet"]);
        let none = Repository::find(empty.path()).unwrap().merge_base("HEAD");
        assert!(matches!(none, Err(BuildsError::NoCommit(_))));
        let bare = tempfile::tempdir().unwrap();
        run(bare.path(), &["init", "--quiet", "--bare"]);
        assert!(matches!(Repository::find(bare.path()), Err(BuildsError::NoWorkTree(_))));
        assert_eq!(side(bare.path()), GateSide { folder: bare.path().display().to_string(), ..GateSide::default() });
    }

    #[test]
    fn a_shallow_clone_is_named() {
        let dir = repository();
        let clone = tempfile::tempdir().unwrap();
        let url = format!("file://{}", dir.path().display());
        run(clone.path(), &["clone", "--quiet", "--depth=1", "--no-single-branch", &url, "."]);
        let found = Repository::find(clone.path()).unwrap();
        let e = found.merge_base("origin/main");
        assert!(matches!(e, Err(BuildsError::NoCommonCommit { shallow: true, .. })));
        let e = found.merge_base("HEAD~1");
        assert!(matches!(e, Err(BuildsError::NoRevision { shallow: true, .. })));
    }
}
