# Who stands behind the packages: the project's owner fills this in, once for all of them. What is empty is left out.
# shellcheck shell=bash
# shellcheck disable=SC2034 # packaging/build reads it
maintainer_address= # of the Debian packages' Maintainer, as in maintainers@example.org; empty: root of the machine
homepage=           # of all packages, as in https://example.org/distgpu
