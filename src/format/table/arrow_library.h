#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace forebay {

/// The libraries of a release of Arrow C++, as pyarrow brings them.
struct ArrowLibrary {
  int release = 0;               ///< as in the names of the libraries: 2600 for pyarrow 26.0
  std::filesystem::path folder;  ///< contains libarrow.so.2600
};

/// The oldest release that modules are built with.
inline constexpr int kOldestArrow = 1800;

/// "26.0" for 2600.
std::string pyarrow_version(int release);

/// The newest release whose libarrow.so is in this folder.
std::optional<ArrowLibrary> arrow_in(const std::filesystem::path& folder);

/// Names the folder of the installed pyarrow, for find_arrow(). Any thread may call it.
void look_for_arrow_in(std::filesystem::path folder);

/// Arrow's libraries of this process. The first of these counts:
///
///   1. those that the process has loaded, such as by `import pyarrow`,
///   2. those in the folder that look_for_arrow_in() named,
///   3. those in the folder `pyarrow` beside one of `folders`, which have the modules.
///
/// Two releases in one process share some of C++'s symbols, so a later one is not tried if there is
/// no module for the first. Any thread may call it.
std::optional<ArrowLibrary> find_arrow(std::span<const std::filesystem::path> folders);

/// The file of the module that was built with this release: "libforebay_arrow_2600.so".
std::string arrow_module(int release);

/// Releases whose modules are in these folders, newest first.
std::vector<int> releases_of_modules(std::span<const std::filesystem::path> folders);

/// Tells a user whose release has no module which have one (`known`, newest first), and the remedy.
std::string no_module_for(const ArrowLibrary& found, std::span<const int> known);

}  // namespace forebay
