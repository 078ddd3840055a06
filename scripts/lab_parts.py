"""What tests of a lab start by themselves: a PostgreSQL server, a proxy that cuts connections, Slurm. All of it in one folder, as
processes of its own that are ended by their ids, and reached by 127.0.0.1 and Unix sockets only."""
import asyncio
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SLURM = ROOT / "scripts/lab-slurm.sh"
DATABASE = "lab"
OWNER = "postgres"


class Failed(Exception):
    """A sentence that says what is wrong."""


def output(*command, timeout=120, **more):
    """Standard output of a command, which must succeed."""
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, timeout=timeout, **more)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(true, seconds, what):
    """Waits until `true()` holds."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(0.05)


def server_programs():
    """The folder of PostgreSQL's own programs, which Debian does not put on the path."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    named = shutil.which("initdb")
    if not named:
        raise Failed("PostgreSQL is missing (initdb): scripts/setup.sh test")
    return pathlib.Path(named).resolve().parent


class Postgres:
    """A PostgreSQL server with a Unix socket and a port on 127.0.0.1, both for this folder only.

    Its superuser is `postgres`, without a password on the socket. On the port, roles need a password unless `trusted` names them.
    """

    def __init__(self, folder, trusted=(), settings=()):
        self.folder, self.bin, self.port = pathlib.Path(folder), server_programs(), free_port()
        self.data, self.log = self.folder / "data", self.folder / "log"
        self.folder.mkdir(mode=0o755)
        # The server refuses to run as root.
        self.user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        if self.user:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self._run("initdb", "--pgdata", self.data, "--username", OWNER, "--auth-local=trust", "--auth-host=scram-sha-256",
                  "--encoding=UTF8", "--locale=C.UTF-8", "--no-instructions")
        rules = self.data / "pg_hba.conf"
        text = "".join(f"host all {role} 127.0.0.1/32 trust\n" for role in trusted) + rules.read_text()
        rules.write_text(text)
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as file:
            for line in (f"port = {self.port}", "listen_addresses = '127.0.0.1'", f"unix_socket_directories = '{self.folder}'",
                         "max_connections = 200", "log_min_messages = warning", *settings):
                file.write(f"{line}\n")

    def _run(self, program, *words, **more):
        # In a folder that the server's user may enter, too.
        as_user = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return output(self.bin / program, *words, cwd=self.folder, env=environment, **as_user, **more)

    def start(self):
        self._run("pg_ctl", "start", "--wait", "--silent", "--pgdata", self.data, "--log", self.log, stdin=subprocess.DEVNULL)

    def stop(self, mode="fast"):
        self._run("pg_ctl", "stop", "--wait", "--silent", "--mode", mode, "--pgdata", self.data)

    def running(self):
        return (self.data / "postmaster.pid").exists()

    def url(self, role=OWNER, database=DATABASE):
        """By the Unix socket."""
        return f"postgresql://{role}@/{database}?host={self.folder}&port={self.port}"

    def tcp(self, role, port=None, database=DATABASE):
        """By TCP, on the server's port or a proxy's."""
        return f"postgresql://{role}@127.0.0.1:{port or self.port}/{database}?sslmode=disable"

    def sql(self, text, database=DATABASE, timeout=120):
        """The rows of a query, as lists of texts."""
        printed = output(self.bin / "psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--field-separator=\t",
                         "--set=ON_ERROR_STOP=1", "--host", self.folder, "--port", self.port, "--username", OWNER,
                         "--dbname", database, "--command", text, timeout=timeout)
        return [line.split("\t") for line in printed.splitlines()]


class Proxy:
    """Passes connections on to a port on 127.0.0.1, and cuts some of them after a random number of bytes in a random direction.

    No connection is cut before `arm`. Which are cut, where and how depends on the seed and the connection's number only.
    """

    SHARE = 0.3
    WAYS = ("reset", "close", "stall")

    def __init__(self, target, seed):
        self.target, self.seed, self.port = target, seed, None
        self.accepted, self.refused, self.cuts = 0, 0, []
        self._wanted, self._pause, self._next = 0, 0.0, 0.0
        self._loop, ready = asyncio.new_event_loop(), threading.Event()
        # The loop itself holds its tasks only weakly.
        self._tasks = set()
        self._thread = threading.Thread(target=self._serve, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait()

    def arm(self, wanted, pause):
        """Cuts `wanted` connections, at least `pause` seconds apart."""
        self._wanted, self._pause, self._next = len(self.cuts) + wanted, pause, 0.0

    def stop(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self, ready):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._connection, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self._loop.run_forever()
        server.close()
        # What is open ends with the loop.
        while left := asyncio.all_tasks(self._loop):
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    def _plan(self, number):
        """Which direction is cut after how many bytes, and how; None for most connections."""
        chance = random.Random(f"{self.seed} {number}")
        if chance.random() > self.SHARE:
            return None
        # Evenly over the magnitudes: in the log-in, in a short exchange, in the middle of many samples.
        return chance.choice(("sent", "received")), int(10 ** chance.uniform(0, 5)), chance.choice(self.WAYS)

    async def _connection(self, reader, writer):
        number, self.accepted = self.accepted, self.accepted + 1
        self._tasks.add(asyncio.current_task())
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            # The server is stopped.
            self.refused += 1
            writer.transport.abort()
            return
        cut, ends = self._plan(number), (writer, back)
        pumps = [asyncio.ensure_future(self._pump(reader, back, "sent", cut, ends)),
                 asyncio.ensure_future(self._pump(there, writer, "received", cut, ends))]
        await asyncio.gather(*pumps, return_exceptions=True)
        for end in ends:
            end.close()

    async def _pump(self, reader, writer, direction, cut, ends):
        try:
            await self._pass(reader, writer, direction, cut, ends)
        except ConnectionError:
            # An end was killed, or the other direction was cut: the other end hears of it, too.
            for end in ends:
                end.transport.abort()

    async def _pass(self, reader, writer, direction, cut, ends):
        passed = 0
        while data := await reader.read(65536):
            if cut and cut[0] == direction and passed + len(data) > cut[1] and self._due():
                writer.write(data[: cut[1] - passed])
                await self._cut(cut, ends)
                return
            passed += len(data)
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()

    def _due(self):
        """Whether a connection is to be cut now; if so, the next one only after the pause."""
        now = time.monotonic()
        if len(self.cuts) >= self._wanted or now < self._next:
            return False
        self._next = now + self._pause
        return True

    async def _cut(self, cut, ends):
        self.cuts.append(cut)
        if cut[2] == "stall":
            # Neither side hears anything for some time.
            await asyncio.sleep(1 + cut[1] % 3)
        for end in ends:
            if cut[2] != "close":
                # A reset instead of an orderly end.
                end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.transport.abort()
            else:
                end.close()


class Slurm:
    """The cluster of scripts/lab-slurm.sh."""

    def __init__(self, folder, nodes=2):
        self.folder, self.nodes = pathlib.Path(folder), nodes
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "SBATCH_"))}
        self.environment["SLURM_CONF"] = str(self.folder / "slurm.conf")
        self._call("start", nodes)

    def _call(self, what, *words):
        output("sh", SLURM, what, self.folder, *words, stdin=subprocess.DEVNULL)

    def restart_controller(self, kill):
        self._call("controller", *(["KILL"] if kill else []))

    def kill_node(self, number):
        self._call("kill-node", number)

    def start_node(self, number):
        self._call("start-node", number)

    def stop(self):
        self._call("stop")

    def jobs(self):
        """States of the jobs that have not ended, by squeue."""
        return output("squeue", "--noheader", "--array", "--format=%T", env=self.environment).split()


def marked(name, value):
    """Processes that have this variable in their environment, with their command lines; zombies have none."""
    found = {}
    wanted = f"{name}={value}".encode()
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
                found[int(entry.name)] = line
        except OSError:
            # It has ended, or is another user's.
            continue
    return found


def end(process, seconds=10, asked=False):
    """Ends a child by SIGTERM, if it was not `asked` to end, or by SIGKILL if it does not end; returns its exit code, or None."""
    if not asked and process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None
