#include "store/http/version_from_response.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"
#include "store/http/http_date.h"
#include "store/store.h"

namespace forebay {

namespace {

uint64_t number_of(const std::string& text) { return std::max<uint64_t>(hash128(text).low, 1); }

}  // namespace

uint64_t version_from_response(const HttpResponse& response, uint64_t size, std::chrono::system_clock::time_point now) {
  const std::string etag(response.header("etag"));
  if (const uint64_t strong = version_of_etag(etag); strong != 0) return strong;
  // A weak ETag may stay the same when bytes change. A change that also keeps the size is not
  // noticed.
  if (!etag.empty()) return number_of(fmt::format("ETag {} of {} bytes", etag, size));
  const auto changed = parse_http_date(response.header("last-modified"));
  if (!changed) return 0;
  const auto answered = parse_http_date(response.header("date")).value_or(now);
  if (answered - *changed < std::chrono::seconds(1)) return 0;
  return number_of(fmt::format("Last-Modified {} of {} bytes", response.header("last-modified"), size));
}

void report_version(const ReadRequest& request, uint64_t version) {
  // Read only after the answer has come, which orders it.
  if (request.version && version != 0) request.version->store(version, std::memory_order_relaxed);
}

Result<Buffer> answer_version_only(const Status& failure) {
  // These errors say nothing about the object, so a retry may help. All others recur in the read
  // itself, which reports them.
  const bool transient = failure.code() == Code::kUnavailable || failure.code() == Code::kCancelled;
  return transient ? Result<Buffer>(failure) : Result<Buffer>(Buffer());
}

}  // namespace forebay
