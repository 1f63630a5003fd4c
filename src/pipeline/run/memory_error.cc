#include "pipeline/run/memory_error.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pipeline/memory_model.h"

namespace forebay {

namespace {

// Bytes that the batch and the threads need in any case.
uint64_t common_bytes(const RunCore& core, const WindowBatch& batch) {
  return core.memory.thread_bytes() + core.plan.batch_bytes(batch.size());
}

uint64_t values_of(const RunCore& core, const WindowBatch& batch) {
  std::vector<std::vector<int64_t>> ids(core.plan.size());
  for (int64_t row = 0; row < batch.size(); ++row)
    ids[batch.job.planned(row).branch].push_back(batch.job.rows()[static_cast<size_t>(row)].id);
  ByteCount bytes;
  for (size_t branch = 0; branch < ids.size(); ++branch)
    bytes += MemoryModel(core.plan.branch(branch)).certain_values(ids[branch]);
  return bytes.value();
}

Status no_batch_fits(const RunCore& core, const WindowBatch& batch, uint64_t least) {
  uint64_t needed = common_bytes(core, batch) + batch.job.assembly_bytes();
  for (const RowTask& task : batch.tasks) needed += task.bytes.claim.bytes();
  needed = std::max(needed, least);
  return out_of_budget(
      fmt::format("one batch needs {} bytes, the memory budget is {}; raise memory= or make the batch smaller", needed,
                  core.memory.capacity()),
      needed);
}

Status no_block_fits(const RunCore& core, const WindowBatch& batch, const RowTask& task, uint64_t bytes,
                     uint64_t least) {
  const ChunkBlock& block = *batch.block_of(task);
  uint64_t needed = common_bytes(core, batch) + task.working_needed + bytes;
  for (const auto& chunk : block.chunks) needed += chunk->claimed_bytes();
  needed = std::max(needed, least);
  const std::string message =
      block.replayed
          ? fmt::format(
                "the row group of an old sample needs {} bytes of memory beside one batch and what is mixed in "
                "it; the budget is {}: raise memory=, or write smaller row groups",
                needed, core.memory.capacity())
          : fmt::format(
                "the rows of {} row groups are mixed, which needs {} bytes of memory with one batch; the "
                "budget is {}: raise memory=, give .shuffle() a smaller block=, or write smaller row groups",
                block.chunks.size(), needed, core.memory.capacity());
  return out_of_budget(message, needed)
      .with_key(core.plan.branch(task.branch).chunks->source->chunk_name(block.chunks.front()->number));
}

Status no_sample_fits(const RunCore& core, const WindowBatch& batch, const RowTask& task, uint64_t least) {
  const int64_t id = batch.job.rows()[static_cast<size_t>(task.first_row)].id;
  const BranchPlan& plan = core.plan.branch(task.branch);
  uint64_t size = 0;
  if (plan.fetches) size = task.bytes.entry_in_memory() ? plan.samples().fetch(id).total_size() : task.bytes.size();
  uint64_t held = size;
  for (const RowTask& other : batch.tasks) held += &other == &task ? 0 : other.bytes.claim.bytes();
  const uint64_t needed =
      std::max(common_bytes(core, batch) + std::max(held, values_of(core, batch)) + task.working_needed, least);
  return core.row_work(task.branch)
      .locate(out_of_budget(fmt::format("this sample needs {} bytes of memory ({} stored, {} to work in, the rest "
                                        "for its batch), the budget is {}; raise "
                                        "memory= to {} or more",
                                        needed, size, task.working_needed, core.memory.capacity(), needed),
                            needed),
              id);
}

}  // namespace

Status insufficient_memory(const RunCore& core, const WindowBatch& batch, const RowTask* task, uint64_t bytes) {
  // Memory in use and the bytes asked for. No other element holds memory by now.
  const uint64_t least = core.memory.used() + bytes;
  if (task == nullptr) return no_batch_fits(core, batch, least);
  if (batch.has_block(*task)) return no_block_fits(core, batch, *task, bytes, least);
  return no_sample_fits(core, batch, *task, least);
}

Status with_sufficient_bytes(const RunCore& core, Status status) {
  const uint64_t enough = core.options.memory.enough ? core.options.memory.enough() : 0;
  if (enough <= status.bytes_needed()) return status;
  Status error = out_of_budget(fmt::format("{} (with {} every batch fits)", status.message(), enough), enough);
  if (!status.key().empty()) error = std::move(error).with_key(status.key());
  return status.sample() ? std::move(error).with_sample(*status.sample()) : error;
}

}  // namespace forebay
