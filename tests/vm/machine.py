"""Builds the guest and runs it: Debian's cloud kernel, an initramfs of Debian's files, QEMU."""

import glob
import os
import re
import shutil
import subprocess
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KERNEL_PACKAGE = "linux-image-cloud-amd64"
RESULTS_BYTES = 16 << 20


class Unavailable(Exception):
    """This machine cannot have the guest; the text says why."""


def call(*command, **more):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **more)
    if done.returncode:
        raise Unavailable(f"{' '.join(command[:3])}: {done.stdout.strip()[-300:]}")
    return done.stdout


def named_kernels():
    """Which package the one that always means the newest kernel stands for."""
    known = subprocess.run(["apt-cache", "depends", "--important", KERNEL_PACKAGE], check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return re.findall(r"Depends: (linux-image-\S+)", known.stdout)


def fetch_kernel(folder):
    """The path of a kernel image, taken from Debian's package without installing it."""
    found = sorted(glob.glob(f"{folder}/vmlinuz-*"))
    if found:
        return found[-1]
    names = named_kernels()
    if not names and os.geteuid() == 0:  # a fresh machine has no lists yet
        call("apt-get", "-q", "update")
        names = named_kernels()
    if not names:
        raise Unavailable(f"apt knows no {KERNEL_PACKAGE}")
    os.makedirs(folder, exist_ok=True)
    call("apt-get", "-q", "download", names[0], cwd=folder)
    package = glob.glob(f"{folder}/*.deb")[0]
    call("dpkg-deb", "-x", package, f"{folder}/unpacked")
    image = glob.glob(f"{folder}/unpacked/boot/vmlinuz-*")[0]
    kernel = os.path.join(folder, os.path.basename(image))
    os.replace(image, kernel)
    shutil.rmtree(f"{folder}/unpacked")
    os.remove(package)
    return kernel


def libraries_of(program):
    return re.findall(r"(/\S+) \(0x", call("ldd", program))


def build_initramfs(folder, programs):
    """`programs`: {path in the guest: path here}. Returns the archive's path."""
    tree = os.path.join(folder, "initramfs")
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(tree)
    files = {"/bin/busybox": shutil.which("busybox"), "/init": os.path.join(ROOT, "tests/vm/init")}
    for name in ("measure", "write", "check", "sweep.json"):
        files["/vm/" + name] = os.path.join(ROOT, "tests/vm", name)
    for inside, path in programs.items():
        files[inside] = path
        files.update({library: library for library in libraries_of(path)})
    for inside, path in files.items():
        os.makedirs(os.path.dirname(tree + inside), exist_ok=True)
        shutil.copy(path, tree + inside)
    os.chmod(tree + "/init", 0o755)
    for part in ("configs", "traces", "results/paper"):
        shutil.copytree(os.path.join(ROOT, part), f"{tree}/wp/{part}")
    archive = os.path.join(folder, "initramfs.cpio")
    with open(archive, "wb") as output:
        listing = subprocess.run(["find", "."], cwd=tree, stdout=subprocess.PIPE, check=True)
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"], cwd=tree,
                       input=listing.stdout, stdout=output, check=True)
    return archive


def make_drive(path, sector_bytes, size_bytes):
    with open(path, "wb") as file:
        file.truncate(size_bytes)
    # Blocks as large as the larger sector, and nothing left to be initialised later.
    call("mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "nodiscard",
         "-L", f"drive{sector_bytes}", path)


class Guest:
    """One boot. Lines of its console arrive in `lines`; `on_line` sees each as it comes."""

    def __init__(self, folder, kernel, archive, drives, words, log_writes=False, on_line=None):
        self.results = os.path.join(folder, "results.tar")
        with open(self.results, "wb") as file:
            file.truncate(RESULTS_BYTES)
        command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-machine", "q35",
                   "-cpu", "max", "-smp", "2", "-m", "768", "-nodefaults", "-no-reboot",
                   "-display", "none", "-serial", "stdio", "-kernel", kernel, "-initrd", archive,
                   "-append", f"console=ttyS0 quiet panic=-1 {words}"]
        command += drive_options(self.results, "results", 512, None)
        for sector_bytes, path in drives.items():
            command += drive_options(path, f"drive{sector_bytes}", sector_bytes,
                                     path + ".log" if log_writes else None)
        self.lines = []
        self.on_line = on_line
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors="replace")
        self.reader = threading.Thread(target=self.read_console, daemon=True)
        self.reader.start()

    def read_console(self):
        for line in self.process.stdout:
            line = line.strip()
            self.lines.append(line)
            if self.on_line:
                self.on_line(line)

    def wait(self, seconds):
        """Until it is switched off; False: it had to be stopped."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.cut()
            return False
        self.reader.join()
        return True

    def cut(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()


def drive_options(path, name, sector_bytes, log):
    """An NVMe controller with a volatile write cache, in front of a file or of a log of writes."""
    options = ["-blockdev", f"driver=file,filename={path},node-name={name}-file"]
    node = f"{name}-file"
    if log:
        with open(log, "wb"):
            pass
        options += ["-blockdev", f"driver=file,filename={log},node-name={name}-log", "-blockdev",
                    f"driver=blklogwrites,node-name={name}-logged,file={node},log={name}-log,"
                    "log-super-update-interval=1"]
        node = f"{name}-logged"
    return options + ["-device", f"nvme,serial={name},drive={node},logical_block_size={sector_bytes},"
                      f"physical_block_size={sector_bytes},write-cache=on"]
