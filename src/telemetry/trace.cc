#include "telemetry/trace.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

// A write of this size costs less than its share of a thousand events.
constexpr size_t kPendingBytes = 1 << 20;
// Reserved for the last event, which is always written.
constexpr uint64_t kEndBytes = 512;

// Keys of objects may contain any bytes.
std::string quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string value_of(const TraceArg& arg) {
  const auto* number = std::get_if<int64_t>(&arg.value);
  return number != nullptr ? std::to_string(*number) : quoted(std::get<std::string_view>(arg.value));
}

std::string object_of(TraceArgs args) {
  std::string text = "{";
  for (const TraceArg& arg : args)
    text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", quoted(arg.name), value_of(arg));
  return text + "}";
}

}  // namespace

Result<std::shared_ptr<Trace>> Trace::create(const std::string& path, uint64_t most_bytes) {
  if (most_bytes < kLeastBytes)
    return invalid_argument(
        fmt::format("a trace of at most {} bytes holds nothing; allow at least {}", most_bytes, kLeastBytes));
  // The flag "e" closes the file in children of fork and exec.
  FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr)
    return unavailable(fmt::format("cannot be written ({}); give a path that you may write to", std::strerror(errno)))
        .with_key(path);
  return std::shared_ptr<Trace>(new Trace(file, path, most_bytes));
}

Trace::Trace(FILE* file, std::string path, uint64_t most_bytes)
    : path_(std::move(path)), max_bytes_(most_bytes - kEndBytes), begun_ns_(monotonic_ns()), file_(file) {
  pending_ = "[\n";
  bytes_ = pending_.size();
}

Trace::~Trace() { (void)finish(); }

double Trace::microseconds(int64_t at_ns) const {
  // The format counts microseconds as floating-point numbers. They are relative to the beginning of
  // the trace, so that doubles retain the nanoseconds.
  return static_cast<double>(std::max<int64_t>(at_ns - begun_ns_, 0)) * 1e-3;
}

void Trace::name(uint32_t group, std::string_view title) {
  add(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", group, quoted(title)));
  add(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})", group));
}

void Trace::name(Row row, std::string_view title) {
  add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", row.group, row.row,
                  quoted(title)));
  add(fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{0},"tid":{1},"args":{{"sort_index":{1}}}}})",
                  row.group, row.row));
}

Trace::Row Trace::row_of_this_thread(uint32_t group, std::string_view title) {
  const Lock lock(rows_mutex_);
  // Uses the system's thread id. A later thread may get the same id and then continues that row,
  // which no other thread uses any more.
  const auto [at, is_new] = threads_.try_emplace({group, std::this_thread::get_id()}, 0);
  if (is_new) {
    at->second = static_cast<uint32_t>(
        std::count_if(threads_.begin(), threads_.end(), [&](const auto& known) { return known.first.first == group; }));
    name(Row{group, at->second}, fmt::format("{} {}", title, at->second));
  }
  return {group, at->second};
}

Trace::Row Trace::lane(uint32_t group, std::string_view title, int64_t begin_ns, int64_t end_ns) {
  const Lock lock(rows_mutex_);
  std::vector<int64_t>& taken_until = lanes_[group];
  // Uses the lowest free row, so there are only as many rows as intervals that overlap.
  auto free = std::find_if(taken_until.begin(), taken_until.end(), [&](int64_t until) { return until <= begin_ns; });
  const auto row = static_cast<uint32_t>(free - taken_until.begin()) + 1;
  if (free == taken_until.end()) {
    taken_until.push_back(0);
    free = taken_until.end() - 1;
    name(Row{group, row}, fmt::format("{} {}", title, row));
  }
  *free = end_ns;
  return {group, row};
}

void Trace::slice(Row row, std::string_view title, int64_t begin_ns, int64_t end_ns, TraceArgs args) {
  // Slices are added when they end, so a slice that ended before the trace began may still arrive.
  if (end_ns < begun_ns_) return;
  const double begin = microseconds(begin_ns);
  add(fmt::format(R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{}}})", quoted(title),
                  row.group, row.row, begin, microseconds(end_ns) - begin, object_of(args)));
}

void Trace::flow(Flow what, uint64_t id, Row row, int64_t at_ns) {
  // Without "bp" the end of an arrow belongs to the next slice.
  const std::string_view enclosing = what == Flow::kEnd ? R"(,"bp":"e")" : "";
  add(fmt::format(R"({{"ph":"{}","name":"sample","cat":"sample","id":{},"pid":{},"tid":{},"ts":{:.3f}{}}})",
                  static_cast<char>(what), id, row.group, row.row, microseconds(at_ns), enclosing));
}

void Trace::counter(uint32_t group, std::string_view title, int64_t at_ns, TraceArgs values) {
  add(fmt::format(R"({{"ph":"C","name":{},"pid":{},"ts":{:.3f},"args":{}}})", quoted(title), group, microseconds(at_ns),
                  object_of(values)));
}

void Trace::add(const std::string& event) {
  const Lock lock(mutex_);
  // A thread that took the trace before it was turned off may still write. Its events are dropped.
  if (file_ == nullptr) return;
  const uint64_t bytes = event.size() + 2;
  // The constructor has subtracted kEndBytes, so the last event and the closing bracket always fit.
  if (bytes_ + bytes > max_bytes_) {
    if (left_out_++ == 0)
      log_warning(
          fmt::format("the trace {} is full ({} bytes): what comes now is not in it", path_, max_bytes_ + kEndBytes));
    return;
  }
  bytes_ += bytes;
  (pending_ += event) += ",\n";
  if (pending_.size() >= kPendingBytes) write_out();
}

void Trace::write_out() {
  const bool written = std::fwrite(pending_.data(), 1, pending_.size(), file_) == pending_.size();
  if (!written && status_.ok())
    status_ =
        unavailable(fmt::format("could not be written ({}); is the disk full?", std::strerror(errno))).with_key(path_);
  // Clears it even after a failed write: memory stays bounded, and finish() returns the first
  // error.
  pending_.clear();
}

Status Trace::finish() {
  const Lock lock(mutex_);
  if (file_ == nullptr) return status_;
  pending_ +=
      fmt::format(R"({{"ph":"M","name":"trace_ended","pid":0,"args":{{"seconds":{:.6f},"events_left_out":{}}}}})",
                  microseconds(monotonic_ns()) * 1e-6, left_out_);
  pending_ += "\n]\n";
  write_out();
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && status_.ok())
    status_ =
        unavailable(fmt::format("could not be written ({}); is the disk full?", std::strerror(errno))).with_key(path_);
  return status_;
}

std::shared_ptr<Trace> TraceSwitch::get() const {
  if (!on()) return nullptr;
  const Lock lock(mutex_);
  return trace_;
}

bool TraceSwitch::turn_on(std::shared_ptr<Trace> trace) {
  const Lock lock(mutex_);
  if (trace_) return false;
  trace_ = std::move(trace);
  // Set after the trace. It is read without the lock, and get() checks again under it.
  on_ = true;
  return true;
}

std::shared_ptr<Trace> TraceSwitch::turn_off() {
  const Lock lock(mutex_);
  on_ = false;
  return std::exchange(trace_, nullptr);
}

}  // namespace forebay
