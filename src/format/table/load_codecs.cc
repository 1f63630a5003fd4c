#include "format/table/load_codecs.h"

#include <mutex>

#include "base/shared_module.h"

namespace forebay {

namespace {

Result<const TableCodecs*> load() {
  SharedModule module{.file = "libforebay_arrow.so",
                      .function = "forebay_arrow_codecs_v3",
                      .folder_variable = "FOREBAY_ARROW_DIR",
                      .more_folders = {},
                      .needed =
                          "Parquet and Arrow need Arrow's libraries, which the package pyarrow brings: pip "
                          "install 'forebay[tables]'"};
#ifdef FOREBAY_ARROW_BUILD_DIR  // where tests are built: the module that was built with them
  module.more_folders.emplace_back(FOREBAY_ARROW_BUILD_DIR);
#endif
  FOREBAY_ASSIGN(void* const function, function_of_module(module));
  return reinterpret_cast<const TableCodecs* (*)()>(function)();
}

}  // namespace

Result<const TableCodecs*> load_table_codecs() {
  static std::mutex mutex;
  static const TableCodecs* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded != nullptr) return loaded;
  // Failures are not kept: the package may be installed meanwhile.
  FOREBAY_ASSIGN(loaded, load());
  return loaded;
}

}  // namespace forebay
