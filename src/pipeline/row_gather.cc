#include "pipeline/row_gather.h"

#include <algorithm>
#include <cstring>

namespace forebay {

Status chunk_row_status(const Chunk& chunk, int64_t row) {
  const Columns* const rows = chunk.rows();
  if (rows == nullptr || !rows->bad_rows) return chunk.status();
  const auto bad = rows->bad_rows->find(row);
  return bad == rows->bad_rows->end() ? Status() : bad->second;
}

RowResult RowGather::run(WorkMemory& memory) && {
  const int64_t begun = thread_cpu_ns();
  find_rows();
  if (!result_.missing_ids.empty() && result_.verdict != Verdict::kFatal) result_.verdict = Verdict::kNeedsChunks;
  if (result_.verdict != Verdict::kDone) return std::move(result_);
  copy_packed();
  refer_to_unpacked();
  if (placement_.outlasts_chunks) {
    if (Status status = copy_unpacked(memory); !status.ok()) set_error(std::move(status), memory);
  }
  const uint64_t bytes = plan_.chunks->packed.stride() * static_cast<uint64_t>(count());
  plan_.write_counters->add(count(), bytes, bytes, thread_cpu_ns() - begun);
  return std::move(result_);
}

void RowGather::set_error(Status status, const WorkMemory& memory) {
  if (status.code() == Code::kOutOfBudget && status.bytes_needed() > memory.grant()) {
    result_.verdict = Verdict::kNeedsBytes;
    result_.needs_bytes = status.bytes_needed();
  } else {
    result_.verdict = Verdict::kFatal;
    result_.fatal = std::move(status);
  }
}

// Finds the rows in the order of their destinations. If the block has bad rows, each row is checked
// by itself.
void RowGather::find_rows() {
  const ChunkBlock& block = *placement_.block;
  sources_.reserve(static_cast<size_t>(count()));
  if (!block.has_bad_rows()) {
    for (int64_t i = input_.begin; i < input_.end; ++i)
      sources_.push_back(block.locate(batch_.rows()[static_cast<size_t>(placement_.row(i))].id));
    if (!placement_.sorted_rows.empty())
      destinations_.assign(placement_.sorted_rows.begin() + input_.begin, placement_.sorted_rows.begin() + input_.end);
    return;
  }
  for (int64_t i = input_.begin; i < input_.end && result_.verdict != Verdict::kFatal; ++i) {
    const int64_t row = placement_.row(i);
    const std::optional<RowInBlock> place = find_row(row);
    if (!place) continue;
    sources_.push_back(*place);
    destinations_.push_back(static_cast<uint32_t>(row));
  }
  if (sources_.size() == static_cast<size_t>(count()) && placement_.sorted_rows.empty()) destinations_.clear();
}

// Finds the row's sample or its replacement. Returns nothing if the row is skipped, if its
// replacement is in another chunk, or if the batch fails. The loop ends: each failure skips the
// row, makes the batch fail, or tries one of a bounded number of replacements.
std::optional<RowInBlock> RowGather::find_row(int64_t row) {
  RowJob& job = batch_.rows()[static_cast<size_t>(row)];
  while (!job.skipped && result_.verdict != Verdict::kFatal) {
    if (job.attempt > 0 && !placement_.block->has_row(job.id)) {
      result_.missing_ids.push_back(job.id);
      return std::nullopt;
    }
    const RowInBlock place = placement_.block->locate(job.id);
    Status status = chunk_row_status(*placement_.block->chunks[place.chunk], place.row);
    if (status.ok()) return place;
    const int64_t attempt = job.attempt;
    result_.storage_unavailable = status.code() == Code::kUnavailable;
    work_.fail(batch_, row, std::move(status), result_);
    if (result_.verdict == Verdict::kReplaced) result_.verdict = Verdict::kDone;  // the loop goes on with it
    if (job.attempt == attempt) break;
  }
  return std::nullopt;
}

void RowGather::copy_packed() {
  const PackedRows& packed = plan_.chunks->packed;
  if (packed.parts().empty()) return;
  std::vector<const uint8_t*> firsts, pointers;
  // A Failed chunk has no rows, and no row to copy is in it.
  for (const auto& chunk : placement_.block->chunks)
    firsts.push_back(chunk->rows() ? chunk->rows()->values.front().values.data() : nullptr);
  pointers.reserve(sources_.size());
  for (const RowInBlock& place : sources_)
    pointers.push_back(firsts[place.chunk] + packed.stride() * static_cast<size_t>(place.row));
  std::vector<uint8_t*> slots;
  slots.reserve(packed.parts().size());
  for (const PackedRows::Part& part : packed.parts())
    slots.push_back(batch_.slot(plan_.batch_output(part.field), destinations_.empty() ? input_.begin : 0));
  packed.gather(pointers, slots, destinations_);
}

// Lists, bytes, texts and lists of them are copied when the batch is assembled. Until then the
// batch refers to the memory of the chunks.
void RowGather::refer_to_unpacked() {
  constexpr size_t kPrefetchDistance = 16;  // in rows; their offsets are prefetched
  const PackedRows& packed = plan_.chunks->packed;
  struct ChunkColumn {
    const uint8_t* values;
    const int64_t* ends;
  };
  std::vector<ChunkColumn> columns;
  for (const PackedRows::UnpackedField& unpacked : packed.unpacked()) {
    const size_t size = item_bytes(packed.schema()[unpacked.column]);
    columns.clear();
    for (const auto& chunk : placement_.block->chunks) {
      const ColumnValues* column = chunk->rows() ? &chunk->rows()->values[unpacked.column] : nullptr;
      columns.push_back(column ? ChunkColumn{column->values.data(), column->offset()} : ChunkColumn{});
    }
    for (size_t i = 0; i < sources_.size(); ++i) {
      const RowInBlock& place = sources_[i];
      const RowInBlock& later = sources_[std::min(i + kPrefetchDistance, sources_.size() - 1)];
      __builtin_prefetch(columns[later.chunk].ends + later.row, 0, 2);
      const int64_t row = destinations_.empty() ? input_.begin + static_cast<int64_t>(i) : destinations_[i];
      const auto [values, ends] = columns[place.chunk];
      const auto begin = static_cast<size_t>(ends[place.row]), end = static_cast<size_t>(ends[place.row + 1]);
      batch_.set_reference(plan_.batch_output(unpacked.field), row, {values + begin * size, (end - begin) * size});
    }
  }
}

// The chunks of an older block are released before the batch is assembled, so lists and texts are
// copied out.
Status RowGather::copy_unpacked(WorkMemory& memory) {
  size_t bytes = 0;
  const auto each = [&](auto&& visit) {
    for (const PackedRows::UnpackedField& unpacked : plan_.chunks->packed.unpacked()) {
      for (int64_t i = input_.begin; i < input_.end; ++i) visit(plan_.batch_output(unpacked.field), placement_.row(i));
    }
  };
  each([&](size_t output, int64_t row) { bytes += batch_.reference(output, row).size(); });
  if (bytes == 0) return {};
  FOREBAY_RETURN_IF_ERROR(memory.reserve(bytes));
  result_.copied = Buffer::allocate(bytes);
  uint8_t* to = result_.copied.data();
  each([&](size_t output, int64_t row) {
    const RowBytes from = batch_.reference(output, row);
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    batch_.redirect_reference(output, row, {to, from.size()});
    to += from.size();
  });
  return {};
}

}  // namespace forebay
