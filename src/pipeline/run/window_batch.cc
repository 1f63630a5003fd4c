#include "pipeline/run/window_batch.h"

#include <algorithm>

namespace forebay {

WindowBatch::WindowBatch(const ExecutionPlan& plan, const Itinerary& itinerary, StepPlan step, int64_t rows_per_task)
    : job(plan, itinerary, std::move(step)) {
  const int64_t per_task = std::clamp<int64_t>(rows_per_task, 1, std::max<int64_t>(size(), 1));
  tasks.reserve(static_cast<size_t>((size() + per_task - 1) / per_task));
  for (int64_t begin = 0; begin < size(); begin += per_task)
    tasks.emplace_back(*this, begin, std::min(size(), begin + per_task));
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
