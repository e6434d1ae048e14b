#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace imbrex::target::nvptx {

/// The folders in which a toolkit may be, best first: IMBREX_TOOLKIT alone where it is set, else
/// CUDA_HOME, CUDA_PATH, and where NVIDIA's installer puts it.
std::vector<std::string> toolkitFolders();

/// The path of one of the toolkit's programs; empty where it is not found. Unless IMBREX_TOOLKIT is
/// set, PATH is asked first.
std::string findTool(std::string_view name);

} // namespace imbrex::target::nvptx
