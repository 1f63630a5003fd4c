#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

namespace forebay {

/// Entries of a folder, in no order. If the folder is missing or vanishes meanwhile, returns what
/// could be read. Never throws, unlike the increment of a directory_iterator.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

/// Removes files for which `ours(name)` holds, except the `most` files that were written last.
/// Files that cannot be removed are left.
void remove_oldest_files(const std::filesystem::path& folder, size_t most,
                         const std::function<bool(std::string_view name)>& ours);

}  // namespace forebay
