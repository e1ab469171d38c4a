// Names and colours of labels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace submarine::apps {

using Colour = std::array<std::uint8_t, 3>;

// The usual colours, from Pascal VOC: label 0 is black, 1 dark red, 2 dark green, ...; they repeat
// after 256 labels.
Colour VocColour(std::size_t label);

// One name per line; surrounding spaces and empty lines at the end are dropped. Throws FileError
// for an empty file or an empty line between names.
std::vector<std::string> ReadClassNames(const std::filesystem::path& file);

// One colour per line, as #rrggbb or as three numbers from 0 to 255. Throws FileError.
std::vector<Colour> ReadPalette(const std::filesystem::path& file);

std::string HexText(const Colour& colour);  // "#rrggbb"

}  // namespace submarine::apps
