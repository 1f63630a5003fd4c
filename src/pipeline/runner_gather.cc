#include <algorithm>
#include <cstring>

#include "pipeline/runner.h"

// Rows out of decoded units: what compute threads do once a block is there.

namespace forebay {

namespace {

constexpr size_t kRowsAtOnce = 64;  // whose packed bytes stay in the first cache
constexpr size_t kCacheLine = 64;

void prefetch(const uint8_t* row, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(row + at);
}

}  // namespace

int64_t Runner::row_of(const Job& job, int64_t index) const {
  return job.rows_by_block.empty() ? index : job.rows_by_block[static_cast<size_t>(index)];
}

// Where the row's sample is, or that of its stand-in. A null unit: the row is left out.
RowPlace Runner::locate_row(BatchJob& batch, const UnitBlock& block, int64_t row, Outcome& outcome) {
  RowJob& job = batch.rows()[static_cast<size_t>(row)];
  while (!job.skipped && outcome.fatal.ok()) {
    const RowPlace place = UnitTable::place(block, job.id);
    Status status = place.unit->status;
    if (status.ok() && place.unit->rows->bad_rows) {
      const auto bad = place.unit->rows->bad_rows->find(place.row);
      if (bad != place.unit->rows->bad_rows->end()) status = bad->second;
    }
    if (status.ok()) return place;
    const int64_t attempt = job.attempt;
    take_error(batch, row, std::move(status), outcome);
    outcome.again = false;  // the stand-in is at hand
    if (job.attempt == attempt) break;
  }
  return {};
}

// Rows of one block from its units into the batch.
Runner::Outcome Runner::gather_rows(Job& job, Task& task, WorkMemory& memory) {
  Outcome outcome;
  const int64_t begun = thread_cpu_ns();
  const PackedRows& packed = plan_->units->packed;
  const UnitBlock& block = *job.blocks[task.block];
  const auto count = static_cast<size_t>(task.end - task.begin);
  std::vector<RowPlace> places(count);
  std::vector<const uint8_t*> rows(count);
  std::vector<uint32_t> numbers;
  for (size_t i = 0; i < count; ++i) {
    const int64_t row = row_of(job, task.begin + static_cast<int64_t>(i));
    places[i] = locate_row(job.batch, block, row, outcome);
    if (!outcome.fatal.ok()) return outcome;
    if (!job.rows_by_block.empty()) numbers.push_back(static_cast<uint32_t>(row));
    if (places[i].unit == nullptr || packed.parts().empty()) continue;
    rows[i] = places[i].unit->rows->values.front().values.data() + packed.stride() * static_cast<size_t>(places[i].row);
  }
  for (size_t i = 0; i < std::min(count, kRowsAtOnce); ++i) {
    if (rows[i] != nullptr) prefetch(rows[i], packed.stride());
  }
  for (size_t at = 0; at < count; at += kRowsAtOnce) {
    const size_t here = std::min(kRowsAtOnce, count - at), next = std::min(kRowsAtOnce, count - at - here);
    for (size_t i = 0; i < next; ++i) {
      if (rows[at + here + i] != nullptr) prefetch(rows[at + here + i], packed.stride());
    }
    for (const PackedRows::Part& part : packed.parts()) {
      const RowPointers from(rows.data() + at, here);
      if (numbers.empty()) {
        gather_part(from, part.offset, part.bytes, job.batch.slot(part.field, task.begin + static_cast<int64_t>(at)));
      } else {
        gather_part(from, part.offset, part.bytes, job.batch.slot(part.field, 0), {numbers.data() + at, here});
      }
    }
  }
  for (const PackedRows::Apart& apart : packed.apart()) {
    const Field& field = packed.schema()[apart.column];
    const size_t size = field.kind == FieldKind::kTensor ? dtype_size(field.dtype) : 1;
    for (size_t i = 0; i < count; ++i) {
      if (places[i].unit == nullptr) continue;
      const ColumnValues& column = places[i].unit->rows->values[apart.column];
      const int64_t* ends = column.offset() + places[i].row;
      job.batch.point_to(
          apart.field, row_of(job, task.begin + static_cast<int64_t>(i)),
          {column.values.data() + static_cast<size_t>(ends[0]) * size, static_cast<size_t>(ends[1] - ends[0]) * size});
    }
  }
  if (job.straddles) {
    const Status status = copy_lists(job, task, memory, &outcome.copied);
    if (status.code() == Code::kOutOfBudget && status.bytes_needed() > memory.grant()) {
      outcome.needs_bytes = status.bytes_needed();
    } else {
      outcome.fatal = status;
    }
  }
  plan_->write_counters->add(static_cast<int64_t>(count), packed.stride() * count, packed.stride() * count,
                             thread_cpu_ns() - begun);
  return outcome;
}

// The units of an older block are let go of before the batch is put together.
Status Runner::copy_lists(Job& job, const Task& task, WorkMemory& memory, Buffer* copied) {
  size_t bytes = 0;
  const auto each = [&](auto&& visit) {
    for (const PackedRows::Apart& apart : plan_->units->packed.apart()) {
      for (int64_t i = task.begin; i < task.end; ++i) visit(apart.field, row_of(job, i));
    }
  };
  each([&](size_t output, int64_t row) { bytes += job.batch.pointed_to(output, row).size(); });
  if (bytes == 0) return {};
  FOREBAY_RETURN_IF_ERROR(memory.reserve(bytes));
  *copied = Buffer::allocate(bytes);
  uint8_t* to = copied->data();
  each([&](size_t output, int64_t row) {
    const RowBytes from = job.batch.pointed_to(output, row);
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    job.batch.point_to(output, row, {to, from.size()});
    to += from.size();
  });
  return {};
}

Result<Record> Runner::record_of_unit(const Job& job, const Task& task, int64_t id) const {
  const RowPlace place = UnitTable::place(*job.blocks[task.block], id);
  if (!place.unit->status.ok()) return place.unit->status;
  const Columns& rows = *place.unit->rows;
  if (rows.bad_rows) {
    const auto bad = rows.bad_rows->find(place.row);
    if (bad != rows.bad_rows->end()) return bad->second;
  }
  return plan_->units->packed.row(rows, place.row);
}

}  // namespace forebay
