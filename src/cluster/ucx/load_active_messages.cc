#include "cluster/ucx/load_active_messages.h"

#include "base/shared_module.h"

namespace forebay {

Result<const ActiveMessageModule*> load_active_messages() {
  SharedModule module{.file = "libforebay_ucx.so",
                      .function = "forebay_ucx_active_messages_v1",
                      .folder_variable = "FOREBAY_UCX_DIR",
                      .more_folders = {},
                      .needed =
                          "UCX needs a Forebay that was built where UCX's headers are (libucx-dev, or `pip install "
                          "libucx-cu12`), and UCX's libraries, 1.14 or later, on each host"};
#ifdef FOREBAY_UCX_BUILD_DIR  // where tests are built: the module that was built with them
  module.more_folders.emplace_back(FOREBAY_UCX_BUILD_DIR);
#endif
  FOREBAY_ASSIGN(void* const function, function_of_module(module));
  return reinterpret_cast<const ActiveMessageModule* (*)()>(function)();
}

}  // namespace forebay
