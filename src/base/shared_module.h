#pragma once

#include <string>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// A shared object that is installed beside Forebay's own, and gives out one C function.
struct SharedModule {
  std::string file;  ///< such as "libforebay_arrow.so"
  std::string
      function;  ///< with a number that changes with its interface: a module of another version lacks the name, and is not called
  const char* folder_variable = nullptr;  ///< of the environment: where to look first
  std::vector<std::string> more_folders;  ///< where to look last
  std::string needed;                     ///< what to do where it is not there: "Parquet needs …: pip install …"
};

/// Looks for the module beside this code and where Python keeps it, and gives its function. Unsupported, with `needed` and the trouble, where it cannot be loaded, and
/// with the way out where it is of another version. Once loaded it stays.
Result<void*> function_of_module(const SharedModule& module);

}  // namespace forebay
