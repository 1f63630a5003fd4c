#include "format/table/load_codecs.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/folder_entries.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

constexpr const char* kModule = "libforebay_arrow.so";
// The number changes with the interface: a module of another version lacks the name, and is not called.
constexpr const char* kFunction = "forebay_arrow_codecs_v3";

/// Folder of the program or shared object that this code was linked into.
fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  // A program is called what its first argument was, which says nothing where it was found on PATH.
  if (fs::path(info.dli_fname).is_relative()) {
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error && program.filename() == fs::path(info.dli_fname).filename()) return program.parent_path();
  }
  const fs::path resolved = fs::canonical(info.dli_fname, error);
  return error ? fs::path() : resolved.parent_path();
}

std::vector<fs::path> site_packages(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::path& entry : entries_of(folder.parent_path() / "lib")) {
    if (entry.filename().string().starts_with("python3.")) found.push_back(entry / "site-packages" / "forebay");
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  if (const char* named = std::getenv("FOREBAY_ARROW_DIR"); named != nullptr && *named != '\0') all.emplace_back(named);
  if (const fs::path own = own_folder(); !own.empty()) {
    all.push_back(own);
    for (fs::path& folder : site_packages(own)) all.push_back(std::move(folder));
  }
#ifdef FOREBAY_ARROW_BUILD_DIR  // where tests are built: the module that was built with them
  all.emplace_back(FOREBAY_ARROW_BUILD_DIR);
#endif
  return all;
}

Status missing(const std::string& trouble) {
  return unsupported(
      fmt::format("Parquet and Arrow need Arrow's libraries, which the package pyarrow brings: pip install "
                  "'forebay[tables]'{}",
                  trouble.empty() ? "" : fmt::format(" ({})", trouble)));
}

/// One failed attempt, in the words of the loader, which name the library that was not found.
Result<const TableCodecs*> load(const fs::path& module) {
  dlerror();
  // Local: Arrow's symbols must not stand in for another Arrow that the process has.
  void* handle = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return missing(dlerror());
  using Function = const TableCodecs* (*)();
  const auto function = reinterpret_cast<Function>(dlsym(handle, kFunction));
  if (function == nullptr)
    return unsupported(fmt::format("{} belongs to another version of Forebay: install Forebay again", module.string()));
  return function();
}

Result<const TableCodecs*> search() {
  Status trouble = missing("");
  for (const fs::path& folder : folders()) {
    std::error_code error;
    if (!fs::is_regular_file(folder / kModule, error)) continue;
    Result<const TableCodecs*> codecs = load(folder / kModule);
    if (codecs.ok()) return codecs;
    trouble = codecs.status();
  }
  return trouble;
}

}  // namespace

Result<const TableCodecs*> load_table_codecs() {
  static std::mutex mutex;
  static const TableCodecs* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded != nullptr) return loaded;
  // Failures are not kept: the package may be installed meanwhile.
  FOREBAY_ASSIGN(loaded, search());
  return loaded;
}

}  // namespace forebay
