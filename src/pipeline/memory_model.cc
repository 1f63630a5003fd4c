#include "pipeline/memory_model.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/byte_size.h"
#include "pipeline/chunk_memory.h"

namespace forebay {

namespace {

// Working memory that a thread keeps: enough for most photographs, or for operators on rows.
constexpr uint64_t kPictureThread = 4 * kMiB, kRowThread = 64 * kKiB;

// Assumed for a picture whose header has not been read.
ByteCount picture_bytes(uint64_t stored) { return std::max<ByteCount>(kPictureThread, ByteCount(stored) * 16); }

// Threads keep a quarter of the memory that one batch and one sample leave free, at most. Data goes
// first, because a thread can claim working memory when it needs it.
constexpr uint64_t kThreadsPart = 4;

// Bytes of an index of cache entries on disk, with the share of a hash map that has just grown.
constexpr uint64_t kIndexedEntry = 160;

uint64_t nonnegative(int64_t number) { return static_cast<uint64_t>(std::max<int64_t>(number, 0)); }

}  // namespace

ByteCount sum_of_largest(const std::vector<uint64_t>& largest_first, int64_t count) {
  const auto end = largest_first.begin() + std::min(count, std::ssize(largest_first));
  return std::accumulate(largest_first.begin(), end, ByteCount());
}

MemoryNeeds& MemoryNeeds::operator+=(const MemoryNeeds& branch) {
  // The rows of a batch may all be of the branch that needs most, and so may what threads work on.
  batch = std::max(batch, branch.batch);
  values = std::max(values, branch.values);
  working = std::max(working, branch.working);
  threads = std::max(threads, branch.threads);
  data += branch.data;
  index += branch.index;
  mean_stored = std::max(mean_stored, branch.mean_stored);
  largest_stored = std::max(largest_stored, branch.largest_stored);
  chunks.insert(chunks.end(), branch.chunks.begin(), branch.chunks.end());
  std::ranges::sort(chunks, std::greater<>());
  chunks_mixed += branch.chunks_mixed;
  return *this;
}

MemoryModel::MemoryModel(const BranchPlan& plan, const RunShape& shape) : plan_(&plan), shape_(shape) {
  for (const OutputField& output : plan.outputs) works_on_pictures_ |= output.field.image && !plan.stages.empty();
  for (const OutputField& output : plan.outputs) {
    if (!output.row_bytes) add_unsized(output.field);
  }
}

void MemoryModel::add_unsized(const Field& field) {
  ++unsized_;
  string_lists_ += field.string_list() ? 1 : 0;
  if (field.fixed_shape()) {
    shaped_bytes_ += row_bytes(field);
    return;
  }
  from_index_ |= !field.fetched && !plan_->has_foreign();
  if (field.kind == FieldKind::kBytes && field.fetched)
    ++as_stored_;
  else if (field.image && works_on_pictures_ && plan_->fetches)
    ++pictures_;
  else if (field.kind != FieldKind::kText)  // texts are names and captions
    ++like_stored_;
}

MemoryNeeds MemoryModel::needs(Estimate estimate) const {
  const bool most = estimate == Estimate::kMost;
  MemoryNeeds needs;
  needs.batch = ByteCount(plan_->batch_bytes(shape_.rows)) + packed_blocks();
  needs.index = ByteCount(plan_->source->index_bytes()) + shape_.classes;
  if (most) needs.index += ByteCount(plan_->cache_entries()) * kIndexedEntry;
  needs.values = values(estimate, plan_->chunks ? estimate_chunks(estimate, needs) : estimate_samples(estimate, needs));
  const ByteCount threads = ByteCount(thread_bytes()) * nonnegative(shape_.threads);
  // Tasks on samples can claim what their threads do not keep. With what is enough, threads keep no
  // more than this: (n + n / 3) / 4 is n / 3.
  const ByteCount part = (needs.values + needs.data + needs.working) / (kThreadsPart - 1) + 16;
  needs.threads = plan_->chunks ? threads : most ? std::min(part, threads) : 0;
  return needs;
}

ByteCount MemoryModel::values(Estimate estimate, Values found) const {
  if (unsized_ == 0) return 0;
  const ByteCount all = std::accumulate(found.bytes.begin(), found.bytes.end(), ByteCount());
  const ByteCount mean = all / std::max<uint64_t>(nonnegative(found.samples), 1);
  const uint64_t rows = nonnegative(shape_.rows);
  const ByteCount padded = ByteCount(shaped_bytes_) * rows;
  if (estimate == Estimate::kExpected) {
    const bool referred = plan_->chunks && plan_->chunks->gathers_rows;
    return with_copies(mean * rows + padded, rows, referred) + padding(mean);
  }
  std::ranges::sort(found.bytes, std::greater<>());
  // A batch that is larger than the data set repeats samples.
  const uint64_t times =
      1 + rows * nonnegative(shape_.lanes) / std::max<uint64_t>(nonnegative(plan_->selection->size()), 1);
  return with_copies(sum_of_largest(found.bytes, found.max_in_batch) * times + padded, rows, /*referred=*/false) +
         padding(sum_of_largest(found.bytes, 1));
}

MemoryModel::Values MemoryModel::estimate_chunks(Estimate estimate, MemoryNeeds& needs) const {
  const bool most = estimate == Estimate::kMost;
  const ChunkSource& source = *plan_->chunks->source;
  const ChunkMemory memory(*plan_->chunks);
  std::vector<uint64_t> lists;
  uint64_t longest = 0;
  for (int64_t chunk = 0; chunk < source.chunks(); ++chunk) {
    const ChunkMemory::Bytes bytes = most ? memory.most(chunk) : memory.expected(chunk);
    needs.chunks.push_back(bytes.held.value());
    lists.push_back(bytes.lists.value());
    longest = std::max(longest, lists.back());
    needs.working = std::max(needs.working, bytes.decoding);
  }
  std::ranges::sort(needs.chunks, std::greater<>());
  // Chunks of replayed rows are in memory one at a time, in the place of one that is being read.
  needs.data = sum_of_largest(needs.chunks, shape_.chunks_mixed());
  needs.chunks_mixed = shape_.chunks_mixed();
  if (most) {  // one row may have all lists of its chunk
    const uint64_t replayed = plan_->replays() ? 1 : 0;
    needs.working += ByteCount(plan_->working_bytes) * (1 + replayed);
    needs.working += ByteCount(longest) * ((plan_->stages.empty() ? 0 : 1) + replayed);
  }
  return {std::move(lists), source.size(), chunks_in_batch()};
}

MemoryModel::Values MemoryModel::estimate_samples(Estimate estimate, MemoryNeeds& needs) const {
  constexpr int64_t kSampled = 512;  // enough for a mean, and fast for millions of objects
  const bool most = estimate == Estimate::kMost;
  const int64_t n = plan_->fetches || from_index_ ? plan_->selection->size() : 0;
  const int64_t count = most ? n : std::min(n, kSampled);
  std::vector<uint64_t> values;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = plan_->selection->id_at(i * (n / count));
    const uint64_t stored = stored_bytes(id);
    const ByteCount picture = most ? picture_bytes(stored) : stored;
    const ByteCount made = ByteCount(stored) * (as_stored_ + like_stored_) + picture * pictures_;
    values.push_back((made + indexed_values(id)).value());
    needs.mean_stored += stored;
    needs.largest_stored = std::max(needs.largest_stored, stored);
  }
  needs.mean_stored /= std::max<uint64_t>(nonnegative(count), 1);
  // A read of a revoked task keeps its bytes until it ends.
  needs.data = std::max<ByteCount>(most ? ByteCount(needs.largest_stored) * 2 : needs.mean_stored, 1);
  if (most) {
    needs.working = plan_->working_bytes;
    if (plan_->cache_entries() > 0 || plan_->replays())  // an entry is made
      needs.working += ByteCount(plan_->working_bytes) + 4 * kKiB;
    if (works_on_pictures_ && plan_->fetches) needs.working += picture_bytes(needs.largest_stored);
  }
  return {std::move(values), count, shape_.rows};
}

uint64_t MemoryModel::thread_bytes(uint64_t left) const {
  if (plan_->chunks) return kRowThread;
  const uint64_t part = left / kThreadsPart / std::max<uint64_t>(nonnegative(shape_.threads), 1);
  return std::min(works_on_pictures_ ? kPictureThread : kRowThread, part);
}

// Values exist in rows and in the batch. Lists of strings count three times, because their lengths
// take memory, too. `referred`: rows are references to a chunk.
ByteCount MemoryModel::with_copies(ByteCount values, uint64_t rows, bool referred) const {
  const ByteCount offsets = ((ByteCount(rows) + 1) * unsized_ + string_lists_) * sizeof(int64_t);
  return values * ((string_lists_ > 0 ? 3 : 2) - (referred ? 1 : 0)) + offsets * 2;
}

ByteCount MemoryModel::padding(ByteCount longest_row) const {
  ByteCount bytes;
  for (const OutputField& output : plan_->outputs) {
    const Field& field = output.field;
    const ByteCount length = ByteCount(nonnegative(field.pad_length)) * dtype_size(field.dtype);
    if (field.pad_value) bytes += (field.pad_length > 0 ? length : longest_row) * nonnegative(shape_.rows);
  }
  return bytes;
}

ByteCount MemoryModel::certain_values(std::span<const int64_t> ids) const {
  ByteCount bytes;
  for (const int64_t id : ids) bytes += ByteCount(stored_bytes(id)) * as_stored_ + indexed_values(id);
  return with_copies(bytes, ids.size(), /*referred=*/false);
}

ByteCount MemoryModel::indexed_values(int64_t id) const {
  const Schema& schema = plan_->source->schema();
  Record record;
  if (!from_index_ || !plan_->samples().load(id, Buffer(), record).ok()) return 0;
  ByteCount bytes;
  for (size_t i = 0; i < record.size() && i < schema.size(); ++i) bytes += schema[i].fetched ? 0 : record[i].nbytes();
  return bytes;
}

uint64_t MemoryModel::stored_bytes(int64_t id) const {
  return plan_->fetches ? plan_->samples().fetch(id).total_size() : 0;
}

ByteCount MemoryModel::packed_blocks() const {
  return plan_->packing ? plan_->packing->bytes(shape_.packed_blocks, shape_.rows) : 0;
}

// Chunks whose rows may meet in one batch: in each lane, the blocks that consecutive rows span,
// also across the end of an epoch.
int64_t MemoryModel::chunks_in_batch() const {
  const ChunkSource& source = *plan_->chunks->source;
  const bool left_out = source.kept_rows() != nullptr || plan_->selection->size() < source.size();
  const int64_t fewest = left_out ? 1 : std::max<int64_t>(source.fewest_rows(), 1);
  const ByteCount blocks =
      nonnegative((shape_.rows / shape_.lanes + 1) / std::max<int64_t>(1, fewest * shape_.block) + 3);
  const ByteCount chunks =
      blocks * nonnegative(shape_.lanes) * nonnegative(shape_.block) + nonnegative(shape_.replayed_rows);
  return static_cast<int64_t>(std::min<ByteCount>(chunks, 2 * nonnegative(shape_.rows)).value());
}

}  // namespace forebay
