#include "format/table/load_codecs.h"

#include "base/mutex.h"
#include "base/shared_module.h"

namespace forebay {

namespace {

Result<const TableCodecs*> load() {
  FOREBAY_ASSIGN(
      void* const function,
      function_of_module({.file = "libforebay_arrow.so",
                          .function = "forebay_arrow_codecs_v3",
                          .needed = "Parquet and Arrow need Arrow's libraries, which the package pyarrow brings: pip "
                                    "install 'forebay[tables]'"}));
  return reinterpret_cast<const TableCodecs* (*)()>(function)();
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
