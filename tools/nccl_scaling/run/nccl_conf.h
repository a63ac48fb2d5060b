// NCCL's configuration files: variables for whoever does not set them in the environment. As NCCL
// 2.30 reads them (src/misc/param.cc): one NAME=VALUE a line, without white space around; '#' in
// the first column begins a comment. What the environment has stays; of several lines for one
// variable the first counts.
#pragma once

#include "results/results.h"

#include <string>
#include <string_view>
#include <vector>

namespace distgpu::scaling {

struct ConfFile {
    std::string path;
    std::string origin;  // what the results call it, which does not tell where a user's home is

    bool operator==(const ConfFile&) const = default;
};

// In NCCL's order. `named`: the value of NCCL_CONF_FILE, which NCCL takes in place of the user's
// file from 2.23 on; empty: unset. `home`: of the user, by the system's accounts; empty: unknown.
std::vector<ConfFile> nccl_conf_files(const std::string& named, const std::string& home);

// Of the process that calls it.
std::vector<ConfFile> own_nccl_conf_files();

// The variables of a file's text.
std::vector<Variable> read_nccl_conf(std::string_view text, const std::string& origin);

}  // namespace distgpu::scaling
