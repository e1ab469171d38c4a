// All output of the command. Names of files and other text from the user reach the terminal without
// their control characters, and a stream that cannot be written to causes neither silence nor an
// abort.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "submarine/base/error.h"

namespace submarine::apps {

// The refusal with what would do, in options of the command; `shrink` is what --shrink is now, where there is such an option.
std::string InOptions(const TooLarge& error, std::optional<int> shrink = {});

// One line that is safe for a terminal: control characters, those that change the writing
// direction, and bytes that are not UTF-8 become \n, \t, \r or \xNN.
std::string Escaped(std::string_view text);

// To standard output, which is a result: throws FileError if it cannot be written. PrintText()
// keeps line ends, PrintLine() makes a single line of its argument.
void PrintText(std::string_view text);
void PrintLine(std::string_view text);
void FlushOutput();

// "submarine: TEXT" and "submarine: warning: TEXT", each one line on standard error. If that fails,
// there is nowhere to report it.
void PrintError(std::string_view text) noexcept;
void PrintWarning(std::string_view text) noexcept;

// To standard error without changes, for a progress line.
void PrintRaw(std::string_view text) noexcept;

// From now on errors and warnings say `shown` instead of `hidden`: the path of a temporary
// directory means nothing to the user, who asked for another one.
void ShowInstead(const std::string& hidden, const std::string& shown);
std::string WithShownNames(std::string text);

}  // namespace submarine::apps
