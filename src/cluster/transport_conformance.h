#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "cluster/entry_service.h"
#include "cluster/token.h"
#include "cluster/transport.h"
#include "store/conformance.h"

namespace forebay::conformance {

inline Buffer bytes_of(const std::string& text) {
  Buffer bytes = Buffer::allocate(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// A service that answers a request with the text that was put for it, in two pieces, and refuses
/// all other requests.
class TextService : public Service {
 public:
  Result<Response> answer(std::span<const uint8_t> request) override {
    const std::lock_guard lock(mutex_);
    ++asked_;
    const auto found = texts_.find({reinterpret_cast<const char*>(request.data()), request.size()});
    if (found == texts_.end()) return corrupt("no such request");
    const size_t half = found->second.size() / 2;
    return Response{bytes_of(found->second.substr(0, half)), bytes_of(found->second.substr(half))};
  }
  void put(const std::string& request, const std::string& text) {
    const std::lock_guard lock(mutex_);
    texts_[request] = text;
  }
  int asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> texts_;
  int asked_ = 0;
};

/// Name of the service in tests.
inline const std::string kTexts = "texts";

/// Entries in memory, with a count of how often they were requested.
class MemoryEntries : public EntrySource {
 public:
  std::optional<Buffer> entry(const Hash128& key) override {
    const std::lock_guard lock(mutex_);
    ++asked_;
    const auto at = entries_.find(key.to_string());
    if (at == entries_.end()) return std::nullopt;
    ++found_;
    return at->second;
  }
  void put(const Hash128& key, const std::string& text) {
    const std::lock_guard lock(mutex_);
    entries_[key.to_string()] = bytes_of(text);
  }
  /// Announces the element, with `left` work before it.
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
  uint64_t found() const {
    const std::lock_guard lock(mutex_);
    return found_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Buffer> entries_;
  std::map<int64_t, uint64_t> coming_;
  int asked_ = 0;
  uint64_t found_ = 0;
};

inline Services serving(std::shared_ptr<EntrySource> source) {
  return {{std::string(kEntryServiceName), std::make_shared<EntryService>(std::move(source))}};
}

inline const JobPass kPass{"0123456789abcdef0123456789abcdef", 3};

/// Describes a transport to the conformance suite: it makes hosts of one network.
/// transport_conformance_test.cc tests every promise on it.
struct TransportDriver {
  std::string name;
  /// Makes a host's transport. All hosts of one test can reach each other.
  std::function<std::shared_ptr<Transport>()> host;
};
inline void PrintTo(const TransportDriver& driver, std::ostream* out) { *out << driver.name; }

}  // namespace forebay::conformance
