#pragma once

#include <string>

#include "forebay/result.h"

namespace forebay {

/// A shared object that is installed beside Forebay's own and gives out one C function.
struct SharedModule {
  std::string file;  ///< such as "libforebay_arrow.so"
  /// Its name has a number that changes with its interface: a module of another version lacks the
  /// name, and is not called.
  std::string function;
  std::string needed;  ///< what to do where it is missing: "Parquet needs …: pip install …"
};

/// Loads the module, which then stays, and gives its function. It is looked for
///
///   1. in the folder that the environment variable FOREBAY_MODULE_DIR names,
///   2. beside the program or shared object that this code is in (the Python package and
///      libforebay.so have the modules beside them),
///   3. in ../lib/python3.*/site-packages/forebay from there, for a program in the bin folder of a
///      virtual environment,
///   4. where the dynamic loader looks for libraries: run paths, LD_LIBRARY_PATH, /usr/lib.
///
/// Unsupported, with `needed` and the loader's reason, where none can be loaded, and with the way
/// out where it is of another version. From any thread; asked again, it looks again.
Result<void*> function_of_module(const SharedModule& module);

}  // namespace forebay
