#include "pipeline/chunk_memory.h"

#include <algorithm>
#include <bit>

#include "base/byte_size.h"
#include "pipeline/operator_bytes.h"

namespace forebay {

namespace {

constexpr uint64_t kPerColumn = 256;  // headers and alignment, at most

// Memory of packed rows is rounded up, so that other chunks with a few rows more or less can reuse
// it. Sizes of lists and texts vary more than numbers of rows.
uint64_t rounded(uint64_t bytes, bool sizes_vary) {
  const uint64_t fine = bytes < kMiB ? 64 : 64 * kKiB;
  const uint64_t step = sizes_vary ? std::max<uint64_t>(std::bit_floor(bytes) / 8, 64) : fine;
  return (bytes + step - 1) / step * step;
}

// Upper bound of rounded(): a step is 64 bytes, or an eighth of the whole at most.
ByteCount max_rounded(ByteCount bytes) { return bytes + bytes / 8 + 64; }

// A cache entry has the rows and their description. That of a peer may rest on other estimates, so
// the bound is generous.
ByteCount max_of_entry(ByteCount held) { return held + held / 4 + 64 * kKiB; }

}  // namespace

ChunkMemory::ChunkMemory(const ChunkPlan& plan) : plan_(plan), row_bytes_(fixed_bytes(plan.source->schema())) {
  for (const ChunkOp& op : plan.ops) {
    made_row_bytes_ += op.made_row_bytes;
    list_growth_ += op.list_growth;
  }
}

ChunkMemory::Sizes ChunkMemory::sizes(int64_t chunk) const {
  const ChunkSource& source = *plan_.source;
  const ChunkCost cost = source.chunk_cost(chunk);
  const auto rows = static_cast<uint64_t>(source.chunk_begin(chunk + 1) - source.chunk_begin(chunk));
  const uint64_t lists = cost.decoded_bytes - std::min(cost.decoded_bytes, (ByteCount(rows) * row_bytes_).value());
  return {rows, cost.fetched_bytes, cost.decoded_bytes, lists, source.schema().size() + plan_.ops.size()};
}

ChunkNeeds ChunkMemory::needs(const Sizes& sizes, uint64_t stored, bool is_packed) const {
  const uint64_t all_rows = plan_.packed.packed_bytes(static_cast<int64_t>(sizes.rows));
  // An entry that is smaller than its rows was compressed. It is read into other memory and
  // unpacked into its own.
  const uint64_t entry = stored >= all_rows ? stored : 0;
  const uint64_t packed = is_packed ? entry : all_rows;
  return {.packed = rounded(packed, /*sizes_vary=*/is_packed && !plan_.packed.unpacked().empty()),
          .unpacked = sizes.decoded - std::min(sizes.decoded, packed),
          // Columns are decoded and then packed, so they exist twice.
          .working = is_packed ? 0 : (ByteCount(sizes.decoded) + stored).value()};
}

ChunkMemory::Bytes ChunkMemory::expected(int64_t chunk) const {
  const Sizes sizes = this->sizes(chunk);
  const ChunkNeeds needs = this->needs(sizes, sizes.stored, /*is_packed=*/false);
  return {.held = ByteCount(needs.packed) + needs.unpacked, .lists = sizes.lists, .decoding = needs.working};
}

ChunkMemory::Bytes ChunkMemory::most(int64_t chunk) const {
  const Sizes sizes = this->sizes(chunk);
  const ByteCount rows = sizes.rows, lists = list_growth_ * sizes.lists;
  const ByteCount offsets = (rows + 1) * sizeof(int64_t) * plan_.packed.unpacked().size();
  const ByteCount stride = std::max<uint64_t>(plan_.packed.stride(), row_bytes_ + made_row_bytes_);
  // The decoded size may be an estimate, so neither of the two is always the larger one.
  const ByteCount content = std::max<ByteCount>(rows * stride + lists + offsets, sizes.decoded);
  const ByteCount held = max_rounded(content + kPerColumn * (sizes.columns + 2));
  // A decoder has pages, levels and a buffer that grows; operators make new columns. Then the rows
  // become a cache entry.
  const ByteCount columns = ByteCount(sizes.decoded) * 6 + rows * made_row_bytes_ + lists + offsets;
  const ByteCount decoder = 64 * kKiB + 4 * kKiB * sizes.columns;
  return {held, lists, columns + decoder + std::max<ByteCount>(sizes.stored, max_of_entry(held))};
}

uint64_t ChunkMemory::max_entry_bytes(int64_t chunk) const { return max_of_entry(most(chunk).held).value(); }

}  // namespace forebay
