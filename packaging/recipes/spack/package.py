"""The portable programs as a Spack package, from the tarball of `packaging/build portable`.

Lies in packages/distgpu of a Spack repository; the tarball lies where spack is called:

    spack install --no-checksum distgpu
"""

# mypy: ignore-errors
# The names are Spack's, which is not installed where this is checked.

import os

from spack.package import *


class Distgpu(Package):
    """Variables, GPUs, CPUs and InfiniBand ports for the tasks of distributed GPU training."""

    manual_download = True

    license("Apache-2.0")

    version("0.1.0")

    # Nothing is compiled, and no library of Spack's is needed.
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
