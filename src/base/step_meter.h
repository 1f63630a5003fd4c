#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/clock.h"

namespace forebay {

/// The clocks of a StepMeter. Tests use others.
struct ThreadClocks {
  static int64_t wall_ns() { return monotonic_ns(); }
  static int64_t cpu_ns() { return thread_cpu_ns(); }  ///< of the calling thread
};

/// Divides a thread's CPU time among the steps of a pipeline when the work of several steps is done
/// in one pass (a picture is decoded, cropped, resized and normalised while it is written to its
/// batch). Steps are numbers; work outside of all steps is booked to step 0.
///
/// Reading a clock at every change of step costs as much as some of the work. So only one piece of
/// work in kEvery is measured, in an order without a period. The total CPU time of all pieces is
/// exact. The shares of the steps are estimated from the n measured pieces: if their shares have
/// standard deviation s, the error is about s / √n.
///
/// Only CPU time is divided: a thread that waits for a core works for no step. The thread's CPU
/// clock is a system call, and the wall clock is not. So the wall clock times short visits of a
/// step, during which a thread hardly ever loses its core. The CPU clock is read at the end of
/// visits that took kLongVisitNs or more. Used by one thread at a time.
template <typename Clocks>
class BasicStepMeter {
 public:
  static constexpr int kSteps = 64;  ///< larger step numbers are booked to the last
  static constexpr int kEvery = 8;
  /// At least 50 times the cost of reading the CPU clock.
  static constexpr int64_t kLongVisitNs = 20'000;

  /// Begins a piece of work (a row); end() ends it.
  void begin() {
    // True for the first piece, and then at multiples of the golden ratio.
    measuring_ = pieces_++ * 0x9e3779b97f4a7c15 >> 61 == 0;
    current_ = 0;
    begun_ns_ = Clocks::cpu_ns();
    if (!measuring_) return;
    known_ns_ = begun_ns_;
    since_known_ns_ = 0;
    since_ns_ = Clocks::wall_ns();
  }
  /// Whether the current piece is measured, so that calls of enter() matter.
  bool is_measuring() const { return measuring_; }
  /// Attributes the work that follows to `step`. Returns the previous step, to be restored later.
  int enter(int step) {
    const int before = current_;
    if (measuring_) {
      const int64_t now = Clocks::wall_ns(), visit = now - since_ns_;
      since_ns_ = now;
      if (visit >= kLongVisitNs) {
        book_up_to(Clocks::cpu_ns());
      } else {
        spent_ns_[static_cast<size_t>(before)] += visit;
        since_known_ns_ += visit;
      }
    }
    current_ = step < kSteps ? step : kSteps - 1;
    return before;
  }
  int current() const { return current_; }
  /// CPU time of the piece so far.
  int64_t cpu_ns() const { return Clocks::cpu_ns() - begun_ns_; }
  /// Ends the piece. Returns its CPU time in ns. If the piece was measured, calls `book(step, ns)`
  /// for each step that took part in it.
  template <typename Book>
  int64_t end(const Book& book) {
    const int64_t now = Clocks::cpu_ns(), cpu = now - begun_ns_;
    if (!measuring_) return cpu;
    book_up_to(now);
    measuring_ = false;
    int64_t whole = 0;
    for (const int64_t part : spent_ns_) whole += part;
    for (size_t step = 0; step < spent_ns_.size(); ++step) {
      if (spent_ns_[step] == 0) continue;
      const double share = static_cast<double>(spent_ns_[step]) / static_cast<double>(whole);
      book(static_cast<int>(step), static_cast<int64_t>(share * static_cast<double>(cpu)));
      spent_ns_[step] = 0;
    }
    return cpu;
  }

 private:
  // Books the CPU time since it was last read, less that of short visits, to the current step.
  void book_up_to(int64_t cpu_now_ns) {
    spent_ns_[static_cast<size_t>(current_)] += std::max<int64_t>(cpu_now_ns - known_ns_ - since_known_ns_, 0);
    known_ns_ = cpu_now_ns;
    since_known_ns_ = 0;
  }

  std::array<int64_t, kSteps> spent_ns_{};  // of the measured piece
  int64_t begun_ns_ = 0;                    // CPU time
  int64_t since_ns_ = 0;                    // wall clock at the last change of step
  int64_t known_ns_ = 0;                    // CPU time when it was last read
  int64_t since_known_ns_ = 0;              // wall time of short visits since then
  uint64_t pieces_ = 0;
  int current_ = 0;
  bool measuring_ = false;
};

using StepMeter = BasicStepMeter<ThreadClocks>;

/// Attributes work to a step until the end of the scope.
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
