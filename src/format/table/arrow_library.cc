#include "format/table/arrow_library.h"

#include <link.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/folder_entries.h"
#include "base/mutex.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "libarrow.so.";
constexpr std::string_view kModule = "libforebay_arrow_";

/// The number between `before` and `after` in a file's name.
std::optional<int> number_in(std::string_view name, std::string_view before, std::string_view after) {
  if (!name.starts_with(before) || !name.ends_with(after) || name.size() <= before.size() + after.size()) return {};
  const std::string_view digits = name.substr(before.size(), name.size() - before.size() - after.size());
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0) return {};
  return number;
}

std::optional<ArrowLibrary> as_arrow(const fs::path& file) {
  const auto release = number_in(file.filename().native(), kLibrary, "");
  if (!release) return {};
  return ArrowLibrary{.release = *release, .folder = file.parent_path()};
}

/// The release that this process has loaded.
std::optional<ArrowLibrary> loaded_arrow() {
  std::optional<ArrowLibrary> found;
  const auto look = [](dl_phdr_info* object, size_t, void* result) {
    auto& arrow = *static_cast<std::optional<ArrowLibrary>*>(result);
    arrow = as_arrow(object->dlpi_name);
    return arrow ? 1 : 0;
  };
  dl_iterate_phdr(look, &found);
  return found;
}

struct NamedFolder {
  Mutex mutex;
  fs::path path FOREBAY_GUARDED_BY(mutex);
};

NamedFolder& named_folder() {
  static NamedFolder one;
  return one;
}

fs::path folder_to_look_in() {
  NamedFolder& named = named_folder();
  const Lock lock(named.mutex);
  return named.path;
}

std::string versions(std::span<const int> newest_first) {
  std::vector<std::string> texts;
  for (const int release : newest_first) texts.push_back(pyarrow_version(release));
  std::reverse(texts.begin(), texts.end());
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string pyarrow_version(int release) { return fmt::format("{}.{}", release / 100, release % 100); }

std::optional<ArrowLibrary> arrow_in(const fs::path& folder) {
  std::optional<ArrowLibrary> newest;
  for (const fs::path& entry : entries_of(folder)) {
    const auto found = as_arrow(entry);
    if (found && (!newest || found->release > newest->release)) newest = found;
  }
  return newest;
}

void look_for_arrow_in(fs::path folder) {
  NamedFolder& named = named_folder();
  const Lock lock(named.mutex);
  named.path = std::move(folder);
}

std::optional<ArrowLibrary> find_arrow(std::span<const fs::path> folders) {
  if (auto loaded = loaded_arrow()) return loaded;
  if (auto found = arrow_in(folder_to_look_in())) return found;
  for (const fs::path& folder : folders) {
    if (auto found = arrow_in(folder / ".." / "pyarrow")) return found;
  }
  return {};
}

std::string arrow_module(int release) { return fmt::format("{}{}.so", kModule, release); }

std::vector<int> releases_of_modules(std::span<const fs::path> folders) {
  std::vector<int> found;
  for (const fs::path& folder : folders) {
    for (const fs::path& entry : entries_of(folder)) {
      if (const auto release = number_in(entry.filename().native(), kModule, ".so")) found.push_back(*release);
    }
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string no_module_for(const ArrowLibrary& found, std::span<const int> known) {
  const std::string is =
      fmt::format("pyarrow {} is installed ({})", pyarrow_version(found.release), found.folder.native());
  if (known.empty()) {
    return fmt::format(
        "{}, but this Forebay was built without pyarrow: pip install --force-reinstall 'forebay[tables]'", is);
  }
  std::string text = fmt::format("{}, but this Forebay was built for pyarrow {}: pip install 'pyarrow=={}.*'", is,
                                 versions(known), pyarrow_version(known.front()));
  if (found.release < kOldestArrow)
    return text + fmt::format("; {} is the oldest that it can be built for", pyarrow_version(kOldestArrow));
  return text +
         ", or build Forebay with the installed one, in the folder of its source: pip install --no-build-isolation .";
}

}  // namespace forebay
