#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace forebay {

/// A record of a decision of several partitions: the index-th that the decision takes of the partition.
struct MergedRecord {
  uint32_t partition = 0;
  uint32_t index = 0;
  friend bool operator==(const MergedRecord&, const MergedRecord&) = default;
};

/// In which order a decision gives its records, `counts[p]` of each partition; the decision's first record has the number `first` in the whole
/// stream. Pure: the same on every host.
///
/// Not shuffled, records of one partition stay in order and partitions take turns evenly: record i of n stands at (i + ½) / n of the decision;
/// of those that stand at the same place the partition goes first that (seed, first) draws. Shuffled: a permutation drawn from (seed, first).
std::vector<MergedRecord> merge_order(uint64_t seed, int64_t first, std::span<const size_t> counts, bool shuffled);

/// How many records each partition gives to a decision of `size` when so many wait: in proportion, so that none falls behind, by largest
/// remainders, the first of equal ones first. The sum of `waiting` must not be below `size`.
std::vector<size_t> share_of_decision(size_t size, std::span<const size_t> waiting);

/// Which records of those that arrived a sample of a decision keeps: those with the smallest draws. Uniform, without a state, and whatever the
/// order of arrival. `place`: a hash of partition and offset.
uint64_t sampling_draw(uint64_t seed, int64_t first, uint64_t place);

}  // namespace forebay
