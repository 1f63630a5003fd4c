#include "pipeline/run/thread_time.h"

#include <utility>

#include "pipeline/run/run_trace.h"

namespace forebay {

namespace {

thread_local Spell* innermost = nullptr;

size_t place(Work what) { return static_cast<size_t>(what); }

}  // namespace

void ThreadTime::begin(Work what) {
  const std::lock_guard lock(mutex_);
  ended_less_begun_[place(what)] -= clock_();
  ++at_it_[place(what)];
}

void ThreadTime::end(Work what) {
  const std::lock_guard lock(mutex_);
  ended_less_begun_[place(what)] += clock_();
  --at_it_[place(what)];
}

void ThreadTime::change(Work from, Work to) {
  const std::lock_guard lock(mutex_);
  const int64_t now_ns = clock_();
  ended_less_begun_[place(from)] += now_ns;
  --at_it_[place(from)];
  ended_less_begun_[place(to)] -= now_ns;
  ++at_it_[place(to)];
}

ThreadTime::Look ThreadTime::look() const {
  const std::lock_guard lock(mutex_);
  Look look{clock_(), ended_less_begun_};
  for (size_t i = 0; i < kWorks; ++i) look.parts[i] += at_it_[i] * look.at_ns;
  return look;
}

Spell::Spell(ThreadTime& time, Work what, std::shared_ptr<Trace> trace, uint64_t about)
    : time_(time), what_(what), trace_(std::move(trace)), about_(about), outer_(std::exchange(innermost, this)) {
  time_.begin(what_);
  if (trace_) since_ns_ = monotonic_ns();
}

Spell::~Spell() {
  time_.end(what_);
  tell();
  innermost = outer_;
}

void Spell::change(const ThreadTime& time, Work to) {
  if (innermost == nullptr || &innermost->time_ != &time) return;
  innermost->tell();
  innermost->time_.change(std::exchange(innermost->what_, to), to);
}

void Spell::tell() {
  if (!trace_) return;
  const int64_t now_ns = monotonic_ns();
  trace_spell(*trace_, what_, about_, std::exchange(since_ns_, now_ns), now_ns);
}

}  // namespace forebay
