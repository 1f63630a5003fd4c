#include "store/timer.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "store/signals_blocked.h"

namespace forebay {

Timer::Time Timer::now() const {
  if (!manual_) return std::chrono::steady_clock::now() - state_->start;
  const Lock lock(state_->mutex);
  return state_->manual_now;
}

bool Timer::at(Time when, std::function<void()> function) {
  const Lock lock(state_->mutex);
  if (state_->closing) return false;
  if (!manual_ && !thread_.joinable() && !start_thread()) return false;
  state_->queue.push({when, state_->posted++, std::move(function)});
  // Woken even if this function is not the next: the thread looks and waits again.
  state_->changed.notify_one();
  return true;
}

bool Timer::start_thread() {
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([state = state_] { run(state); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void Timer::run(const std::shared_ptr<State>& state) {
  pthread_setname_np(pthread_self(), "forebay-timer");
  Lock lock(state->mutex);
  while (!state->closing) {
    if (state->queue.empty()) {
      state->changed.wait(lock);
      continue;
    }
    const auto due = state->start + state->queue.top().when;
    if (std::chrono::steady_clock::now() < due) {
      state->changed.wait_until(lock, due);
      continue;
    }
    auto function = std::move(state->queue.top().function);
    state->queue.pop();
    lock.unlock();
    function();
    function = nullptr;
    lock.lock();
  }
}

void Timer::advance(Time by) {
  const auto state = state_;  // functions may destroy the timer
  Lock lock(state->mutex);
  const Time until = state->manual_now + by;
  while (!state->closing && !state->queue.empty() && state->queue.top().when <= until) {
    // While a function runs, the time is its own due time, and never goes back for a function added
    // late.
    state->manual_now = std::max(state->manual_now, state->queue.top().when);
    auto function = std::move(state->queue.top().function);
    state->queue.pop();
    lock.unlock();
    function();
    function = nullptr;
    lock.lock();
  }
  state->manual_now = until;
}

void Timer::close() {
  std::priority_queue<Entry> dropped;
  {
    const Lock lock(state_->mutex);
    state_->closing = true;
    dropped.swap(state_->queue);
    state_->changed.notify_all();
  }
  if (!thread_.joinable()) return;
  // If close() is called from inside a function, the thread ends after it; it shares the state.
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

}  // namespace forebay
