#include "cache/entry_store.h"

#include <utility>

#include "forebay/stats/store.h"
#include "store/local/local_store.h"

namespace forebay {

EntryStore::EntryStore(const std::string& folder) : files_(local_store(folder)) {}

Result<Buffer> EntryStore::without_error(Failure& failure, Result<Buffer> read) {
  // These two concern the run itself: it ends, or reads again with more memory.
  if (read.ok() || read.status().code() == Code::kCancelled || read.status().code() == Code::kOutOfBudget) return read;
  const Lock lock(failure.mutex);
  failure.last = read.status();
  return Buffer();
}

void EntryStore::read(const ReadRequest& request, std::stop_token stop, ReadDone done) {
  files_->read(request, std::move(stop), [failure = failure_, done = std::move(done)](Result<Buffer> read) {
    done(without_error(*failure, std::move(read)));
  });
}

std::optional<Result<Buffer>> EntryStore::read_now(const ReadRequest& request) {
  auto read = files_->read_now(request);
  if (!read) return std::nullopt;
  return without_error(*failure_, std::move(*read));
}

void EntryStore::list(const ListRequest& request, std::stop_token stop, ListDone done) {
  files_->list(request, std::move(stop), std::move(done));
}

void EntryStore::stat(const std::string& key, std::stop_token stop, StatDone done) {
  files_->stat(key, std::move(stop), std::move(done));
}

StoreStats EntryStore::stats() const { return files_->stats(); }

Status EntryStore::take_failure() {
  const Lock lock(failure_->mutex);
  return std::exchange(failure_->last, Status());
}

}  // namespace forebay
