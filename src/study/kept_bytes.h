#pragma once

#include <cstdint>

#include "forebay/loader.h"
#include "study/estimate.h"
#include "study/filling.h"

namespace forebay {

/// Returns the factor by which the bytes of a full cache grow from a loader over a part of the
/// samples to one over all of them. Entries are samples, or whole row groups if the cache stands
/// among column operators; `entries`, the number in the cache of `part` after an epoch, tells
/// which. Row groups differ in size, so they count by the bytes of their columns, and only if a
/// sample of them is chosen. Both loaders are prepared.
double cache_growth(const Loader& part, const Loader& all, uint64_t entries);

/// Estimates the bytes of a cache of all samples from an epoch over a part of them. The interval is
/// that of the bytes per entry; it has width 0 if the part is everything.
Estimate bytes_of_all(const Filling& filling, const Loader& part, const Loader& all);

/// Returns the budget for a cache of that size: it allows for the error of the estimate, at least
/// 15 % unless the figure is exact.
uint64_t budget_for(const Estimate& bytes);
/// The same for a disk, whose budget also covers the index of the entries and whole blocks.
uint64_t disk_budget_for(const Estimate& bytes, double entries);

}  // namespace forebay
