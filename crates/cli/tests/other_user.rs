//! A program that `tare run --user` starts gets nothing from the user who runs tare except what is passed to it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{is_root, run, skip, text};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const UID: &str = "54321";

/// A user of the machine with separate groups, in a mount namespace where `/etc/passwd` and `/etc/group` say so.
fn with_user(dir: &TempDir, groups: usize, home: &str) -> Command {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let passwd = format!("{passwd}guest:x:{UID}:{UID}:Guest:{home}:/bin/sh\n");
    let group = std::fs::read_to_string("/etc/group").unwrap();
    let more: String = (0..groups).map(|n| format!("guests{n}:x:{}:guest\n", 60_000 + n)).collect();
    std::fs::write(dir.path().join("passwd"), passwd).unwrap();
    std::fs::write(dir.path().join("group"), format!("{group}guest:x:{UID}:\n{more}")).unwrap();
    let script = "mount --bind \"$0/passwd\" /etc/passwd && mount --bind \"$0/group\" /etc/group && exec \"$@\"";
    common::via(
        dir,
        &["unshare", "--mount", "--propagation", "private", "sh", "-c", script, dir.path().to_str().unwrap()],
    )
}

/// A file of the user's, where it can reach it.
fn given_to_user(dir: &TempDir, file: &Path, content: &str) {
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let _ = std::fs::remove_file(file);
    std::fs::write(file, content).unwrap();
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o666)).unwrap();
    std::os::unix::fs::chown(file, UID.parse().ok(), None).unwrap();
}

/// Runs a script as the user once and returns its output.
fn said(mut c: Command, dir: &TempDir, options: &[&str], script: &str) -> String {
    let out = dir.path().join("said");
    given_to_user(dir, &out, "");
    c.args(["run", "-r1", "-w0", "--style", "none", "--no-account", "--output"]).arg(&out);
    c.args(options).args(["--", "sh", "-c", script]);
    run(&mut c, 0);
    std::fs::read_to_string(out).unwrap()
}

fn status(said: &str) -> BTreeMap<&str, &str> {
    said.lines().filter_map(|l| l.split_once(':')).map(|(k, v)| (k, v.trim())).collect()
}

#[test]
fn ids_groups_and_capabilities_are_the_users() {
    if !is_root() {
        return skip("needs root, for --user");
    }
    let dir = common::folder();
    // More groups than one call of getgrouplist was given room for.
    let said_by = |options: &[&str]| {
        // Root with everything, inheritable capabilities too.
        let c = with_user(&dir, 300, "/tmp");
        said(c, &dir, options, "cat /proc/self/status")
    };
    let text = said_by(&["--user", "guest"]);
    let of = status(&text);
    assert_eq!(of["Uid"], [UID; 4].join("\t"));
    assert_eq!(of["Gid"], [UID; 4].join("\t"));
    let groups: Vec<&str> = of["Groups"].split_whitespace().collect();
    assert_eq!(groups.len(), 301, "{groups:?}");
    assert!(!groups.contains(&"0"), "{groups:?}");
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(of[set].trim_start_matches('0'), "", "{set}");
    }
    assert_eq!(of["NoNewPrivs"], "1");
    let text = said_by(&["--user", "guest:new-privileges"]);
    assert_eq!((status(&text)["Uid"].split('\t').next(), status(&text)["NoNewPrivs"]), (Some(UID), "0"));
    let mut c = with_user(&dir, 1, "/tmp");
    let out = run(c.args(["run", "-r1", "--user", "guest:x", "--", "true"]), 2);
    assert!(common::text(&out.stderr).contains("USER:new-privileges"), "{}", common::text(&out.stderr));
}

#[test]
fn inheritable_capabilities_of_roots_end() {
    if !is_root() {
        return skip("needs root, for --user");
    }
    let dir = common::folder();
    let c = common::via(&dir, &["setpriv", "--inh-caps=+net_admin,+sys_admin"]);
    let text = said(c, &dir, &["--user", "nobody"], "cat /proc/self/status");
    assert_eq!(status(&text)["CapInh"].trim_start_matches('0'), "", "{text}");
}

#[test]
fn its_session_is_its_own_and_it_has_no_other_descriptors() {
    if !is_root() {
        return skip("needs root, for --user");
    }
    let dir = common::folder();
    // Descriptor 7 is a file that only root may open; the input is inherited, as with a terminal.
    let c = common::via(&dir, &["sh", "-c", "exec \"$@\" 7</etc/shadow", "sh"]);
    let script = "cut -d' ' -f1,5,6,7 /proc/$$/stat; ls /proc/$$/fd | tr '\\n' ' '; cat <&7 2>/dev/null | wc -c";
    let text = said(c, &dir, &["--user", "nobody", "--input", "inherit"], script);
    let mut lines = text.lines();
    let numbers: Vec<&str> = lines.next().unwrap().split(' ').collect();
    assert_eq!(numbers[0], numbers[1], "its own group: {text}");
    assert_eq!(numbers[0], numbers[2], "its own session: {text}");
    assert_eq!(numbers[3], "0", "no controlling terminal: {text}");
    assert_eq!(lines.next().unwrap().trim(), "0 1 2 0", "{text}");
}

#[test]
fn its_environment_is_the_users_and_what_was_asked_for() {
    if !is_root() {
        return skip("needs root, for --user");
    }
    let dir = common::folder();
    let secrets = [
        "XDG_RUNTIME_DIR",
        "SSH_AUTH_SOCK",
        "SUDO_USER",
        "SUDO_COMMAND",
        "DBUS_SESSION_BUS_ADDRESS",
        "XAUTHORITY",
        "AWS_SECRET_ACCESS_KEY",
        "TARE_DB",
        "MAIL",
        "GIVEN",
    ];
    // A long entry: its home alone has more than the C library's usual buffer.
    let home = format!("/tmp/{}", "h".repeat(20_000));
    let mut c = with_user(&dir, 1, &home);
    for name in secrets {
        c.env(name, "of root");
    }
    c.env("TARE_DB", dir.path().join("tare.db")).env("LC_TIME", "C").env("TERM", "dumb").env("SHELL", "/bin/rootshell");
    let options = ["--user", "guest", "--env", "GIVEN=by hand", "--env", "SSH_AUTH_SOCK=/given", "--env", "USER=other"];
    let text = said(c, &dir, &options, "env");
    let env: BTreeMap<&str, &str> = text.lines().filter_map(|l| l.split_once('=')).collect();
    for name in secrets.iter().filter(|n| !["GIVEN", "SSH_AUTH_SOCK"].contains(n)) {
        assert_eq!(env.get(name), None, "{name}");
    }
    assert_eq!(env["HOME"], home);
    assert_eq!((env["LOGNAME"], env["SHELL"], env["USER"]), ("guest", "/bin/sh", "other"));
    assert_eq!((env["GIVEN"], env["SSH_AUTH_SOCK"]), ("by hand", "/given"));
    assert_eq!((env["LC_TIME"], env["TERM"]), ("C", "dumb"));
    assert_eq!(text.lines().filter(|l| l.starts_with("USER=")).count(), 1);
    assert_eq!(env["TARE_ITERATION"], "0");
    // Without another user, nothing is taken away.
    let mut c = common::tare(&dir);
    c.env("AWS_SECRET_ACCESS_KEY", "mine").env("SSH_AUTH_SOCK", "/mine");
    let text = said(c, &dir, &[], "env");
    assert!(text.contains("AWS_SECRET_ACCESS_KEY=mine") && text.contains("SSH_AUTH_SOCK=/mine"), "{text}");
}

#[test]
fn set_user_id_programs_have_no_effect_unless_asked_for() {
    if !is_root() {
        return skip("needs root, for --user");
    }
    let dir = common::folder();
    let id = dir.path().join("id");
    std::fs::copy("/usr/bin/id", &id).unwrap();
    run(Command::new("chmod").arg("4755").arg(&id), 0);
    let nosuid = run(Command::new("findmnt").args(["-no", "OPTIONS", "-T"]).arg(&id), 0);
    if text(&nosuid.stdout).contains("nosuid") {
        return skip("needs a temporary folder where set-user-ID programs work");
    }
    let script = format!("{} -u", id.display());
    let by = |user: &str| said(common::tare(&dir), &dir, &["--user", user], &script);
    assert_eq!(by("nobody").trim(), "65534");
    assert_eq!(by("nobody:new-privileges").trim(), "0");
}

#[test]
fn it_cannot_type_into_the_terminal_of_root() {
    let there = |name: &str| Command::new(name).arg("--version").output().is_ok();
    if !is_root() || !there("script") || !there("perl") {
        return skip("needs root, script(1) and perl");
    }
    let dir = common::folder();
    // TIOCSTI (0x5412) with the terminal inherited. Kernels with dev.tty.legacy_tiocsti=0 refuse it anyhow; then the second
    // line still shows whether the terminal is the program's.
    let file = dir.path().join("typist.pl");
    let typist = "$c = '!'; print ioctl(STDIN, 0x5412, $c) ? \"typed\n\" : \"refused\n\";\n\
                  print open(F, '<', '/dev/tty') ? \"terminal\n\" : \"none\n\";\n";
    std::fs::write(&file, typist).unwrap();
    let (out, db) = (dir.path().join("typed"), dir.path().join("tare.db"));
    let line = format!(
        "{} run --db {} -r1 -w0 --style none --no-account --input inherit --user nobody --output {} -- /usr/bin/perl {}",
        common::TARE,
        db.display(),
        out.display(),
        file.display()
    );
    let mut c = Command::new("script");
    let done = c.args(["-qec", &line]).arg(dir.path().join("typescript")).output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stdout));
    let said = std::fs::read_to_string(out).unwrap();
    assert_eq!(said, "refused\nnone\n");
}

#[test]
fn root_keeps_no_files_in_the_home_of_another() {
    if !is_root() {
        return skip("needs root");
    }
    let (dir, home) = (common::folder(), common::folder());
    std::os::unix::fs::chown(home.path(), Some(65534), Some(65534)).unwrap();
    // Root's own home, by the user database, is a folder of this test.
    let own = dir.path().join("root-home");
    std::fs::create_dir(&own).unwrap();
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let root = passwd.lines().map(|l| match l.strip_prefix("root:x:0:0:root:") {
        Some(_) => format!("root:x:0:0:root:{}:/bin/sh\n", own.display()),
        None => format!("{l}\n"),
    });
    std::fs::write(dir.path().join("passwd"), root.collect::<String>()).unwrap();
    let script = "mount --bind \"$0/passwd\" /etc/passwd && exec \"$@\"";
    let path = dir.path().to_str().unwrap();
    let mut c = common::via(&dir, &["unshare", "--mount", "--propagation", "private", "sh", "-c", script, path]);
    c.env("HOME", home.path()).env_remove("XDG_DATA_HOME").env_remove("TARE_DB");
    run(c.args(["run", "-r1", "-w0", "--style", "none", "--no-account", "--", "true"]), 0);
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().flatten().map(|e| e.path()).collect();
    assert!(left.is_empty(), "nothing of root's in the other user's home: {left:?}");
    assert!(own.join(".local/share/tarebench/tare.db").exists());
}

/// What it puts in the place of its files between two samples, links and FIFOs, is opened with its own rights, without waiting.
#[test]
fn its_files_are_opened_with_its_rights() {
    if !is_root() {
        return skip("needs root");
    }
    let dir = common::folder();
    let place = |name: &str| dir.path().join(name);
    given_to_user(&dir, &place("own"), "its own\n");
    std::fs::write(place("roots"), "a secret\n").unwrap();
    std::fs::set_permissions(place("roots"), PermissionsExt::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(place("roots"), place("link")).unwrap();
    assert!(Command::new("mkfifo").arg("-m666").arg(place("fifo")).status().unwrap().success());
    let tried = |option: &str, file: &str, program: &[&str]| {
        let mut c = with_user(&dir, 1, "/tmp");
        c.args(["run", "-r1", "-w0", "--style", "none", "--no-account", "--user", "guest", option]).arg(place(file));
        let out = c.arg("--").args(program).output().unwrap();
        (out.status.success(), text(&out.stderr))
    };
    let (done, said) = tried("--output", "link", &["echo", "its line"]);
    assert!(!done && said.contains("Permission denied"), "{said}");
    let (done, said) = tried("--input", "link", &["cat"]);
    assert!(!done && said.contains("Permission denied"), "{said}");
    assert_eq!(std::fs::read_to_string(place("roots")).unwrap(), "a secret\n");
    assert!(!tried("--output", "fifo", &["true"]).0, "nobody reads it");
    assert!(tried("--output", "own", &["echo", "its line"]).0 && tried("--input", "own", &["grep", "line"]).0);
    assert_eq!(std::fs::read_to_string(place("own")).unwrap(), "its own\nits line\n");
}

/// Links to what is tare's own, by the name of its process: the user's program would read tare's memory map or an open file.
#[test]
fn files_of_tares_own_process_are_refused() {
    if !is_root() {
        return skip("needs root");
    }
    let dir = common::folder();
    let place = |name: &str| dir.path().join(name);
    given_to_user(&dir, &place("own"), "its own\n");
    let tried = |target: &Path, option: &str| {
        let _ = std::fs::remove_file(place("link"));
        std::os::unix::fs::symlink(target, place("link")).unwrap();
        // Descriptor 7 is open to everyone, in a folder that only root can enter.
        let hidden = place("hidden");
        let _ = std::fs::create_dir(&hidden);
        std::fs::set_permissions(&hidden, PermissionsExt::from_mode(0o700)).unwrap();
        std::fs::write(hidden.join("file"), "a secret\n").unwrap();
        let mut c = common::via(&dir, &["sh", "-c", "exec \"$@\" 7<hidden/file", "sh"]);
        c.current_dir(dir.path());
        c.args(["run", "-r1", "-w0", "--style", "none", "--no-account", "--user", "nobody", option]).arg(place("link"));
        let out = c.args(["--", "cat"]).output().unwrap();
        (out.status.success(), text(&out.stderr))
    };
    for target in ["/proc/self/maps", "/proc/self/fd/7", "/proc/self/root/etc/passwd"] {
        let (done, said) = tried(Path::new(target), "--input");
        assert!(!done && said.contains("of /proc") && said.contains("expected"), "{target}: {said}");
    }
    let (done, said) = tried(Path::new("/proc/self/comm"), "--output");
    assert!(!done && said.contains("link"), "{said}");
    let (done, said) = tried(&place("own"), "--input");
    assert!(done, "a link to a file of its own: {said}");
    let (done, said) = tried(Path::new("/dev/null"), "--output");
    assert!(done, "a link to a device: {said}");
}

#[test]
fn a_link_to_the_terminal_of_root_is_refused() {
    if !is_root() || Command::new("script").arg("--version").output().is_err() {
        return skip("needs root and script(1)");
    }
    let dir = common::folder();
    let (db, link) = (dir.path().join("tare.db"), dir.path().join("link"));
    std::os::unix::fs::symlink("/dev/tty", &link).unwrap();
    for (option, program) in [("--input", "true"), ("--output", "echo typed")] {
        let line = format!(
            "{} run --db {} -r1 -w0 --style none --no-account --user nobody {option} {} -- {program}",
            common::TARE,
            db.display(),
            link.display(),
        );
        let done = Command::new("script").args(["-qec", &line]).arg(dir.path().join("typescript")).output().unwrap();
        let said = text(&done.stdout);
        assert!(!done.status.success() && said.contains("it is a terminal"), "{option}: {said}");
    }
}

/// Whether its program can be started shows when it is started; before, tare would read the file as root.
#[test]
fn its_program_is_not_read_by_root() {
    if !is_root() {
        return skip("needs root");
    }
    let dir = common::folder();
    std::fs::write(dir.path().join("script"), "#!/no/such/secret\n").unwrap();
    std::fs::set_permissions(dir.path().join("script"), PermissionsExt::from_mode(0o711)).unwrap();
    let said = |options: &[&str]| {
        let mut c = common::tare(&dir);
        c.current_dir(dir.path()).args(["run", "-r1", "-w0", "--style", "none", "--no-account"]).args(options);
        text(&run(c.args(["--", "./script"]), 2).stderr)
    };
    assert!(said(&[]).contains("/no/such/secret"));
    let by_user = said(&["--user", "nobody"]);
    assert!(by_user.contains("could not be started") && !by_user.contains("secret"), "{by_user}");
}

#[test]
fn a_shell_runs_as_the_user_only() {
    if !is_root() {
        return skip("needs root");
    }
    let dir = common::folder();
    let (shell, log) = (dir.path().join("sh"), dir.path().join("log"));
    given_to_user(&dir, &log, "");
    std::fs::write(&shell, format!("#!/bin/sh\nid -u >> {}\nexec /bin/sh \"$@\"\n", log.display())).unwrap();
    std::fs::set_permissions(&shell, PermissionsExt::from_mode(0o755)).unwrap();
    let mut c = with_user(&dir, 1, "/tmp");
    c.args(["run", "-r2", "-w0", "--style", "none", "--no-account", "--user", "guest", "-S"]).arg(&shell);
    run(c.arg("true; true"), 0);
    let ids = std::fs::read_to_string(&log).unwrap();
    assert!(ids.lines().count() >= 2 && ids.lines().all(|id| id == UID), "{ids}");
}
