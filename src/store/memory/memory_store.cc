#include "store/memory/memory_store.h"

#include <algorithm>
#include <cstring>

#include "forebay/stats/store.h"
#include "store/range.h"

namespace forebay {

void MemoryStore::put(std::string key, std::string_view bytes) {
  Buffer copy = Buffer::allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  put(std::move(key), std::move(copy));
}

void MemoryStore::put(std::string key, Buffer bytes) {
  const ExclusiveLock lock(mutex_);
  objects_.insert_or_assign(std::move(key), std::move(bytes));
}

bool MemoryStore::erase(const std::string& key) {
  const ExclusiveLock lock(mutex_);
  return objects_.erase(key) > 0;
}

Result<Buffer> MemoryStore::find(const ReadRequest& request) const {
  const SharedLock lock(mutex_);
  const auto found = objects_.find(request.key);
  if (found == objects_.end()) return not_found("no such object").with_key(display_name(request.key));
  const auto range = resolve_range(request, found->second.size());
  if (!range.ok()) return range.status().with_key(display_name(request.key));
  return found->second.slice(range->offset, range->length);
}

void MemoryStore::read(const ReadRequest& request, std::stop_token stop, ReadDone done) {
  const auto calls = calls_;
  const auto call = calls->begin<Buffer>(display_name(request.key), stop, std::move(done));
  if (!call->answered()) call->answer(find(request));
}

std::optional<Result<Buffer>> MemoryStore::read_now(const ReadRequest& request) {
  auto result = find(request);
  calls_->count_immediate(result.ok() ? result->size() : 0, result.ok());
  return result;
}

MemoryStore::Objects::const_iterator MemoryStore::first_of_page(const ListRequest& request) const {
  if (request.continuation.empty())
    return request.after.empty() ? objects_.lower_bound(request.prefix) : objects_.upper_bound(request.after);
  std::string after = request.continuation;
  if (after.back() != '/' || after.size() <= request.prefix.size()) return objects_.upper_bound(after);
  after.back() = '/' + 1;  // skips everything below the folder
  return objects_.lower_bound(after);
}

/// A continuation is the last name that the previous page has seen, hidden or not: a key, or a
/// folder with its slash.
Result<ListPage> MemoryStore::page(const ListRequest& request) const {
  ListPage page;
  const std::string& prefix = request.prefix;
  const SharedLock lock(mutex_);
  auto at = first_of_page(request);
  std::string last;  // of this page
  bool any = !request.continuation.empty() || !request.after.empty() || !request.until.empty();
  while (at != objects_.end() && at->first.starts_with(prefix)) {
    if (!request.until.empty() && at->first > request.until) break;
    any = true;
    const std::string_view rest = std::string_view(at->first).substr(prefix.size());
    const size_t slash = rest.find('/');
    const bool hidden = rest.starts_with('.');
    if (!hidden && page.objects.size() + page.prefixes.size() >= std::max<uint32_t>(request.max_keys, 1)) {
      page.continuation = std::move(last);
      break;
    }
    if (hidden) ++page.hidden;
    if (slash == std::string_view::npos) {
      // An object named like the folder itself is a marker made by consoles, and not a sample.
      if (!hidden && !rest.empty()) page.objects.push_back({at->first, at->second.size()});
      last = at->first;
      ++at;
    } else {
      std::string folder = at->first.substr(0, prefix.size() + slash + 1);
      if (!hidden) page.prefixes.push_back(folder);
      last = folder;
      // '0' follows '/' in ASCII: this finds the first name that is not below the folder in one
      // search.
      folder.back() = '/' + 1;
      at = objects_.lower_bound(folder);
    }
  }
  if (!any && !prefix.empty()) return not_found("no such folder").with_key(display_name(prefix));
  return page;
}

StoreStats MemoryStore::stats() const { return calls_->stats(); }

void MemoryStore::list(const ListRequest& request, std::stop_token stop, ListDone done) {
  const auto calls = calls_;
  const auto call = calls->begin<ListPage>(display_name(request.prefix), stop, std::move(done));
  if (!call->answered()) call->answer(page(request));
}

void MemoryStore::stat(const std::string& key, std::stop_token stop, StatDone done) {
  const auto calls = calls_;
  const auto call = calls->begin<ObjectInfo>(display_name(key), stop, std::move(done));
  if (call->answered()) return;
  Result<Buffer> object = find({key, {}, {}});
  if (object.ok()) {
    call->answer(ObjectInfo{key, object->size()});
  } else {
    call->answer(object.status());
  }
}

}  // namespace forebay
