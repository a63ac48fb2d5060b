"""The portable programs as a Spack package, from the tarball of `packaging/build portable`.

Copy this file to packages/distgpu of a Spack repository, and run spack in the tarball's folder:

    spack install --no-checksum distgpu
"""

# mypy: ignore-errors
# Spack, which defines these names, is not installed where this is checked.

import os

from spack.package import *


class Distgpu(Package):
    """Variables, GPUs, CPUs and InfiniBand ports for the tasks of distributed GPU training."""

    manual_download = True

    license("Apache-2.0")

    version("0.2.0")

    # Compiles nothing, and needs no library from Spack.
    requires("platform=linux", msg="the portable programs are for Linux")
    requires("target=x86_64:", msg="the portable programs are for x86-64")

    def url_for_version(self, version):
        return f"file://{os.getcwd()}/distgpu-{version}-linux-x86_64.tar.gz"

    def install(self, spec, prefix):
        install_tree("bin", prefix.bin)
        install_tree("share", prefix.share)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def show_devices(self):
        Executable(self.prefix.bin.distgpu)("topo")
