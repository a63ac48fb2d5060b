// Prints the results and errors of subcommands.
#pragma once

#include "base/io/files.h"
#include "base/result.h"

#include <functional>
#include <string>
#include <string_view>

namespace distgpu {

// Receives a long text in pieces.
using Writer = std::function<Result<Done>(std::string_view)>;

// Error: standard output cannot be written (a full disk, a closed pipe).
Result<Done> print(std::string_view text);

// Prints the text and returns `code`; if that fails, reports the error and returns `environment`.
ExitCode print_result(std::string_view text, ExitCode code);

// Whether standard output is a terminal that may get colours: neither NO_COLOR
// (https://no-color.org) nor TERM=dumb is set.
bool has_colour_output();

// The text in a terminal style such as "1;31"; unchanged if not `colour`.
std::string styled(bool colour, std::string_view style, std::string_view text);

// Prints one line to standard error.
void print_error_line(std::string_view line);

// Prints the error to standard error; returns `code`.
ExitCode report_error(const Error& error, ExitCode code);

}  // namespace distgpu
