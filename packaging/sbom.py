"""Prints the SPDX 2.3 document of a release: its files, and what each is statically linked with.

    python3 packaging/sbom.py VERSION FOLDER LINKED HOMEPAGE

LINKED lists the libraries of the builds for any Linux (packaging/portable/prepare writes it). RPMs are
linked with this machine's, whose versions dpkg knows. HOMEPAGE may be empty. SOURCE_DATE_EPOCH is the
date of the document, so that the same files give the same document.
"""

import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys

# Those of Debian have the name of the package that is linked.
LICENSES = {
    "libfmt-dev": "MIT",
    "nlohmann-json3-dev": "MIT",
    "libexpected-dev": "CC0-1.0",
    "libcli11-dev": "BSD-3-Clause",
    "libsodium-dev": "ISC",
    "hwloc": "BSD-3-Clause",
    "libc++": "Apache-2.0 WITH LLVM-exception",
    "libc++abi": "Apache-2.0 WITH LLVM-exception",
    "libunwind": "Apache-2.0 WITH LLVM-exception",
    "compiler_rt": "MIT",
    "musl": "MIT",
    "libstdc++-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgcc-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libc6-dev": "LGPL-2.1-or-later",
}
PLUGIN = ["libfmt-dev", "nlohmann-json3-dev", "libexpected-dev"]
COMMAND = PLUGIN + ["libcli11-dev", "libsodium-dev"]
ZIG = ["libc++", "libc++abi", "libunwind", "compiler_rt"]
GCC = ["libstdc++-12-dev", "libgcc-12-dev"]

Json = dict[str, object]


def linked(name: str) -> list[str]:
    """What is linked into the programs of this file of a release."""
    if name.startswith("distgpu_convert-") or "-debuginfo-" in name or "-debugsource-" in name:
        return []
    if name.endswith(".tar.gz") and "-linux-" not in name:
        return []
    # Of the plugin's two files, all is in the one that the other loads.
    if name.startswith("spank_distgpu-") and not name.endswith("_step.so"):
        return []
    plugin = name.startswith(("slurm-spank-distgpu", "spank_distgpu"))
    scaling = name.startswith(("nccl-scaling", "distgpu-nccl-scaling"))
    own = PLUGIN if plugin else COMMAND
    if not name.endswith(".rpm"):
        # The command's packages have distgpu-task and distgpu-sampler too.
        return own + ZIG + ([] if plugin or scaling else ["hwloc", "musl"])
    # The plugin and these two have no shared C++ library.
    return own + ([] if scaling else GCC) + ([] if plugin or scaling else ["libc6-dev"])


def installed(package: str) -> str:
    query = ["dpkg-query", "--show", "--showformat", "${Version}", package]
    return subprocess.run(query, check=True, capture_output=True, text=True).stdout


def identifier(*words: str) -> str:
    text = "-".join(words)
    return "SPDXRef-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in text)


def package(name: str, version: str, license_name: str) -> Json:
    return {
        "name": name,
        "SPDXID": identifier(name, version),
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": license_name,
        "licenseDeclared": license_name,
        "copyrightText": "NOASSERTION",
    }


def library(name: str, version: str) -> Json:
    result = package(name, version, LICENSES[name])
    if name.endswith("-dev"):
        purl = f"pkg:deb/debian/{name}@{version}".replace("+", "%2B")
        result["externalRefs"] = [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": purl,
            }
        ]
    return result


def document(version: str, folder: pathlib.Path, portable: dict[str, str], homepage: str) -> Json:
    packages: dict[object, Json] = {}
    relations: list[Json] = []

    def relate(one: object, kind: str, other: object) -> None:
        relation = {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
        relations.append(relation)

    sums = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        checksum = hashlib.sha256(file.read_bytes()).hexdigest()
        sums.update(checksum.encode())
        entry = package(file.name, version, "Apache-2.0")
        entry["SPDXID"] = identifier(file.name)
        entry["packageFileName"] = file.name
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": checksum}]
        packages[entry["SPDXID"]] = entry
        relate("SPDXRef-DOCUMENT", "DESCRIBES", entry["SPDXID"])
        for name in linked(file.name):
            used = library(name, installed(name) if file.suffix == ".rpm" else portable[name])
            packages[used["SPDXID"]] = used
            relate(entry["SPDXID"], "STATIC_LINK", used["SPDXID"])
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.UTC)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"distgpu-{version}",
        "documentNamespace": f"{homepage or 'https://spdx.org/spdxdocs'}/distgpu-{version}-{sums.hexdigest()}",
        "creationInfo": {
            "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: distgpu-packaging-sbom"],
        },
        "packages": list(packages.values()),
        "relationships": relations,
    }


def main() -> None:
    version, folder, table, homepage = sys.argv[1:]
    lines = pathlib.Path(table).read_text(encoding="utf-8").splitlines()
    portable = dict(line.split() for line in lines)
    print(json.dumps(document(version, pathlib.Path(folder), portable, homepage), indent=1))


main()
