#pragma once

namespace forebay {

struct Ledger;

/// Adds the counters of a client's previous loader to those of its new one, so that no total
/// decreases when a client changes loaders. Both loaders have the same pipeline, except that one
/// may have an additional cache. `same_store` means that both read through one store, whose
/// counters go on and are not added.
void carry_counters(const Ledger& before, Ledger& now, bool same_store);

}  // namespace forebay
