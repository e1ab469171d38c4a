// What the command says. Everything it prints goes through here: names of files and other words of
// the user reach the terminal without their control characters, and a stream that cannot be written
// to ends neither in silence nor in an abort.
#pragma once

#include <string>
#include <string_view>

namespace submarine::apps {

// One line of what a terminal takes for text: control characters, those that turn the direction of
// writing, and bytes that are no UTF-8 become \n, \t, \r or \xNN.
std::string Escaped(std::string_view text);

// To standard output, which is a result: throws FileError where it cannot be written. PrintText()
// keeps the ends of lines, PrintLine() makes one line of whatever it is given.
void PrintText(std::string_view text);
void PrintLine(std::string_view text);
void FlushOutput();

// "submarine: TEXT" and "submarine: warning: TEXT", each one line on standard error. Where that
// fails, nothing is left to say it to.
void PrintError(std::string_view text) noexcept;
void PrintWarning(std::string_view text) noexcept;

// To standard error as it is, for a progress line.
void PrintRaw(std::string_view text) noexcept;

// From now on errors and warnings say `shown` where they would say `hidden`: the path of a
// temporary means nothing to who asked for another one.
void ShowInstead(const std::string& hidden, const std::string& shown);

}  // namespace submarine::apps
