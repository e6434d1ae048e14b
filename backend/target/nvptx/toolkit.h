#pragma once

#include <optional>
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

/// A program's path, size and time: what another version of it has not in common with it. None
/// where it is not there.
std::optional<std::string> nameOfVersion(const std::string &program);

} // namespace imbrex::target::nvptx
