#pragma once

#include "backend/package/archive/library.h"

#include <string>

/// What is made beside a library, for those who use it.
namespace imbrex::archive {

/// The header for C: a function for each kernel. The one for C++ includes it.
std::string headerForC(const Library &library);
/// The header for C++: the same functions with arguments of their parameters' types. `headerForC`
/// is the name of the other one.
std::string headerForCpp(const Library &library, const std::string &headerForC);
/// What is in the library, as JSON: parameters, targets, what their code assumes and takes.
std::string manifest(const Library &library);

} // namespace imbrex::archive
