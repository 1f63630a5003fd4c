#pragma once

#include <memory>
#include <string>

#include "base/mutex.h"
#include "store/store.h"

namespace forebay {

/// The files of a folder of caches. A failed read returns an empty buffer and no error, because
/// trouble with the cache is not trouble of the run: an entry without bytes is computed again.
/// take_failure() returns what went wrong.
class EntryStore final : public Store {
 public:
  explicit EntryStore(const std::string& folder);

  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override;
  bool reads_now() const override { return files_->reads_now(); }
  std::optional<Result<Buffer>> read_now(const ReadRequest& request) override;
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override;
  void stat(const std::string& key, std::stop_token stop, StatDone done) override;
  std::string display_name(const std::string& key) const override { return files_->display_name(key); }
  StoreStats stats() const override;

  /// Returns the last failure since the previous call; OK if there was none.
  Status take_failure();

 private:
  /// Outlives the store if an answer is late.
  struct Failure {
    Mutex mutex;
    Status last FOREBAY_GUARDED_BY(mutex);
  };
  static Result<Buffer> without_error(Failure& failure, Result<Buffer> read);

  const std::shared_ptr<Failure> failure_ = std::make_shared<Failure>();
  const std::shared_ptr<Store> files_;
};

}  // namespace forebay
