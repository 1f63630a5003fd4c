#include "capi/failure.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

namespace forebay::capi {

namespace {

// Indexed by Code. kUser cannot occur here, since pipelines with user code have no JSON.
constexpr std::array<fb_code, 11> kCodes = {
    FB_OK,        FB_INVALID_ARGUMENT, FB_NOT_FOUND, FB_CORRUPT, FB_UNAVAILABLE, FB_UNSUPPORTED, FB_OUT_OF_BUDGET,
    FB_CANCELLED, FB_STATE_MISMATCH,   FB_INTERNAL,  FB_INTERNAL};
static_assert(static_cast<size_t>(Code::kInternal) + 1 == kCodes.size());

/// Owns the texts that fb_last_error() points to.
struct LastFailure {
  Status status;
  std::string text;
};
// One for each thread, like errno: it needs no lock, and other threads cannot overwrite it between
// a call and fb_last_error().
thread_local LastFailure last;

}  // namespace

fb_code record_failure(const Status& status) noexcept {
  if (status.ok()) return FB_OK;
  const fb_code code = kCodes[static_cast<size_t>(status.code())];
  try {
    last.text = status.to_string();
    last.status = status;
  } catch (...) {  // no memory for the text, so the caller gets only the code
    last.text.clear();
    last.status = {};
  }
  return code;
}

Status copy_struct(const char* name, size_t first_version, const void* from, size_t size, void* to) {
  if (to == nullptr) return invalid_argument(fmt::format("the {} to fill in is a null pointer", name));
  size_t caller_size = 0;
  std::memcpy(&caller_size, to, sizeof caller_size);
  if (caller_size < first_version)
    return invalid_argument(
        fmt::format("struct_size of the {0} is {1}: set it to sizeof({0}), which is at least {2}, before the call",
                    name, caller_size, first_version));
  constexpr size_t kAfterSize = sizeof(size_t);
  std::memcpy(static_cast<char*>(to) + kAfterSize, static_cast<const char*>(from) + kAfterSize,
              std::min(caller_size, size) - kAfterSize);
  return {};
}

}  // namespace forebay::capi

using forebay::Status;

fb_code fb_last_error(fb_error* error) {
  using namespace forebay;
  return capi::guarded([&] {
    const Status& status = capi::last.status;
    fb_error filled = {};
    filled.code = capi::kCodes[static_cast<size_t>(status.code())];
    filled.message = capi::last.text.c_str();
    filled.key = status.key().c_str();
    filled.op = status.op().c_str();
    filled.sample = status.sample().value_or(-1);
    filled.range_offset = status.range() ? static_cast<int64_t>(status.range()->offset) : -1;
    filled.range_length = status.range() ? static_cast<int64_t>(status.range()->length) : -1;
    filled.bytes_needed = status.bytes_needed();
    // The texts belong to this thread's last failure and are replaced by the next one.
    return capi::copy_struct("fb_error", sizeof(fb_error), &filled, sizeof filled, error);
  });
}

const char* fb_last_error_message(void) { return forebay::capi::last.text.c_str(); }

const char* fb_code_name(fb_code code) {
  switch (code) {
    case FB_END_OF_EPOCH: return "EndOfEpoch";
    case FB_FINISHED: return "Finished";
    case FB_TIMED_OUT: return "TimedOut";
    case FB_OK: return "Ok";
    case FB_INVALID_ARGUMENT: return "InvalidArgument";
    case FB_NOT_FOUND: return "NotFound";
    case FB_CORRUPT: return "Corrupt";
    case FB_UNAVAILABLE: return "Unavailable";
    case FB_UNSUPPORTED: return "Unsupported";
    case FB_OUT_OF_BUDGET: return "OutOfBudget";
    case FB_CANCELLED: return "Cancelled";
    case FB_STATE_MISMATCH: return "StateMismatch";
    case FB_INTERNAL: return "Internal";
    default: return "Unknown";
  }
}
