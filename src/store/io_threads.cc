#include "store/io_threads.h"

#include <pthread.h>

#include <new>
#include <system_error>
#include <utility>

#include "runtime/fork_guard.h"
#include "store/signals_blocked.h"

namespace forebay {

namespace {
thread_local const void* own_state = nullptr;  // of the pool that this thread belongs to
}  // namespace

IoThreads::IoThreads(size_t max_threads, std::chrono::milliseconds patience)
    : max_threads_(max_threads), patience_(patience), generation_(process_generation()),
      state_(std::make_shared<State>()) {}

bool IoThreads::in_forked_child() const { return process_generation() != generation_; }

bool IoThreads::post(std::function<void()> job) {
  if (in_forked_child()) return false;
  const Lock lock(state_->mutex);
  if (state_->closing) return false;
  // A sleeping thread that was woken still counts as idle, hence the comparison with the number of
  // waiting jobs and not with 0.
  if (state_->idle <= state_->jobs.size() && state_->threads < max_threads_ && !start_thread() &&
      state_->threads == 0) {
    return false;
  }
  state_->jobs.push_back(std::move(job));
  state_->work.notify_one();
  return true;
}

bool IoThreads::start_thread() {
  const SignalsBlocked blocked;
  try {
    // The thread shares the state, so a thread abandoned by close() finds it alive when its system
    // call returns.
    state_->handles.emplace_back([state = state_] { run(state); });
    ++state_->threads;
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void IoThreads::run(const std::shared_ptr<State>& state) {
  pthread_setname_np(pthread_self(), "forebay-io");
  own_state = state.get();
  Lock lock(state->mutex);
  while (true) {
    ++state->idle;
    state->work.wait(lock, [&]() FOREBAY_REQUIRES(state->mutex) { return state->closing || !state->jobs.empty(); });
    --state->idle;
    if (state->closing) break;
    auto job = std::move(state->jobs.front());
    state->jobs.pop_front();
    lock.unlock();
    job();
    // Destroyed before the lock is taken: the job may own the last reference to a store, whose
    // destructor calls close().
    job = nullptr;
    lock.lock();
  }
  --state->threads;
  state->ended.notify_all();
}

void IoThreads::close() {
  if (in_forked_child()) {
    // The threads are the parent's. Destroying the condition variable that they wait for would wait
    // forever here.
    if (state_) new std::shared_ptr<State>(std::move(state_));
    return;
  }
  std::deque<std::function<void()>> dropped;
  std::vector<std::thread> handles;
  Lock lock(state_->mutex);
  state_->closing = true;
  // Destroyed after the lock is released: jobs may own a store's last reference.
  dropped.swap(state_->jobs);
  handles.swap(state_->handles);
  state_->work.notify_all();
  // If close() is called by one of the pool's own jobs, that thread ends after it.
  const size_t own = own_state == state_.get() ? 1 : 0;
  // Bounded: a read from a dead network mount may never return, and the end of the process must not
  // wait for it.
  const bool ended =
      state_->ended.wait_for(lock, patience_, [&]() FOREBAY_REQUIRES(state_->mutex) { return state_->threads <= own; });
  lock.unlock();
  for (std::thread& thread : handles) {
    if (ended && thread.get_id() != std::this_thread::get_id()) {
      thread.join();
    } else {
      thread.detach();
    }
  }
}

size_t IoThreads::threads() const {
  const Lock lock(state_->mutex);
  return state_->threads;
}

}  // namespace forebay
