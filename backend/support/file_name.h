#pragma once

#include <string>
#include <string_view>

namespace imbrex {

/// A kernel's name as that of a file: no separators, and never empty, `.` or `..`.
std::string fileNameFor(std::string_view kernel);

} // namespace imbrex
