#pragma once

#include "forebay/stats/time.h"

namespace forebay {

struct Ledger;

/// Returns the figures of the time between two snapshots of one loader: counters are differences,
/// gauges and texts are those of `after`. Elements of `after` that `before` lacks count from zero.
Ledger ledger_since(const Ledger& before, const Ledger& after);

WaitStats waits_since(const WaitStats& before, const WaitStats& after);

}  // namespace forebay
