#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/shared_mutex.h"
#include "store/calls.h"
#include "store/store.h"

namespace forebay {

/// Objects held in memory: key → bytes. Every call answers before it returns. Methods may be called
/// from any thread. The result of read() shares the object's memory, which never changes: put()
/// replaces it.
class MemoryStore final : public Store {
 public:
  ~MemoryStore() override { calls_->close(); }

  void put(std::string key, std::string_view bytes);
  void put(std::string key, Buffer bytes);
  bool erase(const std::string& key);

  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override;
  bool reads_now() const override { return true; }
  std::optional<Result<Buffer>> read_now(const ReadRequest& request) override;
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override;
  ListingTraits listing() const override { return {.in_ranges = true}; }
  void stat(const std::string& key, std::stop_token stop, StatDone done) override;
  std::string display_name(const std::string& key) const override { return "memory:" + key; }
  StoreStats stats() const override;

 private:
  Result<Buffer> find(const ReadRequest& request) const;
  using Objects = std::map<std::string, Buffer>;
  Objects::const_iterator first_of_page(const ListRequest& request) const FOREBAY_REQUIRES_SHARED(mutex_);
  Result<ListPage> page(const ListRequest& request) const;

  mutable SharedMutex mutex_;
  Objects objects_ FOREBAY_GUARDED_BY(mutex_);
  /// Shared with running calls, whose answer may destroy the store.
  const std::shared_ptr<CallTable> calls_ = std::make_shared<CallTable>();
};

inline std::shared_ptr<MemoryStore> memory_store() { return std::make_shared<MemoryStore>(); }

}  // namespace forebay
