//! The header and both libraries, as a C compiler and a C++ compiler see them; and what is installed, by pkg-config.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder with the libraries: cargo puts them beside the program of the tests.
fn built() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    for library in ["libtare.a", "libtare.so"] {
        assert!(folder.join(library).is_file(), "no {library} in {}", folder.display());
    }
    folder
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn done(command: &mut Command) -> Output {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{command:?}: {}\n{stdout}{stderr}", out.status);
    out
}

/// What a static library of Rust wants beside itself on Linux; as in the pkg-config file.
const STATIC: [&str; 5] = ["-lgcc_s", "-lpthread", "-ldl", "-lm", "-lc"];

#[test]
fn c_and_cpp_programs_use_either_library() {
    let libraries = built();
    let work = tempfile::tempdir().unwrap();
    let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2"];
    for (compiler, language, standard) in [("cc", "c", "-std=c11"), ("c++", "c++", "-std=c++11")] {
        for dynamic in [false, true] {
            for source in ["tests/api.c", "examples/book.c", "examples/outcome.c"] {
                // The examples are C, and the designated way of C++ is not theirs.
                if language == "c++" && source != "tests/api.c" {
                    continue;
                }
                let program = work.path().join("program");
                let mut cc = Command::new(compiler);
                cc.args(strict).args([standard, "-x", language]).arg(here(source)).args(["-x", "none", "-I"]);
                cc.arg(here("include"));
                if dynamic {
                    cc.arg("-L").arg(&libraries).arg("-ltare");
                } else {
                    cc.arg(libraries.join("libtare.a"));
                }
                done(cc.args(STATIC).arg("-o").arg(&program));
                // By the name that the library says is its own.
                let _ = std::os::unix::fs::symlink(libraries.join("libtare.so"), work.path().join("libtare.so.0"));
                let out = done(Command::new(&program).env("LD_LIBRARY_PATH", work.path()));
                let said = String::from_utf8(out.stdout).unwrap();
                let lines = said.lines().count();
                match source {
                    "examples/book.c" => assert!(lines == 6 && said.starts_with("T(r) = "), "{said}"),
                    "examples/outcome.c" => assert!(lines == 3 && said.contains("chosen"), "{said}"),
                    _ => assert_eq!(said, ""),
                }
            }
        }
    }
}

#[test]
fn what_is_installed_is_found_by_pkg_config() {
    let libraries = built();
    let prefix = tempfile::tempdir().unwrap();
    let root = here("../..");
    let mut install = Command::new("sh");
    install.arg(root.join("scripts/install-library.sh")).arg(prefix.path()).arg(prefix.path());
    done(install.env("LIBRARIES", &libraries).current_dir(&root));
    let find = |arguments: &[&str]| {
        let mut pkg_config = Command::new("pkg-config");
        let out = done(
            pkg_config
                .env("PKG_CONFIG_PATH", prefix.path().join("lib/pkgconfig"))
                .env("PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "1")
                .args(arguments)
                .arg("tare"),
        );
        String::from_utf8(out.stdout).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(find(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    let program = prefix.path().join("book");
    let build = |flags: &[String]| {
        done(Command::new("cc").arg(here("examples/book.c")).args(flags).args(["-lm", "-o"]).arg(&program));
    };
    build(&find(&["--cflags", "--libs"]));
    done(Command::new(&program).env("LD_LIBRARY_PATH", prefix.path().join("lib")));
    let mut all = find(&["--cflags", "--libs", "--static"]);
    // Without a shared library of that name beside it, the static one is taken.
    for name in ["libtare.so", "libtare.so.0"] {
        std::fs::remove_file(prefix.path().join("lib").join(name)).unwrap();
    }
    all.retain(|flag| flag != "-lc");
    build(&all);
    done(&mut Command::new(&program));
}

#[test]
fn the_headers_version_is_the_librarys() {
    let header = std::fs::read_to_string(here("include/tare.h")).unwrap();
    assert!(header.contains(concat!("#define TARE_VERSION \"", env!("CARGO_PKG_VERSION"), "\"")));
}
