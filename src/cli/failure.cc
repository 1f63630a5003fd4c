#include "cli/failure.h"

#include <fmt/format.h>

#include "cli/files.h"

namespace forebay {
namespace {

constexpr size_t kErrorsShown = 5;

SortedJson status_to_json(const Status& status) {
  SortedJson error = {{"code", code_name(status.code())}, {"message", status.message()}};
  if (!status.key().empty()) error["key"] = status.key();
  if (!status.op().empty()) error["operator"] = status.op();
  if (status.sample()) error["sample"] = *status.sample();
  if (status.bytes_needed() > 0) error["bytes_needed"] = status.bytes_needed();
  return error;
}

}  // namespace

void print_json(const SortedJson& json, const Console& console) {
  fmt::print(console.out, "{}\n", json.dump(2, ' ', false, SortedJson::error_handler_t::replace));
}

int report_failure(const Status& status, bool json, const Console& console) {
  // Only the user can cancel the program. That is not a failure and has an exit code of its own.
  const bool interrupted = status.code() == Code::kCancelled;
  if (json) print_json({{"error", status_to_json(status)}}, console);
  fmt::print(console.err, "forebay: {}\n", interrupted ? "interrupted" : status.to_string());
  return interrupted ? kInterrupted : kFailed;
}

int report_problems(const std::string& file, const std::vector<Problem>& problems, bool json, const Console& console) {
  if (json) {
    SortedJson list = SortedJson::array();
    for (const Problem& p : problems)
      list.push_back({{"operator", p.op}, {"message", p.message}, {"remedy", p.remedy}});
    print_json({{"error", {{"code", code_name(Code::kInvalidArgument)}, {"problems", list}}}}, console);
  }
  fmt::print(console.err, "forebay: {}: the pipeline has {} problem{}:\n", file_name(file), problems.size(),
             problems.size() == 1 ? "" : "s");
  for (const Problem& p : problems) fmt::print(console.err, "  {}: {}; {}\n", p.op, p.message, p.remedy);
  return kFailed;
}

SortedJson errors_to_json(const std::vector<ErrorEntry>& errors) {
  SortedJson list = SortedJson::array();
  for (const ErrorEntry& e : errors) {
    list.push_back({{"sample", e.sample},
                    {"key", e.key},
                    {"operator", e.op},
                    {"code", e.code},
                    {"message", e.message},
                    {"count", e.count}});
  }
  return list;
}

void print_errors(const std::vector<ErrorEntry>& errors, const Console& console) {
  for (size_t i = 0; i < errors.size() && i < kErrorsShown; ++i) {
    const ErrorEntry& e = errors[i];
    fmt::print(console.err, "  {}: {}: {}: {}\n", e.key, e.op, e.code, e.message);
  }
  if (errors.size() > kErrorsShown) fmt::print(console.err, "  and {} more\n", errors.size() - kErrorsShown);
}

}  // namespace forebay
