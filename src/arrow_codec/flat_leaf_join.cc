#include <algorithm>
#include <cstring>

#include "arrow_codec/flat_leaf.h"
#include "arrow_codec/recycling_pool.h"

namespace forebay {

namespace {

/// Concatenates the `exact` bytes of the parts, `slots` in all.
Result<Buffer> join_exact(const std::vector<FlatLeaf>& parts, int64_t slots) {
  // Empty means that no part lost a value.
  if (std::ranges::all_of(parts, [](const FlatLeaf& part) { return part.exact.empty(); })) return Buffer();
  FOREBAY_ASSIGN(Buffer exact, take_memory(static_cast<size_t>(slots)));
  std::memset(exact.data(), 1, exact.size());
  uint8_t* to = exact.data();
  for (const FlatLeaf& part : parts) {
    if (!part.exact.empty()) std::memcpy(to, part.exact.data(), part.exact.size());
    to += part.slots.back();
  }
  return exact;
}

Result<Buffer> join_values(const std::vector<FlatLeaf>& parts) {
  uint64_t bytes = 0;
  for (const FlatLeaf& part : parts) bytes += part.values.size();
  FOREBAY_ASSIGN(Buffer values, take_memory(bytes));
  uint8_t* to = values.data();
  for (const FlatLeaf& part : parts) {
    if (!part.values.empty()) std::memcpy(to, part.values.data(), part.values.size());
    to += part.values.size();
  }
  return values;
}

/// Concatenates the validity of a level, which has `slots` slots in all parts together.
Result<Buffer> join_valid(const std::vector<FlatLeaf>& parts, size_t level, int64_t slots) {
  FOREBAY_ASSIGN(Buffer valid, take_memory(static_cast<size_t>(slots)));
  // Parts without a null have no bytes for the level.
  std::memset(valid.data(), 1, valid.size());
  size_t at = 0;
  for (const FlatLeaf& part : parts) {
    if (!part.valid[level].empty()) std::memcpy(valid.data() + at, part.valid[level].data(), part.valid[level].size());
    at += static_cast<size_t>(part.slots[level]);
  }
  return valid;
}

/// Concatenates the offsets of a list. Those of later parts are shifted to follow the earlier ones.
Result<Buffer> join_offsets(const std::vector<FlatLeaf>& parts, size_t list, int64_t slots) {
  FOREBAY_ASSIGN(Buffer offsets, take_memory(static_cast<size_t>(slots + 1) * sizeof(int64_t)));
  auto* out = reinterpret_cast<int64_t*>(offsets.data());
  int64_t base = 0;
  for (const FlatLeaf& part : parts) {
    const int64_t part_slots = part.slots[list];
    const int64_t* part_offsets = part.offsets_of(list);
    for (int64_t slot = 0; slot < part_slots; ++slot) *out++ = base + part_offsets[slot];
    base += part_offsets[part_slots];
  }
  *out = base;
  return offsets;
}

}  // namespace

Result<FlatLeaf> join(const std::vector<FlatLeaf>& parts) {
  FlatLeaf all;
  const size_t levels = parts[0].slots.size();
  all.slots.assign(levels, 0);
  for (const FlatLeaf& part : parts)
    for (size_t level = 0; level < levels; ++level) all.slots[level] += part.slots[level];
  all.owned = true;
  FOREBAY_ASSIGN(all.values, join_values(parts));
  FOREBAY_ASSIGN(all.exact, join_exact(parts, all.slots.back()));
  for (size_t level = 0; level < levels; ++level) {
    FOREBAY_ASSIGN(Buffer valid, join_valid(parts, level, all.slots[level]));
    all.valid.push_back(std::move(valid));
  }
  for (size_t list = 0; list < parts[0].offsets.size(); ++list) {
    FOREBAY_ASSIGN(Buffer offsets, join_offsets(parts, list, all.slots[list]));
    all.offsets.push_back(std::move(offsets));
  }
  return all;
}

}  // namespace forebay
