#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace forebay {

/// A record of a decision of a stream: the `index`-th of those that the decision takes from the
/// partition.
struct MergedRecord {
  uint32_t partition = 0;
  uint32_t index = 0;
  friend bool operator==(const MergedRecord&, const MergedRecord&) = default;
};

/// Order of the records of a decision that takes `counts[p]` records of each partition p. `first`
/// is the number of the decision's first record in the whole stream. Pure, so the result is the
/// same on every host.
///
/// If not shuffled, records of a partition stay in order and partitions take turns evenly: record i
/// of n stands at (i + ½) / n of the decision. Equal places are ordered by partition, beginning
/// with one drawn from (seed, first). If shuffled, the order is a permutation drawn from (seed,
/// first).
std::vector<MergedRecord> merge_order(uint64_t seed, int64_t first, std::span<const size_t> counts, bool shuffled);

/// Number of records that each partition gives to a decision of `size` records when `waiting` are
/// available. Shares are proportional, so that no partition falls behind: largest remainders, and
/// among equal ones the first partition. The sum of `waiting` must be at least `size`.
std::vector<size_t> share_of_decision(size_t size, std::span<const size_t> waiting);

/// Random number of an arrived record, for decisions that take a sample of the records: they take
/// those with the smallest numbers. The sample is uniform, needs no state, and does not depend on
/// the order of arrival. `record` is a hash of partition and offset.
uint64_t sampling_draw(uint64_t seed, int64_t first, uint64_t record);

}  // namespace forebay
