#include <algorithm>
#include <cstring>
#include <optional>

#include "pipeline/runner.h"

// Rows out of decoded units: what compute threads do once a block is there.

namespace forebay {

int64_t Runner::row_of(const Job& job, int64_t index) const {
  return job.rows_by_block.empty() ? index : job.rows_by_block[static_cast<size_t>(index)];
}

namespace {

// What is wrong with a row of a unit that is there.
Status row_status(const Unit& unit, int64_t row) {
  if (!unit.status.ok() || !unit.rows->bad_rows) return unit.status;
  const auto bad = unit.rows->bad_rows->find(row);
  return bad == unit.rows->bad_rows->end() ? Status() : bad->second;
}

}  // namespace

// Where the row's sample is, or that of its stand-in. Nothing: the row is left out.
std::optional<RowPlace> Runner::locate_row(BatchJob& batch, const UnitBlock& block, int64_t row, Outcome& outcome) {
  RowJob& job = batch.rows()[static_cast<size_t>(row)];
  while (!job.skipped && outcome.fatal.ok()) {
    if (job.attempt > 0 && !units_->holds(block, job.id)) {
      outcome.elsewhere.push_back(job.id);
      return std::nullopt;
    }
    const RowPlace place = UnitTable::place(block, job.id);
    Status status = row_status(*block.units[place.unit], place.row);
    if (status.ok()) return place;
    const int64_t attempt = job.attempt;
    take_error(batch, row, std::move(status), outcome);
    outcome.again = false;  // the stand-in is at hand
    if (job.attempt == attempt) break;
  }
  return std::nullopt;
}

// Where the rows of a task are, in the order of its places. With bad rows in the block each is looked at by itself, as that may
// have consequences; without, nothing can come of it.
Runner::TaskRows Runner::locate_rows(Job& job, const Task& task, Outcome& outcome) {
  const UnitBlock& block = *job.block_of(task);
  TaskRows rows;
  rows.places.reserve(static_cast<size_t>(task.end - task.begin));
  if (!block.has_bad_rows()) {
    for (int64_t i = task.begin; i < task.end; ++i) {
      rows.places.push_back(UnitTable::place(block, job.batch.rows()[static_cast<size_t>(row_of(job, i))].id));
    }
    if (!job.rows_by_block.empty())
      rows.numbers.assign(job.rows_by_block.begin() + task.begin, job.rows_by_block.begin() + task.end);
    return rows;
  }
  for (int64_t i = task.begin; i < task.end && outcome.fatal.ok(); ++i) {
    const int64_t row = row_of(job, i);
    const std::optional<RowPlace> place = locate_row(job.batch, block, row, outcome);
    if (!place) continue;
    rows.places.push_back(*place);
    rows.numbers.push_back(static_cast<uint32_t>(row));
  }
  const bool all = rows.places.size() == static_cast<size_t>(task.end - task.begin);
  if (all && job.rows_by_block.empty()) rows.numbers.clear();
  return rows;
}

// Rows of one block from its units into the batch.
Runner::Outcome Runner::gather_rows(Job& job, Task& task, WorkMemory& memory) {
  Outcome outcome;
  const int64_t begun = thread_cpu_ns();
  const PackedRows& packed = plan_->units->packed;
  const TaskRows rows = locate_rows(job, task, outcome);
  if (!outcome.fatal.ok() || !outcome.elsewhere.empty()) return outcome;
  gather_packed(job, task, rows);
  point_to_lists(job, task, rows);
  if (job.straddles) {
    const Status status = copy_lists(job, task, memory, &outcome.copied);
    if (status.code() == Code::kOutOfBudget && status.bytes_needed() > memory.grant()) {
      outcome.needs_bytes = status.bytes_needed();
    } else {
      outcome.fatal = status;
    }
  }
  const auto count = static_cast<size_t>(task.end - task.begin);
  plan_->write_counters->add(static_cast<int64_t>(count), packed.stride() * count, packed.stride() * count,
                             thread_cpu_ns() - begun);
  return outcome;
}

void Runner::gather_packed(Job& job, const Task& task, const TaskRows& rows) {
  const PackedRows& packed = plan_->units->packed;
  if (packed.parts().empty()) return;
  std::vector<const uint8_t*> firsts, pointers;
  for (const auto& unit : job.block_of(task)->units)
    firsts.push_back(unit->rows ? unit->rows->values.front().values.data() : nullptr);
  pointers.reserve(rows.places.size());
  for (const RowPlace& place : rows.places)
    pointers.push_back(firsts[place.unit] + packed.stride() * static_cast<size_t>(place.row));
  std::vector<uint8_t*> slots;
  slots.reserve(packed.parts().size());
  for (const PackedRows::Part& part : packed.parts())
    slots.push_back(job.batch.slot(part.field, rows.numbers.empty() ? task.begin : 0));
  packed.gather(pointers, slots, rows.numbers);
}

// Lists, bytes and texts stay where they are until the batch is put together.
void Runner::point_to_lists(Job& job, const Task& task, const TaskRows& rows) {
  constexpr size_t kAhead = 16;  // rows whose ends are on their way from memory
  const PackedRows& packed = plan_->units->packed;
  struct Lists {
    const uint8_t* values;
    const int64_t* ends;
  };
  std::vector<Lists> lists;
  for (const PackedRows::Apart& apart : packed.apart()) {
    const Field& field = packed.schema()[apart.column];
    const size_t size = field.kind == FieldKind::kTensor ? dtype_size(field.dtype) : 1;
    lists.clear();
    for (const auto& unit : job.block_of(task)->units) {
      const ColumnValues* column = unit->rows ? &unit->rows->values[apart.column] : nullptr;
      lists.push_back(column ? Lists{column->values.data(), column->offset()} : Lists{});
    }
    for (size_t i = 0; i < rows.places.size(); ++i) {
      const RowPlace& place = rows.places[i];
      const RowPlace& later = rows.places[std::min(i + kAhead, rows.places.size() - 1)];
      __builtin_prefetch(lists[later.unit].ends + later.row, 0, 2);
      const int64_t row = rows.numbers.empty() ? task.begin + static_cast<int64_t>(i) : rows.numbers[i];
      const auto [values, ends] = lists[place.unit];
      const auto begin = static_cast<size_t>(ends[place.row]), end = static_cast<size_t>(ends[place.row + 1]);
      job.batch.point_to(apart.field, row, {values + begin * size, (end - begin) * size});
    }
  }
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
  const UnitBlock& block = *job.block_of(task);
  const RowPlace place = UnitTable::place(block, id);
  const Unit& unit = *block.units[place.unit];
  FOREBAY_RETURN_IF_ERROR(row_status(unit, place.row));
  return plan_->units->packed.row(*unit.rows, place.row);
}

}  // namespace forebay
