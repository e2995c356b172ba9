# SPDX-License-Identifier: MIT
# Spack: copy it to packages/tally/package.py of a repository. scripts/release fills in the words between @.
from spack.package import *


class Tally(CMakePackage):
    """Reductions, scans and sliding windows with the same bits on every machine: on any number of threads, with any
    vector width, on CUDA and OpenCL devices."""

    url = "@URL@"

    license("MIT", checked_by="the tally authors")

    version("@VERSION@", sha256="@SHA256@")

    variant("shared", default=True, description="Build the shared library too")
    variant("tools", default=True, description="Build the command line")
    variant(
        "isas",
        default="all",
        values=("all", "sse2", "avx2", "avx512", "neon", "generic"),
        multi=True,
        description="Instruction sets to compile; the widest that the machine has is chosen at run time",
    )

    depends_on("c", type="build")
    depends_on("cmake@3.18:", type="build")

    conflicts("platform=darwin", msg="tally needs Linux")
    conflicts("platform=windows", msg="tally needs Linux")

    def cmake_args(self):
        isas = [isa for isa in self.spec.variants["isas"].value if isa != "all"]
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("TALLY_TOOLS", "tools"),
            self.define("BUILD_TESTING", self.run_tests),
            self.define("TALLY_CUDA_KERNELS", "none"),
            self.define("TALLY_ISAS", ";".join(isas)),
        ]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_law(self):
        """The installed library keeps the law."""
        if self.spec.satisfies("+tools"):
            Executable(self.prefix.bin.tally)("verify", "--cases", "500")
