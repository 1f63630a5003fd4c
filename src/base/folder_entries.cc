#include "base/folder_entries.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

namespace forebay {

namespace fs = std::filesystem;

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) found.push_back(at->path());
  return found;
}

void remove_oldest_files(const fs::path& folder, size_t most, const std::function<bool(std::string_view name)>& ours) {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (fs::path& path : entries_of(folder)) {
    if (!ours(path.filename().string())) continue;
    const fs::file_time_type written = fs::last_write_time(path, error);
    files.emplace_back(written, std::move(path));
  }
  if (files.size() <= most) return;
  std::ranges::sort(files);
  for (size_t i = 0; i + most < files.size(); ++i) fs::remove(files[i].second, error);
}

}  // namespace forebay
