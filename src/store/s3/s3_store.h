#pragma once

#include <functional>
#include <memory>
#include <string>

#include "store/http/retrying_caller.h"
#include "store/object_pins.h"
#include "store/s3/s3_client.h"
#include "store/store.h"

namespace forebay {

/// A bucket as a store: keys are object keys. Objects are pinned to the ETag first seen. Folders
/// are listed in pages of 1,000 names.
///
/// S3Writer writes to buckets. The writing calls here are for tests; they also forget the store's
/// pin of the object.
class S3Store final : public Store {
 public:
  /// `caller`: the client's caller, or null. stats() reports its attempts, and idle_memory() its
  /// idle memory. `slots`: see Store::slots().
  explicit S3Store(std::shared_ptr<S3Client> client, std::shared_ptr<const RetryingCaller> caller = nullptr,
                   std::shared_ptr<RequestSlots> slots = nullptr);
  ~S3Store() override;

  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override;
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override;
  ListingTraits listing() const override;
  bool remote() const override { return true; }
  std::shared_ptr<RequestSlots> slots() override { return slots_; }
  void stat(const std::string& key, std::stop_token stop, StatDone done) override;
  std::string display_name(const std::string& key) const override;
  StoreStats stats() const override;
  std::shared_ptr<void> begin_reading() override;
  std::shared_ptr<ReclaimableMemory> idle_memory() const override;

  /// Writes an object as S3Writer does.
  Status put(const std::string& key, Buffer bytes, std::stop_token stop, uint64_t part_bytes = 64 << 20);
  Status erase(const std::string& key, std::stop_token stop);
  Status create_bucket(std::stop_token stop);

  const std::shared_ptr<S3Client>& client() const { return client_; }

 private:
  struct Core;
  using Answer = std::function<void(Result<Buffer>)>;
  /// The parts of read(). They may return before `answer` is called.
  void check_range(const ReadRequest& request, std::stop_token stop, const Answer& answer);
  void read_version(const ReadRequest& request, std::stop_token stop, const Answer& answer);
  void read_bytes(const ReadRequest& request, std::stop_token stop, const Answer& answer);
  void forget(const std::string& key);
  std::stop_token any_stop(const std::stop_token& stop) const;

  const std::shared_ptr<S3Client> client_;
  /// State that answers use; they may arrive after the store is gone.
  const std::shared_ptr<Core> core_;
  const std::shared_ptr<const RetryingCaller> caller_;
  const std::shared_ptr<RequestSlots> slots_;
  const uint64_t generation_;
  std::stop_source closing_;
};

}  // namespace forebay
