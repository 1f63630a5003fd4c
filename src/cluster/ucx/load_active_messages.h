#pragma once

#include "base/active_messages.h"
#include "forebay/result.h"

namespace forebay {

/// Ends of UCX, from the module libforebay_ucx.so, which is built where UCX's headers are, loaded at the first call, and stays. It is looked for
/// as that of tables is (format/table/load_codecs.h), in FOREBAY_UCX_DIR first. Unsupported, with the way out, where it is not there, or
/// UCX itself is not.
Result<const ActiveMessageModule*> load_active_messages();

}  // namespace forebay
