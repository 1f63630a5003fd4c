#pragma once

#include <filesystem>
#include <vector>

namespace forebay {

/// The folders in which function_of_module() looks for modules, in its order. Of those of the
/// dynamic loader it has the run path of the program, LD_LIBRARY_PATH and the folders of the system,
/// and not those of its cache. Any thread may call it.
std::vector<std::filesystem::path> module_folders();

}  // namespace forebay
