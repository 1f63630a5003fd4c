#include "pipeline/run/thread_time.h"

#include <utility>

#include "pipeline/run/run_trace.h"

namespace forebay {

namespace {

thread_local WorkTimer* innermost = nullptr;
thread_local int64_t cpu_at_last_end_ns = 0;  // CPU time of the thread when its last task ended

size_t index_of(Work what) { return static_cast<size_t>(what); }

}  // namespace

int64_t ThreadTime::begin(Work what) {
  const Lock lock(mutex_);
  const int64_t now_ns = clock_();
  ended_less_begun_[index_of(what)] -= now_ns;
  ++active_[index_of(what)];
  return now_ns;
}

int64_t ThreadTime::end(Work what, int64_t cpu_ns) {
  const Lock lock(mutex_);
  cpu_[index_of(what)] += cpu_ns;
  const int64_t now_ns = clock_();
  ended_less_begun_[index_of(what)] += now_ns;
  --active_[index_of(what)];
  return now_ns;
}

void ThreadTime::add_idle_cpu(int64_t cpu_ns) {
  const Lock lock(mutex_);
  idle_cpu_ += cpu_ns;
}

int64_t ThreadTime::change(Work from, Work to, int64_t cpu_ns) {
  const Lock lock(mutex_);
  cpu_[index_of(from)] += cpu_ns;
  const int64_t now_ns = clock_();
  ended_less_begun_[index_of(from)] += now_ns;
  --active_[index_of(from)];
  ended_less_begun_[index_of(to)] -= now_ns;
  ++active_[index_of(to)];
  return now_ns;
}

ThreadTime::Look ThreadTime::look() const {
  const Lock lock(mutex_);
  Look look{clock_(), ended_less_begun_, cpu_, idle_cpu_};
  for (size_t i = 0; i < kWorks; ++i) look.parts[i] += active_[i] * look.at_ns;
  return look;
}

WorkTimer::WorkTimer(ThreadTime& time, Work what, std::shared_ptr<Trace> trace, uint64_t trace_id)
    : time_(time), what_(what), trace_(std::move(trace)), about_(trace_id), outer_(std::exchange(innermost, this)) {
  since_ns_ = time_.begin(what_);
  cpu_since_ns_ = thread_cpu_ns();
  // Time since the end of the thread's last task, of whatever run. Looking for work is charged to
  // the run that had some.
  if (outer_ == nullptr) time_.add_idle_cpu(cpu_since_ns_ - cpu_at_last_end_ns);
}

WorkTimer::~WorkTimer() {
  write_slice(time_.end(what_, cpu_ns_until_now()));
  cpu_at_last_end_ns = cpu_since_ns_;
  innermost = outer_;
}

void WorkTimer::change(const ThreadTime& time, Work to) {
  if (innermost == nullptr || &innermost->time_ != &time) return;
  WorkTimer& timer = *innermost;
  const Work from = timer.what_;
  timer.write_slice(timer.time_.change(from, to, timer.cpu_ns_until_now()));
  timer.what_ = to;
}

int64_t WorkTimer::cpu_ns_until_now() {
  const int64_t now_ns = thread_cpu_ns();
  return now_ns - std::exchange(cpu_since_ns_, now_ns);
}

void WorkTimer::write_slice(int64_t end_ns) {
  if (trace_) trace_work(*trace_, what_, about_, since_ns_, end_ns);
  since_ns_ = end_ns;
}

}  // namespace forebay
