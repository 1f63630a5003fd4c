#pragma once

#include "forebay/ledger.h"

namespace forebay {

/// Adds what the loader before has counted, so that a client whose loader is changed sees no total go backwards. Both are of the same batches; one
/// of them may have a cache more. `same_store`: they read through one store, which goes on counting by itself, as caches do.
void carry_counters(const Ledger& before, Ledger& now, bool same_store);

}  // namespace forebay
