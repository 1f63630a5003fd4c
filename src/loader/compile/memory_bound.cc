#include "loader/compile/memory_bound.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <vector>

#include "base/byte_size.h"
#include "base/chunk_source.h"

namespace forebay {

namespace {

// Assumed for a picture whose header has not been read.
constexpr uint64_t kWorkPerStoredByte = 16;
constexpr uint64_t kTableThread = 64 * kKiB, kPictureThread = 4 * kMiB;  // limits in choose_sizes()

// Saturated: a bound that wrapped would advise less memory than was given.
uint64_t plus(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }
uint64_t times(uint64_t a, uint64_t b) { return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b; }
uint64_t whole(int64_t number) { return static_cast<uint64_t>(std::max<int64_t>(number, 0)); }

uint64_t largest_together(std::vector<uint64_t> bytes, uint64_t count) {
  // Assumes that the largest ones meet, whatever the order of the epoch.
  std::sort(bytes.begin(), bytes.end(), std::greater<>());
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size() && i < count; ++i) sum = plus(sum, bytes[i]);
  return sum;
}

// How often a sample may occur in one batch: a batch larger than the data set repeats samples.
uint64_t appearances(const ExecutionPlan& plan, const SizingInput& input) {
  return 1 + whole(input.batch_size) * whole(input.lanes) / std::max<uint64_t>(1, whole(plan.selection->size()));
}

uint64_t offset_bytes(const ExecutionPlan& plan, int64_t rows) {
  uint64_t bytes = 0;
  for (const OutputField& output : plan.outputs) {
    bytes += output.row_bytes ? 0 : (whole(rows) + 1) * sizeof(int64_t);
    bytes += output.field.string_list() ? sizeof(int64_t) : 0;
  }
  return bytes;
}

// How many copies of the values of lists and strings exist while a batch is assembled: one in rows,
// one in the batch. Lists of strings count three times, because their lengths take memory too.
uint64_t times_held(const ExecutionPlan& plan) {
  const bool strings =
      std::any_of(plan.outputs.begin(), plan.outputs.end(), [](const auto& one) { return one.field.string_list(); });
  return strings ? 3 : 2;
}

// Bytes of padding in padded rows, in addition to their values.
uint64_t padding_bytes(const ExecutionPlan& plan, int64_t rows, uint64_t longest_bytes) {
  uint64_t bytes = 0;
  for (const OutputField& output : plan.outputs) {
    if (!output.field.pad_value) continue;
    const uint64_t row =
        output.field.pad_length > 0 ? whole(output.field.pad_length) * dtype_size(output.field.dtype) : longest_bytes;
    bytes = plus(bytes, times(row, whole(rows)));
  }
  return bytes;
}

bool replays(const ExecutionPlan& plan) {
  return std::ranges::any_of(plan.keyed, [&](size_t at) { return plan.keyed_stage(at).marks_replayed; });
}

// Memory of the indexes of entries on disk, if there are caches.
uint64_t cache_index_bytes(const ExecutionPlan& plan) {
  constexpr uint64_t kEntry = 160;  // with the share of a hash map that has just grown
  if (plan.chunks) return plan.chunks->cache ? times(whole(plan.chunks->source->chunks()), kEntry) : 0;
  return times(plan.keyed.size() - (replays(plan) ? 1 : 0), times(whole(plan.selection->size()), kEntry));
}

// ---- sources with chunks of many rows

struct ChunkBounds {
  uint64_t held = 0;    // bytes of the decoded chunk
  uint64_t lists = 0;   // part of `held`: values whose length is not known before
  uint64_t decode = 0;  // needed during decoding, in addition to `held`
};

class ChunksBound {
 public:
  explicit ChunksBound(const ExecutionPlan& plan) : plan_(*plan.chunks) {
    for (const Field& field : plan_.source->schema()) source_row_ += field.fixed_shape() ? row_bytes(field) : 0;
    for (const ChunkOp& op : plan_.ops) {
      made_row_ += op.made_row_bytes;
      growth_ = plus(growth_, op.list_growth);
    }
  }

  ChunkBounds of(int64_t chunk) const {
    const ChunkCost cost = plan_.source->chunk_cost(chunk);
    const uint64_t rows = whole(plan_.source->chunk_begin(chunk + 1) - plan_.source->chunk_begin(chunk));
    const uint64_t fields = plan_.source->schema().size() + plan_.ops.size();
    const uint64_t decoded = cost.decoded_bytes, known = std::min(decoded, times(rows, source_row_));
    ChunkBounds bounds;
    bounds.lists = times(decoded - known, growth_);
    const uint64_t stride = std::max<uint64_t>(plan_.packed.stride(), source_row_ + made_row_);
    const uint64_t side_by_side = times(rows, stride);
    const uint64_t offsets = times(rows + 1, sizeof(int64_t) * plan_.packed.apart().size());
    // An eighth more: the memory of chunks is rounded up by as much (widely_rounded()).
    bounds.held = plus(plus(side_by_side, side_by_side / 8), plus(bounds.lists, plus(offsets, 512 + 128 * fields)));
    bounds.held = std::max(bounds.held, plus(decoded, 64 * kKiB * (decoded >= kMiB ? 1 : 0)));
    // Counts pages and levels, a buffer that grows, and columns that operators make.
    const uint64_t columns = plus(times(decoded, 6), plus(times(rows, made_row_), plus(bounds.lists, offsets)));
    const uint64_t entry = plus(bounds.held, 4 * kKiB + 256 * fields);  // of a cache entry
    bounds.decode = plus(plus(columns, std::max(cost.fetched_bytes, entry)), 64 * kKiB + 4 * kKiB * fields);
    return bounds;
  }

 private:
  const ChunkPlan& plan_;
  uint64_t source_row_ = 0, made_row_ = 0, growth_ = 1;
};

// Number of chunks whose rows may meet in one batch: in each lane, the blocks that consecutive rows
// span, also across the end of an epoch.
uint64_t chunks_in_batch(const ExecutionPlan& plan, const SizingInput& input) {
  const ChunkSource& source = *plan.chunks->source;
  int64_t fewest = source.kept_rows() != nullptr || plan.selection->size() < source.size() ? 1 : source.size();
  for (int64_t chunk = 0; chunk < source.chunks(); ++chunk)
    fewest = std::min(fewest, source.chunk_begin(chunk + 1) - source.chunk_begin(chunk));
  const int64_t in_lane = input.batch_size / input.lanes + 1;
  const int64_t blocks = in_lane / std::max<int64_t>(1, std::max<int64_t>(fewest, 1) * input.block) + 3;
  return plus(times(whole(input.lanes), times(whole(input.block), whole(blocks))), whole(input.replayed_rows));
}

uint64_t chunks_bound(const ExecutionPlan& plan, const SizingInput& input, int threads) {
  const ChunkSource& source = *plan.chunks->source;
  const ChunksBound bound(plan);
  std::vector<uint64_t> held, lists;
  uint64_t decode = 0, longest = 0;
  for (int64_t chunk = 0; chunk < source.chunks(); ++chunk) {
    const ChunkBounds bounds = bound.of(chunk);
    held.push_back(bounds.held);
    lists.push_back(bounds.lists);
    decode = std::max(decode, bounds.decode);
    longest = std::max(longest, bounds.lists);
  }
  // Chunks of replayed rows are in memory one at a time, in addition to the chunks being mixed.
  const uint64_t blocks = whole(input.lanes) * whole(input.block) + (input.replayed_rows > 0 ? 1 : 0);
  const bool ragged = std::any_of(plan.outputs.begin(), plan.outputs.end(), [](auto& one) { return !one.row_bytes; });
  const uint64_t values =
      ragged ? times(largest_together(lists, std::min(chunks_in_batch(plan, input), times(whole(input.batch_size), 2))),
                     appearances(plan, input))
             : 0;
  uint64_t bytes = times(kTableThread, static_cast<uint64_t>(threads));
  for (const uint64_t part :
       {plan.batch_bytes(input.batch_size), largest_together(held, blocks), decode, times(values, times_held(plan)),
        2 * offset_bytes(plan, input.batch_size), padding_bytes(plan, input.batch_size, longest), plan.working_bytes,
        plan.stages.empty() ? 0 : longest, replays(plan) ? plus(longest, plan.working_bytes) : 0})
    bytes = plus(bytes, part);
  return bytes;
}

// ---- sources of single samples

struct Samples {
  uint64_t largest = 0;         // stored bytes of the largest sample
  std::vector<uint64_t> loose;  // per sample, bytes its batch holds until it is assembled
};

Samples samples_of(const ExecutionPlan& plan) {
  Samples samples;
  const Schema& schema = plan.source->schema();
  const auto loose = [&](auto&& is) {
    return std::any_of(plan.outputs.begin(), plan.outputs.end(),
                       [&](const OutputField& one) { return !one.row_bytes && is(one.field); });
  };
  const bool joined = loose([](const Field& field) { return field.kind == FieldKind::kBytes; });
  const bool known = loose([](const Field& field) { return !field.fetched; });
  for (int64_t i = 0; i < plan.selection->size(); ++i) {
    const int64_t id = plan.selection->id_at(i);
    const uint64_t stored = plan.fetches ? plan.samples().fetch(id).size : 0;
    samples.largest = std::max(samples.largest, stored);
    uint64_t bytes = joined ? stored : 0;
    Record record;
    if (known && !plan.has_foreign() && plan.samples().load(id, Buffer(), record).ok()) {
      for (size_t field = 0; field < record.size() && field < schema.size(); ++field)
        bytes = plus(bytes, schema[field].fetched ? 0 : record[field].nbytes());
    }
    samples.loose.push_back(bytes);
  }
  return samples;
}

uint64_t samples_bound(const ExecutionPlan& plan, const SizingInput& input, int threads) {
  const Samples samples = samples_of(plan);
  const uint64_t fixed = plan.batch_bytes(input.batch_size);
  const bool decodes = plan.fetches && std::any_of(plan.outputs.begin(), plan.outputs.end(),
                                                   [](const OutputField& one) { return one.field.image; });
  uint64_t loose = times(largest_together(samples.loose, whole(input.batch_size)), appearances(plan, input));
  uint64_t working = plan.working_bytes;
  if (decodes && !plan.stages.empty()) {
    const uint64_t picture = std::max(kPictureThread, times(samples.largest, kWorkPerStoredByte));
    working = plus(working, picture);
    for (const OutputField& output : plan.outputs)
      loose = plus(loose, output.field.image && !output.row_bytes ? times(picture, whole(input.batch_size)) : 0);
  }
  const uint64_t entry = !plan.keyed.empty() ? plus(plan.working_bytes, 4 * kKiB) : 0;
  uint64_t bytes = plus(plus(samples.largest, entry), working);
  bytes = plus(bytes, times(loose, times_held(plan)));
  bytes = plus(bytes, plus(2 * offset_bytes(plan, input.batch_size), padding_bytes(plan, input.batch_size, 0)));
  // Up to a quarter of the memory that a batch leaves free may be set aside as working memory of
  // threads.
  const uint64_t kept = times(decodes ? kPictureThread : kTableThread, static_cast<uint64_t>(threads));
  return plus(plus(fixed, samples.largest), plus(bytes, std::min(bytes / 3 + 16, kept)));
}

}  // namespace

uint64_t memory_bound(const ExecutionPlan& plan, const SizingInput& input, int threads) {
  const uint64_t bytes = plan.chunks ? chunks_bound(plan, input, threads) : samples_bound(plan, input, threads);
  return plus(plus(bytes, plus(input.packed, input.classes)),
              plus(plan.source->index_bytes(), cache_index_bytes(plan)));
}

}  // namespace forebay
