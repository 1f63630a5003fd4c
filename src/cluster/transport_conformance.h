#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cluster/token.h"
#include "cluster/transport.h"
#include "store/conformance.h"

namespace forebay::conformance {

inline Buffer bytes_of(const std::string& text) {
  Buffer bytes = Buffer::allocate(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// Keys in memory, which count how often they were asked for.
class MemoryKeys : public KeySource {
 public:
  std::optional<Buffer> find(const Hash128& key) override {
    const std::lock_guard lock(mutex_);
    ++asked_;
    const auto at = keys_.find(key.to_string());
    return at == keys_.end() ? std::nullopt : std::optional(at->second);
  }
  void put(const Hash128& key, const std::string& text) {
    const std::lock_guard lock(mutex_);
    keys_[key.to_string()] = bytes_of(text);
  }
  /// From now on that element is said to come, after so much.
  void announce(int64_t element, uint64_t left) {
    const std::lock_guard lock(mutex_);
    coming_[element] = left;
  }
  void come(int64_t element) {
    const std::lock_guard lock(mutex_);
    coming_.erase(element);
  }
  std::optional<uint64_t> coming(int64_t element) override {
    const std::lock_guard lock(mutex_);
    const auto at = coming_.find(element);
    return at == coming_.end() ? std::nullopt : std::optional(at->second);
  }
  int asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Buffer> keys_;
  std::map<int64_t, uint64_t> coming_;
  int asked_ = 0;
};

inline const JobPass kPass{"0123456789abcdef0123456789abcdef", 3};

/// How a transport takes part: it makes hosts of one network. Every promise in transport_conformance_test.cc is tried on it.
struct TransportDriver {
  std::string name;
  /// A host's transport; hosts of one test can reach each other.
  std::function<std::shared_ptr<Transport>()> host;
};
inline void PrintTo(const TransportDriver& driver, std::ostream* out) { *out << driver.name; }

}  // namespace forebay::conformance
