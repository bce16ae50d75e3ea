"""A real Slurm cluster on loopback: munged, slurmctld and two nodes (slurmd), as programs of the user of the tests.

There is no accounting database, as on many small clusters. Everything is in one folder, and ends with the block.
"""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel")
NODES = ("a", "b")
IDLE_SECONDS = 180.0
"""How long nodes may take until they can be given jobs."""
CONFIG = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
CommunicationParameters=NoAddrCache,NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,sched_min_interval=100000
SlurmdTimeout=5
KillWait=1
ReturnToService=2
SlurmdParameters=config_overrides
"""


def programs_with(folder: str) -> dict[str, str | None]:
    """Return where the programs of Slurm are."""
    return {name: shutil.which(name, path=folder) for name in PROGRAMS}


@dataclass
class SlurmCluster:
    """A cluster whose parts can be killed and started again."""

    folder: Path
    programs: dict[str, str]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str]:
        """What commands of Slurm need in their environment."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def start(self, name: str) -> None:
        """Start `munged`, `slurmctld` or a node."""
        words = {
            "munged": ["munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket"]
            + [f"--{key}-file={self.folder}/munge.{key}" for key in ("key", "pid", "seed")],
            "slurmctld": ["slurmctld", "-D"],
        }.get(name, ["slurmd", "-D", "-N", name])
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [self.programs[words[0]], *words[1:]], stdout=log, stderr=log, env={**os.environ, **self.variables}
            )

    def kill(self, name: str) -> None:
        """Kill a program, and what a node has started, as if its machine had failed; the controller saves its state."""
        process = self.running.pop(name)
        if name == "slurmctld":  # killed within its first minutes it would give numbers of jobs again
            process.terminate()
        else:
            process.kill()
        process.wait(60)
        for pid in _steps_of(name) if name in NODES else ():
            os.kill(pid, signal.SIGKILL)

    def command(self, *words: str) -> str:
        """Run a command such as `squeue`, and return what it prints."""
        done = subprocess.run(words, env={**os.environ, **self.variables}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def wait_until_idle(self) -> None:
        """Cancel what is left of jobs, and wait until both nodes can be given new ones.

        A node whose last message was lost with its controller is asked again after a minute.
        """
        until = time.monotonic() + IDLE_SECONDS
        while time.monotonic() < until:
            for words in (["scancel", f"--user={getpass.getuser()}"], ["sinfo", "-h", "--Node", "-o", "%N %t"]):
                done = subprocess.run(words, env={**os.environ, **self.variables}, capture_output=True, text=True)
            if {*done.stdout.splitlines()} >= {f"{name} idle" for name in NODES}:
                return
            time.sleep(0.1)
        raise AssertionError(
            f"{done.stdout}{done.stderr}" + "".join(path.read_text() for path in self.folder.glob("*.log"))[-4000:]
        )


def _steps_of(node: str) -> list[int]:
    """Return the processes of the jobs of a node."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"SLURMD_NODENAME={node}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def _free_ports(count: int) -> list[int]:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


@contextmanager
def slurm_cluster(programs: dict[str, str]) -> Iterator[SlurmCluster]:
    """Start a cluster of two nodes with one CPU each."""
    with tempfile.TemporaryDirectory(prefix="slurm", ignore_cleanup_errors=True) as name:  # short: a socket is in it
        folder = Path(name)
        host = socket.gethostname().partition(".")[0]
        controller, *ports = _free_ports(1 + len(NODES))
        config = CONFIG.format(host=host, controller=controller, user=getpass.getuser(), folder=folder)
        for node, port in zip(NODES, ports, strict=True):
            config += f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=1000\n"
            (folder / f"spool-{node}").mkdir()
        config += "PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
        (folder / "slurm.conf").write_text(config)
        (folder / "state").mkdir()
        (folder / "munge.key").touch(mode=0o600)
        (folder / "munge.key").write_bytes(secrets.token_bytes(128))
        cluster = SlurmCluster(folder, programs)
        try:
            for part in ("munged", "slurmctld", *NODES):
                cluster.start(part)
            cluster.wait_until_idle()
            yield cluster
        finally:
            for part in list(cluster.running):
                cluster.kill(part)
