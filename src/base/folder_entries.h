#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

namespace forebay {

/// What stands in a folder, in no order; what can be read of it where it is not there, or goes meanwhile. Never throws, as the steps of a
/// directory_iterator do.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

/// Of the files whose names are `ours` the `most` that were written last stay. What cannot be removed stays, too.
void remove_oldest_files(const std::filesystem::path& folder, size_t most,
                         const std::function<bool(std::string_view name)>& ours);

}  // namespace forebay
