# Who publishes the packages. The project's owner fills this in, once for all packages. Empty values are omitted.
# shellcheck shell=bash
# shellcheck disable=SC2034 # packaging/build reads it
maintainer_address= # Maintainer of the Debian packages, such as maintainers@example.org; if empty, root of the machine
homepage=           # of all packages, such as https://example.org/distgpu
