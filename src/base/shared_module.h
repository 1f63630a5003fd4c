#pragma once

#include <atomic>
#include <string>

#include "forebay/result.h"

namespace forebay {

/// A shared object that is installed next to Forebay's own and exports one C function.
struct SharedModule {
  std::string file;  ///< such as "libforebay_sound.so"
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

/// Returns the interface that the module's function returns. `loaded` remembers it, so that the
/// module is loaded once; failures are not remembered, because the module may be installed later.
/// May be called from any thread: several may load at once, with the same result.
template <typename Interface>
Result<const Interface*> interface_of_module(std::atomic<const Interface*>& loaded, const SharedModule& module) {
  if (const Interface* const known = loaded.load(std::memory_order_acquire)) return known;
  FOREBAY_ASSIGN(void* const function, function_of_module(module));
  const Interface* const given = reinterpret_cast<const Interface* (*)()>(function)();
  loaded.store(given, std::memory_order_release);
  return given;
}

}  // namespace forebay
