#pragma once

#include <array>
#include <cstdint>

#include "telemetry/step_counters.h"

namespace forebay {

/// For which step a thread spends its time, where the work of several is done in one go (a picture is decoded, cropped, resized and
/// normalised while it is written to its batch). Steps are numbers; what is nobody's is that of step 0.
///
/// Looking at the clock at every change costs as much as some of the work, so it looks closely at one piece of work in kEvery: what
/// the others take is divided as the next one that is looked at. CPU time is exact in sum, and sampled in its parts: with n pieces
/// looked at, whose shares differ by s, to about s / √n. Used by one thread at a time.
class StepMeter {
 public:
  static constexpr int kSteps = 64;  ///< those with larger numbers are booked to the last
  static constexpr int kEvery = 8;

  /// A piece of work begins (a row); end() ends it.
  void begin() {
    begun_ns_ = thread_cpu_ns();
    looks_ = pieces_++ % kEvery == 0;
    current_ = 0;
    if (looks_) since_ns_ = monotonic_ns();
  }
  /// Whether it is worth while to say who is at work.
  bool looks() const { return looks_; }
  /// What follows is done for that step. Gives the one before, to go back to.
  int enter(int step) {
    const int before = current_;
    if (looks_) {
      const int64_t now = monotonic_ns();
      spent_ns_[static_cast<size_t>(before)] += now - since_ns_;
      since_ns_ = now;
    }
    current_ = step < kSteps ? step : kSteps - 1;
    return before;
  }
  int current() const { return current_; }
  /// CPU time of the piece so far.
  int64_t cpu_ns() const { return thread_cpu_ns() - begun_ns_; }
  /// The piece is done. Where it was looked at, `book(step, ns)` is called for each step that took CPU time, in this piece and those
  /// before that were not looked at.
  template <typename Book>
  void end(const Book& book) {
    waiting_ns_ += cpu_ns();
    if (!looks_) return;
    enter(0);
    looks_ = false;
    int64_t whole = 0;
    for (const int64_t part : spent_ns_) whole += part;
    for (size_t step = 0; step < spent_ns_.size(); ++step) {
      if (spent_ns_[step] == 0) continue;
      const double share = static_cast<double>(spent_ns_[step]) / static_cast<double>(whole);
      book(static_cast<int>(step), static_cast<int64_t>(share * static_cast<double>(waiting_ns_)));
      spent_ns_[step] = 0;
    }
    waiting_ns_ = 0;
  }

 private:
  std::array<int64_t, kSteps> spent_ns_{};  // of the piece that is looked at, by the clock on the wall
  int64_t begun_ns_ = 0, since_ns_ = 0;
  int64_t waiting_ns_ = 0;  // CPU time that nobody was told of
  uint64_t pieces_ = 0;
  int current_ = 0;
  bool looks_ = false;
};

/// Work for a step, until the end of the scope.
class StepSpan {
 public:
  StepSpan(StepMeter& meter, int step) : meter_(meter), before_(meter.enter(step)) {}
  ~StepSpan() { meter_.enter(before_); }
  StepSpan(const StepSpan&) = delete;
  StepSpan& operator=(const StepSpan&) = delete;

 private:
  StepMeter& meter_;
  const int before_;
};

}  // namespace forebay
