#include "capi/texts.h"

#include <cstring>
#include <unordered_map>

#include "base/mutex.h"
#include "capi/failure.h"
#include "runtime/fork_guard.h"

namespace forebay::capi {

namespace {

/// Texts that callers own.
struct OwnedTexts {
  Mutex mutex;
  std::unordered_map<const char*, std::unique_ptr<char[]>> texts FOREBAY_GUARDED_BY(mutex);
};

Status free_text(const char* text) {
  if (text == nullptr) return {};
  auto& owned = of_this_process<OwnedTexts>();
  const Lock lock(owned.mutex);
  // The table, in contrast to free(), detects texts that were freed before.
  if (owned.texts.erase(text) == 1) return {};
  return invalid_argument("fb_string_free: this is no text that a function here gave, or it was freed before");
}

}  // namespace

Status return_text(const std::string& text, char** copy_out) {
  std::unique_ptr<char[]> copy(new char[text.size() + 1]);
  std::memcpy(copy.get(), text.c_str(), text.size() + 1);
  char* const address = copy.get();
  auto& all = of_this_process<OwnedTexts>();
  const Lock lock(all.mutex);
  all.texts.emplace(address, std::move(copy));
  *copy_out = address;
  return {};
}

}  // namespace forebay::capi

fb_code fb_string_free(char* text) {
  return forebay::capi::guarded([&] { return forebay::capi::free_text(text); });
}
