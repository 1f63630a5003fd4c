#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "store/store.h"

namespace forebay::conformance {

using Objects = std::map<std::string, std::string>;

/// Describes a driver to the conformance suite: it makes a store that holds exactly the given
/// objects. A driver's test is then `INSTANTIATE_TEST_SUITE_P(Local, StoreConformance,
/// testing::Values(Driver{"local", make}));`, and every promise in conformance_test.cc is tested on
/// it.
struct Driver {
  std::string name;
  /// Null if the driver's server is not running. Its tests are then skipped, or fail with
  /// FOREBAY_REQUIRE_SERVERS=1.
  std::function<std::shared_ptr<Store>(const Objects&)> make;
  bool only_utf8 = false;  ///< it refuses names that are not UTF-8
  bool lists = true;       ///< false if list() is Unsupported
};
inline void PrintTo(const Driver& driver, std::ostream* out) { *out << driver.name; }

/// Counts answers and keeps the last one; tests wait with it. A minute without an answer counts as
/// a hang. Answers that arrive after the test has ended are still accepted: the callbacks share the
/// state.
template <typename T>
class Answers {
 public:
  std::function<void(Result<T>)> take() {
    return [state = state_](Result<T> result) {
      const std::lock_guard lock(state->mutex);
      state->codes.push_back(result.status().code());
      state->last.emplace(std::move(result));
      state->arrived.notify_all();
    };
  }
  bool wait_for_count(size_t count) {
    std::unique_lock lock(state_->mutex);
    while (state_->codes.size() < count) {
      const size_t before = state_->codes.size();
      if (!state_->arrived.wait_for(lock, std::chrono::minutes(1), [&] { return state_->codes.size() > before; }))
        return false;
    }
    return true;
  }
  size_t count() {
    const std::lock_guard lock(state_->mutex);
    return state_->codes.size();
  }
  std::vector<Code> codes() {
    const std::lock_guard lock(state_->mutex);
    return state_->codes;
  }
  Result<T> last() {
    const std::lock_guard lock(state_->mutex);
    return *state_->last;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable arrived;
    std::vector<Code> codes;
    std::optional<Result<T>> last;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

inline std::string text_of(const Buffer& buffer) {
  return std::string(reinterpret_cast<const char*>(buffer.data()), buffer.size());
}

inline ReadRequest whole(std::string key) {
  ReadRequest request;
  request.key = std::move(key);
  return request;
}

class StoreConformance : public testing::TestWithParam<Driver> {
 protected:
  void SetUp() override {
    if (GetParam().make) return;
    const char* required = std::getenv("FOREBAY_REQUIRE_SERVERS");
    if (required != nullptr && std::string_view(required) == "1") FAIL() << "SERVERS ABSENT: " << GetParam().name;
    GTEST_SKIP() << "SERVERS ABSENT: " << GetParam().name << "; run it by tests/servers/with_servers";
  }

  std::shared_ptr<Store> make(const Objects& objects) { return GetParam().make(objects); }

  /// Returns false if the store cannot list, after checking that it says so.
  bool lists(Store& store) {
    if (GetParam().lists) return true;
    EXPECT_EQ(list_wait(store, {"", "", 10}, {}).status().code(), Code::kUnsupported);
    return false;
  }

  /// Returns the answer of read(). If read_now() answers, too, the two must agree.
  Result<Buffer> read(Store& store, const ReadRequest& request) {
    Result<Buffer> answer = read_wait(store, request, {});
    if (const auto now = store.read_now(request)) {
      EXPECT_EQ(now->status().code(), answer.status().code());
      if (now->ok() && answer.ok()) {
        EXPECT_EQ(text_of(**now), text_of(*answer));
      }
    }
    return answer;
  }

  /// Returns all pages of one folder, read in pages of `max_keys`.
  ListPage list(Store& store, const std::string& prefix, uint32_t max_keys) {
    ListPage all;
    ListRequest request{prefix, "", max_keys};
    do {
      auto page = list_wait(store, request, {});
      EXPECT_TRUE(page.ok()) << page.status().to_string();
      if (!page.ok()) return all;
      EXPECT_LE(page->objects.size() + page->prefixes.size(), max_keys);
      for (auto& object : page->objects) all.objects.push_back(std::move(object));
      for (auto& folder : page->prefixes) all.prefixes.push_back(std::move(folder));
      all.hidden += page->hidden;
      request.continuation = page->continuation;
    } while (!request.continuation.empty());
    std::ranges::sort(all.objects, {}, &ObjectInfo::key);
    std::ranges::sort(all.prefixes);
    return all;
  }

  std::string some_bytes(size_t size) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 256);
    return bytes;
  }
};

}  // namespace forebay::conformance
