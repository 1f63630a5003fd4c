#include "pipeline/run/window_batch.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace forebay {

namespace {

// Counts the rows of each group, since comparisons of groups at random are mispredicted. Rows of one
// group keep the batch's order, so that memory is written forward.
std::vector<uint32_t> sorted_by_group(const std::vector<uint32_t>& group_of_row, size_t groups) {
  std::vector<uint32_t> next(groups + 1);
  for (const uint32_t group : group_of_row) ++next[group + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<uint32_t> sorted(group_of_row.size());
  for (size_t row = 0; row < group_of_row.size(); ++row) sorted[next[group_of_row[row]]++] = static_cast<uint32_t>(row);
  return sorted;
}

}  // namespace

std::vector<TaskGroup> groups_of(const ExecutionPlan& plan, std::span<const int64_t> rows_per_task) {
  std::vector<TaskGroup> groups;
  for (size_t branch = 0; branch < rows_per_task.size(); ++branch)
    groups.push_back({.branch = static_cast<uint16_t>(branch),
                      .rows_per_task = rows_per_task[branch],
                      .gathers = plan.branch(branch).gathers_only()});
  return groups;
}

WindowBatch::WindowBatch(const ExecutionPlan& plan, StepPlan step, std::span<const TaskGroup> groups)
    : job(plan, std::move(step)) {
  std::vector<uint32_t> group_of_row;
  if (groups.size() > 1) {
    group_of_row.reserve(job.step().rows.size());
    for (const Row& row : job.step().rows) group_of_row.push_back(row.branch);
  }
  make_tasks(groups, group_of_row);
}

void WindowBatch::make_tasks(std::span<const TaskGroup> groups, const std::vector<uint32_t>& group_of_row) {
  sorted_rows.clear();
  tasks.clear();
  const bool single_rows = std::ranges::all_of(groups, [](const TaskGroup& group) { return group.rows_per_task <= 1; });
  // Tasks of one row are in the order of the rows.
  if (!single_rows && !std::ranges::is_sorted(group_of_row)) {
    sorted_rows = sorted_by_group(group_of_row, groups.size());
  }
  const auto row_at = [&](int64_t index) {
    return sorted_rows.empty() ? index : static_cast<int64_t>(sorted_rows[static_cast<size_t>(index)]);
  };
  const auto group_at = [&](int64_t index) {
    return group_of_row.empty() ? 0 : group_of_row[static_cast<size_t>(row_at(index))];
  };
  int64_t smallest = INT64_MAX;
  for (const TaskGroup& group : groups) smallest = std::min(smallest, std::max<int64_t>(group.rows_per_task, 1));
  tasks.reserve(static_cast<size_t>(size() / smallest) + groups.size());
  for (int64_t begin = 0, end = 0; begin < size(); begin = end) {
    const uint32_t group = group_at(begin);
    const int64_t most = std::min(size() - begin, std::max<int64_t>(groups[group].rows_per_task, 1));
    const auto belongs = [&](uint32_t other) {
      return other == group || (groups[group].gathers && groups[other].gathers);
    };
    end = begin + 1;
    while (end < begin + most && belongs(group_at(end))) ++end;
    RowTask& task = tasks.emplace_back(*this, begin, end);
    task.first_row = row_at(begin);
    task.branch = groups[group].branch;
    task.block = groups[group].block;
  }
}

RowTask& WindowBatch::oldest() {
  size_t index = summary.first_unfinished();
  while (tasks[index].is<RowTask::Ready>()) ++index;
  summary.set_first_unfinished(index);
  return tasks[index];
}

void WindowBatch::make_waiting(RowTask& task) {
  task.state = RowTask::Waiting{};
  summary.on_waiting(index_of(task));
}

bool is_front(const WindowBatches& batches, const WindowBatch& batch) {
  return !batches.empty() && batches.front().get() == &batch;
}

bool is_oldest(const WindowBatches& batches, const WindowBatch& batch, const RowTask* task) {
  if (!is_front(batches, batch)) return false;
  for (size_t i = batch.summary.first_unfinished(); i < batch.tasks.size(); ++i) {
    if (&batch.tasks[i] == task) return true;
    if (!batch.tasks[i].is<RowTask::Ready>()) return false;
  }
  return task == nullptr;
}

}  // namespace forebay
