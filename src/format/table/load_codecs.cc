#include "format/table/load_codecs.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/module_folders.h"
#include "base/mutex.h"
#include "base/shared_module.h"
#include "format/table/arrow_library.h"

namespace forebay {

namespace {

constexpr const char* kNoArrow =
    "Parquet and Arrow need Arrow's libraries, which the package pyarrow brings: pip install 'forebay[tables]'";

Result<const TableCodecs*> load_module(int release, std::string needed) {
  FOREBAY_ASSIGN(void* const function, function_of_module({.file = arrow_module(release),
                                                           .function = "forebay_arrow_codecs_v3",
                                                           .needed = std::move(needed)}));
  return reinterpret_cast<const TableCodecs* (*)()>(function)();
}

Result<const TableCodecs*> load_for(const ArrowLibrary& arrow, const std::vector<int>& known) {
  const bool fits = std::find(known.begin(), known.end(), arrow.release) != known.end();
  // The module is linked to these libraries by name, so it gets those that are loaded already. If
  // this fails, loading the module fails and tells the reason.
  if (fits) dlopen((arrow.folder / fmt::format("libparquet.so.{}", arrow.release)).c_str(), RTLD_NOW | RTLD_LOCAL);
  return load_module(arrow.release, fits ? kNoArrow : no_module_for(arrow, known));
}

/// Loads the newest module for which the dynamic loader finds Arrow, which a program may have
/// without Python.
Result<const TableCodecs*> load_newest(const std::vector<int>& known) {
  std::optional<Status> reason;
  for (const int release : known) {
    auto codecs = load_module(release, kNoArrow);
    if (codecs.ok()) return codecs;
    if (!reason) reason = codecs.status();
  }
  return reason ? *std::move(reason) : unsupported(kNoArrow);
}

Result<const TableCodecs*> load() {
  const std::vector<std::filesystem::path> folders = module_folders();
  const std::vector<int> known = releases_of_modules(folders);
  const auto arrow = find_arrow(folders);
  return arrow ? load_for(*arrow, known) : load_newest(known);
}

}  // namespace

Result<const TableCodecs*> load_table_codecs() {
  static Mutex mutex;
  static const TableCodecs* loaded = nullptr;
  const Lock lock(mutex);
  if (loaded != nullptr) return loaded;
  // Failures are not remembered, because the package may be installed later.
  FOREBAY_ASSIGN(loaded, load());
  return loaded;
}

}  // namespace forebay
