#pragma once

#include <string>

#include "forebay/result.h"

namespace forebay {

/// A shared object that is installed next to Forebay's own and exports one C function.
struct SharedModule {
  std::string file;  ///< such as "libforebay_arrow.so"
  /// The name contains the version of the interface. A module of another version lacks the name and
  /// is refused.
  std::string function;
  std::string needed;  ///< advice if it is missing: "Parquet needs …: pip install …"
};

/// Loads the module and returns its function. The module stays loaded. It is looked for, in this
/// order,
///
///   1. in the folder that the environment variable FOREBAY_MODULE_DIR names,
///   2. in the folder of the program or shared object that contains this code (that of the Python
///      package and of libforebay.so has the modules),
///   3. in ../lib/python3.*/site-packages/forebay from there, for a program in the bin folder of a
///      virtual environment,
///   4. where the dynamic loader looks for libraries: run paths, LD_LIBRARY_PATH, /usr/lib.
///
/// Unsupported if no module can be loaded, with `needed` and the loader's reason, or if it is of
/// another version, with the remedy. May be called from any thread. Every call searches again.
Result<void*> function_of_module(const SharedModule& module);

}  // namespace forebay
