#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "pipeline/trace_rows.h"

namespace forebay {

/// Traces the operators of one row: one slice each, one after another from the start of the row.
/// The lengths are CPU times; the start times are not real, since operators interleave (a picture
/// is resized while it is decoded). Only rows that StepMeter samples have slices. It lives on one
/// compute thread, from the start of a row to its end.
class OperatorTrace {
 public:
  /// `trace`: null if the run is not traced.
  OperatorTrace(std::shared_ptr<Trace> trace, std::span<const std::string_view> names, int64_t id)
      : trace_(std::move(trace)), names_(names), id_(id), begun_ns_(trace_ ? monotonic_ns() : 0) {}
  OperatorTrace(OperatorTrace&&) = default;
  ~OperatorTrace() { write_slices(); }

  void add(size_t step, int64_t cpu_ns) {
    if (trace_) parts_.emplace_back(step, cpu_ns);
  }

 private:
  void write_slices() const {
    if (!trace_ || parts_.empty()) return;
    const Trace::Row row = trace_row_of_this_thread(*trace_);
    const int64_t now_ns = monotonic_ns();
    int64_t at_ns = begun_ns_;
    // Step 0 writes the batch, so it comes last.
    for (size_t i = 1; i <= parts_.size(); ++i) {
      const auto& [step, ns] = parts_[i % parts_.size()];
      const int64_t end_ns = std::min(at_ns + ns, now_ns);
      trace_->slice(row, names_[step], at_ns, end_ns, {{"sample", id_}});
      at_ns = end_ns;
    }
  }

  std::shared_ptr<Trace> trace_;
  std::span<const std::string_view> names_;
  int64_t id_;
  int64_t begun_ns_;
  std::vector<std::pair<size_t, int64_t>> parts_;
};

}  // namespace forebay
