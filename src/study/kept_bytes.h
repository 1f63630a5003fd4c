#pragma once

#include <cstdint>

#include "forebay/loader.h"
#include "study/estimate.h"
#include "study/filling.h"

namespace forebay {

/// Number of times that the bytes of a full cache grow from a loader over a part of the samples to one over all of them.
/// Entries are samples, or whole row groups where the cache stands among column operators; `entries`, the number that
/// `part` keeps after an epoch, tells which. Row groups count by the bytes of their columns, since they differ in size,
/// and where a sample of them is chosen. Both loaders are prepared.
double growth_from(const Loader& part, const Loader& all, uint64_t entries);

/// Bytes of a cache of all samples, from an epoch over a part of them. The interval is that of bytes of an entry; it is a point where the
/// part is everything.
Estimate bytes_of_all(const Filling& filling, const Loader& part, const Loader& all);

/// Budget of a cache that is to keep so many bytes: room for the error of the estimate, at least 15 % unless the figure is exact.
uint64_t budget_for(const Estimate& bytes);
/// The same on a disk, where a budget holds the index of its entries and whole blocks as well.
uint64_t disk_budget_for(const Estimate& bytes, double entries);

}  // namespace forebay
