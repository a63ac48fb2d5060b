// Where a subcommand's result goes.
#pragma once

#include "base/io/files.h"
#include "base/result.h"

#include <functional>
#include <string>
#include <string_view>

namespace distgpu {

// Takes a long text piece by piece.
using Writer = std::function<Result<Done>(std::string_view)>;

// Errors: standard output takes no more (a full disk, a closed pipe).
Result<Done> print(std::string_view text);

// Prints a result of which the exit status is `code`; complains where it cannot.
ExitCode print_or_complain(std::string_view text, ExitCode code);

// Whether standard output shows colours: a terminal, and neither NO_COLOR (https://no-color.org)
// nor TERM=dumb.
bool wants_colour();

// The text in a terminal's style, such as "1;31"; as it is without colours.
std::string styled(bool colour, std::string_view style, std::string_view text);

// One line on standard error.
void say(std::string_view line);

// Says on standard error what went wrong; returns `code`.
ExitCode complain(const Error& error, ExitCode code);

}  // namespace distgpu
